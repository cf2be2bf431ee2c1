"""What `cost` counts: as much as the library multiplies and holds, by formulas that are said, in numbers to be read."""

import inspect
import re

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.decoder_only import DecoderOnly
from course_lib.explore import cost_counts as counts
from course_lib.explore.cost_counts import CHOICES, KINDS, SHARED, Setting
from course_lib.linear_attention import linear_attention
from course_lib.sparse_attention import window_attention
from course_lib.tiled_attention import tiled_attention

from .test_cost import random_states, setting

SIZES = [(5, 16, 4), (16, 16, 16), (1, 12, 3), (7, 24, 1), (33, 8, 2)]  # N, D, H


def multiplied(run):
    """Multiplications of all matrix products, as torch counts them: two operations each."""
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops() / 2


@pytest.mark.parametrize(("N", "D", "H"), SIZES)
def test_a_block_multiplies_and_holds_as_much(N, D, H):
    """The textbook's: who asks for the weights gets the full square, in as many heads."""
    s, block = setting(N, D, H), EncoderBlock(D, H, 4 * D)
    x = torch.randn(2, N, D)
    assert multiplied(lambda: block(x, need_weights=True)) == 2 * counts.layer(s)[0]
    parts = counts.multiplications(s)
    assert multiplied(lambda: block.feed_forward(x)) == 2 * parts["feed_forward"]
    assert multiplied(lambda: block.self_attention(x, need_weights=True)) == 2 * (
        parts["projections"] + parts["attention"]
    )
    _, weights = block(x, need_weights=True)
    assert weights.nbytes == counts.memory(s)["scores"]
    assert sum(weight.nbytes for weight in block.parameters()) * 3 == counts.memory(s)["weights"]


@pytest.mark.parametrize(("N", "D", "H"), SIZES)
def test_a_recurrent_layer_multiplies_as_much(N, D, H):
    cell, x, states = nn.GRUCell(D, D), torch.randn(N, D), [torch.zeros(D)]
    found = multiplied(lambda: [states.append(cell(row, states[-1])) for row in x])
    assert found == counts.multiplications(setting(N, D, H))["gru"]


@pytest.mark.parametrize(("N", "D", "H"), SIZES)
def test_a_model_keeps_as_much(N, D, H):
    D, H = (D, H) if D % 4 == 0 else (2 * D, H)
    for dtype, size in ((torch.float32, 4), (torch.bfloat16, 2)):
        model = DecoderOnly(11, d_model=D, num_heads=H, d_ff=4 * D, num_layers=3).to(dtype)
        _, state = model.read(torch.ones(2, N, dtype=torch.int64), model.start())
        kept = sum(part.nbytes for cache in state.caches for part in cache)
        assert kept == counts.memory(setting(N, D, H, size=size))["cache"]


@pytest.mark.parametrize(("N", "D", "H"), SIZES)
def test_the_other_kinds_multiply_as_much(N, D, H):
    query, key, value = torch.randn(3, 1, H, N, D // H).unbind()
    attention = {kind: counts.multiplications(setting(N, D, H, kind=kind))["attention"] for kind in KINDS}
    assert multiplied(lambda: linear_attention(query, key, value)) == attention["linear"]
    assert multiplied(lambda: tiled_attention(query, key, value, tile=3)) == attention["tiled"] == attention["full"]
    with sdpa_kernel(SDPBackend.MATH):  # what the fused kernel multiplies is not counted on a CPU
        compared = multiplied(lambda: window_attention(query, key, value, window=4))
    assert attention["window"] <= compared and (N % 4 or compared < 2 * attention["window"])
    assert inspect.signature(tiled_attention).parameters["tile"].default == counts.TILE


@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize(("N", "D", "H"), [(5, 16, 4), (16, 32, 8), (3, 12, 2), (2, 64, 16)])
def test_shared_keys_cost_as_much(N, D, H, shared):
    """Grouped queries by hand: G key heads, each for H / G query heads."""
    G, x = {"all": H, "quarter": max(1, H // 4), "one": 1}[shared], torch.randn(N, D)
    layers = [nn.Linear(D, width) for width in (D, G * D // H, G * D // H, D)]
    s = setting(N, D, H, shared=shared)
    parts, memory = counts.multiplications(s), counts.memory(s)
    assert multiplied(lambda: [layer(x) for layer in layers]) == parts["projections"]
    query, key, value = (functional.linear(x, one.weight).view(N, -1, D // H).transpose(0, 1) for one in layers[:3])
    assert 3 * 2 * (key.nbytes + value.nbytes) == memory["cache"]
    wide = [each.repeat_interleave(H // G, dim=0) for each in (key, value)]
    run = multiplied(lambda: scaled_dot_product_attention(query, *wide, need_weights=True))
    assert run == parts["attention"] == counts.multiplications(setting(N, D, H))["attention"]
    rest = EncoderBlock(D, H, 4 * D)
    weights = [*(weight for layer in layers for weight in layer.parameters()), *rest.feed_forward.parameters()]
    norms = 4 * D * 4  # two layer norms, float32
    assert memory["weights"] == 3 * (sum(weight.nbytes for weight in weights) + norms)
    linear = s._replace(kind="linear")
    ones = torch.cat([value, torch.ones(G, N, 1)], dim=-1)
    state = key.mT @ ones  # (G, Dk, Dk + 1)
    assert 3 * 2 * state.nbytes == counts.memory(linear)["cache"] and counts.memory(linear)["scores"] == 0
    read = multiplied(lambda: (query @ state.repeat_interleave(H // G, dim=0), key.mT @ ones))
    assert read == counts.multiplications(linear)["attention"]


def test_the_formulas_give_the_counts():
    """Each formula, computed as it stands."""
    for state in random_states(200):
        s = Setting(*(state[name] for name in Setting._fields))
        known = {"N": s.length, "D": s.width, "H": s.heads, "K": counts.key_width(s), "w": s.window, "b": s.size}
        known |= {"L": s.layers, "B": s.texts}
        amounts = counts.multiplications(s) | counts.memory(s)
        for name, text in counts.formulas(s).items():
            spelled = re.sub(r"(?<=[\dA-Z])(?=[A-Z])", "*", text.replace("·", "*").replace("²", "**2"))
            assert eval(spelled.replace("/", "//"), known) == amounts[name], (text, s)


def test_growth_and_crossing():
    for state in random_states(200, seed=1):
        s = Setting(*(state[name] for name in Setting._fields))
        grows, at = counts.growth(s), counts.crossing(s)
        if s.kind in ("full", "tiled"):
            assert grows["attention"] == [4, 2, None if 2 * s.heads > s.width else 1]
            assert grows["scores"][0] == (4 if s.kind == "full" else 4 if s.length < 128 else 1)
        assert grows["gru"][:2] == [2, 4] and grows["weights"][0] == 1
        assert (grows["scores"][0] is None) == (s.kind == "linear")
        for length in (at, at + 1) if at else CHOICES["length"]:
            whole, attention = counts.layer(s._replace(length=length))
            more = s.kind in ("full", "tiled") or length <= s.window
            assert (2 * attention > whole) == bool(at and length > at and more), s
        assert at is None or counts.key_width(s) != s.width or at == 6 * s.width


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0"), (99_999, "99,999"), (100_000, "1.0·10⁵"), (104_999, "1.0·10⁵"), (105_000, "1.1·10⁵"),
     (994_999, "9.9·10⁵"), (995_000, "1.0·10⁶"), (10**20, "1.0·10²⁰"), (123 * 10**18 + 1, "1.2·10²⁰")],
)  # fmt: skip
def test_large_numbers_in_words(number, words):
    assert counts.large(number) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (1049, "1.0 KB"), (1050, "1.1 KB"), (9949, "9.9 KB"),
     (9950, "10 KB"), (10_499, "10 KB"), (999_499, "999 KB"), (999_500, "1.0 MB"), (34_359_738_368, "34 GB"),
     (18 * 10**15, "18 PB"), (5 * 10**21, "5000 EB")],
)  # fmt: skip
def test_bytes_in_words(number, words):
    assert counts.bytes_in_words(number) == words


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [(0, 5, "<1%"), (1, 101, "<1%"), (1, 100, "1%"), (5, 200, "3%"), (99, 100, "99%"), (991, 1000, ">99%")],
)
def test_shares_in_words(part, whole, words):
    assert counts.percent(part, whole) == words

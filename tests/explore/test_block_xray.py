"""The X-ray of the block without a browser: it shows what was measured, in words too, and leaves the blocks alone."""

import copy
import io
import json
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image
from torch import nn

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import DecoderBlock, Encoder, EncoderBlock
from course_lib.explore.block_stages import (
    Switches,
    blocks_of,
    stages,
)
from course_lib.explore.block_xray import block_xray, short
from course_lib.masks import causal_mask

from .random_blocks import D, S, apply, encoder, states, vectors

TOKENS = ["the", "고양이", "sat$", "<b>", " "]


def make(tokens=TOKENS, **changes):
    return block_xray(encoder(), vectors(len(tokens)), tokens, **changes)


def test_what_is_shown_is_what_was_measured():
    ours, made = encoder(), make()
    for state in states(made):
        apply(made, state)
        one = stages(ours.blocks, vectors()[None], made.switches())[made.block - 1]
        for row, name in enumerate(made.stages[made.order]):
            if name not in one:
                assert np.isnan(made.lengths()[row]).all() and made.heard()[row] is None
                continue
            assert np.allclose(made.lengths()[row], one[name][0].norm(dim=-1).detach(), rtol=1e-3)
        on = (made.attention, made.feed_forward, made.shortcuts, made.norms)
        assert made.switches() == Switches(*on, norm_first=made.order == "pre")


def test_it_tells_what_the_parts_are_for():
    """On fresh blocks of the course's library, 6 of them with 8 tokens of width 64."""
    torch.manual_seed(0)
    made = block_xray(Encoder(64, 4, 256, 6), torch.randn(8, 64), "abcdefgh")
    assert made.findings() == [] and "8 of 8 tokens" in made.sentence()
    apply(made, {"norms": False})
    assert "grows" in made.findings() and made.shown()["mean_length"][-1] > 50
    apply(made, {"norms": True, "shortcuts": False})
    assert made.findings() == ["collapses"] and made.shown()["mean_alike"][2] > 0.98
    apply(made, {"norms": False})
    assert made.findings() == ["shrinks", "collapses", "fades"]
    apply(made, {"norms": True, "shortcuts": True, "attention": False})
    for made.block in range(1, 7):
        assert made.findings() == ["alone"] and set(made.heard()) == {0, 1} and "1 of 8 tokens" in made.sentence()
    apply(made, {"attention": True, "order": "pre"})
    assert made.shown()["mean_length"][-1] > 2 * made.given()["mean_length"][-1]


def test_the_blocks_are_left_alone():
    ours = encoder(dropout=0.5).train()
    ours.blocks[1].eval()
    for parameter in ours.parameters():
        parameter.grad = torch.ones_like(parameter)
    x = vectors().requires_grad_()
    before, modes = copy.deepcopy(ours.state_dict()), [part.training for part in ours.modules()]
    drawn, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    made, left = block_xray(ours, x, TOKENS), torch.get_num_threads()
    torch.set_num_threads(threads)
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())
    assert [part.training for part in ours.modules()] == modes and x.grad is None
    assert all(bool((p.grad == 1).all()) and p.requires_grad and p.dtype == torch.float64 for p in ours.parameters())
    assert torch.equal(torch.get_rng_state(), drawn) and left == 2
    assert made.states == block_xray(ours.eval(), x, TOKENS).states, "nothing is dropped"


def test_what_it_takes():
    ours, x = encoder(), vectors()
    want = block_xray(ours, x, TOKENS).states
    for blocks in (ours.blocks, list(ours.blocks), tuple(ours.blocks)):
        assert block_xray(blocks, x[None], TOKENS).states == want
    assert block_xray(ours, x.numpy(), iter(TOKENS)).states == block_xray(ours, x.tolist(), TOKENS).states == want
    assert all(
        parameter.dtype == torch.float64 for one in blocks_of(encoder().half()) for parameter in one.parameters()
    )
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert block_xray(ours, x, TOKENS).states == want, "in any mode of autograd"
    causal = causal_mask(S)
    shown = [block_xray(ours, x, TOKENS, mask=one).states for one in (causal, causal[None])]
    assert shown[0] == shown[1] != want
    row = torch.tensor([True] * 4 + [False])
    assert block_xray(ours, x, TOKENS, mask=row[None, None]).states["1111post"]["heard"][0][1][0] == 0b01111
    hidden = block_xray(ours, x, TOKENS, mask=torch.zeros(S, S, dtype=torch.bool)).states["1111post"]
    assert hidden["heard"][-1][-1] == [1 << s for s in range(S)], "a query without a key hears of nobody"


def test_blocks_of_several_widths_inside_and_a_function_of_ones_own():
    asked = []

    def attention(query, key, value, **options):
        asked.append(query.shape)
        return scaled_dot_product_attention(query, key, value, **options)

    blocks = [EncoderBlock(D, 2, d_ff, attention=attention, norm_first=True) for d_ff in (20, 30)]
    made = block_xray(blocks, vectors(), TOKENS)
    assert made.d_ff == [20, 30] and made.order == made.own_order == "pre" and asked
    assert block_xray(blocks, vectors(), TOKENS, order="post").order == "post"


@pytest.mark.parametrize("kind", ["all zero", "tiny", "huge"])
def test_strange_weights_are_shown_all_the_same(kind):
    ours = encoder()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.mul_({"all zero": 0, "tiny": 1e-20, "huge": 1e3}[kind])
    x = vectors()
    x[-1] = 0  # as padding may be
    made = block_xray(ours, x, TOKENS)
    for state in states(made):
        apply(made, state)
        assert "nan" not in made.sentence() and json.dumps(made.page_state(), allow_nan=False)
    apply(made, {"attention": True, "feed_forward": True, "shortcuts": False, "norms": False})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.static_png()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0.0, "0"), (0.005, "0.005"), (0.0625, "0.063"), (0.125, "0.13"),
        (9.994, "9.99"), (9.996, "10.00"),
        (12.25, "12.3"), (99.96, "100.0"), (150.5, "151"), (9999.0, "9999"), (12_500.0, "1.3e4"), (99_500.0, "1.0e5"),
        (0.00098, "9.8e-4"), (9.96e-5, "1.0e-4"), (1e-12, "1.0e-12"), (3.46e30, "3.5e30"),
    ],
)  # fmt: skip
def test_a_length_has_two_or_three_digits(value, text):
    assert short(value) == text


def test_reset_knows_where_it_began():
    made = make(block=2, token=3, norms=False)
    made.block, made.attention, made.order = 1, False, "pre"
    assert made.start == {
        "attention": True, "feed_forward": True, "shortcuts": True, "norms": False, "order": "post", "block": 2,
        "token": 3,
    }  # fmt: skip


@pytest.mark.parametrize(("count", "length"), [(1, 2), (3, 5), (12, 16)])
def test_the_picture_is_small_and_the_same_each_time(count, length):
    def pictures():
        made = block_xray(encoder(count), vectors(length), (TOKENS * 4)[:length])
        for state in list(states(made, 32))[8::21]:  # in both languages
            apply(made, state)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                yield made.static_png()

    for first, second in zip(pictures(), pictures(), strict=True):
        assert first == second and len(first) <= 20_000
        image = Image.open(io.BytesIO(first))
        assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_page_is_whole_asks_nobody_and_stays_light(tmp_path):
    page = make(tokens=["</script>"] * 5).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and page.count("</script>") == 1
    for count, length, most in ((6, 8, 250_000), (12, 16, 800_000)):
        made = block_xray(encoder(count), vectors(length), range(length))
        assert made.to_html(tmp_path / "page.html").stat().st_size < most


@pytest.mark.parametrize("on", [{}, {"attention": False, "norms": False}, {"shortcuts": False, "order": "pre"}])
def test_korean_says_as_much(on):
    english, korean = (make(block=2, token=3, lang=lang, **on).sentence() for lang in ("en", "ko"))
    numbers = r"\d+\.\d+"
    assert (
        re.findall(numbers, english) == re.findall(numbers, korean)
        and "{" not in english + korean
        and korean != english
    )


@pytest.mark.parametrize(
    ("blocks", "error", "words"),
    [
        (nn.Linear(3, 3), TypeError, r"blocks: expected 1 to 12 encoder blocks \(a list, .*\), got a Linear"),
        (EncoderBlock(D, 2, 20), TypeError, "got a EncoderBlock"),
        ([EncoderBlock(D, 2, 20), DecoderBlock(D, 2, 20)], TypeError, "got a DecoderBlock at place 1"),
        ([nn.TransformerEncoderLayer(D, 2)], TypeError, "got a TransformerEncoderLayer at place 0"),
        ([], ValueError, "blocks: expected 1 to 12 .*, got 0"),
        ([EncoderBlock(D, 2, 20)] * 13, ValueError, "blocks: expected 1 to 12 .*, got 13"),
        ([EncoderBlock(D, 2, 20), EncoderBlock(8, 2, 20)], ValueError, "blocks: expected one width d_model, got 12, 8"),
        ([EncoderBlock(D, 2, 20, norm_first=way) for way in (0, 1)], ValueError, "blocks: expected one norm order"),
    ],
)
def test_it_refuses_such_blocks(blocks, error, words):
    with pytest.raises(error, match=words):
        block_xray(blocks, vectors(), TOKENS)


def test_it_refuses_what_overflows():
    ours = encoder()
    with torch.no_grad():
        ours.blocks[0].feed_forward.W_2.weight.mul_(1e308)
    with pytest.raises(ValueError, match="blocks: expected finite vectors in every state, got NaN or infinity with"):
        block_xray(ours, vectors(), TOKENS)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"x": vectors()[:, :8]}, ValueError, r"x: expected \(S, 12\) or \(1, S, 12\), got shape \(5, 8\)"),
        ({"x": vectors().repeat(2, 1, 1)}, ValueError, r"got shape \(2, 5, 12\). Take one sentence, x\[:1\]"),
        ({"x": [1, 2, 3, 4, 5]}, ValueError, r"x: expected .*, got shape \(5,\)"),
        ({"x": vectors(1), "tokens": "a"}, ValueError, "x: expected vectors of 2 to 16 tokens, got 1"),
        ({"x": vectors(17), "tokens": range(17)}, ValueError, "x: expected vectors of 2 to 16 tokens, got 17"),
        ({"x": vectors() * np.nan}, ValueError, "x holds NaN or infinity"),
        ({"x": vectors() * 0}, ValueError, "x holds zeros alone"),
        ({"tokens": TOKENS[:4]}, ValueError, "tokens: expected one for each of the 5 vectors of x, got 4"),
        ({"mask": torch.ones(S, S)}, TypeError, "mask: expected a boolean tensor"),
        ({"mask": causal_mask(4)}, ValueError, r"mask: expected shape \(5, 5\) or .*, got \(4, 4\)"),
        ({"mask": causal_mask(S).repeat(2, 1, 1)}, ValueError, r"mask: expected .*, got \(2, 5, 5\)"),
        ({"block": 0}, traitlets.TraitError, "block: expected 1 to 3, got 0"),
        ({"block": 4}, traitlets.TraitError, "block: expected 1 to 3, got 4"),
        ({"token": 5}, traitlets.TraitError, "token: expected 0 to 4, got 5"),
        ({"token": -1}, traitlets.TraitError, "token: expected 0 to 4, got -1"),
        ({"order": "last"}, traitlets.TraitError, "order.*'last'"),
        ({"attention": "no"}, traitlets.TraitError, "attention.*expected a boolean.*'no'"),
    ],
)
def test_it_refuses(changes, error, words):
    given = {"blocks": encoder(), "x": vectors(), "tokens": TOKENS} | changes
    with pytest.raises(error, match=words):
        block_xray(**given)

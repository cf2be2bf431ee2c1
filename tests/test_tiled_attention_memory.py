"""What attention in tiles holds, keeps and skips, and how it stands in for the usual one in a model."""

from functools import partial

import pytest
import torch

from course_lib import tiled_attention as module
from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.live_memory import LiveMemory
from course_lib.masks import causal_mask, padding_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.tiled_attention import tiled_attention

from .attention_laws import LENGTHS, assert_same, growth
from .small_attention import draw
from .small_heads import SIZES, gradients, lengths_mask, make


def padded(attention):
    """The same attention with a padding mask (B, 1, S) that hides the last key."""

    def attend(query, key, value):
        ids = (torch.arange(key.shape[-2]) < key.shape[-2] - 1).long().unsqueeze(0)
        return attention(query, key, value, mask=padding_mask(ids, 0))

    return attend


@pytest.mark.parametrize("options", [{}, {"causal": True}], ids=["all", "causal"])
@pytest.mark.parametrize("wrap", [lambda attention: attention, padded], ids=["no mask", "padding"])
def test_memory_grows_with_the_length_forward_and_backward(options, wrap):
    """The textbook's grows with the square: see test_live_memory."""
    exponents = growth(wrap(partial(tiled_attention, tile=128, **options)), Dk=32)
    assert len(exponents) == len(LENGTHS) - 1
    assert all(exponent < 1.15 for pair in exponents for exponent in pair), exponents
    assert exponents[-1][1] > 0.7, "and it does grow: the gradients are as long as the inputs"


def test_a_bias_that_the_caller_holds_is_not_copied():
    N = 512
    query, key, value = (torch.randn(2, N, 8, requires_grad=True) for _ in range(3))
    bias = torch.randn(2, N, N)
    with LiveMemory() as memory:
        tiled_attention(query, key, value, bias=bias, tile=32)[0].sum().backward()
    assert memory.peak < bias.nbytes / 4


def test_between_the_passes_it_keeps_the_output_and_one_number_a_query():
    kept = []
    query, key, value = (torch.randn(2, 3, 96, D, requires_grad=True) for D in (8, 8, 5))
    mask = torch.ones(2, 1, 1, 96, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        output, _ = tiled_attention(query, key, value, mask=mask, tile=16)
    own = {each.data_ptr() for each in (query, key, value, mask, output)}
    further = [each for each in kept if each.data_ptr() not in own]
    assert [each.shape for each in further] == [(2, 3, 96, 1)] and len(kept) == 6
    with LiveMemory() as memory:
        output, _ = tiled_attention(query, key, value, mask=mask, tile=16)
        assert memory.live == output.nbytes + further[0].nbytes


@pytest.mark.parametrize(
    ("T", "S", "tiles"),
    [(64, 64, 36), (8, 64, 8), (64, 8, 1), (65, 65, 45), (64, 65, 44), (1, 33, 5)],
    ids=str,
)
def test_tiles_in_the_future_are_skipped(monkeypatch, T, S, tiles):
    """Tiles of 8: of 8 × 8, the 36 on the diagonal and below it; the textbook's score is asked for no other."""
    asked, score = [], module.scaled_dot_score

    def watched(query, key):
        asked.append(query.shape[-2] * key.shape[-2])
        return score(query, key)

    monkeypatch.setattr(module, "scaled_dot_score", watched)
    output, _ = tiled_attention(*draw(0, (), T, S, 4, 4), causal=True, tile=8)
    assert len(asked) == tiles and max(asked) <= 64
    output.sum().backward()
    assert len(asked) == 2 * tiles


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1.0, 600.0])
def test_every_dtype(dtype, size):
    """At size 600 a product of two rows exceeds float16's largest number; the scores of the formula do not."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, n, 8) for n in (3, 5, 5))
    inputs = [each.to(dtype).requires_grad_() for each in (query * size / 4, key * size, value)]
    exact_inputs = [each.detach().double().requires_grad_() for each in inputs]
    mask = torch.tensor([[True, True, False, True, False], [False] * 5, [True] * 5])
    output, _ = tiled_attention(*inputs, mask=mask, tile=2)
    exact, _ = scaled_dot_product_attention(*exact_inputs, mask=mask, need_weights=True)
    assert output.dtype == dtype
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4, torch.bfloat16: 0.03, torch.float16: 0.005}[dtype]
    torch.testing.assert_close(output.double(), exact, atol=tolerance, rtol=tolerance)
    got, want = (torch.autograd.grad(each.sum(), wanted) for each, wanted in ((output, inputs), (exact, exact_inputs)))
    assert all(gradient.dtype == dtype and gradient.isfinite().all() for gradient in got)
    if size == 1.0:
        for one, other in zip(got, want, strict=True):
            torch.testing.assert_close(one.double(), other, atol=2 * tolerance, rtol=2 * tolerance)


def test_many_keys_are_added_up_in_float32():
    """4,096 equal weights in float16 would stop at 2,048: 2,048 + 1 is 2,048 there."""
    query, key, value = torch.zeros(1, 4), torch.zeros(4096, 4), torch.ones(4096, 2)
    inputs = [each.half().requires_grad_() for each in (query, key, value)]
    output, _ = tiled_attention(*inputs, tile=1)
    assert torch.equal(output, torch.ones_like(output))
    output.sum().backward()
    torch.testing.assert_close(inputs[2].grad.sum(0), torch.ones(2).half(), atol=1e-2, rtol=0)


def test_under_autocast_both_passes_compute_the_same_weights():
    inputs = [each.float().detach().requires_grad_() for each in draw(0, (2,), 9, 9, 8, 8)]
    inputs[0].data *= 20  # weights near 0 and 1, which a score of few digits would move
    want, _ = scaled_dot_product_attention(*inputs, need_weights=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got, _ = tiled_attention(*inputs, tile=4)
    direction = torch.randn_like(want)
    torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)
    for one, other in zip(*(torch.autograd.grad(each, inputs, direction) for each in (got, want)), strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


@pytest.mark.double
def test_non_contiguous_input_and_arguments_that_do_not_change():
    query, key = torch.randn(3, 1, 4, 2).transpose(0, 2), torch.randn(5, 6, 2)  # (4, 1, 3, 2) and (5, 6, 2)
    value, bias = torch.randn(7, 6, 5).permute(2, 1, 0), torch.randn(6, 3).T  # (5, 6, 7) and (3, 6)
    mask = torch.rand(6, 3).T < 0.7
    inputs = [each.requires_grad_() for each in (query, key, value, bias)]
    before = [each.clone() for each in (*inputs, mask)]
    output, _ = tiled_attention(query, key, value, mask=mask, bias=bias, tile=2)
    assert output.shape == (4, 5, 3, 7) and output.is_contiguous()
    want, _ = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias, need_weights=True)
    assert_same(output.transpose(-1, -2), want.transpose(-1, -2), inputs)
    assert all(torch.equal(a, b) for a, b in zip(before, (*inputs, mask), strict=True)), "arguments changed"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"need_weights": True}, "need_weights: .*never held.*scaled_dot_product_attention"),
        ({"dropout": 0.1}, "dropout: got 0.1, .*computed twice.*scaled_dot_product_attention"),
        ({"tile": 0}, "tile: expected at least 1 .* got 0"),
        ({"mask": torch.ones(5, 3, dtype=torch.bool)}, "mask: .*queries"),
        ({"bias": torch.ones(2, 3, 4)}, "bias: .*queries"),
    ],
)
def test_what_it_cannot_do_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        tiled_attention(*draw(0, (2,), 3, 5, 4, 4), **options)


def test_other_masks_and_shapes_are_refused_as_by_the_usual_attention():
    query, key, value = draw(0, (2,), 3, 5, 4, 4)
    with pytest.raises(TypeError, match="three conventions"):
        tiled_attention(query, key, value, mask=torch.ones(3, 5))
    with pytest.raises(ValueError, match="equally many"):
        tiled_attention(query, key, value[:, 1:])


@pytest.mark.double
@pytest.mark.parametrize("tile", [1, 2, 64])
@pytest.mark.parametrize("size", SIZES)
def test_multi_head_attention_on_it_is_multi_head_attention(size, tile):
    B, T, S, D, H = SIZES[size]
    ours, usual = make(D, H, attention=partial(tiled_attention, tile=tile)), make(D, H)
    x, y = torch.randn(B, T, D, requires_grad=True), torch.randn(B, S, D, requires_grad=True)
    bias = torch.randn(H, T, S, requires_grad=True)
    options = {"mask": lengths_mask(B, S), "bias": bias}
    assert_same(ours(x, y, **options)[0], usual(x, y, **options)[0], [x, y, bias])
    each = (gradients([model(x, y, **options)[0]], model.parameters()) for model in (ours, usual))
    for one, other in zip(*each, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.double
def test_an_encoder_block_on_it_reads_and_steps_alike():
    x = torch.randn(2, 7, 8, requires_grad=True)
    usual, ours = EncoderBlock(8, 2, 12), EncoderBlock(8, 2, 12, attention=partial(tiled_attention, tile=3))
    causal = EncoderBlock(8, 2, 12, attention=partial(tiled_attention, tile=3, causal=True))
    ours.load_state_dict(usual.state_dict()), causal.load_state_dict(usual.state_dict())
    assert_same(ours(x, mask=lengths_mask(2, 7))[0], usual(x, mask=lengths_mask(2, 7))[0], [x])
    want, _ = usual(x, mask=causal_mask(7))
    assert_same(causal(x)[0], want, [x])
    first, _, cache = causal.step(x[:, :4])
    rest, _, _ = causal.step(x[:, 4:], cache)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), want)


def test_dropout_of_the_weights_is_refused_in_training_alone():
    module = MultiHeadAttention(8, 2, dropout=0.1, attention=tiled_attention)
    x = torch.randn(1, 3, 8)
    with pytest.raises(ValueError, match="dropout"):
        module(x)
    module.eval()(x)

"""Attention in tiles equals the textbook's, value and gradient, whatever the tiles, shapes and masks."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, combine_masks, padding_mask, to_additive
from course_lib.tiled_attention import online_softmax, tiled_attention

from .attention_laws import (
    assert_nothing_from_the_future,
    assert_same,
    draw_broadcast,
    leadings,
    seeds,
    sizes,
    some_bias,
    some_mask,
)
from .small_attention import draw

pytestmark = pytest.mark.double

tiles = st.integers(1, 10)
slow = settings(max_examples=60, deadline=None)
LENGTHS = [(7, 5), (4, 9), (6, 6), (1, 5), (5, 1), (1, 1)]


def textbook(*inputs, **options):
    return scaled_dot_product_attention(*inputs, need_weights=True, **options)[0]


def masks_of(T, S):
    """For a batch of two."""
    patchy = torch.rand(2, T, S) < 0.5
    patchy[0, T // 2] = False
    return {
        "none": None,
        "padding": padding_mask(torch.stack([torch.ones(S), (torch.arange(S) < S - 2).float()]), 0),
        "causal": causal_mask(T, S),
        "patchy": patchy,
        "the first key": torch.arange(S) == 0,
        "one query": (torch.arange(T) == T - 1).unsqueeze(-1),
        "nothing": torch.zeros(T, S, dtype=torch.bool),
    }


@pytest.mark.parametrize(("T", "S"), LENGTHS)
@pytest.mark.parametrize("kind", masks_of(2, 2))
def test_equals_the_textbook_with_tiles_of_every_size(T, S, kind):
    inputs = draw(0, (2,), T, S, 3, 4)
    mask = masks_of(T, S)[kind]
    for tile in range(1, max(T, S) + 4):
        got, nothing = tiled_attention(*inputs, mask=mask, tile=tile)
        assert nothing is None
        assert_same(got, textbook(*inputs, mask=mask), inputs)


@pytest.mark.parametrize(("T", "S"), LENGTHS)
def test_causal_hides_what_the_causal_mask_hides_for_tiles_of_every_size(T, S):
    """Also with fewer keys than queries, where the first queries see nothing."""
    inputs = draw(0, (2,), T, S, 3, 4)
    padding = masks_of(T, S)["padding"]
    for tile in range(1, max(T, S) + 4):
        got, _ = tiled_attention(*inputs, causal=True, tile=tile)
        assert_same(got, textbook(*inputs, mask=causal_mask(T, S)), inputs)
        got, _ = tiled_attention(*inputs, mask=padding, causal=True, tile=tile)
        assert_same(got, textbook(*inputs, mask=combine_masks(padding, causal_mask(T, S))), inputs)


@given(seeds, leadings, sizes, sizes, tiles, st.booleans(), st.booleans(), st.booleans())
@slow
def test_equals_the_textbook_for_all_legal_shapes(seed, leading, T, S, tile, causal, masked, biased):
    inputs = draw_broadcast(seed, leading, T, S)
    mask = some_mask(leading, T, S) if masked else None
    bias = some_bias(leading, T, S) if biased else None
    got, _ = tiled_attention(*inputs, mask=mask, bias=bias, causal=causal, tile=tile)
    hidden = combine_masks(mask, causal_mask(T, S) if causal else None)
    assert_same(got, textbook(*inputs, mask=hidden, bias=bias), [*inputs, *([bias] if biased else [])])


@pytest.mark.parametrize("tile", [1, 2, 3, 8])
@pytest.mark.parametrize("causal", [True, False])
def test_the_gradient_is_that_of_finite_differences(tile, causal):
    inputs = draw_broadcast(0, ((2, 1), (1, 3), (3,)), 3, 4)
    mask = torch.tensor([[True, False, True, False], [False] * 4, [True] * 4])
    bias = torch.randn(3, 1, 4, requires_grad=True)

    def attend(query, key, value, bias):
        return tiled_attention(query, key, value, mask=mask, bias=bias, causal=causal, tile=tile)[0]

    assert torch.autograd.gradcheck(attend, (*inputs, bias))


@pytest.mark.parametrize("wanted", range(4))
def test_a_gradient_that_one_input_alone_wants(wanted):
    inputs = [*draw(0, (2,), 5, 6, 3, 4), torch.randn(1, 6)]
    inputs = [each.detach().requires_grad_(at == wanted) for at, each in enumerate(inputs)]
    got, _ = tiled_attention(*inputs[:3], bias=inputs[3], tile=4)
    assert_same(got, textbook(*inputs[:3], bias=inputs[3]), [inputs[wanted]])


def test_gradients_of_gradients_are_refused_and_not_wrong():
    query, key, value = draw(0, (), 3, 5, 2, 4)
    output, _ = tiled_attention(query, key, value)
    (gradient,) = torch.autograd.grad(output.square().sum(), query, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@given(seeds, st.lists(st.integers(1, 4), min_size=1, max_size=6), st.booleans())
@slow
def test_online_softmax_in_any_pieces_and_any_order(seed, lengths, hides):
    torch.manual_seed(seed)
    T, S = 3, sum(lengths)
    scores, value = 30 * torch.randn(2, T, S), torch.randn(2, S, 5)
    mask = torch.rand(2, T, S) < (0.4 if hides else 1.0)
    mask[0, 1] &= not hides  # a query without any key
    scores.requires_grad_(), value.requires_grad_()
    state = torch.full((2, T, 1), -math.inf), torch.zeros(2, T, 1), torch.zeros(2, T, 5)
    pieces = list(zip(scores.masked_fill(~mask, -math.inf).split(lengths, -1), value.split(lengths, -2), strict=True))
    for at in torch.randperm(len(lengths)).tolist():
        state = online_softmax(state, *pieces[at])
    maximum, total, output = state
    hidden = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = hidden.softmax(-1).masked_fill(~mask, 0.0)
    assert torch.equal(maximum, scores.masked_fill(~mask, -math.inf).amax(-1, keepdim=True))
    torch.testing.assert_close(total.eq(0).squeeze(-1), ~mask.any(-1))
    assert_same(output / total.masked_fill(total == 0, 1.0), weights @ value, [scores, value])


@pytest.mark.parametrize("causal", [True, False])
@given(seeds, sizes, sizes, tiles)
@slow
def test_never_nan_in_value_or_gradient(causal, seed, T, S, tile):
    inputs = draw(seed, (2,), T, S, 3, 4)
    mask = torch.rand(2, T, S) < 0.6
    mask[..., seed % T, :] = False  # one row is always empty
    bias = (1e4 * torch.randn(T, S)).requires_grad_()
    output, _ = tiled_attention(*inputs, mask=mask, bias=bias, causal=causal, tile=tile)
    empty = ~(mask & causal_mask(T, S) if causal else mask).any(-1)
    assert output.isfinite().all() and not output[empty].any()
    gradients = torch.autograd.grad(output.square().sum(), [*inputs, bias])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][empty].any(), "an empty row sends no gradient"


@given(seeds, sizes, sizes, tiles)
@slow
def test_no_value_and_no_gradient_from_the_future(seed, T, more, tile):
    def attend(*inputs):
        return tiled_attention(*inputs, causal=True, tile=tile)[0]

    assert_nothing_from_the_future(attend, seed, T, T + more - 1)


@pytest.mark.parametrize("garbage", [1e9, -1e9])
@given(seeds, st.lists(st.integers(0, 5), min_size=2, max_size=3), sizes, tiles)
@slow
def test_padding_changes_nothing_and_rows_stand_alone(garbage, seed, lengths, T, tile):
    S = max(*lengths, 1)
    query, key, value = draw(seed, (len(lengths),), T, S, 3, 4)
    ids = (torch.arange(S) < torch.tensor(lengths)[:, None]).long()
    padded = (ids == 0).unsqueeze(-1)
    spoilt_key, spoilt_value = key.masked_fill(padded, garbage), value.masked_fill(padded, -garbage)
    output, _ = tiled_attention(query, spoilt_key, spoilt_value, mask=padding_mask(ids, 0), tile=tile)
    for row, length in enumerate(lengths):
        alone = textbook(query[row], key[row, :length], value[row, :length]) if length else torch.zeros(T, 4)
        torch.testing.assert_close(output[row], alone)


def test_a_bias_of_minus_infinity_hides_as_a_mask_does():
    inputs = draw(0, (2,), 3, 5, 2, 4)
    mask = torch.tensor([[True, False, True, False, True], [False] * 5, [True] * 5])
    bias = to_additive(mask, torch.float64).requires_grad_()
    by_bias, _ = tiled_attention(*inputs, bias=bias, tile=2)
    assert_same(by_bias, tiled_attention(*inputs, mask=mask, tile=2)[0], inputs)
    by_bias, _ = tiled_attention(*inputs, bias=bias, tile=2)
    assert torch.autograd.grad(by_bias.square().sum(), bias)[0].isfinite().all()

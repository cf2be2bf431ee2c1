"""Scaled dot-product attention: laws over random shapes, parity with torch and with a loop, both roads equal."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention as attend
from course_lib.masks import causal_mask, combine_masks, padding_mask, to_additive

from .attention_laws import assert_nothing_from_the_future
from .small_attention import draw

pytestmark = pytest.mark.double

sizes = st.integers(1, 5)
leadings = st.lists(st.integers(1, 3), max_size=2).map(tuple)
seeds = st.integers(0, 2**31 - 1)
roads = pytest.mark.parametrize("need_weights", [True, False], ids=["textbook", "fused"])
slow = settings(max_examples=40, deadline=None)


def a_mask(seed, leading, T, S, empty_rows=True):
    mask = torch.rand(*leading, T, S, generator=torch.Generator().manual_seed(seed)) < 0.6
    if not empty_rows:
        mask[..., 0] = True
    return mask


def by_loop(query, key, value, mask, bias):
    """The formula for one sentence, one number at a time."""
    (T, Dk), S = query.shape, len(key)
    outputs, rows = [], []
    for t in range(T):
        scores = [sum(query[t, d] * key[s, d] for d in range(Dk)) / math.sqrt(Dk) + bias[t, s] for s in range(S)]
        seen = [s for s in range(S) if mask[t, s]]
        highest = max((scores[s].detach() for s in seen), default=0.0)
        total = sum((torch.exp(scores[s] - highest) for s in seen), torch.zeros(()))
        row = [torch.exp(scores[s] - highest) / total if s in seen else torch.zeros(()) for s in range(S)]
        rows.append(torch.stack(row))
        outputs.append(sum(row[s] * value[s] for s in range(S)))
    return torch.stack(outputs), torch.stack(rows)


@roads
@given(seeds, sizes, sizes, sizes, sizes)
@slow
def test_equals_a_loop_in_value_and_gradient(need_weights, seed, T, S, Dk, Dv):
    inputs = draw(seed, (), T, S, Dk, Dv)
    mask, bias = a_mask(seed, (), T, S), torch.randn(T, S, requires_grad=True)
    output, weights = attend(*inputs, mask=mask, bias=bias, need_weights=need_weights)
    want, rows = by_loop(*inputs, mask, bias)
    torch.testing.assert_close(output, want, atol=1e-10, rtol=1e-10)
    if need_weights:
        torch.testing.assert_close(weights, rows, atol=1e-10, rtol=1e-10)
    direction = torch.randn_like(want)
    got = torch.autograd.grad(output, [*inputs, bias], direction)
    for one, other in zip(got, torch.autograd.grad(want, [*inputs, bias], direction, allow_unused=True), strict=True):
        torch.testing.assert_close(one, torch.zeros_like(one) if other is None else other, atol=1e-10, rtol=1e-9)


@given(seeds, leadings, sizes, sizes, sizes, sizes, st.booleans())
@slow
def test_equals_torch_to_1e_10_and_both_roads_agree(seed, leading, T, S, Dk, Dv, masked):
    inputs = draw(seed, leading, T, S, Dk, Dv)
    mask = a_mask(seed, leading, T, S, empty_rows=False) if masked else None
    want = functional.scaled_dot_product_attention(*inputs, attn_mask=mask)
    textbook, weights = attend(*inputs, mask=mask, need_weights=True)
    fused, nothing = attend(*inputs, mask=mask)
    assert nothing is None and weights.shape == (*leading, T, S)
    torch.testing.assert_close(textbook, want, atol=1e-10, rtol=0)
    torch.testing.assert_close(fused, want, atol=1e-10, rtol=0)
    direction = torch.randn_like(want)
    for output in (textbook, fused):
        got = torch.autograd.grad(output, inputs, direction)
        for one, other in zip(got, torch.autograd.grad(want, inputs, direction, retain_graph=True), strict=True):
            torch.testing.assert_close(one, other, atol=1e-10, rtol=0)


@roads
@given(seeds, leadings, sizes, sizes)
@slow
def test_never_nan_in_value_or_gradient(need_weights, seed, leading, T, S):
    query, key, value = draw(seed, leading, T, S, 3, 4)
    mask = a_mask(seed, leading, T, S)
    mask[..., seed % T, :] = False  # one row is always empty
    bias = (1e4 * torch.randn(T, S)).requires_grad_()
    output, weights = attend(query, key, value, mask=mask, bias=bias, need_weights=need_weights)
    empty = ~mask.any(-1)
    assert output.isfinite().all() and not output[empty].any()
    assert weights is None or not weights[~mask].any()
    gradients = torch.autograd.grad(output.square().sum(), [query, key, value, bias])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][empty].any(), "an empty row sends no gradient"


@roads
@given(seeds, sizes, sizes)
@slow
def test_permutation_equivariance(need_weights, seed, T, S):
    query, key, value = draw(seed, (2,), T, S, 3, 4)
    mask, rows, columns = a_mask(seed, (2,), T, S), torch.randperm(T), torch.randperm(S)
    output, weights = attend(query, key, value, mask=mask, need_weights=need_weights)
    moved, moved_weights = attend(
        query[:, rows], key[:, columns], value[:, columns], mask=mask[:, rows][..., columns], need_weights=need_weights
    )
    torch.testing.assert_close(moved, output[:, rows])
    if need_weights:
        torch.testing.assert_close(moved_weights, weights[:, rows][..., columns])


@roads
@pytest.mark.parametrize("training", [True, False])
@given(seeds, sizes, sizes)
@slow
def test_no_value_and_no_gradient_from_the_future(need_weights, training, seed, T, more):
    """Dropout, as in training, may hide more, but shows nothing."""
    S = T + more - 1
    options = {"mask": causal_mask(T, S), "dropout": 0.3 if training else 0.0, "need_weights": need_weights}

    def attend_again(*inputs):
        torch.manual_seed(seed)
        return attend(*inputs, **options)[0]

    assert_nothing_from_the_future(attend_again, seed, T, S)


@roads
@pytest.mark.parametrize("garbage", [1e9, -1e9])
@given(seeds, st.lists(st.integers(0, 4), min_size=2, max_size=3), sizes)
@slow
def test_padding_changes_nothing_and_rows_stand_alone(need_weights, garbage, seed, lengths, T):
    S = max(*lengths, 1)
    query, key, value = draw(seed, (len(lengths),), T, S, 3, 4)
    ids = (torch.arange(S) < torch.tensor(lengths)[:, None]).long()
    mask = padding_mask(ids, 0)
    output, _ = attend(query, key, value, mask=mask, need_weights=need_weights)
    padded = (ids == 0).unsqueeze(-1)
    spoilt, _ = attend(
        query,
        key.masked_fill(padded, garbage),
        value.masked_fill(padded, -garbage),
        mask=mask,
        need_weights=need_weights,
    )
    torch.testing.assert_close(spoilt, output)
    for row, length in enumerate(lengths):
        alone, _ = attend(query[row], key[row, :length], value[row, :length]) if length else (torch.zeros(T, 4), None)
        torch.testing.assert_close(output[row], alone)


@roads
@given(seeds, sizes, sizes)
@slow
def test_every_legal_shape_of_a_mask_means_the_same(need_weights, seed, T, S):
    leading = (2, 3)
    inputs = draw(seed, leading, T, S, 2, 4)
    full = (*leading, T, S)
    for shape in [(), (S,), (1, S), (T, 1), (T, S), (3, T, S), (3, 1, S), (1, 1, T, S), (2, 1, 1, S), (2, 3, T, S)]:
        mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
        got, _ = attend(*inputs, mask=mask, need_weights=need_weights)
        want, _ = attend(*inputs, mask=mask.expand(full).contiguous(), need_weights=True)
        torch.testing.assert_close(got, want)


@roads
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("size", [1.0, 600.0])
def test_every_dtype(need_weights, dtype, size):
    """At size 600 a product of two rows exceeds float16's largest number; the scores of the formula do not."""
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, n, 8) for n in (3, 5, 5))
    key = key * size
    query = query * size / 4
    inputs = [each.to(dtype) for each in (query, key, value)]
    mask = torch.tensor([[True, True, False, True, False], [False] * 5, [True] * 5])
    output, weights = attend(*inputs, mask=mask, need_weights=need_weights)
    exact, exact_weights = attend(*(each.double() for each in inputs), mask=mask, need_weights=True)
    assert output.dtype == dtype and (weights is None or weights.dtype == dtype)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4, torch.bfloat16: 0.03, torch.float16: 0.005}[dtype]
    torch.testing.assert_close(output.double(), exact, atol=tolerance, rtol=tolerance)
    if need_weights:
        torch.testing.assert_close(weights.double(), exact_weights, atol=tolerance, rtol=tolerance)


@roads
def test_non_contiguous_input_and_leading_axes_that_broadcast(need_weights):
    query, key = torch.randn(3, 1, 4, 2).transpose(0, 2), torch.randn(5, 6, 2)  # (4, 1, 3, 2) and (5, 6, 2)
    value = torch.randn(7, 6, 5).permute(2, 1, 0)  # (5, 6, 7)
    before = [each.clone() for each in (query, key, value)]
    output, _ = attend(query, key, value, need_weights=need_weights)
    assert output.shape == (4, 5, 3, 7)
    one, _ = attend(query[2, 0].contiguous(), key[3].contiguous(), value[3].contiguous(), need_weights=True)
    torch.testing.assert_close(output[2, 3], one)
    assert all(torch.equal(a, b) for a, b in zip(before, (query, key, value), strict=True)), "arguments changed"


@roads
def test_a_bias_of_minus_infinity_hides_as_a_mask_does(need_weights):
    query, key, value = draw(0, (2,), 3, 5, 2, 4)
    mask = torch.tensor([[True, False, True, False, True], [False] * 5, [True] * 5])
    by_bias, _ = attend(query, key, value, bias=to_additive(mask, torch.float64), need_weights=need_weights)
    by_mask, _ = attend(query, key, value, mask=mask, need_weights=need_weights)
    torch.testing.assert_close(by_bias, by_mask)
    both, _ = attend(query, key, value, mask=mask, bias=to_additive(mask, torch.float64), need_weights=need_weights)
    torch.testing.assert_close(both, by_mask)


@roads
def test_dropout_takes_weights_and_keeps_the_mean(need_weights):
    """A039: dropout follows the argument alone; a caller in evaluation passes 0, and then two calls agree."""
    query, key, value = draw(0, (), 3, 200, 4, 5)
    without, weights = attend(query, key, value, need_weights=True)
    torch.testing.assert_close(attend(query, key, value, dropout=0.0, need_weights=need_weights)[0], without)
    torch.manual_seed(0)
    drops = [attend(query, key, value, dropout=0.5, need_weights=need_weights) for _ in range(2_000)]
    outputs = torch.stack([output for output, _ in drops])
    assert not torch.equal(outputs[0], outputs[1])
    error = outputs.std(0) / len(outputs) ** 0.5
    assert ((outputs.mean(0) - without).abs() < 5 * error).all()
    assert error.max() < 0.02, "half of what it should be would be seen"
    if need_weights:
        torch.testing.assert_close(drops[0][1], weights)  # what is returned is what was attended to, before dropout


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((3,), (5, 4), (5, 4)), "token axis"),
        (((3, 4), (5, 6), (5, 4)), "equally wide"),
        (((3, 4), (5, 4), (6, 4)), "equally many"),
        (((2, 3, 4), (3, 5, 4), (3, 5, 4)), "equal or 1"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes, words):
    query, key, value = (torch.randn(shape) for shape in shapes)
    with pytest.raises(ValueError, match=words) as error:
        attend(query, key, value)
    assert all(str(shape) in str(error.value) for shape in shapes)


@roads
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (7, 2, 3, 5), (2,)])
@pytest.mark.parametrize("name", ["mask", "bias"])
def test_a_mask_that_does_not_fit_is_refused(need_weights, shape, name):
    query, key, value = draw(0, (2,), 3, 5, 4, 4)
    given = torch.ones(shape) if name == "bias" else torch.ones(shape, dtype=torch.bool)
    with pytest.raises(ValueError, match=f"{name}: .*queries"):
        attend(query, key, value, **{name: given}, need_weights=need_weights)


@roads
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_of_another_convention_is_refused(need_weights, dtype):
    query, key, value = draw(0, (2,), 3, 5, 4, 4)
    with pytest.raises(TypeError, match="three conventions"):
        attend(query, key, value, mask=torch.ones(3, 5, dtype=dtype), need_weights=need_weights)


def test_masks_combine():
    ids = torch.tensor([[4, 5, 0], [4, 5, 6]])
    both = combine_masks(padding_mask(ids, 0), None, causal_mask(3))
    assert both.shape == (2, 3, 3) and torch.equal(both, padding_mask(ids, 0) & causal_mask(3))
    assert combine_masks() is combine_masks(None, None) is None

"""Scores, weights and context against float64 loops; the laws that hold whatever the values."""

import pytest
import torch

from course_lib.attention import (
    additive_score,
    attend,
    compare_features,
    concat_score,
    context_vector,
    dot_score,
    general_score,
    masked_softmax,
    scaled_dot_score,
)

pytestmark = pytest.mark.double

B, T, S, DQ, DK, A = 2, 3, 5, 4, 6, 7


def parameters(kind):
    shapes = {"additive": [(DQ, A), (DK, A), (A,)], "general": [(DQ, DK)], "concat": [(DQ + DK, A), (A,)], "dot": []}
    return [torch.randn(shape, requires_grad=True) for shape in shapes[kind]]


def one_pair(kind, q, k, weights):
    """The formula for one query and one key, in plain loops."""
    if kind == "dot":
        return sum(a * b for a, b in zip(q, k, strict=True))
    if kind == "general":
        return sum(q[i] * weights[0][i, j] * k[j] for i in range(len(q)) for j in range(len(k)))
    if kind == "concat":
        both, (W, v) = torch.cat([q, k]), weights
        return sum(v[a] * torch.tanh(sum(both[i] * W[i, a] for i in range(len(both)))) for a in range(len(v)))
    W_q, W_k, v = weights
    features = [
        torch.tanh(sum(q[i] * W_q[i, a] for i in range(len(q))) + sum(k[j] * W_k[j, a] for j in range(len(k))))
        for a in range(len(v))
    ]
    return sum(v[a] * features[a] for a in range(len(v)))


SCORES = {"additive": additive_score, "dot": dot_score, "general": general_score, "concat": concat_score}


@pytest.mark.parametrize("kind", SCORES)
def test_equals_a_loop_in_value_and_gradient(kind):
    weights = parameters(kind)
    query = torch.randn(B, T, DK if kind == "dot" else DQ, requires_grad=True)
    key = torch.randn(B, S, DK, requires_grad=True)
    fast = SCORES[kind](query, key, *weights)
    slow = torch.stack([
        torch.stack([torch.stack([one_pair(kind, q, k, weights) for k in key[b]]) for q in query[b]]) for b in range(B)
    ])  # fmt: skip
    torch.testing.assert_close(fast, slow)
    direction = torch.randn_like(slow)
    inputs = [query, key, *weights]
    for got, want in zip(torch.autograd.grad(fast, inputs, direction), torch.autograd.grad(slow, inputs, direction),
                         strict=True):  # fmt: skip
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_any_leading_axes(kind, leading):
    weights = parameters(kind)
    query, key = torch.randn(*leading, T, DK if kind == "dot" else DQ), torch.randn(*leading, S, DK)
    assert SCORES[kind](query, key, *weights).shape == (*leading, T, S)


def test_concat_is_additive_with_stacked_matrices():
    W_q, W_k, v = parameters("additive")
    query, key = torch.randn(B, T, DQ), torch.randn(B, S, DK)
    torch.testing.assert_close(
        concat_score(query, key, torch.cat([W_q, W_k]), v), additive_score(query, key, W_q, W_k, v)
    )


def test_dot_refuses_unequal_widths():
    with pytest.raises(ValueError, match="equally wide, got 4 and 6"):
        dot_score(torch.randn(B, T, DQ), torch.randn(B, S, DK))
    with pytest.raises(ValueError, match="equally wide, got 6 and 4"):
        dot_score(torch.randn(B, T, DK), torch.randn(B, S, DQ))


def test_a_sum_too_large_for_half_precision_is_scaled_in_single():
    """16 · 80 · 80 is more than float16 holds; divided by √16 it is not."""
    for dtype in (torch.float16, torch.bfloat16):
        scores = scaled_dot_score(*(torch.full((1, 16), 80.0, dtype=dtype) for _ in range(2)))
        assert scores.dtype == torch.float32 and scores.item() == 25_600
    assert scaled_dot_score(torch.ones(1, 4), torch.ones(1, 4)).dtype == torch.float64


LENGTHS = torch.arange(S) < torch.tensor([2, 5])[:, None]


def test_masked_softmax_is_the_softmax_of_what_is_allowed():
    scores = torch.randn(B, T, S)
    weights = masked_softmax(scores, LENGTHS.unsqueeze(1))
    torch.testing.assert_close(weights[0, :, :2], torch.softmax(scores[0, :, :2], -1))
    assert not weights[0, :, 2:].any()
    torch.testing.assert_close(weights[1], torch.softmax(scores[1], -1))
    torch.testing.assert_close(masked_softmax(scores), torch.softmax(scores, -1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("offset", [0.0, 1e4, -1e4])
def test_every_dtype_and_large_scores_stay_finite(dtype, offset):
    scores = (torch.randint(-3, 4, (B, S)) + offset).to(dtype).requires_grad_()
    mask = torch.tensor([[True, False, True, True, False], [False] * S])
    weights = masked_softmax(scores, mask)
    weights.square().sum().backward()
    assert weights.dtype == dtype and weights.isfinite().all() and scores.grad.isfinite().all()
    assert not weights[1].any() and not scores.grad[1].any(), "a row with no key has weights 0 and no gradient"
    torch.testing.assert_close(weights[0].sum(), torch.ones((), dtype=dtype), atol=0.01, rtol=0)


@pytest.mark.parametrize("garbage", [1e9, -1e9])
def test_padding_does_not_matter(garbage):
    W_q, W_k, v = parameters("additive")
    query, outputs = torch.randn(B, T, DQ), torch.randn(B, S, DK)
    spoiled = torch.where(LENGTHS.unsqueeze(-1), outputs, garbage).requires_grad_()
    context, weights = attend(additive_score(query, outputs, W_q, W_k, v), outputs, LENGTHS.unsqueeze(1))
    other, other_weights = attend(additive_score(query, spoiled, W_q, W_k, v), spoiled, LENGTHS.unsqueeze(1))
    torch.testing.assert_close(other, context)
    torch.testing.assert_close(other_weights, weights)
    (gradient,) = torch.autograd.grad(other, spoiled, torch.randn_like(other))
    assert gradient.isfinite().all() and not gradient[~LENGTHS].any()


def test_the_source_in_another_order_gives_the_same_context():
    W_q, W_k, v = parameters("additive")
    query, outputs, order = torch.randn(B, T, DQ), torch.randn(B, S, DK), torch.randperm(S)
    context, weights = attend(additive_score(query, outputs, W_q, W_k, v), outputs)
    moved, moved_weights = attend(additive_score(query, outputs[:, order], W_q, W_k, v), outputs[:, order])
    torch.testing.assert_close(moved, context)
    torch.testing.assert_close(moved_weights, weights[..., order])


def test_context_is_the_weighted_sum():
    weights, value = torch.softmax(torch.randn(B, T, S), -1), torch.randn(B, S, DK)
    slow = torch.stack([
        torch.stack([sum(w * x for w, x in zip(row, value[b], strict=True)) for row in weights[b]]) for b in range(B)
    ])  # fmt: skip
    torch.testing.assert_close(context_vector(weights, value), slow)


@pytest.mark.parametrize("mask", [torch.ones(B, 1, S), torch.ones(B, 1, S, dtype=torch.int64)])
def test_a_mask_that_is_not_boolean_is_refused(mask):
    with pytest.raises(TypeError, match="bool"):
        masked_softmax(torch.randn(B, T, S), mask)


MASKS = {
    "none": None,
    "one for all": torch.tensor([True, True, False, True, False]),
    "row by row": torch.tensor([[True] * 5, [False, True, False, False, False], [False, False, True, True, True]]),
    "an empty row": torch.tensor([[True, False, True, False, True], [False] * 5, [True] * 5]),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_attention_equals_a_loop_in_value_and_gradient(mask):
    scores, value = torch.randn(T, S, requires_grad=True), torch.randn(S, DK, requires_grad=True)
    allowed = torch.ones(T, S, dtype=torch.bool) if mask is None else mask.expand(T, S)
    contexts, rows = [], []
    for t in range(T):
        total = sum((scores[t, s].exp() for s in range(S) if allowed[t, s]), torch.zeros(()))
        row = [scores[t, s].exp() / total if allowed[t, s] else torch.zeros(()) for s in range(S)]
        rows.append(torch.stack(row))
        contexts.append(sum(row[s] * value[s] for s in range(S)))
    slow = torch.stack(contexts), torch.stack(rows)
    fast = attend(scores, value, mask)
    torch.testing.assert_close(fast, slow)
    torch.testing.assert_close(fast[1].sum(-1), allowed.any(-1).double())
    directions = [torch.randn_like(result) for result in slow]
    torch.testing.assert_close(
        torch.autograd.grad(fast, [scores, value], directions), torch.autograd.grad(slow, [scores, value], directions)
    )


def test_a_mask_may_have_more_axes_than_the_scores():
    mask = torch.tensor([[[True, False, True, True, True]], [[False, True, False, False, False]]])  # (2, 1, S)
    weights = masked_softmax(torch.randn(T, S), mask)
    assert weights.shape == (2, T, S) and weights[1].tolist() == [[0, 1, 0, 0, 0]] * T


@pytest.mark.parametrize("kind", SCORES)
def test_leading_axes_broadcast_and_each_pair_stands_alone(kind):
    weights = parameters(kind)
    query, key = torch.randn(T, DK if kind == "dot" else DQ), torch.randn(B, S, DK)
    scores = SCORES[kind](query, key, *weights)
    torch.testing.assert_close(scores, SCORES[kind](query.expand(B, -1, -1), key, *weights))
    one = SCORES[kind](query[1:2], key[:, 3:4], *weights)
    torch.testing.assert_close(one, scores[:, 1:2, 3:4])


def test_features_projected_once_give_the_additive_score():
    W_q, W_k, v = parameters("additive")
    query, key = torch.randn(B, T, DQ), torch.randn(B, S, DK)
    torch.testing.assert_close(compare_features(query @ W_q, key @ W_k, v), additive_score(query, key, W_q, W_k, v))


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_scores_keep_the_dtype_and_the_arguments(kind, dtype):
    arguments = [torch.randn(B, T, DK if kind == "dot" else DQ), torch.randn(B, S, DK), *parameters(kind)]
    arguments = [argument.detach().to(dtype) for argument in arguments]
    copies = [argument.clone() for argument in arguments]
    scores = SCORES[kind](*arguments)
    assert scores.dtype == dtype and all(map(torch.equal, arguments, copies))
    rounding = 30 * torch.finfo(dtype).eps
    exact = SCORES[kind](*[argument.double() for argument in arguments])
    torch.testing.assert_close(scores.double(), exact, atol=rounding, rtol=rounding)
    strided = [argument.mT.contiguous().mT if argument.dim() > 1 else argument for argument in arguments]
    torch.testing.assert_close(SCORES[kind](*strided), scores, atol=rounding, rtol=rounding)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", SCORES)
def test_cuda_equals_cpu(kind):
    arguments = [torch.randn(B, T, DK if kind == "dot" else DQ), torch.randn(B, S, DK), *parameters(kind)]
    value, mask = torch.randn(B, S, DK), MASKS["an empty row"]
    expected = attend(SCORES[kind](*arguments), value, mask)
    got = attend(SCORES[kind](*[argument.cuda() for argument in arguments]), value.cuda(), mask.cuda())
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, atol=1e-9, rtol=1e-7)

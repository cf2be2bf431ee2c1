"""Exercise `context_vector`: the mean of the encoder states, weighted anew at every step."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free


def context_vector(weights, values):
    """c = sum over j of weight_j · value_j.

    weights: (B, S), each row summing to 1. values: (B, S, D). Returns (B, D).
    """
    return (weights.unsqueeze(1) @ values).squeeze(1)  # (B, 1, S) @ (B, S, D)


def cases(generator):
    """Unequal sizes, one row, one position, one feature, then S = D and B = S."""

    def arguments(B, S, D):
        scores = 1.5 * torch.randn(B, S, generator=generator, dtype=torch.float64)
        return torch.softmax(scores, -1), torch.randn(B, S, D, generator=generator, dtype=torch.float64)

    yield Case("two rows", arguments(2, 3, 5))
    yield Case("one row", arguments(1, 4, 3))
    yield Case("one source position", arguments(3, 1, 4))
    yield Case("one feature", arguments(2, 4, 1))
    yield Case("S = D", arguments(2, 4, 4), group="S = D")
    yield Case("B = S = D", arguments(3, 3, 3), group="all equal")


@mistake(
    "Every position counts the same: this is the plain mean of the values. Where do the weights enter?",
    source="mean pooling; the attention is computed and never used",
)
def plain_mean(weights, values):
    return values.mean(1)


@mistake(
    "The values are only added up, as if every weight were 1. By what should each one be multiplied?",
    source="A013: with a softmax over an axis of length 1 all weights are 1",
)
def plain_sum(weights, values):
    return values.sum(1)


@mistake(
    "Only the value with the largest weight is taken: no gradient reaches the weights, so nobody learns where to look. "
    "What makes attention differentiable?",
    source="hard attention taken for soft",
)
def hard(weights, values):
    return values[torch.arange(len(values)), weights.argmax(1)]


@mistake(
    "The weights were multiplied onto the features instead of the source positions; S = D hides it. "
    "To which axis of `values` do the weights belong?",
    source="broadcasting aligns from the right: (B, 1, S) against (B, S, D)",
)
def weighted_features(weights, values):
    return (weights.unsqueeze(1) * values).sum(1)


@mistake(
    "The weighted values are there, but they were never added up. Over which axis does the sum run?",
    source="`weights.unsqueeze(-1) * values` looks finished",
)
def not_summed(weights, values):
    return weights.unsqueeze(-1) * values


@mistake(
    "The sum runs over the features, so one number a position is left. Which axis should disappear?",
    source="`sum(-1)` by habit",
)
def summed_over_features(weights, values):
    return (weights.unsqueeze(-1) * values).sum(-1)


@mistake(
    "After the weighted sum you divide by S as well: the weights sum to 1 already. What is a weighted mean divided by?",
    source="B001's sister: `.mean(1)` where `.sum(1)` is meant",
)
def divided_again(weights, values):
    return (weights.unsqueeze(-1) * values).mean(1)


@mistake(
    "`weights @ values` treats the whole batch of weights as one matrix: each row meets the values of every row, and "
    "the result has an axis too many. Which axis must the weights get before the product?",
    source="matmul broadcasts batches: (B, S) @ (B, S, D) is (B, B, D)",
)
def batch_against_batch(weights, values):
    return weights @ values


@mistake(
    "`squeeze()` without a dim drops every axis of length 1: with a batch of one, or one feature, the shape changes. "
    "Which axis is it that should go?",
    source="`squeeze()` in tutorials written for batches above one",
)
def squeezed_too_far(weights, values):
    return (weights.unsqueeze(1) @ values).squeeze()


@mistake(
    "The weights go through another softmax, which flattens them. What were they before they came to you?",
    source="A101's sister: softmax twice",
)
def softmax_again(weights, values):
    return context_vector(torch.softmax(weights, -1), values)


@mistake(
    "The largest weighted entry is taken, feature by feature, instead of their sum. Which operation mixes values?",
    source="A063: max-pooling where a weighted sum is meant",
)
def largest(weights, values):
    return (weights.unsqueeze(-1) * values).max(1).values


@mistake(
    "The weights carry no gradient: the model can never learn where to look. Which line cuts them from the graph?",
    source="weights detached for a plot, and used afterwards",
)
def detached_weights(weights, values):
    return context_vector(weights.detach(), values)


def by_sum(weights, values):
    return (weights[..., None] * values).sum(dim=-2)


def by_einsum(weights, values):
    return torch.einsum("bs,bsd->bd", weights, values)


def by_loop(weights, values):
    context = torch.zeros_like(values[:, 0])
    for j in range(values.shape[1]):
        context = context + weights[:, j : j + 1] * values[:, j]
    return context


def by_columns(weights, values):
    return torch.matmul(values.mT, weights.unsqueeze(2))[..., 0]


EXERCISE = Exercise(
    name="context_vector",
    reference=context_vector,
    cases=cases,
    laws=(rows_independent({0, 1}), source_order_free((0, 1), ())),
    mistakes=(
        plain_mean, plain_sum, hard, weighted_features, not_summed, summed_over_features, divided_again,
        batch_against_batch, squeezed_too_far, softmax_again, largest, detached_weights,
    ),
    accepts=(by_sum, by_einsum, by_loop, by_columns),
    hints=(
        "Each of the S values is multiplied by its own weight, one number; then they are added up over the source.",
        "`weights.unsqueeze(-1)` is (B, S, 1) and multiplies all features of a position alike.",
        "As one product: (B, 1, S) @ (B, S, D) is (B, 1, D).",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

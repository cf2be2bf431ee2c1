"""Exercise `scaled_dot_product_attention`: equation 1 of Vaswani et al. 2017."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import reordered, rows_independent

from .attention_scale import mixture, scaled_by_width
from .soft_lookup import batched, lookups


def scaled_dot_product_attention(query, key, value):
    """softmax(Q K^T / √d_k) V. query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv).

    Returns the output (..., T, Dv) and the weights (..., T, S): rows are queries, columns are keys.
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, S)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def cases(generator):
    """The lookups with stronger queries, so that scores differ by several units; then scores near 10,000."""
    for i, (label, group, (query, key, value)) in enumerate(lookups(generator)):
        yield Case(label, (2 * query, key, value), group=group, gradient=i < 6)
    # Multiples of 1/2 and √16 are exact in float32 too, so a float32 answer stays right.
    query, key = (torch.randint(-4, 5, (2, n, 16), generator=generator).to(torch.float64) / 2 for n in (3, 5))
    query[..., 0], key[..., 0] = 200.0, 200.0
    value = torch.randn(2, 5, 6, generator=generator, dtype=torch.float64)
    yield Case("scores near 10,000", (query, key, value), group="large scores")


def attend(query, key, value, divide_by=None, to_weights=lambda scores: scores.softmax(-1)):
    """What most of the wrong versions below share."""
    weights = to_weights(query @ key.mT / (divide_by or query.shape[-1] ** 0.5))
    return weights @ value, weights


@mistake(
    "The scores are not scaled: the wider the keys, the closer each row of weights comes to a single 1. "
    "What grows with d_k, and what did `attention_scale` do about it?",
    source="dot-product attention of lesson 3, kept as it was",
)
def no_scale(query, key, value):
    return attend(query, key, value, 1)


@mistake(
    "Divided by d_k, not by its root, scores come out too even. Which of the two brings their variance to 1?",
    source="E-scale; or a mean of products, `(q * k).mean(-1)`",
)
def divided_by_width(query, key, value):
    return attend(query, key, value, query.shape[-1])


@mistake(
    "The root multiplies the scores: all weight goes to one key. Is d_k ** -0.5 a factor, or something to divide by?",
    source="A024",
)
def multiplied_by_root(query, key, value):
    return attend(query, key, value, query.shape[-1] ** -0.5)


@mistake(
    "The root is taken of the values' width, which plays no part in a score. How many entries does q · k add up?",
    source="A023's kin: a width at hand, not that of one query; d_v = d_k hides it",
)
def root_of_value_width(query, key, value):
    return attend(query, key, value, math.sqrt(value.shape[-1]))


@mistake(
    "The root is that of S, the number of keys. Which axis of `key` is summed over in q · k?",
    source="A023's kin: `key.shape[-2]`, or the root of the scores' last axis",
)
def root_of_key_count(query, key, value):
    return attend(query, key, value, math.sqrt(key.shape[-2]))


@mistake(
    "The scale comes after the softmax: each row sums to less than 1, and is as sharp as without it. "
    "On which side of the softmax does a factor change how weight is shared?",
    source="operator order: `softmax(q @ k.mT) / math.sqrt(d_k)`",
)
def scaled_after_softmax(query, key, value):
    return attend(query, key, value, 1, lambda scores: scores.softmax(-1) / math.sqrt(query.shape[-1]))


@mistake(
    "The queries share out each key: columns sum to 1, rows do not. Along which axis of (T, S) does a query choose?",
    source="A026",
)
def over_queries(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: torch.softmax(scores, dim=-2))


@mistake(
    "The softmax runs over axis 1, which is the keys only without a batch: with one axis more it is the queries, with "
    "two more the heads. Which index means the keys whatever stands in front?",
    source="E-axis: `dim=1` from an example with two axes; A020",
)
def over_axis_one(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: torch.softmax(scores, dim=1))


@mistake(
    "These are the scores K Q^T: a row belongs to a key, which only T = S lets through. Which factor gives the rows?",
    source="the factors exchanged: (S, T) for (T, S); labels of rows and columns mixed up",
)
def transposed_scores(query, key, value):
    return attend(key, query, value)


@mistake(
    "The weights mix the keys; the values are never read. What does a token hand over once its key has been found?",
    source="value ignored, one and the same tensor before this lesson (hmdolatabadi/denoising_diffusion#1)",
)
def keys_mixed(query, key, value):
    return attend(query, key, key)


@mistake(
    "`.T` reverses all axes, the batch included. Which attribute exchanges the last two alone, with any in front?",
    source="numpy habit: `.T` from an example without a batch",
)
def reversed_axes(query, key, value):
    weights = torch.softmax(query @ key.T / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@mistake(
    "Each weight is a sigmoid of its own score, so keys do not compete. Which function makes a row share one whole?",
    source="gates of an LSTM in mind; A013 is the same slip, each key by itself",
)
def sigmoid(query, key, value):
    return attend(query, key, value, to_weights=torch.sigmoid)


@mistake(
    "The scaled scores serve as weights: some are negative, and no row sums to 1. What turns scores into shares?",
    source="E-weights",
)
def scores_as_weights(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores)


@mistake(
    "The softmax is taken twice, which makes the weights nearly even. What goes into a softmax, scores or weights?",
    source="A101's sister: a helper that has applied it already",
)
def softmax_twice(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.softmax(-1).softmax(-1))


@mistake(
    "Exponentials of scores near 10,000 overflow, and inf/inf is NaN. Which function of lesson 0 takes care of that?",
    source="A028",
)
def no_maximum(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))


@mistake(
    "These are cosines: the lengths of q and k are divided out. Does the divisor of equation 1 depend on the entries?",
    source="'similarity' taken for cosine similarity; its two lengths stand where √d_k should",
)
def cosine(query, key, value):
    return attend(functional.normalize(query, dim=-1), functional.normalize(key, dim=-1), value, 1)


@mistake(
    "The axis before the tokens is attended over: sentences of a batch look at one another, each at the same place. "
    "Which axis of `query` counts the tokens?",
    source="A129: sequence-first code on batch-first tensors; heads and tokens not exchanged",
)
def across_the_batch(query, key, value):
    output, weights = attend(*(each.transpose(-3, -2) for each in (query, key, value)))
    return output.transpose(-3, -2), weights


@mistake(
    "The values are right, but the weights are cut from the graph: only the values learn, nobody learns where to look. "
    "Which line detaches them, and can a plot take a copy instead?",
    source="`weights.detach()` for a heat map, then used for the output as well",
)
def detached_weights(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.softmax(-1).detach())


def scaled_queries(query, key, value):
    """Control C01: the queries are scaled before the product."""
    weights = torch.softmax((query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1), dim=-1)
    return weights.matmul(value), weights


def by_einsum(query, key, value):
    weights = (torch.einsum("...td,...sd->...ts", query, key) / query.shape[-1] ** 0.5).log_softmax(-1).exp()
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def row_by_row(query, key, value):
    rows = [(key * q[..., None, :]).sum(-1) / math.sqrt(key.shape[-1]) for q in query.unbind(-2)]  # T times (..., S)
    powers = [torch.exp(row - row.amax(-1, keepdim=True)) for row in rows]
    weights = torch.stack([power / power.sum(-1, keepdim=True) for power in powers], dim=-2)
    return torch.stack([(row.unsqueeze(-1) * value).sum(-2) for row in weights.unbind(-2)], dim=-2), weights


def by_baddbmm(query, key, value):
    q, k, v = (each.reshape(-1, *each.shape[-2:]) for each in (query, key, value))
    weights = torch.baddbmm(q.new_zeros(()), q, k.mT, beta=0, alpha=key.shape[-1] ** -0.5).softmax(dim=2)
    return torch.bmm(weights, v).view(*query.shape[:-1], -1), weights.view(*query.shape[:-1], -1)


def by_fused_kernel(query, key, value):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return functional.scaled_dot_product_attention(query, key, value), (scores - scores.logsumexp(-1, True)).exp()


EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    reference=scaled_dot_product_attention,
    cases=cases,
    laws=(
        scaled_by_width,
        mixture,
        batched(rows_independent({0, 1, 2})),
        reordered("keys in any order", {1: (-2,), 2: (-2,)}, {1: (-1,)}, "Which line knows where a key stands?"),
        reordered("queries in any order", {0: (-2,)}, {0: (-2,), 1: (-2,)}, "Where do queries meet?"),
    ),
    mistakes=(
        no_scale, divided_by_width, multiplied_by_root, root_of_value_width, root_of_key_count, scaled_after_softmax,
        over_queries, over_axis_one, transposed_scores, keys_mixed, reversed_axes, sigmoid, scores_as_weights,
        softmax_twice, no_maximum, cosine, across_the_batch, detached_weights,
    ),
    accepts=(scaled_queries, by_einsum, row_by_row, by_baddbmm, by_fused_kernel),
    hints=(
        "Compare all queries with all keys, scale, softmax along each row, mix the values. Return both results.",
        "`query @ key.mT` is (..., T, S); `.mT` exchanges the last two axes, whatever comes before them.",
        "Divide by the square root of the width over which the products are summed, before the softmax over `dim=-1`.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
    forbidden=("torch.nn.functional.scaled_dot_product_attention",),
)  # fmt: skip

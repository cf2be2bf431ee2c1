"""Exercise `scaled_dot_product_attention`: equation 1 of Vaswani et al. 2017."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import batched, reordered, rows_independent
from course_lib.exercises.attention_laws import mixture, scaled_by_width

from .scaled_dot_product_attention_mistakes import MISTAKES
from .soft_lookup import lookups


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
    mistakes=MISTAKES,
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

"""Exercise `concat_score`: query and key side by side through one matrix (Luong et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free


def concat_score(query, key, W, v):
    """e_j = v^T tanh([q; k_j] W) for every source position j.

    query: (B, Dq). key: (B, S, Dk). W: (Dq + Dk, A). v: (A,). Returns scores (B, S).
    """
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)  # (B, S, Dq)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W) @ v  # (B, S, A) @ (A,)


def cases(generator):
    """Unequal sizes, one row, one position, then equal widths, S = A and all equal."""

    def arguments(B, S, Dq, Dk, A):
        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        return draw(B, Dq), draw(B, S, Dk), draw(Dq + Dk, A), draw(A)

    yield Case("two rows", arguments(2, 3, 5, 4, 6))
    yield Case("one row", arguments(1, 4, 3, 2, 5))
    yield Case("one source position", arguments(3, 1, 2, 4, 5))
    yield Case("equal widths", arguments(2, 4, 3, 3, 5), group="equal widths")
    yield Case("S = A", arguments(2, 5, 3, 4, 5), group="S = A")
    yield Case("Dq + Dk = A, as many rows as positions", arguments(4, 4, 3, 2, 5), group="square W")
    yield Case("all sizes 3", arguments(3, 3, 3, 3, 3), group="all equal")


@mistake(
    "tanh is missing: the query's part is then the same for every position and cancels in the softmax. "
    "What stands between W and v?",
    source="A019's sister",
)
def no_tanh(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.cat([repeated, key], dim=-1) @ W @ v


@mistake(
    "Key and query are joined in the other order; W knows which rows are whose. What comes first in [q; k]?",
    source="the order of a concatenation is arbitrary for a new model, not for weights that exist",
)
def joined_the_other_way(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.tanh(torch.cat([key, repeated], dim=-1) @ W) @ v


@mistake(
    "v is never used: the features are only added up. What weighs them against one another?",
    source="a sum over the last axis gives the right shape",
)
def no_v(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W).sum(-1)


@mistake(
    "tanh comes after v: scores are squeezed between -1 and 1. Which comes first, tanh or v?",
    source="operator order",
)
def tanh_last(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W @ v)


@mistake(
    "tanh is applied before W: the parts are squashed one by one and never meet inside it. What goes into tanh?",
    source="operator order",
)
def tanh_first(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.tanh(torch.cat([repeated, key], dim=-1)) @ W @ v


@mistake(
    "The query is repeated along the batch, not along the source: position j of every row gets the query of row j. "
    "Which axis should `expand` fill?",
    source="`query.expand(B, S, D)` aligns the batch with the source; B = S hides it",
)
def query_along_batch(query, key, W, v):
    repeated = query.unsqueeze(0).expand(key.shape[0], -1, -1)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W) @ v


@mistake(
    "There is an axis of length 1 left at the end; softmax over it would make every weight 1. Which product drops it?",
    source="A013",
)
def extra_axis(query, key, W, v):
    return concat_score(query, key, W, v).unsqueeze(-1)


@mistake(
    "W is transposed: with a square W nothing complains. Which axis of W is as long as [q; k]?",
    source="torch keeps weights as (out, in)",
)
def transposed(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return torch.tanh(torch.cat([repeated, key], dim=-1) @ W.T) @ v


@mistake(
    "The softmax is already inside: these are weights. What is a score before it becomes a weight?",
    source="score and weight mixed up",
)
def weights_instead(query, key, W, v):
    return torch.softmax(concat_score(query, key, W, v), dim=-1)


@mistake(
    "The features are added up over the source instead of over A. Which axis does v belong to?",
    source="the axis that happens to have the right length",
)
def summed_over_source(query, key, W, v):
    repeated = query.unsqueeze(1).expand(-1, key.shape[1], -1)
    return (torch.tanh(torch.cat([repeated, key], dim=-1) @ W) * v).sum(1)


def by_two_projections(query, key, W, v):
    """It is the additive score, with the two matrices stacked."""
    W_q, W_k = W.split([query.shape[-1], key.shape[-1]])
    return torch.tanh((query @ W_q)[:, None] + key @ W_k) @ v


def by_loop(query, key, W, v):
    return torch.stack([torch.tanh(torch.cat([query, k], -1) @ W) @ v for k in key.unbind(1)], dim=1)


def by_einsum(query, key, W, v):
    both = torch.cat([query[:, None].repeat(1, key.shape[1], 1), key], 2)
    return torch.einsum("bsa,a->bs", torch.einsum("bsd,da->bsa", both, W).tanh(), v)


EXERCISE = Exercise(
    name="concat_score",
    reference=concat_score,
    cases=cases,
    laws=(rows_independent({0, 1}), source_order_free((1,), (0,))),
    mistakes=(
        no_tanh, joined_the_other_way, no_v, tanh_last, tanh_first, query_along_batch, extra_axis, transposed,
        weights_instead, summed_over_source,
    ),
    accepts=(by_two_projections, by_loop, by_einsum),
    hints=(
        "Put the query beside each key: it must be repeated along the source.",
        "`query.unsqueeze(1).expand(-1, key.shape[1], -1)` is (B, S, Dq) without copying.",
        "Then W, tanh and v, in this order.",
    ),
    minutes=6,
    difficulty=2,
    points=1,
)  # fmt: skip

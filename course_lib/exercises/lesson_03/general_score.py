"""Exercise `general_score`: a learned matrix between query and key (Luong et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free


def general_score(query, key, W):
    """e_j = q W k_j for every source position j.

    query: (B, Dq). key: (B, S, Dk), the widths may differ. W: (Dq, Dk). Returns scores (B, S).
    """
    return (key @ (query @ W).unsqueeze(-1)).squeeze(-1)  # (B, S, Dk) @ (B, Dk, 1)


def cases(generator):
    """Unequal sizes, one row, one position, then equal widths, B = S and all equal."""

    def arguments(B, S, Dq, Dk):
        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        return draw(B, Dq), draw(B, S, Dk), draw(Dq, Dk)

    yield Case("two rows", arguments(2, 3, 5, 4))
    yield Case("one row", arguments(1, 4, 3, 2))
    yield Case("one source position", arguments(3, 1, 2, 4))
    yield Case("equal widths", arguments(2, 4, 3, 3), group="equal widths")
    yield Case("as many rows as positions", arguments(4, 4, 3, 2), group="B = S")
    yield Case("all sizes 3", arguments(3, 3, 3, 3), group="all equal")


@mistake(
    "W is transposed: with equal widths nothing complains. Which axis of W must meet the query?",
    source="a square matrix hides a transposition; torch keeps weights as (out, in)",
)
def transposed(query, key, W):
    return (key @ (query @ W.T).unsqueeze(-1)).squeeze(-1)


@mistake(
    "W is never used: that is the dot score, and it needs equal widths. What lets query and key differ in width?",
    source="W forgotten; equal widths hide it",
)
def no_matrix(query, key, W):
    return (key @ query.unsqueeze(-1)).squeeze(-1)


@mistake(
    "W is applied to both sides. How often does W stand in q W k?",
    source="both sides projected, as the additive score does",
)
def matrix_on_both(query, key, W):
    return ((key @ W) @ (query @ W).unsqueeze(-1)).squeeze(-1)


@mistake(
    "There is a tanh around the projected query: that belongs to the additive score. Is this one linear in the query?",
    source="mixing up the two families of scores",
)
def tanh_inside(query, key, W):
    return (key @ torch.tanh(query @ W).unsqueeze(-1)).squeeze(-1)


@mistake(
    "The score is divided by the square root of the width: that is the Transformer's scaling. "
    "What does the score of Luong et al. divide by?",
    source="scaled dot-product attention by habit",
)
def scaled(query, key, W):
    return general_score(query, key, W) / key.shape[-1] ** 0.5


@mistake(
    "The projected query has no axis for the source: with B = S, position j of every row meets the query of row j. "
    "Where does `unsqueeze` put the new axis?",
    source="broadcasting aligns from the right; B = S hides the error",
)
def query_without_axis(query, key, W):
    return ((query @ W) * key).sum(-1)


@mistake(
    "Every query meets the keys of every row: the result is (B, B, S). Which rows belong together?",
    source="matmul broadcasts batches",
)
def batch_against_batch(query, key, W):
    return (query @ W) @ key.mT


@mistake(
    "The products are there, but they were never added up. Over which axis does the score sum?",
    source="`(query @ W).unsqueeze(1) * key` looks finished",
)
def not_summed(query, key, W):
    return (query @ W).unsqueeze(1) * key


@mistake(
    "The softmax is already inside: these are weights. What is a score before it becomes a weight?",
    source="score and weight mixed up",
)
def weights_instead(query, key, W):
    return torch.softmax(general_score(query, key, W), dim=-1)


@mistake(
    "The sum runs over the source positions: one number a feature is left. Which axis do projected query and key "
    "share?",
    source="`sum(1)` instead of `sum(-1)`",
)
def summed_over_source(query, key, W):
    return ((query @ W).unsqueeze(1) * key).sum(1)


def by_einsum(query, key, W):
    return torch.einsum("bq,qk,bsk->bs", query, W, key)


def keys_first(query, key, W):
    return ((key @ W.T) * query.unsqueeze(1)).sum(dim=2)


def by_bilinear(query, key, W):
    B, S, Dk = key.shape
    repeated = query.unsqueeze(1).expand(B, S, -1).reshape(B * S, -1)
    return torch.nn.functional.bilinear(repeated, key.reshape(B * S, Dk), W.unsqueeze(0)).view(B, S)


def by_loop(query, key, W):
    return torch.stack([(query * (key[:, j] @ W.T)).sum(-1) for j in range(key.shape[1])], dim=-1)


EXERCISE = Exercise(
    name="general_score",
    reference=general_score,
    cases=cases,
    laws=(rows_independent({0, 1}), source_order_free((1,), (0,))),
    mistakes=(
        transposed, no_matrix, matrix_on_both, tanh_inside, scaled, query_without_axis, batch_against_batch, not_summed,
        weights_instead, summed_over_source,
    ),
    accepts=(by_einsum, keys_first, by_bilinear, by_loop),
    hints=(
        "First bring the query into the keys' space with W, then it is a dot product.",
        "`query @ W` is (B, Dk), as wide as a key.",
        "It needs an axis for the source before it meets the keys (B, S, Dk).",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

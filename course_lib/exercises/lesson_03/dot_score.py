"""Exercise `dot_score`: the simplest score there is (Luong et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free


def dot_score(query, key):
    """e_j = q · k_j for every source position j. query: (B, D). key: (B, S, D). Returns scores (B, S)."""
    return (key @ query.unsqueeze(-1)).squeeze(-1)  # (B, S, D) @ (B, D, 1)


def cases(generator):
    """Unequal sizes, one row, one position, one feature, then B = S, S = D and all equal."""

    def arguments(B, S, D):
        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        return draw(B, D), draw(B, S, D)

    yield Case("two rows", arguments(2, 3, 5))
    yield Case("one row", arguments(1, 4, 3))
    yield Case("one source position", arguments(3, 1, 4))
    yield Case("one feature", arguments(2, 4, 1))
    yield Case("as many rows as positions", arguments(4, 4, 3), group="B = S")
    yield Case("S = D", arguments(2, 4, 4), group="S = D")
    yield Case("all sizes 3", arguments(3, 3, 3), group="all equal")


@mistake(
    "The score is divided by the square root of the width: that is the Transformer's scaling, three lessons on. "
    "What does the plain dot product of Luong et al. divide by?",
    source="scaled dot-product attention by habit",
)
def scaled(query, key):
    return dot_score(query, key) / query.shape[-1] ** 0.5


@mistake(
    "These are cosines: both vectors were brought to length 1, so how strongly a state speaks is lost. "
    "What does a dot product keep that a cosine drops?",
    source="cosine similarity and dot product mixed up",
)
def cosine(query, key):
    return torch.nn.functional.cosine_similarity(query.unsqueeze(1), key, dim=-1)


@mistake(
    "These are distances with a minus sign, not dot products. Which operation multiplies entry by entry and adds up?",
    source="'how similar' read as 'how near'",
)
def negative_distance(query, key):
    return -(query.unsqueeze(1) - key).norm(dim=-1)


@mistake(
    "The products of the entries are there, but they were never added up. Over which axis does the dot product sum?",
    source="`query.unsqueeze(1) * key` looks finished",
)
def not_summed(query, key):
    return query.unsqueeze(1) * key


@mistake(
    "The sum runs over the source positions: one number a feature is left. Which axis do query and key share?",
    source="`sum(1)` instead of `sum(-1)`",
)
def summed_over_source(query, key):
    return (query.unsqueeze(1) * key).sum(1)


@mistake(
    "The query has no axis for the source, so it lines up with the wrong one: with B = S, position j of every row is "
    "compared with the query of row j. Where does `unsqueeze` put the new axis?",
    source="broadcasting aligns from the right; B = S hides the error",
)
def query_without_axis(query, key):
    return (query * key).sum(-1)


@mistake(
    "Every query meets the keys of every row: the result is (B, B, S). Which rows belong together?",
    source="matmul broadcasts batches: (B, D) @ (B, D, S)",
)
def batch_against_batch(query, key):
    return query @ key.mT


@mistake(
    "The mean of the products is taken: scores shrink as the width grows. What does a dot product do with them?",
    source="`mean(-1)` for `sum(-1)`",
)
def mean_of_products(query, key):
    return (query.unsqueeze(1) * key).mean(-1)


@mistake(
    "The softmax is already inside: these are weights. What is a score before it becomes a weight?",
    source="score and weight mixed up",
)
def weights_instead(query, key):
    return torch.softmax(dot_score(query, key), dim=-1)


@mistake(
    "The keys are compared with the query's first entry only. How many entries take part in a dot product?",
    source="`query[:, :1]` from slicing where `unsqueeze` is meant",
)
def first_entry_alone(query, key):
    return key[:, :, 0] * query[:, :1]


def by_sum(query, key):
    return (query[:, None, :] * key).sum(-1)


def by_einsum(query, key):
    return torch.einsum("bd,bsd->bs", query, key)


def by_bmm(query, key):
    return torch.bmm(query.unsqueeze(1), key.transpose(1, 2))[:, 0]


def by_loop(query, key):
    return torch.stack([torch.stack([q.dot(k) for k in keys]) for q, keys in zip(query, key, strict=True)])


EXERCISE = Exercise(
    name="dot_score",
    reference=dot_score,
    cases=cases,
    laws=(rows_independent({0, 1}), source_order_free((1,), (0,))),
    mistakes=(
        scaled, cosine, negative_distance, not_summed, summed_over_source, query_without_axis, batch_against_batch,
        mean_of_products, weights_instead, first_entry_alone,
    ),
    accepts=(by_sum, by_einsum, by_bmm, by_loop),
    hints=(
        "Multiply entry by entry and add up over the features that query and key share.",
        "The query (B, D) needs an axis for the source: `query.unsqueeze(1)` is (B, 1, D).",
        "As one product: (B, S, D) @ (B, D, 1) is (B, S, 1).",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

"""Exercise `additive_score`: how well the decoder's state fits each encoder state (Bahdanau et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free


def additive_score(query, key, W_q, W_k, v):
    """e_j = v^T tanh(W_q q + W_k k_j) for every source position j.

    query: (B, Dq). key: (B, S, Dk). W_q: (Dq, A). W_k: (Dk, A). v: (A,). Returns scores (B, S).
    """
    features = torch.tanh((query @ W_q).unsqueeze(1) + key @ W_k)  # (B, S, A)
    return features @ v


def cases(generator):
    """Unequal sizes, one row, one source position, then sizes that coincide in every pair that can be mixed up."""

    def arguments(B, S, Dq, Dk, A):
        sizes = ((B, Dq), (B, S, Dk), (Dq, A), (Dk, A), (A,))
        return tuple(torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes)

    yield Case("two queries, 3 source positions", arguments(2, 3, 4, 5, 6))
    yield Case("one query", arguments(1, 4, 3, 2, 5))
    yield Case("one source position", arguments(3, 1, 2, 4, 5))
    yield Case("query and key equally wide", arguments(2, 4, 3, 3, 5), group="equal widths")
    yield Case("as many queries as source positions", arguments(4, 4, 3, 2, 5), group="B = S")
    yield Case("S = A", arguments(2, 5, 3, 4, 5), group="S = A")
    yield Case("all sizes 3", arguments(3, 3, 3, 3, 3), group="all equal")


@mistake(
    "tanh is missing: without it the score is a sum of one term from the query and one from the key, and the query's "
    "term is the same for every position, so it cancels in the softmax. What makes query and key work together?",
    source="the two projections look complete; A019 is the same slip in the combined projection",
)
def no_tanh(query, key, W_q, W_k, v):
    return ((query @ W_q).unsqueeze(1) + key @ W_k) @ v


@mistake(
    "The encoder states never enter the score: every position of a row gets the same number. "
    "Which argument says what stands at position j?",
    source="A012",
)
def query_alone(query, key, W_q, W_k, v):
    return (torch.tanh(query @ W_q) @ v).unsqueeze(1).expand(-1, key.shape[1])


@mistake(
    "The query never enters: the same words are looked at whatever is being written. What asks the question here?",
    source="a fixed attention over the source, taken from text classification",
)
def key_alone(query, key, W_q, W_k, v):
    return torch.tanh(key @ W_k) @ v


@mistake(
    "tanh is applied to each projection before they are added: query and key no longer meet inside it, and the query "
    "cancels in the softmax. Around which sum does tanh stand?",
    source="operator order: the bracket closes too early",
)
def tanh_of_each(query, key, W_q, W_k, v):
    return (torch.tanh(query @ W_q).unsqueeze(1) + torch.tanh(key @ W_k)) @ v


@mistake(
    "The projections are multiplied, not added: that is a multiplicative score inside tanh. "
    "Which operation gave additive attention its name?",
    source="mixing up the two families of scores",
)
def product_inside(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_q).unsqueeze(1) * (key @ W_k)) @ v


@mistake(
    "tanh comes after v: scores are squeezed between -1 and 1, too flat for a choice. Which comes first, tanh or v?",
    source="operator order",
)
def tanh_last(query, key, W_q, W_k, v):
    return torch.tanh(((query @ W_q).unsqueeze(1) + key @ W_k) @ v)


@mistake(
    "v is never used: the features are only added up. What weighs them against one another?",
    source="a sum over the last axis gives the right shape",
)
def no_v(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_q).unsqueeze(1) + key @ W_k).sum(-1)


@mistake(
    "There is an axis of length 1 left at the end. A softmax over the last axis would make every weight 1. "
    "Which shape is asked for, and which operation drops an axis?",
    source="A013",
)
def extra_axis(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_q).unsqueeze(1) + key @ W_k) @ v.unsqueeze(-1)


@mistake(
    "The two matrices have changed places: W_q meets the keys and W_k the query. Equal widths hide it. "
    "Which one is (Dq, A)?",
    source="equal sizes hide exchanged arguments",
)
def exchanged(query, key, W_q, W_k, v):
    return torch.tanh((query @ W_k).unsqueeze(1) + key @ W_q) @ v


@mistake(
    "The query was added without an axis for the source, so with as many rows as positions it lines up with the wrong "
    "one: position j of every row gets the query of row j. Where does `unsqueeze` put the new axis?",
    source="broadcasting aligns from the right; B = S hides the error",
)
def query_without_axis(query, key, W_q, W_k, v):
    return torch.tanh(query @ W_q + key @ W_k) @ v


@mistake(
    "The features are added up over the source instead of over A. Which axis does v belong to?",
    source="A026's sister: the axis that happens to have the right length",
)
def summed_over_source(query, key, W_q, W_k, v):
    features = torch.tanh((query @ W_q).unsqueeze(1) + key @ W_k)  # (B, S, A)
    return (features * v.reshape(1, -1, 1)).sum(1)


@mistake(
    "The score is divided by a square root: that belongs to dot products, whose size grows with the width. "
    "Does the formula of this score divide by anything?",
    source="the scaling of the Transformer, applied by habit",
)
def scaled(query, key, W_q, W_k, v):
    return additive_score(query, key, W_q, W_k, v) / len(v) ** 0.5


@mistake(
    "ReLU stands where the formula has tanh: half of the features are silenced. Which function do Bahdanau et al. use?",
    source="ReLU by habit from feed-forward networks",
)
def relu(query, key, W_q, W_k, v):
    return torch.relu((query @ W_q).unsqueeze(1) + key @ W_k) @ v


@mistake(
    "The softmax is already inside: these are weights, and a second softmax would flatten them. "
    "What is a score before it becomes a weight?",
    source="score and weight mixed up; A101 is the same slip in a loss",
)
def weights_instead(query, key, W_q, W_k, v):
    return torch.softmax(additive_score(query, key, W_q, W_k, v), dim=-1)


def by_einsum(query, key, W_q, W_k, v):
    q, k = torch.einsum("bq,qa->ba", query, W_q), torch.einsum("bsk,ka->bsa", key, W_k)
    return torch.einsum("bsa,a->bs", torch.tanh(q[:, None] + k), v)


def by_concatenation(query, key, W_q, W_k, v):
    both = torch.cat([query.unsqueeze(1).expand(-1, key.shape[1], -1), key], dim=-1)
    return (torch.tanh(both @ torch.cat([W_q, W_k])) * v).sum(-1)


def by_loop(query, key, W_q, W_k, v):
    columns = [torch.tanh(query @ W_q + key[:, j] @ W_k) @ v for j in range(key.shape[1])]
    return torch.stack(columns, dim=1)


def with_a_bias_that_cancels(query, key, W_q, W_k, v):
    """Control C08: a constant added to every score is invisible after softmax; here it is 0."""
    bias = torch.zeros((), dtype=v.dtype)
    return (torch.tanh(torch.nn.functional.linear(key, W_k.T) + (query @ W_q)[:, None, :]) @ v[:, None])[..., 0] + bias


EXERCISE = Exercise(
    name="additive_score",
    reference=additive_score,
    cases=cases,
    laws=(rows_independent({0, 1}), source_order_free((1,), (0,))),
    mistakes=(
        no_tanh, query_alone, key_alone, tanh_of_each, product_inside, tanh_last, no_v, extra_axis, exchanged,
        query_without_axis, summed_over_source, scaled, relu, weights_instead,
    ),
    accepts=(by_einsum, by_concatenation, by_loop, with_a_bias_that_cancels),
    hints=(
        "Two projections into the same A features, one of the query, one of every key; then tanh; then v.",
        "`query @ W_q` is (B, A), `key @ W_k` is (B, S, A). The query needs an axis for the source: `unsqueeze(1)`.",
        "`features @ v` with features (B, S, A) and v (A,) is (B, S).",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

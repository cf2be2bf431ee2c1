"""Exercise `masked_attention`: scaled dot-product attention over the keys that each query may see."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, hidden_ignored, on, reordered
from course_lib.exercises.drawn_masks import patchy, up_to

from .masked_attention_mistakes import MISTAKES, scaled

FORBIDDEN = ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention")


def masked_attention(query, key, value, mask):
    """softmax(Q K^T / √d_k) V over the keys that each query may see.

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv). mask: bool, broadcastable to (..., T, S), True = may
    attend. A query without any allowed key gets weights and output 0. Returns output (..., T, Dv), weights (..., T, S).
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, S)
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(filled, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value, weights


def cases(generator):
    """Masks of every shape that broadcasts, sizes that coincide, scores far below 0, garbage, queries without a key."""

    def draw(*shape):
        return 1.3 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def tokens(T, S, Dk, Dv, *leading):
        return draw(*leading, T, Dk), draw(*leading, S, Dk), draw(*leading, S, Dv)

    def coarse(*shape):  # numbers of few digits: their products are exact, however large
        return torch.randint(-4, 5, shape, generator=generator).to(torch.float64) / 64

    causal = torch.ones(4, 4).tril().bool()
    yield Case("a mask for each query", (*tokens(3, 5, 6, 4, 2), patchy(2, 3, 5)), group="for each query")
    yield Case("padding of 2 and of 1", (*tokens(3, 5, 2, 4, 2), up_to(5, 3, 4)), group="padding")
    yield Case("one mask (T, S) for both rows", (*tokens(4, 5, 3, 2, 2), patchy(1, 4, 5)[0]), group="shared")
    yield Case("one mask (S,) for all queries", (*tokens(3, 4, 5, 2, 2), up_to(4, 3)[0, 0]), group="shared")
    yield Case("no batch axis", (*tokens(2, 4, 3, 5), patchy(1, 2, 4)[0]), group="no batch axis")
    hidden = up_to(4, 2, 3).unsqueeze(1)  # (B, 1, 1, S)
    yield Case("three heads, padding (B, 1, 1, S)", (*tokens(5, 4, 3, 6, 2, 3), hidden), group="heads")
    yield Case("three heads, (B, 1, T, S)", (*tokens(5, 4, 2, 6, 2, 3), patchy(2, 5, 4).unsqueeze(1)), group="heads")
    yield Case("one query, one key", (*tokens(1, 1, 3, 2, 1), up_to(1, 1)), group="one of each")
    yield Case("as many queries as keys, padding", (*tokens(4, 4, 3, 5, 2), up_to(4, 3, 2)), group="T = S")
    yield Case("as many queries as keys, causal", (*tokens(4, 4, 5, 3, 2), causal), group="T = S")
    yield Case("as many rows as queries", (*tokens(3, 4, 5, 2, 3), patchy(1, 3, 4)[0]), group="B = T")
    yield Case("every size 4", (*tokens(4, 4, 4, 4, 4), patchy(4, 4, 4)), group="all equal")
    yield Case("nothing hidden", (*tokens(3, 4, 2, 5, 2), torch.ones(3, 4).bool()), group="nothing hidden")
    # Twice, so that a fill that is too high differs from one of 0, and a NaN from below differs from any other NaN.
    for size, label in ((4.0, "-32"), (100.0, "-20,000")):
        low = (coarse(2, 3, 4) + size, coarse(2, 5, 4) - size, draw(2, 5, 3))
        yield Case(f"real scores near {label}", (*low, up_to(5, 3, 4)), group="low scores")
    query, key, value = tokens(3, 5, 2, 4, 2)
    shown, loud = up_to(5, 4, 2), 1e6 * query[:, :1]  # loud: the dot product with query 0 is enormous
    garbage = (query, torch.where(shown.mT, key, loud), value.masked_fill(~shown.mT, 1e6))
    yield Case("1,000,000 in the hidden keys and values", (*garbage, shown), group="garbage")
    nothing = patchy(2, 3, 5) & torch.tensor([True, False, True])[:, None]
    yield Case("a query without any key", (*tokens(3, 5, 6, 4, 2), nothing), group="no key left")
    yield Case("a row of padding alone", (*tokens(3, 4, 2, 5, 2), up_to(4, 3, 0)), group="no key left")


def query_first(query, key, value, mask):
    """Control C01: the queries are scaled, not the scores; rows without a key see all and are emptied afterwards."""
    some = mask.any(-1, keepdim=True)
    scores = torch.where(mask | ~some, (query * query.shape[-1] ** -0.5) @ key.mT, float("-inf"))
    weights = torch.where(some, scores.softmax(-1), 0.0)
    return weights.matmul(value), weights


def additive(query, key, value, mask):
    """Control C05: an additive mask with a constant on the allowed positions; the softmax does not see it."""
    bias = torch.where(mask, 1.0, torch.finfo(query.dtype).min / 2).to(query.dtype)
    weights = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5 + bias, dim=-1) * mask
    return weights @ value, weights


def painted_over(query, key, value, mask):
    """NaN rows set to 0: `masked_fill` lets no gradient through where it fills, so none is NaN."""
    weights = scaled(query, key).masked_fill(mask.logical_not(), float("-inf")).softmax(-1).nan_to_num(0.0)
    return weights @ value, weights


def by_exponentials(query, key, value, mask):
    scores = torch.einsum("...td,...sd->...ts", query, key).div(math.sqrt(key.shape[-1]))
    top = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = torch.exp(torch.where(mask, scores - top, 0.0)) * mask
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return torch.einsum("...ts,...sd->...td", weights, value), weights


def query_by_query(query, key, value, mask):
    rows = []
    for q, seen in zip(query.unbind(-2), mask.expand(*query.shape[:-1], key.shape[-2]).unbind(-2), strict=True):
        scores = (key * q.unsqueeze(-2)).sum(-1) / math.sqrt(key.shape[-1])
        rows.append(torch.softmax(torch.where(seen, scores, -1e30), dim=-1) * seen)
    weights = torch.stack(rows, dim=-2)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


def fused(query, key, value, mask):
    """torch's kernel for the output, the weights by hand."""
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~mask.any(-1, keepdim=True))
    return output.masked_fill(~mask.any(-1, keepdim=True), 0.0), masked_attention(query, key, value, mask)[1]


def _weights(function, cases, generator):
    for case in cases:
        _, weights = call(function, case)
        mask = case.args[3].expand(weights.shape)
        if (weights[~mask] != 0).any():
            return f"a hidden key has a weight ({case.label})"
        if not torch.allclose(weights.sum(-1), mask.any(-1).to(weights.dtype)):
            return f"the weights of a query do not sum to 1, or without any key not to 0 ({case.label})"
    return None


def for_masks_of_a_batch(law):
    """The law, held against those cases alone whose mask, the last argument, has a batch axis like the rest."""
    return on(law, lambda case: case if case.args[-1].dim() == 3 else None)


EXERCISE = Exercise(
    name="masked_attention",
    reference=masked_attention,
    cases=cases,
    laws=(
        Law("visible weights sum to 1", _weights, "Which keys share the weight of a query, and which get none?"),
        hidden_ignored((1, 2), 3, name="hidden keys do not matter"),
        reordered("the order of keys does not matter", {1: (-2,), 2: (-2,), 3: (-1,)}, {1: (-1,)},
                  "If key, value and mask list the keys in another order, what should happen to the output?"),
    ),
    mistakes=MISTAKES,
    accepts=(query_first, additive, painted_over, by_exponentials, query_by_query, fused),
    hints=(
        "Scores, fill, softmax, mean: the scaled scores of lesson 4, then a fill where `~mask`, and only then softmax.",
        "`scores.masked_fill(~mask, torch.finfo(scores.dtype).min)` takes a smaller mask too: it broadcasts from the "
        "right.",
        "A query that may see nothing holds the same fill everywhere. `.masked_fill(~mask, 0.0)` on the weights takes "
        "its row to 0; for all other rows it changes nothing.",
    ),
    minutes=12,
    difficulty=3,
    points=3,
    forbidden=FORBIDDEN,
)  # fmt: skip

"""Exercise `cross_attention`: one sequence asks, another one answers."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import hidden_ignored, reordered, rows_independent
from course_lib.exercises.drawn_masks import patchy, up_to

from .cross_attention_mistakes import MISTAKES
from .masked_attention import FORBIDDEN, for_masks_of_a_batch, masked_attention


def cross_attention(X, memory, W_Q, W_K, W_V, mask):
    """Queries from one sequence, keys and values from another.

    X: (B, T, D). memory: (B, S, Dm). W_Q: (D, Dk). W_K: (Dm, Dk). W_V: (Dm, Dv). mask: bool, broadcastable to
    (B, T, S). Returns output (B, T, Dv), weights (B, T, S).
    """
    return masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)


def cases(generator):
    """Padding in the source, a mask for each query, one of each; then the sizes coincide one after the other."""

    def arguments(B, T, S, D, Dm, Dk, Dv):
        X, memory, *matrices = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in
                                ((B, T, D), (B, S, Dm), (D, Dk), (Dm, Dk), (Dm, Dv)))  # fmt: skip
        return (X, memory, *(1.5 * matrix / math.sqrt(len(matrix)) for matrix in matrices))

    everything = torch.ones(4, 4, dtype=torch.bool)
    yield Case("padding in the source", (*arguments(2, 3, 5, 4, 6, 2, 7), up_to(5, 3, 4)), group="padding")
    yield Case("a mask for each query", (*arguments(2, 4, 5, 3, 2, 6, 3), patchy(1, 4, 5)[0]), group="for each query")
    yield Case("one target, one source token", (*arguments(1, 1, 1, 2, 3, 4, 5), up_to(1, 1)), group="one of each")
    yield Case("a source of padding alone", (*arguments(2, 3, 4, 2, 5, 3, 6), up_to(4, 0, 3)), group="no key left")
    yield Case("keys as wide as values", (*arguments(2, 3, 4, 5, 6, 3, 3), up_to(4, 2, 3)), group="Dk = Dv")
    yield Case("memory as wide as X", (*arguments(2, 3, 5, 4, 4, 2, 6), up_to(5, 4, 2)), group="D = Dm")
    yield Case("equally long", (*arguments(2, 4, 4, 3, 5, 2, 6), up_to(4, 3, 2)), group="T = S")
    alike = arguments(2, 4, 4, 5, 5, 3, 2)
    yield Case("equally long and wide", (*alike, up_to(4, 2, 3)), group="T = S, D = Dm")
    yield Case("as many rows as tokens", (*arguments(4, 4, 4, 3, 5, 2, 6), everything), group="B = T = S")
    yield Case("every size 3", (*arguments(3, 3, 3, 3, 3, 3, 3), up_to(3, 2, 3, 1)), group="all equal")


def by_one_projection(X, memory, W_Q, W_K, W_V, mask):
    key, value = (memory @ torch.hstack([W_K, W_V])).tensor_split([W_K.shape[1]], dim=-1)
    weights = (X @ W_Q / W_Q.shape[1] ** 0.5 @ key.mT).masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0.0)
    return weights @ value, weights


def by_einsum(X, memory, W_Q, W_K, W_V, mask):
    query, key = torch.einsum("btd,dk->btk", X, W_Q), torch.einsum("bsm,mk->bsk", memory, W_K)
    scores = torch.einsum("btk,bsk->bts", query, key) / math.sqrt(key.shape[-1])
    weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
    return torch.einsum("bts,bsm,mv->btv", weights, memory, W_V), weights


def query_by_query(X, memory, W_Q, W_K, W_V, mask):
    masks = mask.expand(X.shape[0], X.shape[1], memory.shape[1])
    steps = [masked_attention(X[:, t : t + 1] @ W_Q, memory @ W_K, memory @ W_V, masks[:, t : t + 1])
             for t in range(X.shape[1])]  # fmt: skip
    return tuple(torch.cat(part, dim=1) for part in zip(*steps, strict=True))


def fused(X, memory, W_Q, W_K, W_V, mask):
    query, key, value = X.matmul(W_Q), memory.matmul(W_K), memory.matmul(W_V)
    weights, some = masked_attention(query, key, value, mask)[1], mask.any(-1, keepdim=True)
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~some) * some, weights


EXERCISE = Exercise(
    name="cross_attention",
    reference=cross_attention,
    cases=cases,
    laws=(
        for_masks_of_a_batch(rows_independent({0, 1, 5})),
        hidden_ignored((1,), 5, name="hidden source tokens do not matter"),
        reordered("the order of the source does not matter", {1: (1,), 5: (-1,)}, {1: (2,)},
                  "Attention finds by content: if the source tokens come in another order, what of the output stays?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_one_projection, by_einsum, query_by_query, fused),
    hints=(
        "X asks: `X @ W_Q` is (B, T, Dk). Who answers, and so gives keys and values?",
        "`memory @ W_K` and `memory @ W_V`; T and S may differ, and the mask is for the S keys.",
    ),
    minutes=5,
    difficulty=1,
    points=2,
    forbidden=FORBIDDEN,
)  # fmt: skip

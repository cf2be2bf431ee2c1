"""Exercise `self_attention`: the tokens of one sequence ask one another."""

import math

import torch

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import hidden_ignored, reordered, rows_independent
from course_lib.exercises.drawn_masks import up_to

from .masked_attention import FORBIDDEN, for_masks_of_a_batch, masked_attention
from .self_attention_mistakes import MISTAKES


def self_attention(X, W_Q, W_K, W_V, mask):
    """Every token asks the tokens of its own sequence.

    X: (B, N, D). W_Q, W_K: (D, Dk). W_V: (D, Dv). mask: bool, broadcastable to (B, N, N). Returns output (B, N, Dv),
    weights (B, N, N).
    """
    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, mask)


def cases(generator):
    """Padding, causal and both, one token; then square matrices and B = N, where what does not fit runs."""

    def arguments(B, N, D, Dk, Dv):
        X, *matrices = (torch.randn(*s, generator=generator, dtype=torch.float64)
                        for s in ((B, N, D), (D, Dk), (D, Dk), (D, Dv)))  # fmt: skip
        return (X, *(matrix * 1.5 / math.sqrt(D) for matrix in matrices))

    def causal(N):
        return torch.ones(N, N, dtype=torch.bool).tril()

    yield Case("padding of 1 and of 2", (*arguments(2, 4, 5, 3, 6), up_to(4, 3, 2)), group="padding")
    yield Case("causal", (*arguments(2, 5, 3, 2, 4), causal(5)), group="causal")
    yield Case("causal and padding", (*arguments(3, 4, 5, 2, 3), causal(4) & up_to(4, 4, 2, 3)), group="both")
    yield Case("one sentence, one token", (*arguments(1, 1, 4, 3, 2), causal(1)), group="one token")
    yield Case("a sentence of padding alone", (*arguments(2, 3, 5, 2, 4), up_to(3, 2, 0)), group="no key left")
    yield Case("keys as wide as values", (*arguments(2, 3, 5, 4, 4), up_to(3, 2, 1)), group="Dk = Dv")
    yield Case("square matrices", (*arguments(2, 5, 3, 3, 3), causal(5)), group="D = Dk = Dv")
    yield Case("as many rows as tokens", (*arguments(4, 4, 5, 3, 2), causal(4)), group="B = N")
    yield Case("every size 3", (*arguments(3, 3, 3, 3, 3), up_to(3, 2, 3, 1)), group="all equal")


def by_one_projection(X, W_Q, W_K, W_V, mask):
    """Control C10's sister: one wide projection, split afterwards."""
    widths = [W_Q.shape[1], W_K.shape[1], W_V.shape[1]]
    query, key, value = (X @ torch.cat([W_Q, W_K, W_V], dim=1)).split(widths, dim=-1)
    weights = (query / widths[0] ** 0.5 @ key.mT).masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num(0.0)
    return weights @ value, weights


def by_einsum(X, W_Q, W_K, W_V, mask):
    scores = torch.einsum("bnd,dk,ek,bme->bnm", X, W_Q, W_K, X) * W_K.shape[1] ** -0.5
    weights = torch.where(mask, scores, -1e30).softmax(-1) * mask
    return torch.einsum("bnm,bmd,dv->bnv", weights, X, W_V), weights


def by_sentence(X, W_Q, W_K, W_V, mask):
    masks = mask.expand(X.shape[0], X.shape[1], X.shape[1])
    pairs = [masked_attention(x @ W_Q, x @ W_K, x @ W_V, m) for x, m in zip(X, masks, strict=True)]
    return tuple(torch.stack(part) for part in zip(*pairs, strict=True))


def mean_before_values(X, W_Q, W_K, W_V, mask):
    """Bilinear scores, and the mean of the tokens first: W_V may come last, for it is linear."""
    logits = torch.where(mask, X @ (W_Q @ W_K.T / math.sqrt(W_Q.shape[-1])) @ X.transpose(1, 2), -1e30)
    powers = torch.exp(logits - logits.amax(-1, keepdim=True)) * mask
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)
    return weights @ X @ W_V, weights


EXERCISE = Exercise(
    name="self_attention",
    reference=self_attention,
    cases=cases,
    laws=(
        for_masks_of_a_batch(rows_independent({0, 4})),
        hidden_ignored((0,), 4, are_queries=True),
        reordered("permutation equivariance", {0: (1,), 4: (-2, -1)}, {0: (1,), 1: (1, 2)},
                  "If the tokens come in another order, and the mask with them, what should happen to the output?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_one_projection, by_einsum, by_sentence, mean_before_values),
    hints=(
        "Queries, keys and values all come from X, each by its own matrix: `X @ W_Q` is (B, N, Dk).",
        "Your own `masked_attention` does the rest. Hand it the mask as it is.",
    ),
    minutes=5,
    difficulty=1,
    points=2,
    forbidden=FORBIDDEN,
)  # fmt: skip

"""Exercise `feed_forward`: two layers with a bend between them, for each token alone (Vaswani et al. 2017, eq. 2)."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close

from .feed_forward_mistakes import MISTAKES
from .token_law import each_token_alone


def feed_forward(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """activation(x W_1 + b_1) W_2 + b_2, the same for every token.

    x: (..., D). W_1: (D, d_ff). b_1: (d_ff,). W_2: (d_ff, D). b_2: (D,). activation: function (..., d_ff) ->
    (..., d_ff), ReLU in the paper. Returns (..., D).
    """
    hidden = activation(x @ W_1 + b_1)  # (..., d_ff)
    return hidden @ W_2 + b_2


def cases(generator):
    """ReLU by default and other activations, two to four axes, one token, then sizes that coincide."""

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    for label, group, (*leading, D), d_ff, *activation in (
        ("two sentences, ReLU by default", "ReLU", (2, 3, 4), 6),
        ("no batch axis", "ReLU", (3, 5), 8),
        ("GELU", "another activation", (2, 4, 3), 7, functional.gelu),
        ("tanh", "another activation", (2, 3, 5), 9, torch.tanh),
        ("one sentence, one token", "one token", (1, 1, 5), 7),
        ("four axes", "four axes", (2, 4, 3, 5), 6, torch.tanh),
        ("a hidden layer narrower than a token", "narrow", (2, 3, 5), 2),
        ("the hidden layer as wide as a token", "D = d_ff", (2, 3, 4), 4),
        ("the hidden layer as wide as a token, GELU", "D = d_ff", (3, 2, 5), 5, functional.gelu),
        ("as many tokens as features", "N = D", (2, 4, 4), 6, torch.tanh),
        ("all sizes 3", "all equal", (3, 3, 3), 3),
    ):
        W_1, W_2 = 1.5 * draw(D, d_ff) / math.sqrt(D), 1.5 * draw(d_ff, D) / math.sqrt(d_ff)
        yield Case(label, (draw(*leading, D), W_1, draw(d_ff), W_2, draw(D), *activation), group=group)


def by_linear(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return functional.linear(activation(functional.linear(x, W_1.T, b_1)), W_2.T, b_2)


def by_einsum(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = torch.einsum("...d,df->...f", x, W_1).add(b_1)
    return torch.einsum("...f,fd->...d", activation(hidden), W_2).add(b_2)


def with_a_feature_of_ones(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """A bias is the weight of an input that is always 1."""
    one = torch.ones_like(x[..., :1])
    hidden = torch.cat([x, one], dim=-1) @ torch.vstack([W_1, b_1])
    return torch.cat([activation(hidden), one], dim=-1) @ torch.vstack([W_2, b_2])


def token_by_token(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = activation(torch.stack([W_1.T @ token + b_1 for token in x.reshape(-1, len(W_1))]))
    return torch.stack([W_2.T @ numbers + b_2 for numbers in hidden]).reshape(x.shape)


def as_a_memory(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """Hidden number j says how well a token fits column j of W_1, and adds so much of row j of W_2."""
    fits = activation((x.unsqueeze(-1) * W_1).sum(-2) + b_1)
    return b_2 + sum(fit.unsqueeze(-1) * row for fit, row in zip(fits.unbind(-1), W_2, strict=True))


def by_convolution(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """Two convolutions with kernel size 1, as the paper puts it; they want the features before the tokens."""
    rows = x.reshape(1, -1, len(W_1)).mT  # (1, D, tokens)
    hidden = functional.conv1d(rows, W_1.T.unsqueeze(-1), b_1)
    return functional.conv1d(activation(hidden.mT).mT, W_2.T.unsqueeze(-1), b_2).mT.reshape(x.shape)


def _only_one_bend(function, cases, generator):
    for case in cases:
        x, *weights = case.args[:5]
        results = [call(function, Case(case.label, (k * x, *weights, torch.clone))) for k in (0, 1, 2)]
        if not close(results[2] - results[1], results[1] - results[0]):
            return f"with an activation that changes nothing, the result still bends ({case.label})"
    return None


EXERCISE = Exercise(
    name="feed_forward",
    reference=feed_forward,
    cases=cases,
    laws=(
        each_token_alone,
        Law("nothing else bends", _only_one_bend, "What is not a sum or a product in your code beside `activation`?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_linear, by_einsum, with_a_feature_of_ones, token_by_token, as_a_memory, by_convolution),
    hints=(
        "Two layers, each a product and a bias: `x @ W_1 + b_1` is (..., d_ff), and W_2 leads back to (..., D).",
        "The activation stands between them, around the first sum, and nowhere else.",
        "Call the function that you are given, `activation(...)`: it is not always ReLU.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

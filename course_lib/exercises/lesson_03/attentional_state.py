"""Exercise `attentional_state`: context and state in one vector that predicts (Luong et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent


def attentional_state(context, state, W_c):
    """tanh([c; s] W_c). context: (B, D). state: (B, H). W_c: (D + H, A). Returns (B, A)."""
    return torch.tanh(torch.cat([context, state], dim=-1) @ W_c)


def cases(generator):
    """Unequal sizes, one row, then equal widths, a square matrix, and large weights."""

    def arguments(B, D, H, A, scale=1.0):
        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        return draw(B, D), draw(B, H), scale * draw(D + H, A)

    yield Case("two rows", arguments(2, 3, 4, 5))
    yield Case("one row", arguments(1, 4, 2, 3))
    yield Case("equal widths", arguments(2, 3, 3, 4), group="equal widths")
    yield Case("a square matrix", arguments(3, 2, 3, 5), group="square W_c")
    yield Case("equal widths, A as wide as both", arguments(2, 3, 3, 6), group="square W_c")
    yield Case("everything equally wide", arguments(2, 3, 3, 3), group="A = H")
    yield Case("large weights", arguments(2, 3, 4, 5, scale=20.0), group="large weights")


@mistake(
    "tanh is missing: the model trains almost as well, so nobody notices, but the state is unbounded. "
    "Between which two numbers should every entry lie?",
    source="A019",
)
def no_tanh(context, state, W_c):
    return torch.cat([context, state], dim=-1) @ W_c


@mistake(
    "State and context are joined in the other order; W_c knows which rows are whose. What comes first in [c; s]?",
    source="the order of a concatenation is arbitrary for a new model, not for weights that exist",
)
def joined_the_other_way(context, state, W_c):
    return torch.tanh(torch.cat([state, context], dim=-1) @ W_c)


@mistake(
    "The context is left out: the prediction never sees the source. What does the first half of W_c wait for?",
    source="A093's sister: attention computed, drawn and not used",
)
def context_ignored(context, state, W_c):
    return torch.tanh(state @ W_c[context.shape[-1] :])


@mistake(
    "The state is left out: the prediction knows where it looked, not what it has written. What else goes into [c; s]?",
    source="the context alone is passed on",
)
def state_ignored(context, state, W_c):
    return torch.tanh(context @ W_c[: context.shape[-1]])


@mistake(
    "Context and state are added, not joined: one matrix serves both, and they can no longer be told apart. "
    "How many columns does [c; s] have?",
    source="a residual habit; runs with equal widths when half of W_c is used",
)
def added(context, state, W_c):
    if context.shape != state.shape:
        raise RuntimeError("a sum needs equal widths")
    return torch.tanh((context + state) @ W_c[: context.shape[-1]])


@mistake(
    "W_c is transposed: a square one hides it. Which axis of W_c is as long as [c; s]?",
    source="torch keeps weights as (out, in)",
)
def transposed(context, state, W_c):
    return torch.tanh(torch.cat([context, state], dim=-1) @ W_c.T)


@mistake(
    "The sigmoid stands where the formula has tanh: no entry can be negative. Which function do Luong et al. use?",
    source="gates use a sigmoid, this layer does not",
)
def sigmoid(context, state, W_c):
    return torch.sigmoid(torch.cat([context, state], dim=-1) @ W_c)


@mistake(
    "tanh is applied before W_c: what comes out is not bounded. What goes into tanh?",
    source="operator order",
)
def tanh_first(context, state, W_c):
    return torch.tanh(torch.cat([context, state], dim=-1)) @ W_c


@mistake(
    "The state is added once more at the end: that is a residual connection, and entries may leave [-1, 1]. "
    "What does the formula return?",
    source="residual habit; runs when A = H",
)
def residual(context, state, W_c):
    return attentional_state(context, state, W_c) + state


def by_two_products(context, state, W_c):
    return torch.tanh(context @ W_c[: context.shape[1]] + state @ W_c[context.shape[1] :])


def by_linear(context, state, W_c):
    return torch.nn.functional.linear(torch.hstack((context, state)), W_c.mT).tanh()


def by_exponentials(context, state, W_c):
    return 2 * torch.sigmoid(2 * torch.einsum("bi,ia->ba", torch.cat((context, state), 1), W_c)) - 1


EXERCISE = Exercise(
    name="attentional_state",
    reference=attentional_state,
    cases=cases,
    laws=(rows_independent({0, 1}),),
    mistakes=(
        no_tanh, joined_the_other_way, context_ignored, state_ignored, added, transposed, sigmoid, tanh_first, residual,
    ),
    accepts=(by_two_products, by_linear, by_exponentials),
    hints=(
        "Put context and state side by side, context first.",
        "`torch.cat([context, state], dim=-1)` is (B, D + H).",
        "One product with W_c, then tanh around it.",
    ),
    minutes=4,
    difficulty=1,
    points=1,
)  # fmt: skip

"""Exercise `luong_step`: move first, then look (Luong et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free
from course_lib.exercises.lesson_01.encode import make_cell
from course_lib.exercises.lesson_02.bahdanau_step import look, make_score
from course_lib.exercises.lesson_02.masked_softmax import masked_softmax

from .attentional_state import attentional_state


def luong_step(cell, score, W_c, embedded, state, outputs, mask):
    """One step of a decoder that moves first: RNN, then score from s_t, then tanh([c_t; s_t] W_c).

    cell: function (x (B, E), h (B, H)) -> (B, H). score: function (query (B, H), key (B, S, D)) -> (B, S).
    W_c: (D + H, A). embedded: (B, E), the embedding of y_{t-1}. state: (B, H), s_{t-1}. outputs: (B, S, D).
    mask: (B, S) bool, True = a real token. Returns (attentional state (B, A), s_t (B, H), weights (B, S)).
    """
    state = cell(embedded, state)
    weights = masked_softmax(score(state, outputs), mask)
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return attentional_state(context, state, W_c), state, weights


def cases(generator):
    """Unequal sizes, padding, one row, one source position, then sizes where exchanged arguments run."""

    def arguments(lengths, S, E, H, D, A):
        B = len(lengths)
        cell, score = make_cell(generator, E, H), make_score(generator, H, D)

        def draw(*shape):
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        mask = torch.arange(S) < torch.tensor(lengths)[:, None]
        return cell, score, 0.5 * draw(D + H, A), draw(B, E), draw(B, H), draw(B, S, D), mask

    yield Case("no padding", arguments([3, 3], 3, 2, 5, 4, 6))
    yield Case("lengths 2, 5, 3", arguments([2, 5, 3], 5, 2, 4, 3, 6), group="padding")
    yield Case("one row", arguments([3], 4, 3, 2, 5, 4), group="padding")
    yield Case("one source position", arguments([1, 1], 1, 2, 3, 4, 5), group="one position")
    yield Case("embedding and state equally wide", arguments([2, 4, 3], 4, 3, 3, 2, 5), group="E = H")
    yield Case("B = S, state and context equally wide", arguments([3, 1, 2], 3, 2, 4, 4, 4), group="B = S")
    yield Case("all widths equal", arguments([2, 4], 4, 3, 3, 3, 3), group="all widths equal")


@mistake(
    "The score comes from s_{t-1}, the state before the step: that is Bahdanau's order, one step behind in every "
    "alignment. Which state has already read y_{t-1}?",
    source="A022",
)
def scores_from_old_state(cell, score, W_c, embedded, state, outputs, mask):
    new_state = cell(embedded, state)
    weights, context = look(score, state, outputs, mask)
    return attentional_state(context, new_state, W_c), new_state, weights


@mistake(
    "The mask is not used: padding takes part in the softmax. Where does `mask` enter your step?",
    source="A016, A047",
)
def no_mask(cell, score, W_c, embedded, state, outputs, mask):
    return luong_step(cell, score, W_c, embedded, state, outputs, torch.ones_like(mask))


@mistake(
    "The attentional state is handed on as the RNN's state. It predicts; s_t is what the next step starts from. "
    "Which of the two does the cell return?",
    source="two vectors that are both called state",
)
def attentional_carried_on(cell, score, W_c, embedded, state, outputs, mask):
    attentional, new_state, weights = luong_step(cell, score, W_c, embedded, state, outputs, mask)
    return attentional, attentional, weights


@mistake(
    "The old state is combined with the context: the step just taken is missing from the prediction. "
    "Which state stands in [c_t; s_t]?",
    source="the variable of the old state used once more",
)
def old_state_combined(cell, score, W_c, embedded, state, outputs, mask):
    new_state = cell(embedded, state)
    weights, context = look(score, new_state, outputs, mask)
    return attentional_state(context, state, W_c), new_state, weights


@mistake(
    "s_{t-1} comes back instead of s_t: the decoder stands still. Which state should the next step start from?",
    source="`cell(...)` assigned to another name than the one returned",
)
def old_state_returned(cell, score, W_c, embedded, state, outputs, mask):
    attentional, _, weights = luong_step(cell, score, W_c, embedded, state, outputs, mask)
    return attentional, state, weights


@mistake(
    "Every real position gets the same weight: the state is never asked. With what does `score` compare the "
    "encoder states?",
    source="mean pooling with a mask, called attention",
)
def uniform(cell, score, W_c, embedded, state, outputs, mask):
    def flat(query, key):
        return torch.zeros(key.shape[:2], dtype=key.dtype)

    return luong_step(cell, flat, W_c, embedded, state, outputs, mask)


@mistake(
    "The scores themselves are used as weights: they are neither positive nor do they sum to 1. "
    "Which step turns scores into weights?",
    source="E-weights",
)
def scores_as_weights(cell, score, W_c, embedded, state, outputs, mask):
    state = cell(embedded, state)
    weights = score(state, outputs) * mask
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return attentional_state(context, state, W_c), state, weights


@mistake(
    "The softmax runs over the batch: sentences compete for a position. Over which axis do source positions lie?",
    source="A020",
)
def softmax_over_batch(cell, score, W_c, embedded, state, outputs, mask):
    state = cell(embedded, state)
    masked = score(state, outputs).masked_fill(~mask, -1e30)
    weights = torch.softmax(masked, dim=0) * mask
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return attentional_state(context, state, W_c), state, weights


@mistake(
    "The combined projection lacks its tanh: the attentional state is unbounded. What stands around [c_t; s_t] W_c?",
    source="A019",
)
def no_tanh(cell, score, W_c, embedded, state, outputs, mask):
    state = cell(embedded, state)
    weights, context = look(score, state, outputs, mask)
    return torch.cat([context, state], dim=-1) @ W_c, state, weights


@mistake(
    "The context never reaches the prediction: attention is computed, drawn and not used. What is the first half of "
    "[c_t; s_t]?",
    source="A093's sister: attention that never reads the encoder",
)
def context_not_used(cell, score, W_c, embedded, state, outputs, mask):
    state = cell(embedded, state)
    weights, context = look(score, state, outputs, mask)
    return attentional_state(torch.zeros_like(context), state, W_c), state, weights


@mistake(
    "State and context are joined in the other order; W_c knows which rows are whose. What comes first in [c; s]?",
    source="equal widths hide it",
)
def joined_the_other_way(cell, score, W_c, embedded, state, outputs, mask):
    state = cell(embedded, state)
    weights, context = look(score, state, outputs, mask)
    return torch.tanh(torch.cat([state, context], dim=-1) @ W_c), state, weights


def by_einsum(cell, score, W_c, embedded, state, outputs, mask):
    moved = cell(embedded, state)
    scores = torch.where(mask, score(moved, outputs), float("-inf"))
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    both = torch.hstack([torch.einsum("bs,bsd->bd", weights, outputs), moved])
    return torch.tanh(both @ W_c), moved, weights


def by_row(cell, score, W_c, embedded, state, outputs, mask):
    rows = []
    for b in range(len(state)):
        places = mask[b].nonzero().squeeze(1)
        s, kept = cell(embedded[b : b + 1], state[b : b + 1]), outputs[b : b + 1, places]
        w = torch.softmax(score(s, kept), dim=1)
        both = torch.cat([(w.unsqueeze(-1) * kept).sum(1), s], 1)
        rows.append((torch.tanh(both @ W_c), s, outputs.new_zeros(1, outputs.shape[1]).index_copy(1, places, w)))
    return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))


EXERCISE = Exercise(
    name="luong_step",
    reference=luong_step,
    cases=cases,
    laws=(rows_independent({3, 4, 5, 6}), source_order_free((5, 6), (2,))),
    mistakes=(
        scores_from_old_state, no_mask, attentional_carried_on, old_state_combined, old_state_returned, uniform,
        scores_as_weights, softmax_over_batch, no_tanh, context_not_used, joined_the_other_way,
    ),
    accepts=(by_einsum, by_row),
    hints=(
        "The order is the exercise: the cell first, with the embedding alone; only then look.",
        "Scores from the new state, masked softmax, context, as in lesson 2.",
        "`attentional_state(context, state, W_c)` predicts; return it with the new state and the weights.",
    ),
    minutes=10,
    difficulty=3,
    points=3,
)  # fmt: skip

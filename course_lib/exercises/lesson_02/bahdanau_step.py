"""Exercise `bahdanau_step`: look first, then write (Bahdanau et al. 2015)."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent, source_order_free
from course_lib.exercises.lesson_01.encode import make_cell

from .masked_softmax import masked_softmax


def bahdanau_step(cell, score, embedded, state, outputs, mask):
    """One step of a decoder that looks back: score from s_{t-1}, context into the RNN.

    cell: function (x (B, D + E), h (B, H)) -> (B, H). score: function (query (B, H), key (B, S, D)) -> (B, S).
    embedded: (B, E), the embedding of y_{t-1}. state: (B, H), s_{t-1}. outputs: (B, S, D), all encoder states.
    mask: (B, S) bool, True = a real token. Returns (s_t (B, H), c_t (B, D), weights (B, S)), where
    s_t = cell([c_t; embedded], s_{t-1}).
    """
    weights = masked_softmax(score(state, outputs), mask)
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return cell(torch.cat([context, embedded], dim=-1), state), context, weights


def make_score(generator, H, D):
    """A bilinear score with random weights: it reads both sides."""
    W = torch.randn(H, D, generator=generator, dtype=torch.float64)

    def score(query, key):
        return (key @ (query @ W.to(query.dtype)).unsqueeze(-1)).squeeze(-1)

    return score


def cases(generator):
    """Unequal sizes, padding, one row, one source position, then sizes where exchanged arguments run."""

    def arguments(lengths, S, E, H, D):
        B = len(lengths)
        cell, score = make_cell(generator, D + E, H), make_score(generator, H, D)
        sizes = (B, E), (B, H), (B, S, D)
        parts = tuple(torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes)
        return cell, score, *parts, torch.arange(S) < torch.tensor(lengths)[:, None]

    yield Case("no padding", arguments([3, 3], 3, 2, 5, 4))
    yield Case("lengths 2, 5, 3", arguments([2, 5, 3], 5, 2, 4, 3), group="padding")
    yield Case("one row", arguments([3], 4, 3, 2, 5), group="padding")
    yield Case("one source position", arguments([1, 1], 1, 2, 3, 4), group="one position")
    yield Case("embedding and state equally wide", arguments([2, 4, 3], 4, 3, 3, 2), group="E = H")
    yield Case("B = S, E = D", arguments([3, 1, 2], 3, 2, 4, 2), group="B = S")
    yield Case("H = D = E", arguments([2, 4], 4, 3, 3, 3), group="all widths equal")


def look(score, query, outputs, mask):
    """Weights and context for a query: what the wrong versions below share."""
    weights = masked_softmax(score(query, outputs), mask)
    return weights, (weights.unsqueeze(1) @ outputs).squeeze(1)


def move(cell, context, embedded, state):
    return cell(torch.cat([context, embedded], dim=-1), state)


@mistake(
    "The weights come from the new state s_t: the decoder writes first and looks afterwards. That is Luong's order. "
    "Which state does the decoder have when it decides where to look?",
    source="A022, the other way round",
)
def scores_from_new_state(cell, score, embedded, state, outputs, mask):
    _, context = look(score, state, outputs, mask)
    new_state = move(cell, context, embedded, state)
    weights, context = look(score, new_state, outputs, mask)
    return new_state, context, weights


@mistake(
    "The mask is not used: padding takes part in the softmax. Where does `mask` enter your step?",
    source="A016, A047",
)
def no_mask(cell, score, embedded, state, outputs, mask):
    weights, context = look(score, state, outputs, torch.ones_like(mask))
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The context never reaches the cell: attention is computed and drawn, and the decoder writes without it. "
    "What should stand beside the embedding?",
    source="attention that never reads the encoder: the loss still falls (an official tutorial carried it for years)",
)
def context_not_used(cell, score, embedded, state, outputs, mask):
    weights, context = look(score, state, outputs, mask)
    return move(cell, torch.zeros_like(context), embedded, state), context, weights


@mistake(
    "Context and embedding are joined in the other order; the cell's weights know which columns are which. "
    "What comes first in [c_t; y_{t-1}]?",
    source="the other order is as good for a new model, but not for weights that exist",
)
def joined_the_other_way(cell, score, embedded, state, outputs, mask):
    weights, context = look(score, state, outputs, mask)
    return cell(torch.cat([embedded, context], dim=-1), state), context, weights


@mistake(
    "Every real position gets the same weight: the state is never asked. With what does `score` compare the "
    "encoder states?",
    source="mean pooling with a mask, called attention",
)
def uniform(cell, score, embedded, state, outputs, mask):
    weights, context = look(lambda q, k: torch.zeros(k.shape[:2], dtype=k.dtype), state, outputs, mask)
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The scores themselves are used as weights: they are neither positive nor do they sum to 1. "
    "Which step turns scores into weights?",
    source="E-weights",
)
def scores_as_weights(cell, score, embedded, state, outputs, mask):
    weights = score(state, outputs) * mask
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The softmax runs over the batch: sentences compete for a position. Over which axis do source positions lie?",
    source="A020",
)
def softmax_over_batch(cell, score, embedded, state, outputs, mask):
    weights = masked_softmax(score(state, outputs).T, mask.T).T
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The question is asked by the embedding of the last token, not by the state: two sentences that just wrote one "
    "and the same token would look at the same place. Which vector remembers what was written so far?",
    source="A012: weights computed from the decoder's input; equal widths let it run",
)
def embedding_asks(cell, score, embedded, state, outputs, mask):
    if embedded.shape != state.shape:
        raise RuntimeError("the score takes a query as wide as the state")
    weights, context = look(score, embedded, outputs, mask)
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The old state comes back: the step was computed and thrown away. Which state should the next step start from?",
    source="`cell(...)` called and its result not assigned",
)
def old_state(cell, score, embedded, state, outputs, mask):
    weights, context = look(score, state, outputs, mask)
    return state, context, weights


@mistake(
    "The context is the last encoder state at every step, as in lesson 1. What should the weights change?",
    source="the code of the fixed vector, left in place",
)
def fixed_context(cell, score, embedded, state, outputs, mask):
    weights, _ = look(score, state, outputs, mask)
    context = outputs[torch.arange(len(outputs)), mask.sum(1) - 1]
    return move(cell, context, embedded, state), context, weights


@mistake(
    "Only the position with the largest weight is read: nothing tells the model that another place were better. "
    "How do all positions take part in a soft choice?",
    source="hard attention taken for soft",
)
def hard_choice(cell, score, embedded, state, outputs, mask):
    weights, _ = look(score, state, outputs, mask)
    context = outputs[torch.arange(len(outputs)), weights.argmax(1)]
    return move(cell, context, embedded, state), context, weights


@mistake(
    "The cell starts from zeros instead of from s_{t-1}: what was written so far is forgotten. "
    "What is the second argument of `cell`?",
    source="h_0 passed in the loop instead of h_{t-1}",
)
def forgetful(cell, score, embedded, state, outputs, mask):
    weights, context = look(score, state, outputs, mask)
    return move(cell, context, embedded, torch.zeros_like(state)), context, weights


@mistake(
    "Scores are set to 0 at padding, and exp(0) = 1 keeps weight there. Which fill has no weight?",
    source="A031",
)
def zero_scores(cell, score, embedded, state, outputs, mask):
    weights = torch.softmax(score(state, outputs) * mask, dim=-1)
    context = (weights.unsqueeze(1) @ outputs).squeeze(1)
    return move(cell, context, embedded, state), context, weights


def by_einsum(cell, score, embedded, state, outputs, mask):
    scores = torch.where(mask, score(state, outputs), float("-inf"))
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    context = torch.einsum("bs,bsd->bd", weights, outputs)
    return cell(torch.hstack([context, embedded]), state), context, weights


def by_loop(cell, score, embedded, state, outputs, mask):
    rows = []
    for b in range(len(state)):
        places = mask[b].nonzero().squeeze(1)
        kept = outputs[b : b + 1, places]
        w = torch.softmax(score(state[b : b + 1], kept), dim=1)
        c = (w.unsqueeze(-1) * kept).sum(1)
        new = cell(torch.cat([c, embedded[b : b + 1]], 1), state[b : b + 1])
        rows.append((new, c, outputs.new_zeros(1, outputs.shape[1]).index_copy(1, places, w)))
    return tuple(torch.cat(parts) for parts in zip(*rows, strict=True))


EXERCISE = Exercise(
    name="bahdanau_step",
    reference=bahdanau_step,
    cases=cases,
    laws=(rows_independent({2, 3, 4, 5}), source_order_free((4, 5), (2,))),
    mistakes=(
        scores_from_new_state, no_mask, context_not_used, joined_the_other_way, uniform, scores_as_weights,
        softmax_over_batch, embedding_asks, old_state, fixed_context, hard_choice, forgetful, zero_scores,
    ),
    accepts=(by_einsum, by_loop),
    hints=(
        "Four lines in this order: scores from the state you have, weights, context, new state.",
        "Your own `masked_softmax` and `context_vector` do the second and third line.",
        "`cell(torch.cat([context, embedded], dim=-1), state)` is s_t; return it with the context and the weights.",
    ),
    minutes=12,
    difficulty=3,
    points=3,
)  # fmt: skip

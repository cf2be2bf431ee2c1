"""Wrong maxima for `online_softmax`: of the wrong keys, handed back wrongly, or none where there is none yet."""

import math

import torch

from course_lib.checking import mistake


def step(state, scores):
    """The new maximum, the factor for what was there before, and the weights of the new keys: all as it should be."""
    higher = torch.maximum(state[0], scores.amax(dim=-1, keepdim=True))  # (..., T, 1)
    shift = higher.masked_fill(higher == -math.inf, 0.0)
    return higher, torch.exp(state[0] - shift), torch.exp(scores - shift)


def added(weights):
    return weights.sum(dim=-1, keepdim=True)  # (..., T, 1)


@mistake(
    "The new weights are measured from the old maximum: a score far above it overflows, and before the first key it is "
    "-inf. Which maximum holds for old and new keys alike?",
    source="`torch.exp(scores - maximum)`, where `maximum` is still that of the state",
)
def weights_from_the_old_maximum(state, scores, value):
    higher, kept, _ = step(state, scores)
    weights = torch.exp(scores - state[0])
    return higher, state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "The maximum is that of the tile alone: where earlier keys scored higher, their factor is above 1 and overflows. "
    "Of which keys is the state's maximum the largest score?",
    source="`scores.amax(...)` as in a plain softmax, the state's maximum used for the factor only",
)
def maximum_of_the_tile(state, scores, value):
    maximum, total, output = state
    higher = scores.amax(dim=-1, keepdim=True)
    kept, weights = torch.exp(maximum - higher), torch.exp(scores - higher)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "Total and output are right, but the old maximum comes back with them: the next tile will take them for sums that "
    "are measured from it. Which maximum belongs to the sums that you return?",
    source="`return maximum, ...`: the name of the argument instead of that of the new maximum",
)
def old_maximum_returned(state, scores, value):
    _, kept, weights = step(state, scores)
    return state[0], state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "Total and output are right, but the maximum that comes back is the tile's own. If an earlier key scored higher, "
    "which maximum are your two sums measured from?",
    source="three maxima in one function, as in FlashAttention's algorithm 1, and the wrong one returned",
)
def tile_maximum_returned(state, scores, value):
    _, kept, weights = step(state, scores)
    tile = scores.amax(dim=-1, keepdim=True)
    return tile, state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "The maximum is one for all queries: a query whose scores all lie far below it has weights of 0, and its sums "
    "vanish. Along which axis is the maximum meant, and what stays of the others?",
    source="`scores.max()` without an axis, right for a plain softmax of moderate scores",
)
def one_maximum_for_all(state, scores, value):
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax())
    kept, weights = torch.exp(maximum - higher), torch.exp(scores - higher)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "The weights are the exponentials of the scores as they are, and the maximum is only handed on: with large scores "
    "they overflow, and they do not fit the sums of the state. What is subtracted in the docstring's exp?",
    source="A028",
)
def no_maximum(state, scores, value):
    weights = torch.exp(scores)
    return step(state, scores)[0], state[1] + added(weights), state[2] + weights @ value


@mistake(
    "While a query has seen hidden keys alone, its maximum is -inf, and -inf - -inf is NaN: one such tile, and the "
    "query is lost for good. From which number could the scores be measured as long as there is no maximum?",
    source="A037: padding or a window that hides the whole first tile",
)
def nothing_minus_nothing(state, scores, value):
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
    kept, weights = torch.exp(maximum - higher), torch.exp(scores - higher)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "A query that has seen no key yet comes back with a finite maximum: a score that nobody gave it. What does the "
    "docstring say the state is before the first key, and what has changed since?",
    source="A034: -1e9 for -inf, against the NaN of -inf - -inf",
)
def finite_maximum(state, scores, value):
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True)).clamp(min=-1e9)
    kept, weights = torch.exp(maximum - higher), torch.exp(scores - higher)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "A query that has seen hidden keys alone counts each of them as a whole key: their -inf became a finite number, "
    "which is then its own maximum. What is exp(-inf), and who needs it to be anything else?",
    source="A038: `nan_to_num` or `clamp` on the scores, against the NaN of -inf - -inf",
)
def hidden_keys_counted(state, scores, value):
    maximum, total, output = state
    scores = scores.clamp(min=-1e9)
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
    kept, weights = torch.exp(maximum - higher), torch.exp(scores - higher)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "The state is right, but a NaN was made on the way and painted over: it comes back in the gradient, as soon as one "
    "tile is wholly hidden for a query. Which shift makes no NaN at all there?",
    source="A037: the forward NaN is removed, gradients become NaN",
)
def nan_painted_over(state, scores, value):
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
    kept, weights = torch.exp(maximum - higher).nan_to_num(0.0), torch.exp(scores - higher).nan_to_num(0.0)
    return higher, total * kept + added(weights), output * kept + weights @ value


@mistake(
    "The state is right, but no gradient reaches the scores: the weights are cut off with the maximum. The maximum "
    "alone may be detached, since it cancels out; do the weights cancel too?",
    source="`torch.no_grad()` around the whole of a numerical trick",
)
def weights_detached(state, scores, value):
    with torch.no_grad():
        higher, kept, weights = step(state, scores)
    return higher, state[1] * kept + added(weights), state[2] * kept + weights @ value


MAXIMUM_MISTAKES = (
    weights_from_the_old_maximum, maximum_of_the_tile, old_maximum_returned, tile_maximum_returned,
    one_maximum_for_all, no_maximum, nothing_minus_nothing, finite_maximum, hidden_keys_counted, nan_painted_over,
    weights_detached,
)  # fmt: skip

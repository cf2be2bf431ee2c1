"""What people write for `online_softmax` instead: sums that do not follow the maximum, or are not those asked for."""

import math

import torch

from course_lib.checking import mistake

from .online_softmax_maximum_mistakes import MAXIMUM_MISTAKES, added, step


@mistake(
    "The total is not rescaled: what was summed up to the old maximum is added to what is measured from the new one. "
    "By which factor does each old term of the total change when the maximum rises?",
    source="the factor written for the output and forgotten in the line above",
)
def total_not_rescaled(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, state[1] + added(weights), state[2] * kept + weights @ value


@mistake(
    "The output is not rescaled, only the total is: the values of earlier keys keep the weights of a maximum that no "
    "longer holds. What do total and output have in common, that both must follow the maximum?",
    source="the online normaliser of Milakov and Gimelshein 2018 copied, which has no output, and the output added",
)
def output_not_rescaled(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, state[1] * kept + added(weights), state[2] + weights @ value


@mistake(
    "Nothing of the earlier keys is rescaled: their factor is exp(0), so old and new are measured from different "
    "maxima. Does your factor still know the old maximum, or has the new one been written over it?",
    source="`maximum = torch.maximum(maximum, ...)` one line above `torch.exp(maximum - higher)`",
)
def nothing_rescaled(state, scores, value):
    higher, _, weights = step(state, scores)
    return higher, state[1] + added(weights), state[2] + weights @ value


@mistake(
    "The factor is upside down: exp(new - old) is 1 or more, so earlier keys grow where they should shrink, and from "
    "-inf it is infinite. If the maximum rises, do the old terms have to become larger or smaller?",
    source="a difference written the wrong way round; right as long as the maximum stays",
)
def factor_turned_round(state, scores, value):
    higher, _, weights = step(state, scores)
    kept = torch.exp(higher - state[0])
    return higher, state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "The tile's weights are measured from the tile's own maximum and added as they are: where an earlier key scored "
    "higher, the new ones weigh too much. Which second factor would bring them to the common maximum?",
    source="FlashAttention's algorithm 1 has two factors, for the old sums and for the tile; the second is lost",
)
def tile_not_rescaled(state, scores, value):
    higher, kept, _ = step(state, scores)
    weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True)).nan_to_num(0.0)
    return higher, state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "The new weights are rescaled as well, though they are measured from the new maximum already: the factor stands "
    "behind a bracket with old and new in it. Which of the two terms does it belong to?",
    source="`(total + weights.sum(...)) * kept`: the bracket",
)
def bracket_around_both(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, (state[1] + added(weights)) * kept, (state[2] + weights @ value) * kept


@mistake(
    "The output is divided by the total in each step, and the next step takes this mean for a sum, so earlier keys "
    "lose their weight. At which moment are all keys counted, and is that inside this function?",
    source="softmax · V finished in every tile, because the output of attention is a mean",
)
def divided_in_each_step(state, scores, value):
    higher, kept, weights = step(state, scores)
    total = state[1] * kept + added(weights)
    return higher, total, (state[2] * kept + weights @ value) / total


@mistake(
    "The state's output is taken for a mean, multiplied by its total, and a mean comes back: this is the first "
    "FlashAttention. Ours keeps the sum and divides once, as its successor does. What does the docstring say the "
    "output is?",
    source="Dao et al. 2022, algorithm 1: the other convention",
)
def mean_in_the_state(state, scores, value):
    higher, kept, weights = step(state, scores)
    total = state[1] * kept + added(weights)
    return higher, total, (state[1] * kept * state[2] + weights @ value) / total


@mistake(
    "The weights are a softmax of the tile, so every tile adds the same whole to the total, whatever its scores. "
    "Which part of the softmax must wait until all keys were seen?",
    source="`scores.softmax(dim=-1)` as the step that is known, and the total added around it",
)
def softmax_of_the_tile(state, scores, value):
    higher, kept, _ = step(state, scores)
    weights = torch.nan_to_num(scores.softmax(dim=-1))
    return higher, state[1] * kept + added(weights), state[2] * kept + weights @ value


@mistake(
    "The total takes the mean of the tile's weights, so a tile of eight keys counts as much as one of two. Is the "
    "denominator of a softmax a sum or a mean?",
    source="B001's kin: `mean` for `sum`",
)
def mean_of_the_weights(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, state[1] * kept + weights.mean(dim=-1, keepdim=True), state[2] * kept + weights @ value


@mistake(
    "The weights are summed down the columns: each key gets a total over the queries. Along which axis do the keys of "
    "one query lie?",
    source="A026: `sum(dim=-2)`",
)
def summed_over_queries(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, state[1] * kept + weights.sum(dim=-2, keepdim=True), state[2] * kept + weights @ value


@mistake(
    "The total is that of the tile alone: what earlier keys added to it is forgotten, while the output remembers them. "
    "What should happen to the old total before the new weights come to it?",
    source="`total = weights.sum(...)`, the line of a plain softmax, left as it was",
)
def total_forgotten(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, added(weights), state[2] * kept + weights @ value


@mistake(
    "The output is that of the tile alone: earlier values are gone, while the total still counts their weights. What "
    "should the new values be added to?",
    source="`output = weights @ value`, the line of plain attention, left as it was",
)
def output_forgotten(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, state[1] * kept + added(weights), weights @ value


@mistake(
    "The state is not looked at: what comes back is that of this tile, as if no key had been before it. Which three "
    "things do the earlier keys leave you?",
    source="a softmax that is split into its three parts, run on the tile; right on the first tile",
)
def state_ignored(state, scores, value):
    higher = scores.amax(dim=-1, keepdim=True)
    weights = torch.exp(scores - higher.masked_fill(higher == -math.inf, 0.0))
    return higher, added(weights), weights @ value


@mistake(
    "In place of the total comes the logarithm of the whole denominator, maximum and all: this is what "
    "FlashAttention-2 stores for its backward pass. Which sum does the next tile want to go on with?",
    source="Dao 2023, algorithm 1: L = m + log(l), written after the last tile",
)
def logarithm_for_the_total(state, scores, value):
    higher, kept, weights = step(state, scores)
    return higher, higher + torch.log(state[1] * kept + added(weights)), state[2] * kept + weights @ value


@mistake(
    "The new state is right, but the old one comes back changed: `*=` and `+=` write into the caller's tensors, and "
    "who kept that state for a second try has lost it. Which form makes a new tensor?",
    source="A090: the pseudo-code of a kernel, where the sums are registers",
)
def in_place(state, scores, value):
    higher, kept, weights = step(state, scores)
    _, total, output = state
    total *= kept
    total += added(weights)
    output *= kept
    output += weights @ value
    return higher, total, output


MISTAKES = (
    total_not_rescaled, output_not_rescaled, nothing_rescaled, factor_turned_round, tile_not_rescaled,
    bracket_around_both, divided_in_each_step, mean_in_the_state, softmax_of_the_tile, mean_of_the_weights,
    summed_over_queries, total_forgotten, output_forgotten, state_ignored, logarithm_for_the_total, in_place,
    *MAXIMUM_MISTAKES,
)  # fmt: skip

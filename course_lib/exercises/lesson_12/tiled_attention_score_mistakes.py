"""Wrong scores and masks for `tiled_attention`, and wrong ends for queries that may see nothing."""

import math

from course_lib.checking import mistake


def scored(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, size)


def tiles_of(S, size):
    """The first key of each tile, and the first one behind it."""
    return [(start, start + size) for start in range(0, S, size)]


def begin(query, value, lowest=-math.inf):
    """The state before the first key."""
    rows = query.shape[:-1]  # (..., T)
    return query.new_full((*rows, 1), lowest), query.new_zeros(*rows, 1), query.new_zeros(*rows, value.shape[-1])


def divided(total, output):
    return output / total.masked_fill(total == 0, 1.0)


def cut(mask, start, end):
    return mask[..., start:end]


def attend(
    query, key, value, mask, size, update, *, score=scored, part_of_mask=cut, fill=-math.inf, tiles=tiles_of,
    lowest=-math.inf, finish=divided,
):  # fmt: skip
    """The loop that the exercise asks for, with one screw turned.

    score(query, key), part_of_mask(mask, start, end): of one tile. tiles(S, size): where each tile starts and ends.
    lowest: the maximum before the first key. finish(total, output): what comes back.
    """
    state = begin(query, value, lowest)
    for start, end in tiles(key.shape[-2], size):
        scores = score(query, key[..., start:end, :]).masked_fill(~part_of_mask(mask, start, end), fill)
        state = update(state, scores, value[..., start:end, :])
    return finish(*state[1:])


@mistake(
    "Every tile is masked by the first columns of the mask, those of the first tile. Which columns belong to the keys "
    "from start to end?",
    source="`mask[..., :size]`: cut to the width that broadcasts",
)
def mask_of_the_first_tile(query, key, value, mask, size, update):
    S = key.shape[-2]
    return attend(query, key, value, mask, size, update,
                  part_of_mask=lambda mask, start, end: mask[..., : min(end, S) - start])  # fmt: skip


@mistake(
    "The mask is cut along the queries and laid across: with as many keys as queries that runs, and past and future "
    "change places. Which axis of the mask belongs to the keys?",
    source="A041: `mask[..., start:end, :]`, as for key and value, turned until it fits",
)
def mask_cut_along_queries(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  part_of_mask=lambda mask, start, end: mask[..., start:end, :].mT)  # fmt: skip


@mistake(
    "Each query looks at exactly the keys that it may not see: the fill goes where the mask is True. What does True "
    "mean here?",
    source="A130: `masked_fill(mask, ...)` without `~`",
)
def mask_turned_round(query, key, value, mask, size, update):
    return attend(query, key, value, ~mask, size, update)


@mistake(
    "The mask is not used: hidden keys get weight like any other. Between which two lines does it belong?",
    source="A045: `masked_fill` called, its result dropped",
)
def mask_not_used(query, key, value, mask, size, update):
    return attend(query, key, value, mask.new_ones(mask.shape), size, update)


@mistake(
    "Hidden scores become 0, and exp(0) is 1: such a key beats every key with a negative score. From which score does "
    "`update` make a weight of 0?",
    source="A031: scores multiplied by the mask",
)
def hidden_as_zero(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, fill=0.0)


@mistake(
    "A query that may see nothing takes the plain mean of all values: its hidden scores are finite and equal, so "
    "`update` counts them. Which score leaves maximum, total and output as they were?",
    source="A038: -1e9, or the lowest number of the dtype, as a fill",
)
def finite_fill(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, fill=-1e9)


@mistake(
    "The fill is not low enough: where the real scores are lower still, the hidden keys win. Which score can nothing "
    "undercut?",
    source="A034: the usual repair for half precision, -1e4, leaks",
)
def fill_too_high(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, fill=-1e4)


@mistake(
    "A query that may see nothing has a total of 0, and 0/0 is NaN. By what else can an output of 0 be divided?",
    source="A037",
)
def nan_rows(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, finish=lambda total, output: output / total)


@mistake(
    "The output is right, but 0/0 was computed and painted over: it comes back as NaN in the gradient. What must "
    "happen to the total before the division?",
    source="A037: `nan_to_num` or `where` after the division, gradients become NaN",
)
def nan_painted_over(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  finish=lambda total, output: (output / total).nan_to_num(0.0))  # fmt: skip


@mistake(
    "The maximum begins at 0: where all scores lie far below it, every exponential vanishes, and so does the output. "
    "Which number is below every score?",
    source="a running maximum begun with `torch.zeros`, like the two sums",
)
def maximum_from_zero(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, lowest=0.0)


@mistake(
    "The scores are used as they come: the wider the vectors, the sharper the softmax. Which root tames a sum of d_k "
    "products?",
    source="A023's sister: the scale left out",
)
def unscaled(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, score=lambda query, key: query @ key.mT)


@mistake(
    "The scores are divided by the root of the tile's size, so the output changes with `size`. Which axis do the "
    "products of query and key run over?",
    source="A023's kin: `math.sqrt(size)`, or the last axis of the scores",
)
def scaled_by_the_size(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  score=lambda query, key: query @ key.mT / math.sqrt(size))  # fmt: skip


@mistake(
    "The scores are divided by the root of the values' width. Which two tensors are multiplied in a score, and how "
    "wide are they?",
    source="A023: another width under the root; heads of one width hide it",
)
def scaled_by_the_values(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  score=lambda query, key: query @ key.mT / math.sqrt(value.shape[-1]))  # fmt: skip


@mistake(
    "The scores are divided by d_k itself, in one step or in two: the softmax comes out too flat. How often does the "
    "root belong under the product?",
    source="the queries scaled before the loop, as kernels do, and the scores once more inside",
)
def scaled_twice(query, key, value, mask, size, update):
    return attend(query / math.sqrt(query.shape[-1]), key, value, mask, size, update)


SCORE_MISTAKES = (
    mask_of_the_first_tile, mask_cut_along_queries, mask_turned_round, mask_not_used, hidden_as_zero, finite_fill,
    fill_too_high, nan_rows, nan_painted_over, maximum_from_zero, unscaled, scaled_by_the_size, scaled_by_the_values,
    scaled_twice,
)  # fmt: skip

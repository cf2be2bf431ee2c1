"""What people write for `tiled_attention` instead: keys missed or met twice, and sums finished at wrong times."""

import math

from course_lib.checking import mistake

from .tiled_attention_score_mistakes import SCORE_MISTAKES, attend, begin, divided, scored, tiles_of


@mistake(
    "All keys go into `update` in one call, so all scores are held at once and `size` is never needed. How many keys "
    "may one tile have?",
    source="the loop thought away, since the result is the same",
)
def all_keys_at_once(query, key, value, mask, size, update):
    return attend(query, key, value, mask, key.shape[-2], update)


@mistake(
    "`update` is never called: this is attention with all scores at once, as in lesson 5. Right, and what this lesson "
    "wants to get rid of: where does the (T, S) matrix come from?",
    source="`masked_attention` of lesson 5 put in",
)
def update_not_used(query, key, value, mask, size, update):
    scores = scored(query, key).masked_fill(~mask, -math.inf)
    some = mask.any(dim=-1, keepdim=True)
    return scores.masked_fill(~some, 0.0).softmax(dim=-1).masked_fill(~some, 0.0) @ value


@mistake(
    "Keys go in one by one, whatever `size` says: right, and as many calls as there are keys. Which number should a "
    "tile's end lie behind its start?",
    source="`key[..., j : j + 1, :]`, the recurrence as Milakov and Gimelshein 2018 write it down",
)
def one_key_at_a_time(query, key, value, mask, size, update):
    return attend(query, key, value, mask, 1, update)


@mistake(
    "Only whole tiles are looked at: where the length is no multiple of `size`, the last keys are dropped. What does a "
    "slice do whose end lies behind the last key?",
    source="`S // size` tiles; a length that divides hides it",
)
def last_tile_dropped(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, tiles=lambda S, size: tiles_of(S - S % size, size))


@mistake(
    "Tiles overlap by one key: the end is taken for the last key that belongs to the tile, so a key on the border "
    "counts twice. Is the end of a slice inside or outside?",
    source="`key[..., start : end + 1, :]`, an inclusive end",
)
def tiles_overlap(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  tiles=lambda S, size: [(start, end + 1) for start, end in tiles_of(S, size)])  # fmt: skip


@mistake(
    "A tile begins at every key: the loop goes on by one, not by `size`, and most keys are met several times. Which "
    "third argument does `range` take?",
    source="`range(S)` where `range(0, S, size)` is meant; with tiles of one key it is right",
)
def begins_at_every_key(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  tiles=lambda S, size: [(start, start + size) for start in range(S)])  # fmt: skip


@mistake(
    "The loop runs over the length of the queries: with more keys than queries the rest is never seen. Which of the "
    "two lengths is cut into tiles?",
    source="`query.shape[-2]` as the length; self-attention, where T = S, hides it",
)
def length_of_the_queries(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update,
                  tiles=lambda S, size: tiles_of(query.shape[-2], size))  # fmt: skip


@mistake(
    "A new state is begun in every tile, so only the last tile counts. Which line belongs in front of the loop?",
    source="`state = ...` one indentation too far",
)
def state_begun_anew(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, lambda state, *tile: update(begin(query, value), *tile))


@mistake(
    "Each tile has a softmax of its own, and the mean over the tiles is taken: a tile of weak keys counts as much as "
    "the one with the best key. What must the tiles share so that their weights can be compared?",
    source="the first idea of how to cut attention: cut, attend, average",
)
def softmax_of_each_tile(query, key, value, mask, size, update):
    parts = []
    for start, end in tiles_of(key.shape[-2], size):
        part = key[..., start:end, :], value[..., start:end, :], mask[..., start:end]
        parts.append(attend(query, *part, size, update))
    return sum(parts) / len(parts)


@mistake(
    "The output comes back undivided: it is the sum of the values, each weighed by exp(score - maximum). By what does "
    "a softmax divide, and where does your state keep it?",
    source="`return output` after the loop: the state's third part is called output",
)
def not_divided(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size, update, finish=lambda total, output: output)


@mistake(
    "The sum is divided by the number of tiles, as if it were a mean over them. What do the weights of one query sum "
    "to, and which part of the state knows it?",
    source="a running mean over batches, as for losses",
)
def divided_by_the_tiles(query, key, value, mask, size, update):
    count = len(tiles_of(key.shape[-2], size))
    return attend(query, key, value, mask, size, update, finish=lambda total, output: output / count)


@mistake(
    "The output is divided after each tile, and `update` takes this mean for a sum: earlier tiles lose their weight. "
    "After which tile is the total complete?",
    source="the division inside the loop, `state` built anew from the finished output",
)
def divided_in_each_tile(query, key, value, mask, size, update):
    def finished(*arguments):
        maximum, total, output = update(*arguments)
        return maximum, total, divided(total, output)

    return attend(query, key, value, mask, size, finished, finish=lambda total, output: output)


@mistake(
    "The output is divided after each tile and once more at the end. How often does a softmax divide by its sum?",
    source="the division moved behind the loop, the one inside forgotten",
)
def divided_again(query, key, value, mask, size, update):
    def finished(*arguments):
        maximum, total, output = update(*arguments)
        return maximum, total, divided(total, output)

    return attend(query, key, value, mask, size, finished)


@mistake(
    "The output is right, but each tile is cut off from the ones before: gradients come from the last tile alone. "
    "Which line takes the state out of torch's graph?",
    source="`detach` between the parts, as in truncated backpropagation through time",
)
def state_detached(query, key, value, mask, size, update):
    return attend(query, key, value, mask, size,
                  lambda state, *tile: update(tuple(part.detach() for part in state), *tile))  # fmt: skip


@mistake(
    "The loop ends at the first tile that is hidden from all queries, and what lies behind it is never seen. To leave "
    "out one round, do you want `break` or `continue`?",
    source="the shortcut of block-sparse kernels, which skip hidden tiles, with the wrong word",
)
def ends_at_a_hidden_tile(query, key, value, mask, size, update):
    def shown(S, size):
        tiles = tiles_of(S, size)
        return tiles[: next((i for i, (start, end) in enumerate(tiles) if not mask[..., start:end].any()), len(tiles))]

    return attend(query, key, value, mask, size, update, tiles=shown)


MISTAKES = (
    all_keys_at_once, update_not_used, one_key_at_a_time, last_tile_dropped, tiles_overlap, begins_at_every_key,
    length_of_the_queries, state_begun_anew, softmax_of_each_tile, not_divided, divided_by_the_tiles,
    divided_in_each_tile, divided_again, state_detached, ends_at_a_hidden_tile,
    *SCORE_MISTAKES,
)  # fmt: skip

"""Exercise `tiled_attention`: attention that never holds all scores at once, the idea of FlashAttention."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise
from course_lib.exercises.drawn_masks import all_shown, patchy, up_to
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.masked_attention import FORBIDDEN

from .online_softmax import online_softmax
from .tiled_attention_laws import LAWS
from .tiled_attention_mistakes import MISTAKES


def tiled_attention(query, key, value, mask, size, update):
    """softmax(Q K^T / √d_k) V over the keys that each query may see, without ever holding all scores at once.

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv). mask: (..., T, S) bool, True = may attend. A query
    without any allowed key gets 0. size: how many keys are looked at at once; the last tile may be smaller.
    update: your `online_softmax`, a function (state, scores, value) -> state. Returns (..., T, Dv).
    """
    shape = query.shape[:-1]  # (..., T)
    state = query.new_full((*shape, 1), -math.inf), query.new_zeros(*shape, 1), query.new_zeros(*shape, value.shape[-1])
    for start in range(0, key.shape[-2], size):
        end = start + size
        scores = query @ key[..., start:end, :].mT / math.sqrt(query.shape[-1])  # (..., T, size)
        scores = scores.masked_fill(~mask[..., start:end], -math.inf)
        state = update(state, scores, value[..., start:end, :])
    _, total, output = state
    return output / total.masked_fill(total == 0, 1.0)


def cases(generator):
    """One tile, tiles that divide and that do not, hidden tiles, equal sizes, large scores, queries without keys."""

    def draw(*shape):
        return 1.3 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def coarse(*shape):  # numbers of few digits: their products are exact, however large
        return torch.randint(-4, 5, shape, generator=generator).to(torch.float64) / 64

    def case(label, group, sizes, size, mask, *leading):
        """sizes: T, S, Dk, Dv. mask: (T, S) or with axes in front, which it gets if it has none."""
        T, S, Dk, Dv = sizes
        tokens = draw(*leading, T, Dk), draw(*leading, S, Dk), draw(*leading, S, Dv)
        return Case(label, (*tokens, mask.expand(*leading, T, S).clone(), size, online_softmax), {}, group)

    def hiding(T, S, *hidden):
        """All is shown but these slices of keys."""
        mask = all_shown(T, S)
        for keys in hidden:
            mask[:, keys] = False
        return mask

    yield case("one tile holds all keys", "one tile", (3, 5, 2, 4), 5, patchy(1, 3, 5)[0])
    yield case("a tile larger than the length", "one tile", (4, 3, 5, 2), 8, patchy(2, 4, 3), 2)
    yield case("three tiles of 2", "several tiles", (3, 6, 5, 4), 2, patchy(2, 3, 6), 2)
    yield case("two tiles of 4, nothing hidden", "several tiles", (5, 8, 6, 3), 4, all_shown(5, 8))
    yield case("a last tile of one key", "a smaller last tile", (4, 5, 3, 2), 2, patchy(2, 4, 5), 2)
    yield case("a last tile of two keys", "a smaller last tile", (2, 5, 6, 3), 3, patchy(1, 2, 5), 1)
    yield case("tiles of one key", "tiles of one key", (2, 4, 3, 5), 1, patchy(2, 2, 4), 2)
    yield case("two axes in front, (B, H)", "heads", (5, 4, 2, 6), 3, patchy(2, 5, 4).unsqueeze(1), 2, 3)
    yield case("one query, one key", "one of each", (1, 1, 3, 2), 1, all_shown(1, 1), 1)
    yield case("as many queries as keys, causal", "T = S", (5, 5, 3, 4), 2, causal_mask(5, 5), 2)
    yield case("as many queries as keys", "T = S", (4, 4, 5, 3), 3, patchy(2, 4, 4), 2)
    yield case("every size 4, tiles of 2", "all equal", (4, 4, 4, 4), 2, patchy(4, 4, 4), 4)
    yield case("every size 3, tiles too", "all equal", (3, 3, 3, 3), 3, patchy(3, 3, 3), 3)
    yield case("the first tile is hidden", "hidden tiles", (3, 6, 5, 2), 2, hiding(3, 6, slice(0, 2)), 2)
    yield case("a tile in the middle is hidden", "hidden tiles", (3, 7, 5, 2), 3, hiding(3, 7, 0, slice(3, 6)), 2)
    yield case("the last tile is hidden", "hidden tiles", (3, 5, 6, 2), 2, hiding(3, 5, 1, slice(4, 5)), 2)
    yield case("2 queries, 5 keys, causal", "hidden tiles", (2, 5, 3, 4), 2, causal_mask(2, 5), 2)
    # Between tiles that are far apart the exponentials vanish; far below 0, those measured from any other maximum.
    signs = torch.tensor([-1.0, -1, 1, -1, 1])[:, None]  # the largest score stands in the second tile
    for scale, low, label in ((-25.0, signs, "±1000"), (25.0, -1.0, "-1000"), (100.0, -1.0, "-20,000")):
        far = coarse(2, 3, 4) + scale, coarse(2, 5, 4) + low * abs(scale), draw(2, 5, 3)
        yield Case(f"scores near {label}", (*far, patchy(2, 3, 5), 2, online_softmax), {}, "large scores")
    nothing = patchy(2, 3, 5) & torch.tensor([True, False, True])[:, None]
    yield case("a query without any key", "no key left", (3, 5, 6, 4), 2, nothing, 2)
    padding = up_to(4, 4, 0).expand(2, 3, 4)
    yield case("a row of padding alone", "no key left", (3, 4, 2, 5), 3, padding, 2)


def split_beforehand(query, key, value, mask, size, update):
    query = query / math.sqrt(query.shape[-1])  # control C01
    state = tuple(query.new_full((*query.shape[:-1], n), x) for n, x in ((1, -math.inf), (1, 0), (value.shape[-1], 0)))
    for k, v, shown in zip(key.split(size, -2), value.split(size, -2), mask.split(size, -1), strict=True):
        state = update(state, torch.where(shown, torch.einsum("...td,...sd->...ts", query, k), -math.inf), v)
    return state[2] / state[1].clamp(min=1e-30)


def hidden_tiles_skipped(query, key, value, mask, size, update):
    """As block-sparse kernels do: a tile that no query may see costs nothing."""
    empty = query[..., :1] * 0
    state = empty - math.inf, empty, (empty * value[..., :1, :1]).expand(*query.shape[:-1], value.shape[-1])
    start = 0
    while start < key.shape[-2]:
        tile = slice(start, start + size)
        start += size
        if mask[..., tile].any():
            bias = torch.zeros_like(mask[..., tile], dtype=query.dtype).masked_fill(~mask[..., tile], -math.inf)
            scores = query @ key[..., tile, :].mT * query.shape[-1] ** -0.5
            state = update(state, scores + bias, value[..., tile, :])
    return torch.where(state[1] > 0, state[2] / torch.where(state[1] > 0, state[1], 1), 0)


def from_the_last_key(query, key, value, mask, size, update):
    """By recursion: all tiles but the last, then that one. The tile at the front is the smaller one."""

    def seen_up_to(end):
        if end <= 0:
            nothing = torch.zeros(*query.shape[:-1], value.shape[-1]).to(query)
            return nothing[..., :1] - math.inf, nothing[..., :1], nothing
        tile = range(max(end - size, 0), end)
        k, v, shown = key[..., tile, :], value[..., tile, :], mask[..., tile]
        scores = (query.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1).div(k.shape[-1] ** 0.5)
        return update(seen_up_to(end - size), torch.masked_fill(scores, shown == 0, -math.inf), v)

    _, total, output = seen_up_to(key.shape[-2])
    return output / torch.maximum(total, torch.full_like(total, 1e-30))


def blocks_of_queries(query, key, value, mask, size, update):
    """Both loops of FlashAttention: blocks of queries outside, tiles of keys inside."""
    blocks = []
    for q, shown in zip(query.split(2, dim=-2), mask.split(2, dim=-2), strict=True):
        blocks.append(tiled_attention(q, key, value, shown, size, update))
    return torch.cat(blocks, dim=-2)


def padded_to_whole_tiles(query, key, value, mask, size, update):
    """Keys are padded to whole tiles and folded: (..., S, D) to (tiles, ..., size, D). The mask hides the padding."""
    more = -key.shape[-2] % size
    key, value = (functional.pad(x, (0, 0, 0, more)).unflatten(-2, (-1, size)).movedim(-3, 0) for x in (key, value))
    mask = functional.pad(mask, (0, more)).unflatten(-1, (-1, size)).movedim(-2, 0)
    scores_of = (k @ query.mT / k.shape[-1] ** 0.5 for k in key)  # (..., size, T), one tile after the other
    total = torch.zeros_like(query[..., :1])
    state = total.log(), total, total.repeat_interleave(value.shape[-1], dim=-1)
    for scores, v, shown in zip(scores_of, value, mask, strict=True):
        state = update(state, scores.mT.masked_fill(shown.logical_not(), -math.inf), v)
    return state[2].div(state[1] + (state[1] == 0))


EXERCISE = Exercise(
    name="tiled_attention",
    reference=tiled_attention,
    cases=cases,
    laws=LAWS,
    mistakes=MISTAKES,
    accepts=(split_beforehand, hidden_tiles_skipped, from_the_last_key, blocks_of_queries, padded_to_whole_tiles),
    hints=(
        "A state before the first key, a loop over the tiles that hands it to `update` and takes it back, one division "
        "behind the loop.",
        "`range(0, S, size)` gives the first key of each tile. A slice may end behind the last key, so the smaller "
        "tile needs no care: `key[..., start:end, :]`, `value[..., start:end, :]` and `mask[..., start:end]`.",
        "The state begins with a maximum of -inf and two sums of 0. A query that saw nothing still has a total of 0: "
        "`total.masked_fill(total == 0, 1.0)` divides its output of 0 by 1.",
    ),
    minutes=15,
    difficulty=3,
    points=3,
    forbidden=FORBIDDEN,
)  # fmt: skip

"""Laws of `tiled_attention`: one call of `update` for each tile, and the same output for tiles of any size."""

import torch

from course_lib.checking import Case, Law
from course_lib.checking.laws import call, close, hidden_ignored, reordered
from course_lib.checking.ways import one_for_each_way

from .online_softmax import online_softmax

SIZES = ((7, 3), (6, 2), (4, 9))  # S and size: a smaller tile at the end, tiles that divide, one that is too large


def _calls(function):
    """In a few words, how a function calls `update` where nothing is hidden.

    Judged by the queries that all calls serve together: queries may be cut into blocks, and keys padded.
    """
    for S, size in SIZES:
        seen = []

        def watched(state, scores, value, seen=seen):
            seen.append(tuple(scores.shape[-2:]))
            return online_softmax(state, scores, value)

        query, key, value = (torch.linspace(-1, 1, N * 2).reshape(N, 2).sin() for N in (3, S, S))
        call(function, Case("", (query, key, value, torch.ones(3, S, dtype=torch.bool), size, watched)))
        if not seen:
            return "never calls it"
        if max(width for _, width in seen) > size:
            return "gives it more than `size` keys at once"
        served, wanted = sum(rows for rows, _ in seen), 3 * -(-S // size)
        if served > wanted:
            return "calls it for smaller tiles than `size` allows"
        if served < wanted:
            return "leaves out tiles"
    return "calls it once for each tile"


def _any_size(function, cases, generator):
    for case in cases:
        *tensors, _, update = case.args
        S = tensors[1].shape[-2]
        outputs = [call(function, Case("", (*tensors, size, update))) for size in (1, S - 1 or 1, S + 2)]
        if not all(close(outputs[0], other) for other in outputs[1:]):
            return f"tiles of another size give another output ({case.label})"
    return None


LAWS = (
    *one_for_each_way(
        "`update` is called once for each tile",
        _calls,
        right="calls it once for each tile",
        ways=("never calls it", "gives it more than `size` keys at once",
              "calls it for smaller tiles than `size` allows"),
        where="where nothing is hidden, your function",
        question="How many tiles of at most `size` keys are there, and what does `update` get of each?",
    ),
    Law("any size of tiles", _any_size, "Which line would still be right with one tile, and which with one key each?"),
    hidden_ignored((1, 2), 3, name="hidden keys do not matter"),
    reordered("the order of keys does not matter", {1: (-2,), 2: (-2,), 3: (-1,)}, {},
              "If key, value and mask list the keys in another order, which keys share a tile, and does it matter?"),
)  # fmt: skip

"""Exercise `learned_positions`: a vector for each place, learned, and none beyond the last."""

import torch

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import call, close, rows_independent
from course_lib.checking.ways import attempt, one_for_each_way

from .learned_positions_mistakes import MISTAKES


def learned_positions(X, table, start):
    """Add to each token the learned vector of its position: start, start + 1, ...

    X: (B, N, D). table: (P, D). Returns (B, N, D). Raises ValueError when a position lies past the table.
    """
    end = start + X.shape[1]
    if end > len(table):
        raise ValueError(f"the table has {len(table)} positions, the tokens need {end}")
    return X + table[start:end]


def cases(generator):
    """From position 0, from later ones, one token, one row, a table used to its last row, then sizes that coincide."""
    for label, group, B, N, D, P, start in (
        ("from position 0", "from 0", 2, 3, 5, 12, 0),
        ("from position 2", "later", 3, 4, 2, 20, 2),
        ("from position 3, one row", "later", 1, 5, 4, 12, 3),
        ("one new token", "later", 3, 1, 4, 9, 5),
        ("four tokens from position 3", "later", 2, 4, 3, 16, 3),
        ("up to the last row of the table", "to the end", 2, 4, 3, 6, 2),
        ("as many rows as tokens", "B = N", 4, 4, 3, 24, 1),
        ("as many tokens as features", "N = D", 2, 5, 5, 15, 4),
        ("all sizes 3", "all equal", 3, 3, 3, 3, 0),
    ):
        X, table = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((B, N, D), (P, D)))
        yield Case(label, (X, table, start), group=group)


def by_embedding(X, table, start):
    positions = torch.arange(start, start + X.shape[1])
    if positions[-1] >= table.shape[0]:
        raise ValueError("past the table")
    return X + torch.nn.functional.embedding(positions, table)


def by_one_hot(X, table, start):
    N, P = X.shape[1], len(table)
    if P < start + N:
        raise ValueError(f"position {start + N - 1} of {P}")
    return X + torch.einsum("np,pd->nd", torch.eye(P, dtype=X.dtype)[start : start + N], table)


def by_loop(X, table, start):
    tokens = []
    for n in range(X.shape[1]):
        if not 0 <= start + n < len(table):
            raise ValueError(f"no row for position {start + n}")
        tokens.append(X[:, n] + table[start + n])
    return torch.stack(tokens, dim=1)


def by_narrow(X, table, start):
    try:
        return table.narrow(0, start, X.size(1)).add(X)
    except (RuntimeError, IndexError) as error:
        raise ValueError("past the table") from error


def _past_the_table(function):
    """In a few words, what a function does where the table is too short: "refused", as it should be, or another.

    Once N tokens from position 0 are one too many, once a late start leaves one row for two tokens, and once both
    together are two too many.
    """
    X, table = torch.arange(24.0).reshape(2, 4, 3), torch.arange(9.0).reshape(3, 3) ** 2
    results = [
        attempt(lambda tokens=tokens, start=start: call(function, Case("past the table", (tokens, table, start))))
        for tokens, start in ((X, 0), (X[:, :2], 2), (X, 1))
    ]
    long, late, far = (result if isinstance(result, str) else "" for result in results)
    if long == "ValueError":
        return "refused" if late == "ValueError" else "overlooks the start"
    if far == "ValueError":
        return "goes one position too far"
    if long:
        return f"raises {long}" if late else "hands one row to all"
    ways = {"begins again": [0, 1, 2, 0], "stays on the last row": [0, 1, 2, 2]}
    return next((what for what, places in ways.items() if close(results[0], X + table[places])), "goes on")


THE_TABLE_ENDS = one_for_each_way(
    "the table ends",
    _past_the_table,
    right="refused",
    ways=(
        "begins again", "stays on the last row", "hands one row to all", "overlooks the start",
        "goes one position too far",
    ),
    where="past its last row your function",
    question="What can you compare before you raise the ValueError?",
)  # fmt: skip

EXERCISE = Exercise(
    name="learned_positions",
    reference=learned_positions,
    cases=cases,
    laws=(rows_independent({0}), *THE_TABLE_ENDS),
    mistakes=MISTAKES,
    accepts=(by_embedding, by_one_hot, by_loop, by_narrow),
    hints=(
        "Token n of every row stands at position start + n: which N rows of the table are these?",
        "A slice of the table is (N, D); added to (B, N, D) it goes to every row of the batch.",
        "A slice past the end is short and says nothing: compare start + N with len(table), and `raise ValueError`.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

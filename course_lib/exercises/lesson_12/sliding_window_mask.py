"""Exercise `sliding_window_mask`: each query sees the nearest keys alone, so the cost grows with the length only."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call

from .sliding_window_mask_mistakes import MISTAKES


def sliding_window_mask(T, S, window):
    """Which keys each of T queries may see: itself and those before it, `window` in all; the last query stands at the
    last of S keys (S ≥ T).

    Returns bool (T, S), True = may attend.
    """
    distance = torch.arange(S - T, S).unsqueeze(1) - torch.arange(S)  # (T, S), how far back a key lies
    return (distance >= 0) & (distance < window)


def cases(generator):
    """As many keys as queries, narrow windows and wide ones, then more keys than queries, as with a cache."""
    yield Case("7 tokens, a window of 3", (7, 7, 3), group="T = S")
    yield Case("6 tokens, a window of 2", (6, 6, 2), group="T = S")
    yield Case("8 tokens, a window of 4", (8, 8, 4), group="T = S")
    yield Case("5 tokens, a window of 1", (5, 5, 1), group="itself alone")
    yield Case("one token", (1, 1, 1), group="itself alone")
    yield Case("4 tokens, a window of 4", (4, 4, 4), group="wide windows")
    yield Case("3 tokens, a window of 9", (3, 3, 9), group="wide windows")
    yield Case("one token, a window of 5", (1, 1, 5), group="wide windows")
    yield Case("3 new queries, 8 keys, a window of 4", (3, 8, 4), group="more keys")
    yield Case("4 new queries, 7 keys, a window of 2", (4, 7, 2), group="more keys")
    yield Case("one new query, 6 keys, a window of 3", (1, 6, 3), group="more keys")
    yield Case("2 new queries, 5 keys, a window of 1", (2, 5, 1), group="more keys")
    yield Case("2 new queries, 4 keys, a window of 6", (2, 4, 6), group="more keys")


def between_two_triangles(T, S, window):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T).triu(S - T - window + 1)


def by_slices(T, S, window):
    mask = torch.zeros(T, S).bool()
    for t, row in enumerate(mask, start=S - T):
        row[max(0, t - window + 1) : t + 1] = True
    return mask


def what_the_window_adds(T, S, window):
    """All that is not in the future, less what a query `window` places before could see."""
    key, query = torch.meshgrid(torch.arange(S), torch.arange(T) + S - T, indexing="xy")
    return torch.logical_xor(key <= query, key <= query - window)


def by_running_sum(T, S, window):
    """+1 where a window opens, -1 behind its end; the sum along the keys is 1 inside."""
    end = torch.arange(S - T, S)[:, None] + 1
    edges = torch.zeros(T, S + 1, dtype=torch.long)
    edges.scatter_add_(1, (end - window).clamp(min=0), torch.ones_like(end)).scatter_add_(1, end, -torch.ones_like(end))
    return edges.cumsum(1)[:, :S] == 1


def by_membership(T, S, window):
    return torch.tensor([[key in range(t - window + 1, t + 1) for key in range(S)] for t in range(S - T, S)])


def by_tiles_of_one_row(T, S, window):
    """One row of zeros, ones and zeros, read from another place by each query."""
    row = torch.cat([torch.zeros(S), torch.ones(window), torch.zeros(S)])
    behind = S + window  # the first zero behind the ones
    return torch.stack([row[behind - (S - T + t + 1) :][:S] for t in range(T)]) > 0.5


def _rows(function, cases, generator):
    """Sizes that no case has, so that a mask made for the cases is seen."""
    for most in (12, 40):
        S = int(torch.randint(9, most, (), generator=generator))
        T, window = (int(n) for n in torch.randint(2, S, (2,), generator=generator))
        mask = call(function, Case("", (T, S, window)))
        for t, row in enumerate(mask, start=S - T):
            if row.nonzero().flatten().tolist() != list(range(max(0, t - window + 1), t + 1)):
                return f"with T = {T}, S = {S} and window = {window}, row {t - S + T} is another window"
    return None


EXERCISE = Exercise(
    name="sliding_window_mask",
    reference=sliding_window_mask,
    cases=cases,
    laws=(Law("every row is a window", _rows,
              "At which key stands the query of this row, and which keys lie less than `window` places back?"),),
    mistakes=MISTAKES,
    accepts=(
        between_two_triangles, by_slices, what_the_window_adds, by_running_sum, by_membership, by_tiles_of_one_row,
    ),
    hints=(
        "It is `causal_mask` of lesson 5 with a second condition: a key may not lie too far back either.",
        "`torch.arange(S - T, S)` are the places of the queries. As a column, less `torch.arange(S)` as a row, they "
        "tell how far back each key lies.",
        "The query itself lies 0 places back and is one of the `window` keys: which distances remain? Join both "
        "conditions with `&`, each in brackets.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

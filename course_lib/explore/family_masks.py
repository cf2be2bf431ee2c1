"""What the three families of Transformers may see, and what writing costs them with a cache; no widget in here.

The text is the same for all, N = S + 1 + T places: S source tokens, then the separator (where encoder and decoder are
apart, the token that the decoder begins with), then T target tokens. Rows are queries, columns are keys. Encoder-only:
Devlin et al. 2019. Encoder–decoder: Vaswani et al. 2017. Decoder-only: Radford et al. 2018.
"""

import numpy as np

from .base import numbers

FAMILIES = ("encoder-only", "encoder-decoder", "decoder-only")
MOST_TOKENS = 12  # of source and target together
STAGES = ("now", "before", "later")


def mask_of(family, S, N):
    """(N, N) bool, True = may attend, directly or by cross-attention.

    No stack of layers lets more through: whoever may see a token may see all that this token sees. So these are also
    the tokens that reach a place from the input to the top of any number of layers.
    """
    if family == "encoder-only":
        return np.ones((N, N), dtype=bool)
    mask = np.tril(np.ones((N, N), dtype=bool))
    if family == "encoder-decoder":
        mask[:S, :S] = True
    return mask


def grids_of(family, S, N):
    """{name: (rows, columns)}, the places of the family's attentions: "encoder", "decoder", "cross"."""
    if family == "encoder-decoder":
        source, target = range(S), range(S, N)
        return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    return {family.removesuffix("-only"): (range(N), range(N))}


def stages_of(family, S, N, written, cache):
    """When each row of scores is computed, if so many tokens are written and the next is asked for: N of STAGES.

    With a cache it is the row of the newest token alone, after a first pass over all that is given. The source is read
    once by an encoder, cache or not.
    """
    if family == "encoder-only":
        return ["now"] * N

    def stage(place):
        if place > S + written:
            return "later"
        by_encoder = family == "encoder-decoder" and place < S
        again = place == S + written or written == 0 or not (cache or by_encoder)
        return "now" if again else "before"

    return [stage(place) for place in range(N)]


def scores_of(family, S, N, written, cache):
    """How many scores q · k each pass computes, in one head of one layer (of either stack, where there are two).

    A list of 1 + written passes: each asks for one token more. Those that the mask hides count, since a matrix product
    computes them too. A pass over a text of n tokens computes n rows of n scores; with a cache, after the first pass,
    one row of n. Cross-attention adds S scores to each row of a decoder, its encoder S · S to the first pass.
    """
    if family == "encoder-only":
        return [N * N]
    given, others = (1, S) if family == "encoder-decoder" else (S + 1, 0)
    passes = []
    for length in range(given, given + written + 1):
        rows = 1 if cache and length > given else length
        passes.append(rows * (length + others))
    passes[0] += others * others
    return passes


def kept_of(family, S, written):
    """Of how many tokens the keys and values lie in the cache after the pass under way: those that grow, the fixed."""
    if family == "encoder-only":
        return 0, 0
    return (1 + written, S) if family == "encoder-decoder" else (S + 1 + written, 0)


def measure(influence, N):
    """{family: [[whether the row's output depends on the column's token]]} of what the functions in a dict return."""
    if not isinstance(influence, dict):
        kind = type(influence).__name__
        raise TypeError(f"influence: expected a dict {{family: function () -> matrix ({N}, {N})}}, got a {kind}")
    found = {}
    for family, function in influence.items():
        if family not in FAMILIES:
            raise ValueError(f"influence: expected families among {', '.join(FAMILIES)}, got {family!r}")
        if not callable(function):
            kind = type(function).__name__
            raise TypeError(f"influence[{family!r}]: expected a function () -> matrix ({N}, {N}), got a {kind}")
        found[family] = (numbers(function(), f"influence[{family!r}]", N, N) != 0).tolist()
    return found


def disagreements(mask, measured):
    """Cells [row, column] with an influence though they are hidden, and those without one though they are not."""
    measured = np.array(measured)
    return np.argwhere(measured & ~mask).tolist(), np.argwhere(mask & ~measured).tolist()

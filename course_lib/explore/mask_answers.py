"""What an attention function makes of a mask, asked and judged for the mask builder; no widget in here.

The function runs once on the tokens as they are and once with one of them replaced: an output that changes although
its query may not look at that token is a leak.
"""

import numpy as np
import torch

from course_lib import attention

from .base import problem, rounded

WIDTH, SEED = 8, 5  # of the vectors, which are drawn
CHANGED = 1e-5  # an output that moves by less has not changed: float32 rounds


def draw_vectors(count):
    """Query, key and value of each token, then those that it has when it is replaced: two dicts of (T, WIDTH) lists."""
    drawn = np.random.default_rng(SEED).normal(size=(2, 3, count, WIDTH))
    vectors, others = (dict(zip(("query", "key", "value"), rounded(each), strict=True)) for each in drawn)
    return vectors, others


def build_mask(count, causal, padding, opened, closed):
    """(T, T) bool, True = may attend. What is opened or closed by hand wins over causal and padding."""
    mask = np.tril(np.ones((count, count), dtype=bool)) if causal else np.ones((count, count), dtype=bool)
    mask[:, count - padding :] = False
    for cells, value in ((opened, True), (closed, False)):
        for row, column in cells:
            mask[row, column] = value
    return mask


def ask(attend, vectors, mask):
    """Output (T, WIDTH) and weights (T, T) of `attend` as arrays. Raises ValueError where it returns something else."""
    query, key, value = (torch.tensor(vectors[name]) for name in ("query", "key", "value"))  # fresh, so it may write
    result = attend(query, key, value, torch.from_numpy(mask.copy()))
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        came = f"{len(result)} values" if isinstance(result, (tuple, list)) else f"a {type(result).__name__}"
        raise ValueError(f"it must return (output, weights), got {came}")
    arrays = []
    for name, part, width in (("output", result[0], WIDTH), ("weights", result[1], len(mask))):
        shape = tuple(getattr(part, "shape", ()))
        if not isinstance(part, torch.Tensor) or shape != (len(mask), width):
            came = f"shape {shape}" if isinstance(part, torch.Tensor) else f"a {type(part).__name__}"
            raise ValueError(f"{name} must be a tensor of shape {(len(mask), width)}, got {came}")
        arrays.append(part.detach().cpu().to(torch.float64).numpy())
    return arrays


def answer(attend, vectors, others, mask, changed):
    """What the page shows of `attend`: weights (T, T), how far each output moves (T,), rows with NaN, what it raised.

    Nothing that `attend` does gets past this: a learner's mistake is a sentence below the grid.
    """
    try:
        output, weights = ask(attend, vectors, mask)
        after = output
        if changed is not None:
            swapped = {name: [*rows] for name, rows in vectors.items()}
            for name, rows in swapped.items():
                rows[changed] = others[name][changed]
            after, _ = ask(attend, swapped, mask)
    except Exception as error:  # the function is the learner's, and may raise anything
        return {"weights": [], "change": [], "broken": [], "problem": problem(error)}
    with np.errstate(all="ignore"):
        change = np.sqrt(((after - output) ** 2).sum(axis=1))
    finite = np.isfinite(weights).all(axis=1) & np.isfinite(output).all(axis=1) & np.isfinite(change)
    shown = {"weights": [_cells(row) for row in weights], "change": _cells(change)}
    return {**shown, "broken": np.flatnonzero(~finite).tolist(), "problem": ""}


def _cells(values):
    """Numbers for the page. JSON knows no NaN, so what is not finite goes as the text that JavaScript reads."""
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return [round(float(value), 6) if np.isfinite(value) else names[str(float(value))] for value in values]


def own_attention(query, key, value, mask):
    """The course's function, called as the learner's is."""
    return attention.scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)


def findings(mask, shown, changed):
    """What is worth a sentence, from a mask, an `answer` without problem and the replaced token: the page's twin."""
    weights, change = np.array(shown["weights"], dtype=float), np.array(shown["change"], dtype=float)
    sound = [row for row in range(len(mask)) if row not in shown["broken"]]
    peeks = [weights[row, key] for row in sound for key in range(len(mask)) if not mask[row, key]]
    found = {
        "empty": [row for row in range(len(mask)) if not mask[row].any()],
        "sums": [row for row in sound if mask[row].any() and abs(weights[row].sum() - 1) > 0.01],
        "peeks": [weight for weight in peeks if abs(weight) > CHANGED],
    }
    if changed is not None:
        moved = [row for row in sound if change[row] > CHANGED]
        # The replaced token's own query is new, so its output may change whatever it looks at.
        leaks = [row for row in moved if not mask[row, changed] and (row != changed or not mask[row].any())]
        blind = [row for row in sound if row not in moved and mask[row, changed]]
        most = max((change[row] for row in leaks), default=0)
        found |= {"moved": moved, "leaks": leaks, "blind": blind, "most": most}
    return found

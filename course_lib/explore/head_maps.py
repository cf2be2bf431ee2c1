"""Attention maps as the head grid needs them, and what a function says about a head; no widget in here."""

import json
import math
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from .base import MOST_TOKENS, problem, rounded

MOST_LAYERS, MOST_HEADS = 8, 16
MOST_BYTES = 1_900_000  # of the weights as text; with the rest a page stays below 2 MB
SHAPES = "(layers, heads, T, S) or (heads, T, S)"


def row_difference(first, second):
    """How far two maps (T, S) differ: the share of its weight that a query has elsewhere, mean over the queries."""
    return float(np.abs(first - second).sum(axis=1).mean() / 2)


def ask(ablate, layer, head):
    """{"cost", "text"} of what `ablate` returns, or {"problem"}: nothing that it does gets past this."""
    try:
        value = ablate(layer, head)
        if value is None or isinstance(value, (str, bytes, bool)):
            raise TypeError(f"it must return a number, got {'None' if value is None else f'a {type(value).__name__}'}")
        cost = float(value)  # a tensor with one number is one too
        if not math.isfinite(cost):
            raise ValueError(f"it must return a finite number, got {cost}")
    except Exception as error:  # the function is the learner's, and may raise anything
        return {"problem": problem(error)}
    cost = float(f"{cost:.6g}")
    return {"cost": cost, "text": _signed(cost)}


def _signed(cost):
    """With its sign and three digits; its power of ten where those would be zeros or too many."""
    size, sign = abs(cost), "−" if cost < 0 else "+"
    if size == 0:
        return "0"
    if 0.0005 <= size < 1000:
        return sign + str(Decimal(size).quantize(Decimal("0.001"), ROUND_HALF_UP))
    mantissa, exponent = f"{size:.1e}".split("e")
    return f"{sign}{mantissa}e{int(exponent)}"


def pooled(weights, side):
    """At most side × side cells, each the largest weight of those it stands for: a thin diagonal is not lost."""
    for _ in range(2):
        step = math.ceil(len(weights) / side)
        weights = np.array([weights[at : at + step].max(axis=0) for at in range(0, len(weights), step)]).T
    return weights


def maps_of(attn):
    """`attn` as nested lists (layers, heads, T, S), rounded. Raises TypeError or ValueError."""
    try:
        if not hasattr(attn, "__len__"):
            raise TypeError("not even a list")
        attn = attn.detach().cpu().double().numpy() if hasattr(attn, "detach") else np.asarray(attn, dtype=float)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"attn: expected one tensor or array {SHAPES}, got a {type(attn).__name__}. A list of layers is stacked "
            "with torch.stack"
        ) from error
    came = f"attn: expected {SHAPES}, got shape {tuple(attn.shape)}"
    if attn.ndim not in (3, 4) or not attn.size:
        raise ValueError(f"{came}. Take one sentence: no batch axis")
    attn = attn if attn.ndim == 4 else attn[None]
    layers, heads, rows, columns = attn.shape
    for count, most, name in (
        (layers, MOST_LAYERS, "layers"), (heads, MOST_HEADS, "heads"),
        (rows, MOST_TOKENS, "queries"), (columns, MOST_TOKENS, "keys"),
    ):  # fmt: skip
        if count > most:
            batch = " Is the first axis a batch? Then take one sentence, attn[0]." if name == "layers" else ""
            raise ValueError(f"{came}: {count} {name}, at most {most} can be shown.{batch}")
    if not np.isfinite(attn).all():
        raise ValueError("attn: expected weights from 0 to 1, got NaN or infinity")
    wrong = attn[(attn < 0) | (attn > 1.01)]  # bfloat16 rounds
    if wrong.size:
        raise ValueError(f"attn: expected weights from 0 to 1, got {wrong[0]:g}. Are they scores before the softmax?")
    maps = rounded(attn)
    _check_size(maps)
    return maps


def _check_size(maps):
    size = len(json.dumps(maps))
    if size > MOST_BYTES:
        shape = " × ".join(map(str, np.shape(maps)))
        raise ValueError(
            f"attn: expected at most {MOST_BYTES / 1e6} MB of weights, got {size / 1e6:.1f} MB ({shape}). Take fewer "
            "layers, heads or tokens."
        )

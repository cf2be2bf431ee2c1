"""Attention weights, answers of an `ablate` and states, of all kinds, for the tests of the head grid."""

import math

import numpy as np
import torch


def maps(*shape, seed=0):
    """Random weights of that shape, rows sum to 1; some are one-hot, one map has a row of nothing."""
    drawn = np.random.default_rng(seed)
    raised = np.exp(drawn.choice([1, 3, 30], size=(*shape[:2], 1, 1)) * drawn.normal(size=shape))
    weights = raised / raised.sum(axis=-1, keepdims=True)
    weights[-1, -1, 0] = 0
    return weights


def cost(layer, head):
    """Of every kind: good, bad, nothing, tiny, large, and no number at all."""
    given = [0.3125, -0.0625, 0, 0.00012, torch.tensor(4321.5), np.float32(0.25), math.nan, "0.5", None, [1, 2]]
    at = (3 * layer + head) % (len(given) + 1)
    return given[at] if at < len(given) else 1 / 0


def random_states(made, count=60, seed=0):
    drawn = np.random.default_rng(seed)
    layers, heads, rows = np.shape(made.maps)[:3]
    for at in range(count):
        opened, second = ([int(drawn.integers(layers)), int(drawn.integers(heads))] for _ in "ab")
        state = {"opened": opened, "second": [] if at % 3 == 0 else second, "row": int(drawn.integers(rows))}
        state |= {"stretch": bool(drawn.integers(2)), "off": bool(made.function and drawn.integers(2))}
        yield state


def apply(made, state):
    for name, value in state.items():
        setattr(made, name, value)

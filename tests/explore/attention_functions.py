"""Attention functions as learners write them, right and wrong, and masks of all kinds, to try the mask builder on."""

import math

import numpy as np
import torch

from course_lib.attention import masked_softmax


def scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def right(query, key, value, mask):
    weights = masked_softmax(scores(query, key), mask)
    return weights @ value, weights


def ignores(query, key, value, mask):
    weights = torch.softmax(scores(query, key), dim=-1)
    return weights @ value, weights


def after_softmax(query, key, value, mask):
    weights = torch.softmax(scores(query, key), dim=-1) * mask
    return weights @ value, weights


def inverted(query, key, value, mask):
    return right(query, key, value, ~mask)


def nan_rows(query, key, value, mask):
    weights = torch.softmax(scores(query, key).masked_fill(~mask, -math.inf), dim=-1)
    return weights @ value, weights


def uniform_rows(query, key, value, mask):
    weights = torch.softmax(scores(query, key).masked_fill(~mask, -1e9), dim=-1)
    return weights @ value, weights


def huge(query, key, value, mask):
    weights = scores(query, key).exp() * 1e30
    return weights @ value, weights.masked_fill(~mask, math.inf)


def raises(query, key, value, mask):
    raise RuntimeError(f"sizes\n  do not fit: {tuple(query.shape)}")


WRONG = [ignores, after_softmax, inverted, nan_rows, uniform_rows, huge, raises]


def random_states(count, tokens, seed=0):
    """States of all kinds, the bare ones first."""
    chance = np.random.default_rng(seed)
    plain = {"causal": False, "padding": 0, "opened": [], "closed": [], "changed": None}
    everything = [[row, key] for row in range(tokens) for key in range(tokens)]
    yield plain
    yield plain | {"causal": True, "changed": tokens - 1}
    yield plain | {"padding": tokens, "changed": 0}
    yield plain | {"closed": everything, "changed": 0}
    yield plain | {"causal": True, "padding": tokens, "opened": everything, "changed": tokens - 1}
    for _ in range(count):
        picks = [sorted(map(list, chance.integers(tokens, size=(chance.integers(4), 2)).tolist())) for _ in range(2)]
        changed, emptied = int(chance.integers(-1, tokens)), int(chance.integers(-tokens, tokens))
        empty = [[emptied, key] for key in range(tokens)] if emptied >= 0 else []
        yield {
            "causal": bool(chance.integers(2)),
            "padding": int(chance.integers(tokens + 1)) if chance.random() < 0.5 else 0,
            "opened": picks[0],
            "closed": picks[1] + empty,
            "changed": None if changed < 0 else changed,
        }

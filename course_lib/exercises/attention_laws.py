"""Laws of attention that exercises of several lessons share; those that know nothing of it are in `checking.laws`."""

import math

import torch

from course_lib.checking import Law
from course_lib.checking.laws import call, close


def divisor(weights, scores):
    """The number that divided the scores before the softmax that made these weights; None if no single number did."""
    if not (weights > 0).all() or not close(weights.sum(-1), torch.ones_like(weights[..., 0])):
        return None
    apart, wanted = weights.log() - weights[..., :1].log(), scores - scores[..., :1]
    slope = (apart * wanted).sum() / wanted.square().sum()
    return 1 / slope.item() if slope != 0 and close(apart, slope * wanted, 1e-9) else None


def _divided_by_root(function, cases, generator):
    for case in cases:
        query, key, value = case.args
        found, width = divisor(call(function, case)[1], query @ key.mT), query.shape[-1]
        if found and abs(found / math.sqrt(width) - 1) > 1e-6:
            sizes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
            return f"with {sizes} the products q · k are divided by {found:.4g}"
    return None


def _shares(function, cases, generator):
    for case in cases:
        output, weights = call(function, case)
        if (weights < 0).any() or not close(weights.sum(-1), torch.ones_like(weights[..., 0])):
            return f"a row of weights is no division of one whole ({case.label})"
        if not close(output, weights @ case.args[2]):
            return f"the output is not what your weights make of the values ({case.label})"
    return None


# Laws of a function (query, key, value) that returns the output and the weights.
scaled_by_width = Law("scale of the scores", _divided_by_root, "Which size, of which argument, belongs under the root?")
mixture = Law("a mixture of values", _shares, "Along which axis do the weights sum to 1, and what do they multiply?")

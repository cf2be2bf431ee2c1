"""Laws of `online_softmax`: any tiles make the softmax of all keys, and before the first key there is nothing."""

import math

import torch

from course_lib.checking import Case, Law
from course_lib.checking.laws import call, close
from course_lib.checking.ways import attempt, one_for_each_way


def start(scores, value):
    """The state before the first key, for scores (..., T, N) and value (..., N, Dv)."""
    rows = scores.shape[:-1]  # (..., T)
    return scores.new_full((*rows, 1), -math.inf), scores.new_zeros(*rows, 1), scores.new_zeros(*rows, value.shape[-1])


def in_tiles(update, scores, value, size):
    """The state after all keys, `size` at a time."""
    state = start(scores, value)
    for tile, values in zip(scores.split(size, dim=-1), value.split(size, dim=-2), strict=True):
        state = update(state, tile, values)
    return state


def _softmax_of_all(function, cases, generator):
    def update(*args):
        return call(function, Case("", args))

    for case in cases:
        _, scores, value = case.args
        seen = (scores > -math.inf).any(dim=-1, keepdim=True)  # (..., T, 1)
        scores = torch.where(seen, scores, 0.0)
        for size in (1, 2, scores.shape[-1]):
            _, total, output = in_tiles(update, scores, value, size)
            if not close(output / total, scores.softmax(dim=-1) @ value):
                return f"in tiles of {size}, output / total is not the softmax's mean of the values ({case.label})"
    return None


def _before_the_first_key(function):
    """In a few words, what becomes of a query that has seen hidden keys alone."""
    scores = torch.tensor([[-math.inf] * 3, [0.5, -math.inf, -1.0]])
    value = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.5, 2.5]])
    found = attempt(lambda: call(function, Case("", (start(scores, value), scores, value))))
    if isinstance(found, str):
        return "raises an error"
    maximum, total, output = (part[0] for part in found)
    if maximum.isnan() or total.isnan() or output.isnan().any():
        return "gives NaN"
    if total != 0 or output.any():
        return "counts them"
    return "leaves the state as it was" if maximum == -math.inf else "gives a finite maximum"


def _gradient(function):
    """In a few words, which gradient of output / total comes back when the first tile is hidden from one query."""
    scores = torch.tensor([[-math.inf, -math.inf, 0.5, 1.0], [1.5, 0.0, -math.inf, -0.5]], requires_grad=True)
    value = torch.tensor([[1.0, -2.0], [3.0, 0.5], [-1.5, 2.5], [0.5, 1.0]], requires_grad=True)
    direction = torch.tensor([[1.0, -0.5], [0.25, 2.0]])

    def gradients(output):
        found = torch.autograd.grad(output, (scores, value), direction, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, (scores, value), strict=True)]

    def through_tiles():
        _, total, output = in_tiles(function, scores, value, 2)
        return gradients(output / total)

    found, wanted = attempt(through_tiles), gradients(scores.softmax(dim=-1) @ value)
    if isinstance(found, str):
        return "no gradient at all"
    if any(g.isnan().any() for g in found):
        return "NaN as gradient"
    return "the gradient" if all(map(close, found, wanted)) else "another gradient"


LAWS = (
    *one_for_each_way(
        "nothing before the first key",
        _before_the_first_key,
        right="leaves the state as it was",
        ways=("gives NaN", "gives a finite maximum", "counts them"),
        where="for a query that has seen hidden keys alone your function",
        question="What are maximum, total and output of no key at all?",
    ),
    Law("any tiles make the softmax", _softmax_of_all,
        "What must the state know of the earlier keys, so that nothing else of them is needed?"),
    *one_for_each_way(
        "gradients pass from tile to tile",
        _gradient,
        right="the gradient",
        ways=("NaN as gradient",),
        where="through two tiles, the first of them hidden from one query, there comes back",
        question="Which line makes a NaN, or leaves torch's graph?",
    ),
)  # fmt: skip

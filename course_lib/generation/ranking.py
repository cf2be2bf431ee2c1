"""The highest of many scores, in an order that is always the same.

`torch.topk` leaves open which of equal ones it takes, and equal scores are common: in examples with round
probabilities, and in a model of 16 bits.
"""


def among_highest(scores, count):
    """Which are the `count` highest of the last axis; of equal ones those that stand first.

    scores: (..., N) with count <= N. Returns bool (..., N), True exactly `count` times along the last axis.

    >>> import torch
    >>> among_highest(torch.tensor([1.0, 3.0, 3.0, 3.0]), 2).tolist()  # of three equal ones the first two
    [False, True, True, False]
    """
    least = scores.topk(count).values[..., -1:]  # (..., 1)
    above, level = scores > least, scores == least
    places_left = count - above.sum(dim=-1, keepdim=True)  # (..., 1)
    return above | (level & (level.cumsum(dim=-1) <= places_left))


def highest(scores, count):
    """The `count` highest of the last axis, the highest first; of equal ones the one that stands first, as in argmax.

    scores: (..., N) with count <= N. Returns values and places, both (..., count).

    >>> import torch
    >>> values, places = highest(torch.tensor([[1.0, 3.0, 5.0, 3.0]]), 3)
    >>> values.tolist(), places.tolist()
    ([[5.0, 3.0, 3.0]], [[2, 1, 3]])
    """
    places = among_highest(scores, count).nonzero()[:, -1].unflatten(0, (*scores.shape[:-1], count))  # ascending
    values, order = scores.gather(-1, places).sort(dim=-1, descending=True, stable=True)
    return values, places.gather(-1, order)

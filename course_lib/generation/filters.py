"""What sampling does to the scores of a step before it draws. Scores are (..., V); what may not be drawn gets -inf."""

import math

import torch
from torch.nn import functional

from .ranking import among_highest


def with_temperature(logits, temperature):
    """logits / temperature, up to a constant: below 1 the likely tokens gain, above 1 the others do.

    logits: (..., V). temperature: 0 or more. At 0 the likeliest token alone is kept (of equal ones the smaller id), the
    limit from above. Returns (..., V), 0 for the likeliest token.
    Raises ValueError for a negative temperature, and for one that is no finite number.

    >>> [with_temperature(torch.tensor([3.0, 1.0]), temperature).tolist() for temperature in (2, 1, 0.5, 0)]
    [[0.0, -1.0], [0.0, -2.0], [0.0, -4.0], [0.0, -inf]]
    """
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature: expected 0 (always the likeliest) or more, and finite, got {temperature}")
    # The highest score becomes 0 first, so that a small temperature leads to -inf for the others, never to inf.
    from_the_top = logits - logits.amax(dim=-1, keepdim=True)
    if temperature < torch.finfo(logits.dtype).tiny:  # 0, or rounded to it
        return keep_top_k(from_the_top, 1)
    return from_the_top / temperature


def keep_top_k(logits, k):
    """The k highest scores (Fan et al. 2018), exactly k of them; of equal ones the smaller ids. All where k >= V.

    logits: (..., V). Returns (..., V), -inf for the others. Raises ValueError for a k below 1.

    >>> keep_top_k(torch.tensor([2.0, 1.0, 3.0, 2.0]), 2).tolist()
    [2.0, -inf, 3.0, -inf]
    """
    if k < 1:
        raise ValueError(f"top_k: expected at least 1, got {k}")
    if k >= logits.shape[-1]:
        return logits
    return logits.masked_fill(~among_highest(logits, k), -math.inf)


def keep_top_p(logits, p):
    """The nucleus: the fewest tokens, likeliest first, whose mass reaches p (Holtzman et al. 2020). At least one.

    logits: (..., V). p: from 0, the likeliest alone, to 1, all of them. A mass counts as p where it differs by rounding
    alone. Returns (..., V), -inf for the others. Raises ValueError for another p.

    >>> keep_top_p(torch.tensor([0.5, 0.1, 0.4]).log(), 0.9).isfinite().tolist()
    [True, False, True]
    """
    if not 0 <= p <= 1:
        raise ValueError(f"top_p: expected a mass from 0 to 1, got {p}")
    if p == 1:
        return logits
    ranked, places = logits.sort(dim=-1, descending=True, stable=True)
    mass = ranked.softmax(dim=-1).cumsum(dim=-1)
    before = functional.pad(mass[..., :-1], (1, 0))  # (..., V), the mass of all tokens that are likelier
    kept = before < p - 16 * torch.finfo(mass.dtype).eps  # 0.5 + 0.4 may be a little less than 0.9
    kept[..., 0] = True
    return logits.masked_fill(~kept.scatter(-1, places, kept), -math.inf)

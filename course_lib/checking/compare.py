"""How far two results are apart, and which distance still counts as equal."""

import math

import torch

from .tree import leaves

# What another order of summation gives in float64 stays below 1e-12 on our cases; the smallest deviation of any
# mistake is above 1e-3. tests/matrix measures both.
EXACT = 1e-9
# What a float32 computation of the same formula gives on our cases.
SINGLE = 2e-5


def deviation(got, want):
    """Largest distance between two results relative to 1 + |want|, entry by entry.

    Equal infinities and NaN against NaN count as no distance. Results of different structure, shape or kind
    (floating, integer, boolean) are infinitely far apart.
    """
    got_leaves, want_leaves = leaves(got), leaves(want)
    if [path for path, _ in got_leaves] != [path for path, _ in want_leaves]:
        return math.inf
    pairs = zip(got_leaves, want_leaves, strict=True)
    return max((_leaf_deviation(g, w) for (_, g), (_, w) in pairs), default=0.0)


def as_number(got, want):
    """The number in a tensor without axes where a plain number is wanted; anything else as it is."""
    plain = isinstance(got, torch.Tensor) and got.ndim == 0 and isinstance(want, int | float)
    return got.item() if plain else got


def kind(leaf):
    """The kind of a leaf: 'floating', 'integer' or 'boolean' for tensors and numbers, else the type's name."""
    if isinstance(leaf, torch.Tensor):
        if leaf.is_floating_point():
            return "floating"
        return "boolean" if leaf.dtype == torch.bool else "integer"
    for type_, name in ((bool, "boolean"), (int, "integer"), (float, "floating")):
        if isinstance(leaf, type_):
            return name
    return type(leaf).__name__


def relative_distance(got, want):
    """|got - want| / (1 + |want|), entry by entry; 0 where both are the same infinity or NaN, inf where one is."""
    got, want = got.to(torch.float64), want.to(torch.float64)
    same = (got == want) | (got.isnan() & want.isnan())
    distance = (got - want).abs() / (1 + want.abs())
    return torch.where(same, 0.0, distance.nan_to_num(nan=math.inf, posinf=math.inf))


def _leaf_deviation(got, want):
    numeric = ("floating", "integer", "boolean")
    got = as_number(got, want)
    if kind(got) != kind(want) or isinstance(got, torch.Tensor) != isinstance(want, torch.Tensor):
        return math.inf
    if kind(got) not in numeric:
        return 0.0 if got == want else math.inf
    got, want = torch.as_tensor(got), torch.as_tensor(want)
    if got.shape != want.shape:
        return math.inf
    return relative_distance(got, want).max().item() if got.numel() else 0.0


def same_observation(one, other, tolerance=SINGLE):
    """Whether two observations, a mistake's and the learner's, show the same: the same values, or an exception."""
    if one.raised or other.raised:
        return bool(one.raised) and bool(other.raised)
    return deviation(other.output, one.output) <= tolerance


def gradient_deviation(got, want):
    """Largest distance between two lists of gradients; a missing list is all zeros."""
    if got is None and want is None:
        return 0.0
    if got is None or want is None:
        present = got if want is None else want
        return max(relative_distance(g, torch.zeros_like(g)).max().item() if g.numel() else 0.0 for g in present)
    return deviation(got, want)

"""What of a wrong answer is right: the named parts that partial credit counts."""

import math

import torch

from course_lib.checking.diagnosis import break_law
from course_lib.checking.engine import SECONDS
from course_lib.checking.laws import EVERYWHERE
from course_lib.checking.limits import TooSlow, exact, quiet, time_limit
from course_lib.checking.tree import leaves, tensors

SHAPE, VALUES, LARGE, MASKS = "shape", "values", "large inputs", "masks"
GRADIENT, UNTOUCHED = "gradient", "arguments untouched"
# Words in the names of groups of cases that tell what the group is about.
LARGE_WORDS = ("large", "low scores", "high scores", "loud", "extreme", "outlier", "low temperature", "different size")
MASK_WORDS = (
    "padding", "mask", "hidden", "no key", "nothing left", "nothing real", "garbage", "mixed lengths", "causal",
)  # fmt: skip
WEIGHTS = {SHAPE: 1, VALUES: 4, LARGE: 2, MASKS: 2, GRADIENT: 2, UNTOUCHED: 1}
ALL_LAWS = 2  # the weight of an exercise's laws, all or none: often one of them is the point of the exercise


def aspect_of(group):
    """Which aspect the cases of a group speak for: values, large inputs or masks."""
    if any(word in group for word in LARGE_WORDS) and "large weights" not in group:
        return LARGE
    plain = group.startswith(("no ", "nothing masked", "nothing hidden")) and not group.startswith("no key")
    return MASKS if any(word in group for word in MASK_WORDS) and not plain else VALUES


def aspects_of(examination):
    """{aspect: whether it holds} for an answer that did not pass, from its examination and, for laws, further calls.

    Gradients and laws are asked of the calls whose values are right: no slip is counted twice. Laws are asked only
    where the values of ordinary calls hold, without which nothing counts, and of answers that leave the cases alone.
    """
    seen = list(zip(examination.cases, examination.observed, examination.expected, strict=False))
    right = [i for i in range(len(examination.observed)) if examination.right(i)]
    whole = len(examination.observed) == len(examination.cases)
    held = {SHAPE: whole and all(_shapes(got.output) == _shapes(want.output) for _, got, want in seen)}
    groups = {aspect: [] for aspect in (VALUES, LARGE, MASKS)}
    for i, case in enumerate(examination.cases):
        groups[VALUES if _is_mask(examination.expected[i].output) else aspect_of(case.group)].append(i)
    for aspect, members in groups.items():
        if members:
            held[aspect] = set(members) <= set(right)
    if any(want.gradients for want in examination.expected):
        held[GRADIENT] = whole and all(map(examination.right_gradient, right))
    held[UNTOUCHED] = whole and not any(got.changed or got.raised for _, got, _ in seen)
    if held[VALUES] and held[UNTOUCHED]:
        held |= _laws(examination, [examination.cases[i] for i in right])
        if all(held.values()):  # a law that only the calls with other values break
            held |= _laws(examination, examination.cases)
    return held


def share(held):
    """The share of an exercise's points that these aspects earn: 0 without the values, and below 1 always."""
    if not held.get(VALUES):
        return 0.0
    laws = [holds for name, holds in held.items() if name not in WEIGHTS]
    parts = [(WEIGHTS[name], holds) for name, holds in held.items() if name in WEIGHTS]
    parts += [(ALL_LAWS, all(laws))] if laws else []
    return sum(weight for weight, holds in parts if holds) / sum(weight for weight, _ in parts)


def earned(points, held):
    """What these aspects earn of an exercise's points, rounded down to hundredths."""
    return math.floor(round(points * share(held) * 100, 6)) / 100  # 3 · 0.6 is a little less than 1.8 in floats


def _is_mask(output):
    """Whether masks are the result themselves."""
    return all(leaf.dtype == torch.bool for leaf in tensors(output)) and bool(tensors(output))


def _shapes(tree):
    return [(path, tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else ()) for path, leaf in leaves(tree)]


def _laws(examination, cases):
    """{name: whether it holds} for each law of the exercise on these cases; the rest breaks when time runs out."""
    laws = {law.name: law for law in (*EVERYWHERE, *examination.exercise.laws)}
    found = dict.fromkeys(laws, False)
    try:
        with quiet(), exact(examination.seed), time_limit(SECONDS):
            for name, law in laws.items():
                generator = torch.Generator().manual_seed(examination.seed)
                how, _ = break_law(law, examination.answer, cases, generator)
                found[name] = how is None
    except TooSlow:
        pass
    return found

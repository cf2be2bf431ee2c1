"""What of a wrong answer is right: the named parts that partial credit counts."""

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
WEIGHTS = {SHAPE: 1, VALUES: 4, LARGE: 2, MASKS: 2, GRADIENT: 1, UNTOUCHED: 1}
ALL_LAWS = 2  # the weight of an exercise's laws together


def aspect_of(group):
    """Which aspect the cases of a group speak for: values, large inputs or masks."""
    if any(word in group for word in LARGE_WORDS) and "large weights" not in group:
        return LARGE
    plain = group.startswith(("no ", "nothing masked", "nothing hidden")) and not group.startswith("no key")
    return MASKS if any(word in group for word in MASK_WORDS) and not plain else VALUES


def aspects_of(examination):
    """{aspect: whether it holds} for an answer that did not pass, from its examination and, for laws, further calls.

    Laws are asked only where the values hold, without which nothing counts, and of answers that leave the cases alone.
    """
    seen = list(zip(examination.cases, examination.observed, examination.expected, strict=False))
    whole = len(examination.observed) == len(examination.cases)
    held = {SHAPE: whole and all(_shapes(got.output) == _shapes(want.output) for _, got, want in seen)}
    groups = {aspect: [] for aspect in (VALUES, LARGE, MASKS)}
    for i, case in enumerate(examination.cases):
        groups[VALUES if _is_mask(examination.expected[i].output) else aspect_of(case.group)].append(i)
    for aspect, members in groups.items():
        if members:
            held[aspect] = all(i < len(examination.observed) and examination.right(i) for i in members)
    if any(want.gradients for want in examination.expected):
        held[GRADIENT] = whole and all(map(examination.right_gradient, range(len(examination.cases))))
    held[UNTOUCHED] = whole and not any(got.changed or got.raised for _, got, _ in seen)
    if held[VALUES] and held[UNTOUCHED]:
        held |= {law.name: holds for law, holds in _laws(examination)}
    return held


def share(held):
    """The share of an exercise's points that these aspects earn: 0 without the values, and below 1 always."""
    if not held.get(VALUES):
        return 0.0
    laws = [name for name in held if name not in WEIGHTS]
    weights = {name: WEIGHTS.get(name, ALL_LAWS / max(1, len(laws))) for name in held}
    return sum(weights[name] for name in held if held[name]) / sum(weights.values())


def _is_mask(output):
    """Whether masks are the result themselves."""
    return all(leaf.dtype == torch.bool for leaf in tensors(output)) and bool(tensors(output))


def _shapes(tree):
    return [(path, tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else ()) for path, leaf in leaves(tree)]


def _laws(examination):
    """(law, whether it holds) for each law of the exercise; the rest breaks when time runs out."""
    laws = list({law.name: law for law in (*EVERYWHERE, *examination.exercise.laws)}.values())
    found = []
    try:
        with quiet(), exact(examination.seed), time_limit(SECONDS):
            for law in laws:
                generator = torch.Generator().manual_seed(examination.seed)
                how, _ = break_law(law, examination.answer, examination.cases, generator)
                found.append((law, how is None))
    except TooSlow:
        found += [(law, False) for law in laws[len(found) :]]
    return found

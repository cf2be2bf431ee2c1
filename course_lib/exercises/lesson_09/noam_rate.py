"""Exercise `noam_rate`: a learning rate that warms up and then falls, Vaswani et al. 2017, equation 3."""

import math

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call
from course_lib.checking.ways import attempt, one_for_each_way

from . import noam_rate_bracket_mistakes, noam_rate_mistakes


def noam_rate(step, d_model, warmup):
    """The learning rate of a step: D^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, eq. 3).

    step: 1 for the first update; ValueError for less. It rises for `warmup` steps, then falls. Returns a float.
    """
    if step < 1:
        raise ValueError(f"step: expected at least 1, got {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


def cases(generator):
    """Before, at and after the end of the warm-up, none at all, the paper's sizes, numbers that coincide.

    Nothing is random. Small widths and short warm-ups make large rates, in which a wrong factor is easily seen.
    """
    for label, group, *arguments in (
        ("the first step", "warm-up", 1, 2, 5),
        ("the second step", "warm-up", 2, 7, 3),
        ("half-way up", "warm-up", 4, 3, 8),
        ("one step before the peak", "warm-up", 5, 3, 6),
        ("at the peak", "peak", 4, 5, 4),
        ("at another peak", "peak", 6, 3, 6),
        ("one step after the peak", "after", 5, 2, 4),
        ("three times the warm-up", "after", 9, 5, 3),
        ("long after", "after", 120, 2, 3),
        ("no warm-up, the first step", "warmup 1", 1, 3, 1),
        ("no warm-up, later", "warmup 1", 7, 2, 1),
        ("the paper's sizes, the first step", "the paper's", 1, 512, 4000),
        ("the paper's sizes, at the peak", "the paper's", 4000, 512, 4000),
        ("the paper's sizes, the last step", "the paper's", 100_000, 512, 4000),
        ("step = d_model", "equal", 3, 3, 5),
        ("d_model = warmup", "equal", 2, 6, 6),
        ("step = d_model = warmup", "equal", 3, 3, 3),
        ("all 1", "equal", 1, 1, 1),
    ):
        yield Case(label, tuple(arguments), group=group)


def _require_counted_from_one(step):
    if step <= 0:
        raise ValueError(f"no update has the number {step}")


def by_branches(step, d_model, warmup):
    _require_counted_from_one(step)
    if step > warmup:
        return 1 / math.sqrt(d_model * step)
    return step / (warmup * math.sqrt(d_model * warmup))


def by_the_peak(step, d_model, warmup):
    """A share of the highest rate."""
    _require_counted_from_one(step)
    progress = step / warmup
    return (progress if progress < 1 else progress**-0.5) / (d_model * warmup) ** 0.5


def by_one_root(step, d_model, warmup):
    """The smaller of two inverse roots belongs to the larger number."""
    _require_counted_from_one(step)
    return math.pow(d_model * max(step, warmup**3 / step**2), -0.5)


def by_logarithms(step, d_model, warmup):
    try:
        slow, fast = -math.log(step) / 2, math.log(step) - 3 * math.log(warmup) / 2
    except ValueError as error:  # the logarithm's own range is step > 0
        raise ValueError("steps are counted from 1") from error
    return math.exp(sorted([slow, fast])[0] - math.log(d_model) / 2)


def by_torch(step, d_model, warmup):
    _require_counted_from_one(step)
    powers = torch.tensor([step, warmup, d_model], dtype=torch.float64).rsqrt()
    return powers[2] * torch.minimum(powers[0], step * powers[1] ** 3)


# The paper's sizes, where rates are too small to differ visibly in value, then others.
SIZES = ((512, 4000), (6, 5), (3, 2))


def _rate(function, *arguments):
    return float(call(function, Case("", arguments)))


def _compared(name, broken, how, question):
    """A law about ratios of rates. broken(rate, d_model, warmup), where rate(step, d_model, warmup) is a number."""

    def held(function, cases, generator):
        for d_model, warmup in SIZES:
            if broken(lambda *arguments: _rate(function, *arguments), d_model, warmup):
                return f"with d_model={d_model} and warmup={warmup} {how}"
        return None

    return Law(name, held, question)


def _turns_too_early_or_late(rate, d_model, warmup):
    before = [rate(step, d_model, warmup) for step in sorted({1, max(1, warmup - 1), warmup})]
    after = [rate(step, d_model, warmup) for step in (warmup, warmup + 1, 9 * warmup)]
    return before != sorted(set(before)) or after != sorted(set(after), reverse=True)


def _step_zero(function):
    """In a few words, what a function does with steps below 1: "refuses", as it should, or another."""
    zero, negative = (attempt(lambda step=step: _rate(function, step, 5, 4)) for step in (0, -3))
    if isinstance(zero, str):
        if zero != "ValueError":
            return f"raises {zero}"
        return "refuses" if negative == "ValueError" else "refuses, and below it does not"
    if zero == 0:
        return "gives the rate 0"
    return "gives the rate of step 1" if math.isclose(zero, _rate(function, 1, 5, 4)) else "gives a rate"


REFUSES = one_for_each_way(
    "steps are counted from 1",
    _step_zero,
    right="refuses",
    ways=("raises ZeroDivisionError", "gives the rate 0", "gives the rate of step 1", "refuses, and below it does not"),
    where="at step 0 your function",
    question="What can you compare before you raise the ValueError?",
)

EXERCISE = Exercise(
    name="noam_rate",
    reference=noam_rate,
    cases=cases,
    laws=(
        _compared(
            "rises in proportion",
            lambda rate, d, w: not math.isclose(rate(w, d, w), w * rate(1, d, w), rel_tol=1e-6),
            "the rate at the end of the warm-up is not that of step 1 times the steps",
            "Which power of the step grows like the step itself?",
        ),
        _compared(
            "falls with the root",
            lambda rate, d, w: not math.isclose(rate(w, d, w), 2 * rate(4 * w, d, w), rel_tol=1e-6),
            "four times the steps of the warm-up do not halve the rate",
            "Which power of the step halves when the step becomes four times as large?",
        ),
        _compared(
            "peak at the end of the warm-up",
            _turns_too_early_or_late,
            "the rate does not rise until the warm-up ends and fall from there on",
            "At which step do your two powers meet, and which of them is the smaller one before?",
        ),
        _compared(
            "wider models learn more slowly",
            lambda rate, d, w: not math.isclose(rate(w, d, w), 2 * rate(w, 4 * d, w), rel_tol=1e-6),
            "a model four times as wide does not get half the rate",
            "Which power of d_model halves when d_model becomes four times as large?",
        ),
        _compared(
            "nothing else multiplies it",
            lambda rate, d, w: not math.isclose(rate(w, d, w) ** -2, d * w, rel_tol=1e-6),
            "the shape is right and the height is not",
            "Which factor stands in your product beside the power of d_model and the smaller one of the other two?",
        ),
        *REFUSES,
    ),
    mistakes=noam_rate_mistakes.MISTAKES + noam_rate_bracket_mistakes.MISTAKES,
    accepts=(by_branches, by_the_peak, by_one_root, by_logarithms, by_torch),
    hints=(
        "A product of two: a power of d_model, and the smaller one of two powers.",
        "`x ** -0.5` is 1 / √x; `warmup ** -1.5` is 1 / (warmup √warmup).",
        "At step = warmup both are warmup ** -0.5. Before it `step * warmup ** -1.5` is smaller, then the other.",
        "`if step < 1: raise ValueError(...)` comes first: 0 to a negative power is no number.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

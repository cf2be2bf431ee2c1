"""The verdict: an answer passes when values, gradients and laws hold; otherwise the first that fails is explained."""

from functools import lru_cache

import torch

from .compare import EXACT, SINGLE, deviation, gradient_deviation
from .describe import describe_call, is_empty
from .diagnosis import (
    break_law,
    explain_error,
    explain_gradient,
    explain_kind,
    explain_values,
    one_line,
    recognise,
    recognise_error,
    recognise_gradient,
    recognise_law,
    run_mistake,
)
from .laws import EVERYWHERE
from .limits import TooSlow, exact, quiet, time_limit
from .modules import as_function
from .observe import observe
from .outcome import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG, Outcome
from .tree import tensors

SECONDS = 5.0
UNFIT = ("RecursionError", "MemoryError", "WorkerDied")  # to go on with the other cases after these
UNCHANGED = "arguments unchanged"


def examine(exercise, function, *, seed=0, seconds=SECONDS):
    """Judge an answer and return an Outcome; raises nothing on account of the answer.

    function: the learner's function or class, or a remote proxy of one. seconds: the time it may take for all cases.
    """
    return Examination(exercise, function, seed, seconds).outcome()


@lru_cache(maxsize=64)
def expected(exercise, seed):
    """What the reference shows on the cases of a seed: (cases, observations). It must be finite and must not raise."""
    reference = as_function(exercise.reference) if exercise.is_module else exercise.reference
    with quiet(), exact(seed):
        cases = exercise.draw_cases(seed)
        seen = [observe(reference, case, seed + i) for i, case in enumerate(cases)]
    for case, one in zip(cases, seen, strict=True):
        values = [*tensors(one.output), *(one.gradients or ())]
        if one.raised or one.changed or not all(t.isfinite().all() for t in values):
            raise AssertionError(f"the reference of {exercise.name} fails its own case {case.label!r}: {one}")
    return cases, seen


@lru_cache(maxsize=64)
def wrong_functions(exercise):
    """{name: function} of the exercise's known mistakes."""
    wrap = as_function if exercise.is_module else (lambda wrong: wrong)
    return {mistake.name: wrap(mistake.wrong) for mistake in exercise.mistakes}


@lru_cache(maxsize=64)
def mistake_runs(exercise, seed, gradient=False):
    """{name: what it shows on the cases of a seed} of the known mistakes, the same for every answer: run once."""
    cases, _ = expected(exercise, seed)
    return {name: run_mistake(wrong, cases, seed, gradient) for name, wrong in wrong_functions(exercise).items()}


@lru_cache(maxsize=4096)
def law_of_mistake(exercise, seed, name):
    """The first law that a known mistake breaks, and what it raises there: (law's name or None, kind or None)."""
    if any(seen.changed for seen in mistake_runs(exercise, seed)[name]):
        return UNCHANGED, None
    law, _, raised = broken_law(exercise, wrong_functions(exercise)[name], seed, SECONDS)
    return law and law.name, raised


def broken_law(exercise, function, seed, seconds):
    """The first law that a function breaks, how, and what it raised there: (law, words, kind); Nones otherwise."""
    cases, _ = expected(exercise, seed)
    with time_limit(seconds):
        for law in (*EVERYWHERE, *exercise.laws):
            how, raised = break_law(law, function, cases, torch.Generator().manual_seed(seed))
            if how:
                return law, how, raised
    return None, None, None


class Examination:
    """One check, from the first call to the outcome.

    Afterwards: `cases`, what the reference shows on them (`expected`), what the answer showed (`observed`, shorter
    where it was broken off), whether it `passed`, and `place`, the index of the case that the outcome speaks of, or
    None.
    """

    def __init__(self, exercise, function, seed, seconds):
        self.exercise, self.function, self.seed, self.seconds = exercise, function, seed, seconds
        # A remote class arrives as a function already.
        self.answer = as_function(function) if isinstance(function, type) else function
        self.cases, self.expected = expected(exercise, seed)
        self.messages = {mistake.name: mistake.message for mistake in exercise.mistakes}
        self.observed = []
        self.place, self.passed = None, False

    def outcome(self):
        try:
            with quiet(), exact(self.seed):
                return self._judge()
        except TooSlow:
            place = min(len(self.observed), len(self.cases) - 1)
            text = f"it took longer than {self.seconds:g} s on small inputs. Does every loop end, does anything wait?"
            return self._say(TOO_SLOW, text, place)

    def _judge(self):
        unwritten = self._observe()
        if unwritten:
            return unwritten
        wrong = [i for i, _ in enumerate(self.cases) if not self.right(i)]
        if wrong:
            return self._explain_values(wrong[0])
        changed = [i for i, seen in enumerate(self.observed) if seen.changed]
        if changed:
            return self._explain_law(UNCHANGED, "an argument comes out of the call with other values. "
                                     "Which line writes in place (`+=`, `fill_`, `x[...] =`)?", changed[0])  # fmt: skip
        for i, _ in enumerate(self.cases):
            if not self.right_gradient(i):
                return self._explain_gradient(i)
        law, how, raised = self._broken_law()
        if law:
            return self._explain_law(law.name, f"{law.name}: {how}. {law.question}", None, raised)
        self.passed = True
        return Outcome(self.exercise.name, PASSED, note=self._precision(), seed=self.seed)

    def _observe(self):
        """Call the answer on every case; an outcome at once if it is not written at all or must not go on."""
        with time_limit(self.seconds):
            for i, case in enumerate(self.cases):
                seen = observe(self.answer, case, self.seed + i)
                self.observed.append(seen)
                if seen.raised and (seen.raised.is_stub or seen.raised.kind in UNFIT):
                    return self._unfinished(i)
                if i == 0 and seen.output is None and is_empty(self.function):
                    return self._say(NOT_ATTEMPTED, "the body is still empty. What should it return?")
        return None

    def _unfinished(self, i):
        raised = self.observed[i].raised
        if raised.is_stub and raised.raised_in.split(".")[0] == self.exercise.name:
            text = "the line `raise NotImplementedError` still stands there. Will you put your answer in its place?"
            return self._say(NOT_ATTEMPTED, text)
        return self._say(FAILED, explain_error(raised, self.exercise.name), i)

    def right(self, i):
        """Whether the answer gives the reference's values on case i."""
        seen = self.observed[i]
        return seen.raised is None and deviation(seen.output, self.expected[i].output) <= SINGLE

    def right_gradient(self, i):
        """Whether its vector-Jacobian products on case i are the reference's."""
        return gradient_deviation(self.observed[i].gradients, self.expected[i].gradients) <= SINGLE

    def _explain_values(self, first):
        name = recognise(self._runs(), self.cases, self.observed, self.expected, first)
        if name:
            return self._name(name, first)
        seen, want, case = self.observed[first], self.expected[first], self.cases[first]
        if seen.raised:
            return self._explain_error(seen.raised, first)
        problem = explain_kind(seen.output, want.output, case)
        if problem:
            return self._say(WRONG, problem, first)
        law, how, _ = self._broken_law()
        if law:
            return self._say(WRONG, f"{law.name}: {how}. {law.question}", first, law=law.name)
        return self._say(WRONG, explain_values(seen.output, want.output), first)

    def _explain_error(self, raised, first):
        name = recognise_error(self._runs(), self.observed)
        if name:
            text = f"{one_line(raised)}\n{self.messages[name]}"
            return self._say(FAILED, text, first, mistake=name)
        return self._say(FAILED, explain_error(raised, self.exercise.name), first)

    def _explain_gradient(self, first):
        name = recognise_gradient(self._runs(gradient=True), self.observed, self.expected, first)
        if name:
            return self._name(name, first)
        text = explain_gradient(self.exercise, self.cases[first], self.observed[first], self.expected[first])
        return self._say(WRONG, text, first, law="gradient")

    def _explain_law(self, law_name, text, first, raised=None):
        def law_of(name):
            return law_of_mistake(self.exercise, self.seed, name)

        name = recognise_law(self._runs(), law_of, (law_name, raised), self.expected)
        if name:
            return self._name(name, first, law_name)
        return self._say(WRONG, text, first, law=law_name)

    def _broken_law(self):
        return broken_law(self.exercise, self.answer, self.seed, self.seconds)

    def _runs(self, gradient=False):
        return mistake_runs(self.exercise, self.seed, gradient)

    def _precision(self):
        pairs = zip(self.observed, self.expected, strict=True)
        if max((deviation(seen.output, want.output) for seen, want in pairs), default=0.0) > EXACT:
            return "right to single precision only: some step computes in float32"
        return ""

    def _name(self, mistake, place, law=None):
        return self._say(WRONG, self.messages[mistake], place, mistake=mistake, law=law)

    def _say(self, status, text, place=None, **more):
        where = ""
        self.place = place
        if place is not None:
            case = self.cases[place]
            where = f"{describe_call(self.exercise, case)}, {case.label}"
        return Outcome(self.exercise.name, status, text, where=where, seed=self.seed, **more)

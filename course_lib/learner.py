"""The verbs of a lesson: `check`, `hint`, `solution`, `mine`, `progress`."""

import builtins
import contextlib
import inspect
import sys
import textwrap
from dataclasses import replace

from course_lib import exercises
from course_lib.checking import FAILED, NOT_ATTEMPTED, PASSED, CheckFailed, Outcome, examine
from course_lib.checking.display import show
from course_lib.checking.keep import portable_source, revive
from course_lib.checking.store import load_progress, load_work, save_work, update_progress

NOT_KEPT = "it needs something else of this notebook, so `mine` will give the course's version elsewhere"
NOT_PASSED = "not passed"

_shown = {"diagnoses": True, "solution": True}


def assessed(*, diagnoses=True, solution=True):
    """Say what this kernel shows: the first cell of a notebook that counts for marks calls it.

    diagnoses: whether `check` says more than passed, not passed or not attempted, and whether `hint` gives hints.
    solution: whether `solution` shows a worked answer. A courtesy that takes away temptation, and no security: whoever
    has the course can call this again, or read the files. Marks never depend on it.
    """
    _shown.update(diagnoses=bool(diagnoses), solution=bool(solution))


def check(answer, *, seed=0):
    """Check an answer: `check("softmax")` or `check(softmax)`.

    Shows one line when it passes, keeps the answer for `mine`, and raises CheckFailed otherwise, which says which
    mistake it is. seed: draws other inputs; the same seed draws the same ones. Raises UnknownExercise.
    """
    namespace = sys._getframe(1).f_globals
    name = answer if isinstance(answer, str) else getattr(answer, "__name__", repr(answer))
    exercise = exercises.get(name)
    function = namespace.get(name) if isinstance(answer, str) else answer
    if callable(function):
        with _nobody_to_ask():
            outcome = examine(exercise, function, seed=seed)
        if not _shown["diagnoses"]:
            outcome = _without_diagnosis(outcome)
    else:
        found = "is not defined here" if function is None else f"is {function!r}, not a function"
        outcome = Outcome(name, FAILED, f"`{name}` {found}. Has the cell that defines it been run?", seed=seed)
    if outcome.status != NOT_ATTEMPTED:  # a check of what is still the stub, as by Run All, is no attempt
        attempts = load_progress().get(name, {}).get("attempts", 0) + 1
        update_progress(name, status=outcome.status, attempts=attempts)
    if not outcome.passed:
        raise CheckFailed(outcome)
    if not _keep(exercise, function, namespace, seed):
        outcome = replace(outcome, note=f"{outcome.note} {NOT_KEPT}".strip())
    show(outcome.lines())


@contextlib.contextmanager
def _nobody_to_ask():
    """What asks a person, as `input` and `breakpoint` do, raises at once.

    A notebook would go on waiting for the reply after the check has ended, and run no other cell.
    """

    def refuse(prompt=""):
        raise RuntimeError(
            "a check waits for nobody: `input` and `breakpoint` work when you call your function yourself"
        )

    before, builtins.input = builtins.input, refuse
    try:
        yield
    finally:
        builtins.input = before


def _without_diagnosis(outcome):
    """Whether it passed, and nothing else."""
    status = outcome.status if outcome.status in (PASSED, NOT_ATTEMPTED) else NOT_PASSED
    return Outcome(outcome.exercise, status, seed=outcome.seed)


def _keep(exercise, function, namespace, seed):
    """Store an answer that passed, if its source runs by itself and still passes; returns whether it does."""
    source = portable_source(function, namespace)
    if source is None:
        return False
    try:
        kept = examine(exercise, revive(exercise.name, source), seed=seed).passed
    except Exception:  # the source is the learner's: away from its notebook it may raise anything
        return False
    if kept:
        save_work(exercise.name, source)
    return kept


def mine(name):
    """The learner's own function if it passed its check, else the course's; says which. Raises UnknownExercise."""
    exercise = exercises.get(name)
    source = load_work().get(name)
    if source is not None:
        try:
            function = revive(name, source)
            print(f"{name}: yours")
            return function
        except Exception as error:  # what was kept is the learner's file, and may have been edited
            print(f"{name}: the course's (yours was kept, but does not run: {type(error).__name__}: {error})")
            return exercise.reference
    print(f"{name}: the course's (yours has not passed its check yet)")
    return exercise.reference


def hint(name):
    """Reveal one more hint each time; after the last one it begins again. Raises UnknownExercise."""
    exercise = exercises.get(name)
    if not _shown["diagnoses"]:
        show([f"{name}: hints are not shown in this assignment"])
        return
    seen = load_progress().get(name, {}).get("hints", 0)
    number = seen % len(exercise.hints)
    update_progress(name, hints=seen + 1)
    lines = [f"hint {number + 1} of {len(exercise.hints)}: {exercise.hints[number]}"]
    if number + 1 == len(exercise.hints):
        lines.append(f"That was the last one. {_how_to_see(name)}" if _shown["solution"] else "That was the last one.")
    show(lines)


def _how_to_see(name):
    return f'To see a solution before yours passes: `solution("{name}", insist=True)`'


def solution(name, *, insist=False):
    """Show a worked answer, after yours has passed or when you insist. Raises UnknownExercise."""
    exercise = exercises.get(name)
    if not _shown["solution"]:
        show([f"{name}: the solution is not shown in this assignment"])
        return
    if not insist and load_progress().get(name, {}).get("status") != "passed":
        show([
            f'{name}: yours has not passed yet. `hint("{name}")` gives a hint.',
            _how_to_see(name),
        ])  # fmt: skip
        return
    show(textwrap.dedent(inspect.getsource(exercise.reference)).rstrip().splitlines(), code=True)


def progress():
    """Show where you stand: every exercise so far, with attempts and hints."""
    known = load_progress()
    table = [("exercise", "lesson", "status", "attempts", "hints", "minutes")]
    for lesson in exercises.lessons():
        for one in exercises.by_lesson(lesson):
            entry = known.get(one.name, {})
            status = entry.get("status", "not attempted")
            mark = "✓" if status == "passed" else "·"
            counts = (entry.get("attempts", 0), entry.get("hints", 0))
            table.append((f"{mark} {one.name}", lesson, status, *counts, one.minutes))
    passed = sum(entry.get("status") == "passed" for name, entry in known.items() if name in exercises.names())
    show([f"{passed} of {len(exercises.names())} exercises passed"], table)

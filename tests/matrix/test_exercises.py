"""Each exercise is complete, and the engine's tolerances lie where they must."""

import pytest

from course_lib import exercises
from course_lib.checking.compare import EXACT, SINGLE, deviation
from course_lib.checking.diagnosis import run_mistake
from course_lib.checking.engine import expected
from course_lib.checking.limits import exact, quiet
from course_lib.checking.modules import as_function

SEEDS = 3


@pytest.mark.parametrize("name", exercises.names())
def test_every_exercise_is_complete(name):
    exercise = exercises.get(name)
    assert len(exercise.mistakes) >= 5, "an exercise ships the wrong answers that people write"
    assert len(exercise.accepts) >= 2, "and right answers of other kinds"
    assert exercise.reference.__name__ == name
    messages = {mistake.message for mistake in exercise.mistakes}
    assert len(messages) == len(exercise.mistakes), "a message names one mistake"
    bodies = [accept.forward if exercise.is_module else accept for accept in exercise.accepts]
    codes = {body.__code__.co_code for body in bodies}
    assert len(codes) == len(exercise.accepts), "two accepts do the same operations"


@pytest.mark.parametrize("name", exercises.names())
def test_tolerances_lie_between_rounding_and_the_smallest_mistake(name):
    """Measured: right answers deviate by far less than EXACT, wrong ones by far more than SINGLE."""
    exercise = exercises.get(name)
    function = as_function if exercise.is_module else (lambda answer: answer)
    for seed in range(SEEDS):
        cases, wanted = expected(exercise, seed)
        with quiet(), exact(seed):
            for accept in exercise.accepts:
                seen = run_mistake(function(accept), cases, seed)
                pairs = zip(seen, wanted, strict=True)
                assert max(deviation(s.output, w.output) for s, w in pairs) < EXACT / 100, accept.__name__
            for mistake in exercise.mistakes:
                seen = run_mistake(function(mistake.wrong), cases, seed)
                apart = [deviation(s.output, w.output) for s, w in zip(seen, wanted, strict=True) if not s.raised]
                visible = [d for d in apart if d > SINGLE]
                # Some mistakes show in gradients or changed arguments alone; the matrix covers those.
                assert not visible or max(visible) > 100 * SINGLE, mistake.name


@pytest.mark.parametrize("name", exercises.names())
def test_no_mistake_fails_by_a_slip_of_its_author(name):
    """A mistake that raises is named by what it raises, so the matrix takes a misspelt name for a mistake."""
    exercise = exercises.get(name)
    function = as_function if exercise.is_module else (lambda answer: answer)
    cases, _ = expected(exercise, 0)
    with quiet(), exact(0):
        for mistake in exercise.mistakes:
            kinds = {seen.raised.kind for seen in run_mistake(function(mistake.wrong), cases, 0) if seen.raised}
            assert not kinds & {"NameError", "UnboundLocalError", "AttributeError", "ImportError"}, mistake.name

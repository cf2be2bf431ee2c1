"""The mistake matrix on three seeds, here and through another process; `course matrix --seeds 20` is run by hand."""

from functools import cache

import pytest

from course_lib import exercises, matrix_command
from course_lib.checking import matrix
from course_lib.checking.compare import EXACT, SINGLE, deviation
from course_lib.checking.diagnosis import run_mistake
from course_lib.checking.engine import expected
from course_lib.checking.limits import exact, quiet
from course_lib.checking.modules import as_function

SEEDS = 3


@cache
def rows(remote):
    return matrix_command.rows(SEEDS, remote)


@pytest.mark.parametrize("remote", [False, True], ids=["here", "remote"])
@pytest.mark.parametrize("kind", ["reference", "accept", "stub", "mistake"])
def test_every_row_is_as_it_must_be(kind, remote):
    chosen = [row for row in rows(remote) if row["kind"] == kind]
    assert chosen
    wrong = [row for row in chosen if not matrix.is_right(row)]
    assert not wrong, wrong


def test_the_remote_table_is_the_same():
    keys = matrix_command.JSON_KEYS
    assert [[row[k] for k in keys] for row in rows(True)] == [[row[k] for k in keys] for row in rows(False)]


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

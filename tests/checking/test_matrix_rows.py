"""Rows of the mistake matrix: what ships with an exercise, found again by kind and index, and judged."""

import pytest

from course_lib import exercises
from course_lib.checking import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG
from course_lib.checking.matrix import implementation, implementations, is_right, rows, stub_of

SOFTMAX = exercises.get("softmax")


def test_every_implementation_is_found_by_its_kind_and_index():
    found = list(implementations(SOFTMAX))
    keys = [(kind, index) for kind, index, *_ in found]
    assert len(set(keys)) == len(keys) == 2 + len(SOFTMAX.accepts) + len(SOFTMAX.mistakes)
    for kind, index, name, source, function in found:
        again = implementation(SOFTMAX, kind, index)
        assert again is function or kind == "stub" and again.__qualname__ == "softmax"
        assert bool(source) == (kind == "mistake") and name
    assert (
        keys[0] == ("reference", 0) and ("stub", 0) in keys and implementation(SOFTMAX, *keys[0]) is SOFTMAX.reference
    )
    for i, mistake in enumerate(SOFTMAX.mistakes):
        assert implementation(SOFTMAX, "mistake", i) is mistake.wrong
    for i, accept in enumerate(SOFTMAX.accepts):
        assert implementation(SOFTMAX, "accept", i) is accept


def test_a_stub_has_the_exercise_s_name_wherever_python_tells_it():
    stub = stub_of(SOFTMAX)
    assert {stub.__name__, stub.__qualname__, stub.__code__.co_name, stub.__code__.co_qualname} == {"softmax"}
    with pytest.raises(NotImplementedError, match="your code here"):
        stub(1, dim=2)


@pytest.mark.parametrize("outcome", [PASSED, NOT_ATTEMPTED, WRONG, FAILED, TOO_SLOW])
def test_a_row_is_right_if_the_outcome_is_the_one_that_its_kind_must_have(outcome):
    def row(kind, named=None):
        return {"kind": kind, "name": "it", "outcome": outcome, "named": named}

    assert is_right(row("reference")) == is_right(row("accept")) == (outcome == PASSED)
    assert is_right(row("stub")) == (outcome == NOT_ATTEMPTED)
    assert is_right(row("mistake", "it")) == (outcome in (WRONG, FAILED, TOO_SLOW))
    assert not is_right(row("mistake")) and not is_right(row("mistake", "other"))


def test_rows_come_from_this_process_unless_they_are_loaded_from_another():
    loaded = []

    def load(exercise, kind, index):
        loaded.append((exercise.name, kind, index))
        return implementation(exercise, kind, index)

    here, there = list(rows([SOFTMAX], [0, 1])), list(rows([SOFTMAX], [0, 1], load))
    assert here == there and all(map(is_right, here)) and {row["seed"] for row in here} == {0, 1}
    assert loaded == [("softmax", kind, i) for kind, i, *_ in implementations(SOFTMAX) for _ in range(2)]
    wrong = [row for row in here if row["kind"] == "mistake"]
    assert all(row["message"].endswith("?") and row["source"] for row in wrong)

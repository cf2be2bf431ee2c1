"""The course's answers as sources: each runs away from the course's exercises, and is right."""

import pytest

from course_lib import exercises
from course_lib.checking import examine
from course_lib.checking.keep import revive
from course_lib.grading.references import of_earlier_lessons, reference_source


@pytest.mark.parametrize("name", exercises.names())
def test_a_reference_stands_by_itself(name):
    source = reference_source(name)
    assert "course_lib.exercises" not in source and "course_lib.checking" not in source
    assert examine(exercises.get(name), revive(name, source)).passed


def test_only_earlier_lessons_are_handed_over():
    assert of_earlier_lessons(0) == {}
    assert list(of_earlier_lessons(2)) == [one.name for number in (0, 1) for one in exercises.by_lesson(number)]

"""Small classes for the tests of grading, made as the benchmark makes its large one."""

from benchmarks import _made_class as made_class
from course_lib import exercises
from course_lib.authoring import catalogue
from course_lib.grading.records import Assignment, Part


def assignment_of(*numbers, names=None):
    """An assignment of whole lessons, or of some of their exercises, with the course's points."""
    parts = []
    for number in numbers:
        chosen = [one for one in exercises.by_lesson(number) if names is None or one.name in names]
        parts.append(Part(catalogue.lesson(number).name, {one.name: float(one.points) for one in chosen}))
    return Assignment("tried", tuple(parts))


def write_class(folder, numbers, students, hostile=0, seed=0):
    return made_class.write_class(folder, numbers, students, hostile, seed)


def as_told(mark, told):
    """Whether a mark says of an answer what it is: right, a stub, or this mistake."""
    if told == "right":
        return mark.status == "passed" and mark.earned == mark.points
    if told == "stub":
        return mark.status == "not attempted" and mark.earned == 0
    return mark.mistake == told and mark.earned < mark.points

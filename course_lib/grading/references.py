"""The course's own answers as sources that run by themselves, for cells that build on another answer.

They are handed over as code: an answer may pass a closure to one of them, and gradients must flow through both.
"""

from functools import cache

from course_lib import exercises
from course_lib.checking.keep import portable_source


@cache
def reference_source(name):
    """The reference of an exercise with all that it needs of other exercises; it defines `name`."""
    function = exercises.get(name).reference
    return portable_source(function, {}, within=exercises.__name__)


@cache
def of_earlier_lessons(number):
    """{name: source} of the exercises of the lessons before this one: later ones would hold answers."""
    earlier = [exercise for before in range(number) for exercise in exercises.by_lesson(before)]
    return {exercise.name: reference_source(exercise.name) for exercise in earlier}

"""The exercises of the course: one package a lesson, one module an exercise."""

import difflib
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from course_lib.checking import matrix


class UnknownExercise(LookupError):
    """No exercise has this name; the message lists the nearest ones."""

    def __init__(self, name):
        near = difflib.get_close_matches(str(name), names(), n=3, cutoff=0.4)
        others = f"Did you mean {', '.join(near)}?" if near else "`progress()` lists them all."
        super().__init__(f"there is no exercise {name!r}. {others}")

    def _render_traceback_(self):
        return [f"✗ {self}"]


@cache
def _lessons():
    """Exercises by lesson number, from the packages lesson_00, lesson_01, ... beside this file."""
    found = [module.name for module in iter_modules(__path__) if module.name.startswith("lesson_")]
    return {int(name.removeprefix("lesson_")): import_module(f"{__name__}.{name}").EXERCISES for name in sorted(found)}


@cache
def _by_name():
    exercises = [exercise for group in _lessons().values() for exercise in group]
    table = {exercise.name: exercise for exercise in exercises}
    if len(table) != len(exercises):
        raise ValueError("two exercises share a name; names are unique in the whole course")
    return table


def names():
    """The names of all exercises, in the order of the course."""
    return tuple(_by_name())


def lessons():
    """The numbers of the lessons that have exercises, in order."""
    return tuple(_lessons())


def by_lesson(number):
    """The exercises of one lesson, in order; none for a lesson without any."""
    return tuple(_lessons().get(number, ()))


def get(name):
    """The exercise of this name. Raises UnknownExercise, which lists the nearest names."""
    if name not in _by_name():
        raise UnknownExercise(name)
    return _by_name()[name]


def implementation(name, kind, index):
    """An implementation that ships with an exercise, for a worker in another process: see `matrix.implementations`."""
    return matrix.implementation(get(name), kind, index)

"""Which lesson a learner's notebook belongs to, and which exercise a cell of it, whatever happened to the file."""

import re

from .catalogue import lesson, lessons
from .source import checked_names


def required_exercises(path, metadata, key=None):
    """The exercises that a notebook has to check; none if it is no lesson.

    Which lesson: `key`, else the name in the notebook's metadata, else the number before the file's name. The sources
    of the lessons say which exercises; where there is no such source, the notebook's metadata does.
    Raises UnknownLesson for a `key` without a lesson, and SourceError.
    """
    if key:
        return lesson(key).exercises
    course = metadata.get("course")
    course = course if isinstance(course, dict) else {}
    number = re.match(r"(\d\d)_", path.name)
    for one in lessons():
        if one.name == course["name"] if "name" in course else number and int(number[1]) == one.number:
            return one.exercises
    listed = course.get("exercises")
    return tuple(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def identity(cell, exercises):
    """(exercise, role) of a code cell, or (None, None).

    Editors drop metadata when they copy a cell, so a cell that checks one exercise is known by its call as well.
    """
    mark = cell.metadata.get("course")
    if isinstance(mark, dict) and isinstance(mark.get("exercise"), str) and mark.get("role") in ("answer", "check"):
        return mark["exercise"], mark["role"]
    names = set(checked_names(cell.source))
    if len(names) == 1 and names <= set(exercises):
        return names.pop(), "check"
    return None, None

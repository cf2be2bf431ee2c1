"""`assignment.json`: which exercises of which lessons are graded, and for how many points each."""

import difflib
import json
import math
import re
from pathlib import Path

from course_lib import exercises as course
from course_lib.authoring import catalogue

from .records import Assignment, Part

FILE_NAME = "assignment.json"
VERSION = 1
NAME = re.compile(r"\w[\w.-]*( [\w.-]+)*")  # nbgrader uses it as a folder's name, and in patterns of paths
LONGEST_NAME = 100
ABOVE = 3  # folders above what is graded: course/submitted/student/assignment
KEPT_IN = ("source", "release")  # nbgrader's folders; the instructor's comes first


class AssignmentError(ValueError):
    """No assignment can be made or read from what was given; the text says what is wrong."""


def make(keys, exercises=None, points=None, name=None, diagnoses=True, solution=True):
    """The Assignment of these lessons.

    keys: numbers or names of lessons. exercises: names of those that are graded, all of the lessons if None. points:
    {exercise: points} where they differ from the exercise's own. name: the names of the lessons if None.
    Raises catalogue.UnknownLesson and AssignmentError, both with the nearest names, and SourceError.
    """
    lessons = sorted({catalogue.lesson(key) for key in keys}, key=lambda one: one.number)
    if not lessons:
        raise AssignmentError("an assignment needs at least one lesson")
    chosen = [known_name(one, lessons) for one in exercises] if exercises is not None else None
    given = {known_name(one, lessons): valid_points(one, value) for one, value in (points or {}).items()}
    parts = tuple(part(one, chosen, given) for one in lessons)
    left = [one for one in given if not any(one in part.points for part in parts)]
    if left:
        raise AssignmentError(f"points are given for {left[0]}, which is not among the exercises that are graded")
    return Assignment(valid_name(default_name(lessons) if name is None else name), parts, diagnoses, solution)


def part(lesson, chosen, given):
    """The Part of one lesson, its exercises in the lesson's order."""
    names = [name for name in lesson.exercises if chosen is None or name in chosen]
    if not names:
        raise AssignmentError(f"no exercise of {lesson.name} is chosen: choose one of it, or leave the lesson out")
    return Part(lesson.name, {name: given.get(name, float(course.get(name).points)) for name in names})


def known_name(name, lessons):
    """`name`, if it is an exercise of these lessons. Raises AssignmentError, with the nearest names."""
    known = [one for lesson in lessons for one in lesson.exercises]
    if name in known:
        return name
    for other in catalogue.lessons():
        if name in other.exercises:
            raise AssignmentError(f"{name} is an exercise of {other.name}, which is not in this assignment")
    near = difflib.get_close_matches(str(name), known, n=2, cutoff=0.5)
    instead = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known)}"
    raise AssignmentError(f"there is no exercise {name!r} in {' and '.join(one.name for one in lessons)}; {instead}")


def valid_points(name, value):
    """A number of points. Raises AssignmentError, which names it, for one that is negative or no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise AssignmentError(f"the points of {name} must be a number of at least 0, got {value!r}")
    return float(value)


def valid_name(name):
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise AssignmentError(
            f"an assignment's name has letters, digits, blanks, - _ and . and at most {LONGEST_NAME} of them, "
            f"got {name!r}"
        )
    return name


def default_name(lessons):
    """The names of the lessons joined, or, where that is too long for a folder, their numbers."""
    joined = "-".join(one.name for one in lessons)
    return joined if len(joined) <= LONGEST_NAME else "lessons_" + "_".join(f"{one.number:02}" for one in lessons)


def to_text(assignment):
    """The content of assignment.json."""
    return json.dumps({"version": VERSION, **assignment.as_dict()}, indent=2, ensure_ascii=False) + "\n"


def write(assignment, folder):
    """Write assignment.json into a folder, which is made if it is not there; returns its path."""
    path = Path(folder) / FILE_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_text(assignment), encoding="utf-8")
    return path


def read(path):
    """The Assignment in this file, or in the assignment.json of this folder.

    Raises AssignmentError, naming the file and the fault, for one that no `course release` of this course could have
    written, and OSError.
    """
    path = Path(path)
    path = path / FILE_NAME if path.is_dir() else path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or data.pop("version", None) != VERSION:
            raise AssignmentError(f"it is not of version {VERSION}")
        return validated(Assignment.from_dict(data))
    except (ValueError, KeyError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise AssignmentError(f"{path.name} in {path.parent.name} is no assignment of this course: {error}") from error


def validated(assignment):
    """An Assignment of unknown origin, with its points as floats. Raises AssignmentError, UnknownLesson, TypeError."""
    valid_name(assignment.name)
    if not assignment.parts:
        raise AssignmentError("it has no lesson")
    if not all(isinstance(flag, bool) for flag in (assignment.diagnoses, assignment.solution)):
        raise AssignmentError("diagnoses and solution must be true or false")
    lessons = [catalogue.lesson(one.lesson) for one in assignment.parts]
    if len(set(lessons)) != len(lessons):
        raise AssignmentError("a lesson stands in it twice")
    parts = []
    for lesson, one in zip(lessons, assignment.parts, strict=True):
        points = {known_name(name, [lesson]): valid_points(name, value) for name, value in one.points.items()}
        if not points:
            raise AssignmentError(f"it has no exercise of {lesson.name}")
        parts.append(Part(lesson.name, points))
    return Assignment(assignment.name, tuple(parts), assignment.diagnoses, assignment.solution)


def find(submissions):
    """The Assignment that submissions at this path belong to, or None.

    In nbgrader's layout it is in the source or release folder of the course, up to three folders above; else in the
    folder itself or in one above it. The instructor's copy comes first: students have one too, and may hand it in.
    Raises AssignmentError where there are several to choose from, or where it cannot be read.
    """
    path = Path(submissions).resolve()
    start = path if path.is_dir() else path.parent
    folders = [start, *list(start.parents)[:ABOVE]]
    for folder in folders:
        if found := in_course(folder, {path.stem, *path.relative_to(folder).parts}):
            return read(found)
    for folder in folders:
        if (folder / FILE_NAME).is_file():
            return read(folder)
    return None


def in_course(folder, names):
    """The assignment.json in the folder of a course, or None. names: what may be the assignment's name."""
    for kept_in in KEPT_IN:
        found = {path.parent.name: path for path in sorted(folder.glob(f"{kept_in}/*/{FILE_NAME}"))}
        named = [found[name] for name in found if name in names]
        if len(named) == 1 or len(found) == 1:
            return (named or list(found.values()))[0]
        if found:
            places = ", ".join(f"{kept_in}/{name}" for name in found)
            raise AssignmentError(f"there are several assignments, say which with --assignment: {places}")
    return None

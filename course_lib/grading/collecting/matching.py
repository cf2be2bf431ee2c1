"""Which of a student's files is the notebook of which lesson."""

import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.authoring import catalogue
from course_lib.authoring.cell_code import bound_names
from course_lib.authoring.transplant import counting, places, stub_of, untouched

from ..repairing.lesson_code import pristine
from ..repairing.reading import Unreadable, read, shown
from .handed_in import NOTEBOOK
from .students import CANVAS, MOODLE

OTHER_NOTEBOOKS = "no notebook of this assignment"
RESUBMITTED = re.compile(r"( ?\((?P<browser>\d+)\)|-(?P<canvas>\d+)|-copy(?P<editor>\d+)| - copy)$", re.I)


@dataclass(frozen=True)
class Candidate:
    """A file, its notebook (None if it cannot be read), and the number that a later version of it has in its name."""

    path: Path
    book: object
    number: int


def match(files, assignment):
    """({lesson: path}, notes): for each lesson of the assignment the file to be graded, where there is one.

    By the lesson's name in the notebook's metadata, else by the file's name, else by the functions that it defines.
    Of several for one lesson the changed one counts, then one that cannot be read, and the newest by its number.
    """
    candidates = [candidate(path) for path in sorted(files, key=lambda one: (one.name, str(one)))]
    found, notes, left = {}, [], []
    for one in candidates:
        lesson = lesson_of(one, assignment)
        if lesson is None:
            left.append(one)
        else:
            found.setdefault(lesson, []).append(one)
    if not found and len(left) == 1 and len(assignment.parts) == 1:
        found[assignment.parts[0].lesson] = [left.pop()]
        notes.append(
            f"{shown(candidates[0].path)} is the only file, and is taken though it looks like another notebook"
        )
    if left:
        notes.append(f"{OTHER_NOTEBOOKS}: {', '.join(shown(one.path) for one in left[:5])}")
    taken = {}
    for part in assignment.parts:
        if rivals := found.get(part.lesson):
            best = max(rivals, key=lambda one: rank(one, part.lesson)) if len(rivals) > 1 else rivals[0]
            taken[part.lesson] = best.path
            if len(rivals) > 1:
                names = " and ".join(shown(one.path) for one in rivals[:5])
                notes.append(f"{part.lesson}: handed in as {names}; {shown(best.path)} is taken")
    return taken, notes


def candidate(path):
    try:
        book, _ = read(path)
    except Unreadable:
        book = None
    number = RESUBMITTED.search(NOTEBOOK.sub("", path.name))
    return Candidate(path, book, int((number and next(filter(None, number.groups()[1:]), None)) or 0))


def lesson_of(one, assignment):
    """The name of the lesson, or None."""
    names = [part.lesson for part in assignment.parts]
    course = one.book.metadata.get("course") if one.book is not None else None
    stated = course.get("name") if isinstance(course, dict) else None
    if isinstance(stated, str):
        return stated if stated in names else None
    return by_file_name(one.path.name, names) or (by_definitions(one.book, names) if one.book is not None else None)


def by_file_name(name, lessons):
    """The lesson that a file is named after: by its name, the name without the number, or the number alone."""
    stem = RESUBMITTED.sub("", NOTEBOOK.sub("", name)).lower()
    platform = MOODLE.fullmatch(stem) or CANVAS.fullmatch(stem)
    stem = platform["rest"] if platform and platform["rest"] else stem
    for part in (lambda lesson: lesson, lambda lesson: lesson[3:]):
        named = [lesson for lesson in lessons if part(lesson) in stem]
        if len(named) == 1:
            return named[0]
    for pattern in (r"(?<!\d)\d\d(?!\d)", r"(?<![\da-z])\d(?!\d)", r"(?<!\d)\d(?!\d)"):
        numbers = {int(number) for number in re.findall(pattern, stem)}
        numbered = [lesson for lesson in lessons if int(lesson[:2]) in numbers]
        if len(numbered) == 1:
            return numbered[0]
    return None


def by_definitions(book, lessons):
    """The lesson of whose exercises a notebook defines most, if it is one alone."""
    given = {name for cell in book.cells if cell.cell_type == "code" for name in bound_names(cell.source)}
    counts = {name: len(given & set(catalogue.lesson(name).exercises)) for name in lessons}
    best = [name for name in lessons if counts[name] and counts[name] == max(counts.values())]
    return best[0] if len(best) == 1 else None


def rank(one, lesson):
    """What makes one of several files count: that it was changed, that it may have been, its number, its answers."""
    answers = 0 if one.book is None else answered(one.book, catalogue.lesson(lesson))
    state = 1 if one.book is None else 2 * (answers > 0)
    return state, one.number, answers


def answered(book, lesson):
    """How many exercises of a lesson a notebook has an attempt at."""
    fresh = pristine(lesson)
    sources = [cell.source if cell.cell_type == "code" else None for cell in book.cells]
    found = places(book, fresh, lesson.exercises)
    at = {name: counting(sources, found, fresh, name)[0] for name in lesson.exercises}
    return sum(i is not None and not untouched(sources[i], stub_of(fresh, name)) for name, i in at.items())

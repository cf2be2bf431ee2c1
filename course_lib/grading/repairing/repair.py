"""From the file that a student handed in to cells in order for grading, whatever happened to the file.

The learner's own cells and answers run in full, wherever they stand. Of the lesson's cells only what they define is
run, and only where a learner's code mentions it; what the copy lacks comes from the pristine notebook. Checks that were
handed in have no part in it.
"""

from dataclasses import dataclass

from course_lib.authoring.cell_code import bound_names, plain_python, words
from course_lib.authoring.transplant import counting, gives, last_check, places, stub_of, untouched
from course_lib.checking.limits import TooSlow, time_limit

from ..records import Cell, Work
from .lesson_code import kept, lesson_statements, needed, pristine
from .reading import Unreadable, read, shown
from .standing import standing

SECONDS = 60.0  # of reading and repairing a file; a notebook of a lesson takes a tenth of one
PRELUDE = -1  # the place, before all cells, of what the learner's copy of the lesson lacks


@dataclass(frozen=True)
class Notebook:
    """A notebook that was read. sources: what each cell runs, or None. found: what each cell is (transplant.Place)."""

    lesson: object
    fresh: object
    sources: list
    found: list
    notes: list


def repair(path, lesson, exercises):
    """The Work of a notebook file. lesson: a catalogue.Lesson. exercises: the names that are graded.

    Raises nothing on account of the file: what cannot be read has `trouble`. Raises SourceError for a broken lesson.
    """
    try:
        with time_limit(SECONDS):
            return _repaired(path, lesson, exercises)
    except Unreadable as error:
        trouble = str(error)
    except TooSlow:
        trouble = f"{shown(path)}: it takes longer than {SECONDS:g} s to tell the answers in it from the rest"
    return Work(lesson.name, answers=dict.fromkeys(exercises, ()), file=shown(path), trouble=trouble)


def _repaired(path, lesson, exercises):
    notebook = opened(path, lesson)
    own = own_cells(notebook)
    answers = {name: answer(notebook, own, name) for name in exercises}
    if deleted := [name for name in exercises if last_check(notebook.sources, notebook.found, name) is None]:
        check, were = ("check", "was") if len(deleted) == 1 else ("checks", "were")
        notebook.notes.append(f"the {check} of {enumerated(deleted)} {were} deleted")
    cells = tuple(cell for i in sorted(own) for cell in own[i])
    return Work(lesson.name, cells, answers, shown(path), tuple(dict.fromkeys(notebook.notes)))


def opened(path, lesson):
    """The Notebook in a file. Raises Unreadable and SourceError."""
    book, notes = read(path)
    fresh, sources = pristine(lesson), []
    for number, cell in enumerate(book.cells, 1):
        source, foreign = plain_python(cell.source) if cell.cell_type == "code" else (None, False)
        if foreign:
            notes.append(f"cell {number} is in another language ({source.split()[0][:20]}) and is left out")
        cell.source = cell.source if source is None else source
        sources.append(None if foreign else source)
    notebook = Notebook(lesson, fresh, sources, places(book, fresh, lesson.exercises), notes)
    for i, (cell, one) in enumerate(zip(book.cells, notebook.found, strict=True)):
        if one.kind == "answer" and cell.cell_type != "code" and gives(cell.source, one.exercise):
            count_text(notebook, i, cell.source, one.exercise)
    return notebook


def count_text(notebook, i, source, name):
    """An answer whose cell became a text by a slip of the keyboard counts where there is no other."""
    _, attempts = counting(notebook.sources, notebook.found, notebook.fresh, name)
    if not attempts and not untouched(source, stub_of(notebook.fresh, name)):
        notebook.sources[i] = source
        notebook.notes.append(f"{name}: cell {i + 1} is no code cell; its text counts all the same")


def own_cells(notebook):
    """{index: (Cell, ...)} of what is run, the index PRELUDE for what the learner's copy of the lesson lacks."""
    own, parts = {}, []
    wanted = set(notebook.lesson.exercises)
    for i, (source, one) in enumerate(zip(notebook.sources, notebook.found, strict=True)):
        if one.kind in ("answer", "extra") and source is not None and source.strip():
            own[i] = (Cell(source, f"cell {i + 1}", one.exercise),)
            wanted |= words(source)
    theirs = lesson_statements(notebook.lesson)
    given = {name for _, text in theirs for name in bound_names(text)}
    for i, (source, one) in enumerate(zip(notebook.sources, notebook.found, strict=True)):
        if one.kind == "lesson" and source is not None:
            before = notebook.fresh.cells[one.twin].source
            added = (bound_names(source) - bound_names(before) - given) & wanted
            parts += [(i, f"cell {i + 1}", text) for text in kept(source, added) or kept(before)]
    present = {text for _, _, text in parts}
    lacking = [(PRELUDE, f"the lesson's cell {number}", text) for number, text in theirs if text not in present]
    parts = lacking + parts
    chosen = needed([text for _, _, text in parts], wanted)
    for number in sorted(chosen):
        i, place, text = parts[number]
        exercise = next((name for name in notebook.lesson.exercises if name in bound_names(text)), None)
        own[i] = (*own.get(i, ()), Cell(text, place, exercise))
    return own


def answer(notebook, own, name):
    """The cells that define an exercise as it counts. Adds to the notes."""
    sources, found, fresh, notes = notebook.sources, notebook.found, notebook.fresh, notebook.notes
    check = last_check(sources, found, name)
    at, attempts = counting(sources, found, fresh, name)
    if len(attempts) > 1:
        cells = enumerated([str(i + 1) for i in attempts])
        notes.append(f"{name}: defined in cells {cells}; cell {at + 1} counts")
    return () if at is None else standing(own, name, at, attempts, check, set(notebook.lesson.exercises))


def enumerated(words):
    """["a", "b", "c"] -> "a, b and c"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

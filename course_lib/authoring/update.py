"""`course update [NN ...] [--from FOLDER]`: a learner's answers and notes into the lessons of this version.

Answers go to their cells, cells that the learner added stand where they stood, below the same cell of the lesson, and a
cell of the lesson that the learner changed stays changed as long as the lesson has not changed it as well. Outputs are
not carried: they are another version's. What is overwritten is copied to `notebooks/backup/` first, and nothing is
written where nothing changes.
"""

import copy
import hashlib
import sys
from pathlib import Path

import nbformat

from course_lib.grading.repairing.reading import Unreadable, read

from .build import STUB, write
from .catalogue import SourceError, lessons
from .cell_code import only_raises
from .reset import RELOAD, ResetError, keep, stubbed
from .source import read_notebook
from .transplant import counting, fitting, mark, places, stub_of, untouched

ELSEWHERE = "# `{name}` stands in another answer's cell."
GONE = "# This lesson no longer has the exercise `{name}`. Your answer to it:\n"


def main(chosen=(), source=None):
    """Bring the notebooks of these lessons up to date, of all if none is given. Returns the exit status: 0, or 1.

    chosen: catalogue.Lesson objects. source: an older copy of the course, or its folder of notebooks, from which
    answers are taken; what they do not answer stays as it is.
    """
    failed = False
    for one in chosen or lessons():
        try:
            for line in update(one, source):
                print(line)
        except (Unreadable, ResetError, SourceError, OSError, UnicodeError, nbformat.ValidationError) as error:
            failed = True
            print(f"course: {one.notebook.name} is as it was: {error}", file=sys.stderr)
    return int(failed)


def update(one, source=None):
    """Bring one notebook up to date; returns what to tell the learner, in lines.

    Raises Unreadable, ResetError, SourceError and OSError, and then nothing was written.
    """
    fresh = stubbed(read_notebook(one))
    older = notebook_in(Path(source), one) if source else None
    if source and older is None:
        return [f"{one.notebook.name}: there is none in {source}"]
    if not one.notebook.exists() and older is None:
        write(one.notebook, fresh)
        return [f"{one.notebook.name} was missing: there is a new one now"]
    new, said, now = fresh, [], None
    if one.notebook.exists():
        data = one.notebook.read_bytes()
        now, _ = read(one.notebook)
        new, said = carried(now, new, fresh, one.exercises)
    if older is not None:
        new, said = carried(read(older)[0], new, fresh, one.exercises)
    if now is not None and content(now) == content(new):
        return [f"{one.notebook.name}: up to date"]
    kept = keep(one.notebook, data) if now is not None else None
    write(one.notebook, new)
    lines = [f"{one.notebook.name}: {what}" for what in said] or [
        f"{one.notebook.name}: the new version, no answers yet"
    ]
    return lines + ([f"Your notebook as it was: {kept}", RELOAD] if kept else [])


def notebook_in(folder, one):
    """The notebook of a lesson in another copy of the course or its folder of notebooks, or None."""
    for place in (folder / "notebooks", folder):
        if (place / one.notebook.name).is_file():
            return place / one.notebook.name
        numbered = sorted(place.glob(f"{one.number:02}_*.ipynb"))
        if len(numbered) == 1:
            return numbered[0]
    return None


def content(book):
    """What must not change for nothing: the cells without their outputs, and what the lesson says of itself."""
    cells = [(cell.cell_type, cell.source.strip(), mark(cell)) for cell in book.cells]
    return cells, book.metadata.get("course")


def carried(book, target, fresh, exercises):
    """(`target` with the learner's work of `book` in it, what was carried, in lines). `book` is not changed.

    fresh: the notebook as this version gives it. target: that one, or that one with work in it already.
    """
    found = places(book, fresh, exercises)
    sources = [cell.source if cell.cell_type == "code" else None for cell in book.cells]
    new, said, placed = copy.deepcopy(target), [], set()
    slots = {mark(cell)[0]: cell for cell in new.cells if mark(cell)[1] == "answer"}
    for name in exercises:
        at, _ = counting(sources, found, fresh, name)
        if at is None or found[at].kind != "answer" or untouched(sources[at], stub_of(fresh, name)):
            continue
        if at in placed:  # one cell for two exercises: a stub would undo what it defines
            slots[name].source = ELSEWHERE.format(name=name)
        else:
            slots[name].source = sources[at]
            placed.add(at)
            said.append(f"{name}: your answer is carried over")
    settled = {cell.id for cell in fresh.cells}
    above = None  # the cell of the new notebook below which the learner's next cell goes
    for i, (cell, one) in enumerate(zip(book.cells, found, strict=True)):
        home = home_of(new, fresh, one)
        if i not in placed and one.kind == "lesson" and home is not None and changed_by_learner(cell, fresh, one):
            if home.source.strip() != cell.source.strip():
                home.source = cell.source
                said.append(f"cell {i + 1}: your change to it is carried over")
        elif i not in placed and (extra := kept_apart(cell, one, fresh)) is not None:
            home = next((old for old in new.cells if old.id not in settled and is_same(old, extra)), None)
            if home is None:
                above = home_of(new, fresh, one) if one.kind == "lesson" else above
                home = fitting(new, extra, cell.id)
                new.cells.insert(index_of(new, above) + 1, home)
                said.append(f"cell {i + 1}: your own cell is carried over")
            settled.add(home.id)  # a second one with the same text is another cell
        above = home if home is not None else above
    return new, said


def index_of(book, cell):
    """Where a cell stands; -1 for None."""
    return next((i for i, one in enumerate(book.cells) if one is cell), -1)


def home_of(new, fresh, one):
    """The cell of the new notebook that is the same cell of the lesson, or None."""
    if one.kind in ("answer", "check") and one.exercise:
        return next((cell for cell in new.cells if mark(cell) == (one.exercise, one.kind)), None)
    if one.twin is None:
        return None
    return next((cell for cell in new.cells if cell.id == fresh.cells[one.twin].id), None)


def changed_by_learner(cell, fresh, one):
    """Whether the lesson has this cell as it was, and the learner wrote something else there.

    The id of a lesson's cell tells its text, so the same id means that the lesson did not change it.
    """
    return cell.id == fresh.cells[one.twin].id and cell.source.strip() != fresh.cells[one.twin].source.strip()


def kept_apart(cell, one, fresh):
    """What is carried as a cell of the learner's own, or None for what the lesson gave."""
    if not cell.source.strip() or one.kind == "check" or of_a_lesson(cell):
        return None
    name, role = mark(cell)
    if one.kind == "lesson":
        same_id = cell.id == fresh.cells[one.twin].id
        return None if same_id or cell.source.strip() == fresh.cells[one.twin].source.strip() else own_copy(cell)
    if one.kind == "answer":
        given = untouched(cell.source, stub_of(fresh, one.exercise))
        return None if given or cell.source == ELSEWHERE.format(name=one.exercise) else own_copy(cell)
    if role == "answer":  # of an exercise that is no more
        return None if only_raises(cell.source, STUB) else own_copy(cell, GONE.format(name=name))
    return None if role == "check" else own_copy(cell)


def of_a_lesson(cell):
    """Whether this is a cell of some version of a lesson, as it was given: its id is made of its text."""
    text = (cell.cell_type + cell.source).encode("utf-8", "replace")
    return hashlib.sha256(text).hexdigest()[:8] == cell.id[:8] and mark(cell) == (None, None)


def own_copy(cell, above=""):
    """The cell without the lesson's metadata and without outputs."""
    new = copy.deepcopy(cell)
    tags = [tag for tag in cell.metadata.get("tags", []) if not tag.startswith("exercise-")]
    new.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    new.source = above + cell.source
    return new


def is_same(old, extra):
    """Whether a cell of the notebook is this cell of the learner's already."""
    return (old.cell_type, old.source.strip()) == (extra.cell_type, extra.source.strip())

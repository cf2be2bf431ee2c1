"""`course reset NN [exercise]`: put stubs back into a learner's notebook; what stood there is kept.

The whole notebook is copied to `notebooks/backup/` before it is changed, and it is written whole or not at all. Only
answer cells change, and check cells that are gone or emptied: prose, notes and other cells stay as they are.
Needs no nbgrader, which learners do not have; a test holds the stubs equal to those of the build.
"""

import copy
import sys
import warnings

import nbformat

from .build import STUB, back_up, to_text, write
from .catalogue import SourceError
from .identity import identity
from .source import BEGIN, END, checked_names, read_notebook
from .transplant import answer_places, insert, mark, position, replace

RELOAD = """\
If the notebook is open in JupyterLab, do not save it there first: choose File > Reload Notebook from Disk."""


class ResetError(RuntimeError):
    """Nothing was changed; the text says why and what to do."""


def main(one, names=()):
    """Put back the stubs of these exercises of a lesson, all if none is named. Returns the exit status: 0, or 1."""
    try:
        for line in reset(one, names):
            print(line)
    except (ResetError, SourceError, OSError) as error:
        print(f"course: {one.notebook.name} is as it was: {error}", file=sys.stderr)
        return 1
    return 0


def reset(one, names=()):
    """Put back the stubs of `names`, all if empty; returns what to tell the learner, in lines. Raises ResetError."""
    path, fresh = one.notebook, stubbed(read_notebook(one))
    if not path.exists():
        write(path, fresh)
        return [f"{path.name} was missing: there is a new one now"]
    data = path.read_bytes()
    book = parse(data)
    if book is None:
        if names:
            raise ResetError(f"it cannot be read. `course reset {one.number:02}` puts it aside and makes a new one")
        kept = keep(path, data)
        write(path, fresh)
        return [f"{path.name} could not be read as a notebook: there is a new one now", f"The old file: {kept}", RELOAD]
    done, also = [], []
    for name in names or one.exercises:
        said, others = put_back(book, fresh, name, one.exercises)
        done += said
        also += others
    if not done:
        return [f"{path.name}: nothing to put back", *also]
    kept = keep(path, data)
    write(path, book)
    return [*(f"{path.name}: {what}" for what in done), *also, f"Your notebook as it was: {kept}", RELOAD]


def keep(path, data):
    """Copy the notebook aside; returns where. Raises ResetError if the file is no longer `data`."""
    kept = back_up(path)
    if kept.read_bytes() != data:
        raise ResetError(f"it was saved by another program meanwhile (a copy is in {kept}). Try again")
    return kept


def parse(data):
    """The notebook in these bytes, or None if they are none that could be written again."""
    try:
        book = nbformat.reads(data.decode("utf-8"), as_version=4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it mends ids that are missing or doubled
            to_text(book).encode()
    except Exception:  # nbformat lets whatever it stumbles over through
        return None
    return book


def stubbed(plain):
    """A notebook with solutions -> the same with stubs: what `learner_version` makes, without nbgrader."""
    fresh = copy.deepcopy(plain)
    for cell in fresh.cells:
        if mark(cell)[1] == "answer":
            cell.source = cut(cell.source)
    return fresh


def cut(source):
    """Each solution region -> the stub, indented as the region was."""
    kept, inside = [], False
    for line in source.split("\n"):
        if line.strip() == BEGIN:
            kept.append(line[: line.index(BEGIN)] + STUB)
            inside = True
        elif line.strip() == END:
            inside = False
        elif not inside:
            kept.append(line)
    return "\n".join(kept)


def put_back(book, fresh, name, exercises):
    """Change `book`: the stub of one exercise, and its check cell where that is gone.

    Returns (what was done, what else the learner should know), in lines.
    """
    wanted = {mark(cell)[1]: cell for cell in fresh.cells if mark(cell)[0] == name}
    places = answer_places(book, name)
    done = []
    if not places:
        check = next((i for i, cell in enumerate(book.cells) if identity(cell, exercises) == (name, "check")), None)
        place = position(book, fresh, wanted["answer"])
        insert(book, wanted["answer"], place if check is None else min(place, check))
        done.append(f"{name}: the answer cell was gone; its stub is back")
    elif not same(book.cells[places[0]], wanted["answer"]):
        replace(book, places[0], wanted["answer"])
        done.append(f"{name}: the stub is back")
    answer = answer_places(book, name)[0]
    good = [i for i, cell in enumerate(book.cells) if is_check(cell, name, exercises)]
    checks = good or [i for i, cell in enumerate(book.cells) if mark(cell) == (name, "check")]
    if not checks:
        insert(book, wanted["check"], max(position(book, fresh, wanted["check"]), answer + 1))
        done.append(f"{name}: the check cell was gone; it is back")
    elif not good:
        replace(book, checks[0], wanted["check"])
        done.append(f"{name}: the check cell is as it was")
    if done:
        for i in good:
            book.cells[i].update(outputs=[], execution_count=None)  # an old verdict would stand below the stub
    others = [f"cell {i + 1}" for i in places[1:]]
    return done, [
        f"{name} is defined in {', '.join(others)} too, which is left alone and counts if it runs last"
    ] if others else []


def is_check(cell, name, exercises):
    """Whether a cell is a code cell that checks this exercise."""
    if cell.cell_type != "code" or name not in checked_names(cell.source):
        return False
    return identity(cell, exercises) == (name, "check")


def same(cell, wanted):
    return (cell.cell_type, cell.source, mark(cell)) == (wanted.cell_type, wanted.source, mark(wanted))

"""Where the answers stand in a learner's notebook, whatever happened to it, and how cells get into another notebook.

Grading, `course reset` and `course update` share this. Nothing is run. A notebook is held against the one that learners
get, `fresh` (with stubs), and each of its cells is one of these kinds:

- `answer`: marked as the answer to an exercise, or it defines one and is no cell of the lesson.
- `check`: it does nothing but check one.
- `lesson`: a cell of the lesson, as it was or changed, known by its id, by its text or by half of its lines.
- `extra`: whatever else the learner added, notes too.
"""

import copy
import itertools
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

from .build import STUB
from .cell_code import bound_names, calls_only, defines, is_python, only_raises, same_code
from .source import checked_names

VERBS = {"check", "hint", "solution", "progress"}
ALIKE, ALIKE_SHORT = 0.5, 0.8  # how much two cells must share to be one, changed: of their lines; of a few letters
SHORT, LETTERS = 3, 400  # lines up to which, and letters up to which, cells are compared letter by letter


@dataclass(frozen=True)
class Place:
    """What a cell is. exercise: the one it answers or checks, or None. twin: the index of the same cell in `fresh`."""

    kind: str
    exercise: str | None = None
    twin: int | None = None


def mark(cell):
    """(exercise, role) in the metadata of a cell, or (None, None)."""
    found = cell.metadata.get("course")
    return (found.get("exercise"), found.get("role")) if isinstance(found, dict) else (None, None)


def places(book, fresh, exercises):
    """What each cell of a notebook is: a list of Place. exercises: the names that count as exercises."""
    by_id = {cell.id: i for i, cell in enumerate(fresh.cells)}
    by_text = {}
    for i, cell in enumerate(fresh.cells):
        by_text.setdefault((cell.cell_type, cell.source.strip()), i)
    counters = [lines(cell) for cell in fresh.cells]
    return [place(cell, fresh, by_id, by_text, counters, exercises) for cell in book.cells]


def place(cell, fresh, by_id, by_text, counters, exercises):
    code = cell.cell_type == "code"
    text = by_text.get((cell.cell_type, cell.source.strip()))
    twin = by_id.get(cell.get("id"), by_id.get(grade_id(cell), text))
    marked = mark(cell)
    if marked == (None, None) and twin is not None:
        marked = mark(fresh.cells[twin])
    name, role = marked if marked[0] in exercises else (None, None)
    if role == "answer":
        return Place("answer", name, twin)
    checked = checks(cell, exercises) if code else []
    if checked and calls_only(cell.source, VERBS) or (role == "check" and not holds_code(cell, exercises)):
        return Place("check", checked[0] if checked else name, twin)
    if role is None and twin is not None and fresh.cells[twin].cell_type == cell.cell_type:
        return Place("lesson", None, twin)
    if role is None and (found := nearest(cell, fresh, counters)) is not None:
        return Place("lesson", None, found)
    if code and (defined := [one for one in exercises if gives(cell.source, one)]):
        return Place("answer", defined[0])
    return Place("extra")


def grade_id(cell):
    """The id that nbgrader gave a cell; it stays where an editor gives cells new ids."""
    found = cell.metadata.get("nbgrader")
    found = found.get("grade_id") if isinstance(found, dict) else None
    return found if isinstance(found, str) else None


def checks(cell, exercises):
    """The exercises that a cell checks, whatever else it does."""
    return [name for name in checked_in(cell.source) if name in exercises]


def checked_in(source):
    return checked_names(source) if "check" in source and is_python(source) else []


def holds_code(cell, exercises):
    """Whether a cell gives anything a name, so that it is more than a check."""
    return bool(bound_names(cell.source)) or any(defines(cell.source, name) for name in exercises)


def gives(source, name):
    """Whether a cell gives this name a value, valid Python or not: a definition, an assignment or an import."""
    return name in bound_names(source) or defines(source, name)


def lines(cell):
    return Counter(line.strip() for line in cell.source.split("\n") if line.strip())


def nearest(cell, fresh, counters):
    """The index of the cell of the lesson of which this is a changed copy, or None."""
    mine, best = lines(cell), (0.0, None)
    for i, (one, theirs) in enumerate(zip(fresh.cells, counters, strict=True)):
        if one.cell_type == cell.cell_type and mark(one) == (None, None):
            alike = likeness(cell.source, mine, one.source, theirs)
            best = max(best, (alike, i), key=lambda pair: pair[0])
    return best[1]


def likeness(source, mine, other, theirs):
    """How alike two cells are, from 0 to 1; 0 where it is too little to be the same cell, changed."""
    if max(mine.total(), theirs.total()) <= SHORT and max(len(source), len(other)) <= LETTERS:
        matcher = SequenceMatcher(None, source, other, autojunk=False)
        share = matcher.quick_ratio()
        share = matcher.ratio() if share >= ALIKE_SHORT else 0.0
        return share if share >= ALIKE_SHORT else 0.0
    common = (mine & theirs).total()
    share = 2 * common / max(1, mine.total() + theirs.total())
    return share if share >= ALIKE and common > 1 else 0.0


def untouched(source, stub):
    """Whether an answer cell is as it was given, in this version of the lesson or in another."""
    return same_code(source, stub) or only_raises(source, STUB)


def stub_of(fresh, name):
    """The source of the answer cell as it was given, or "" where the lesson has no such exercise."""
    return next((cell.source for cell in fresh.cells if mark(cell) == (name, "answer")), "")


def candidates(sources, found, fresh, name):
    """Indices of the cells that could be the answer to an exercise, in their order.

    sources: what each cell runs, or None for a cell that runs nothing. found: what each cell is.
    """

    def could_be(source, one):
        if one.kind == "check" or source is None:
            return False
        if one.kind == "lesson":
            return name in bound_names(source) and name not in bound_names(fresh.cells[one.twin].source)
        broken = (one.kind, one.exercise) == ("answer", name) and not is_python(source)
        return broken or gives(source, name)

    return [i for i, (source, one) in enumerate(zip(sources, found, strict=True)) if could_be(source, one)]


def last_check(sources, found, name):
    """The index of the last cell that checks an exercise, or None where all are gone."""
    calling = [
        i
        for i, (source, one) in enumerate(zip(sources, found, strict=True))
        if (one.kind, one.exercise) == ("check", name) or (source is not None and name in checked_in(source))
    ]
    return max(calling, default=None)


def counting(sources, found, fresh, name):
    """(the index of the cell that counts as the answer, indices of all attempts); (None, []) where nothing defines it.

    As Run All has it at the check: the last attempt above the last check, else the last one anywhere. A stub counts
    only where there is no attempt, and so does a cell that is no valid Python, since it defines nothing.
    """
    stub = stub_of(fresh, name)
    possible = candidates(sources, found, fresh, name)
    attempts = [i for i in possible if not untouched(sources[i], stub)]
    whole = [i for i in attempts if is_python(sources[i])]
    check = last_check(sources, found, name)
    for group in (whole, attempts, possible):
        above = [i for i in group if check is None or i <= check]
        if group:
            return (above or group)[-1], attempts
    return None, []


# Below: cells in the notebook of a learner, for `course reset` and `course update`.


def answer_places(book, name):
    """Where the answer to an exercise stands: by metadata first, then the cells that define a function of its name."""
    marked = [i for i, cell in enumerate(book.cells) if mark(cell) == (name, "answer")]
    defining = [
        i
        for i, cell in enumerate(book.cells)
        if cell.cell_type == "code" and mark(cell) in ((None, None), (name, None)) and defines(cell.source, name)
    ]
    return marked + defining


def position(book, fresh, wanted):
    """The index at which a missing cell belongs: below the nearest cell above it that is still there."""

    def index(cell):
        for i, one in enumerate(book.cells):
            if mark(cell)[0] and mark(one) == mark(cell) or one.get("id") == cell.id or one.source == cell.source:
                return i
        return None

    order = [cell.id for cell in fresh.cells]
    here = order.index(wanted.id)
    for cell in reversed(fresh.cells[:here]):
        if (found := index(cell)) is not None:
            return found + 1
    for cell in fresh.cells[here + 1 :]:
        if (found := index(cell)) is not None:
            return found
    return len(book.cells)


def insert(book, cell, at):
    book.cells.insert(at, fitting(book, cell, cell.id))


def replace(book, at, cell):
    book.cells[at] = fitting(book, cell, book.cells[at].get("id", cell.id), at)


def fitting(book, cell, wanted_id, at=None):
    """A copy of a cell for this notebook: its own id, or none where the format is older than ids."""
    new = copy.deepcopy(cell)
    taken = {one.get("id") for i, one in enumerate(book.cells) if i != at}
    others = (f"{wanted_id[:56]}-{number}" for number in itertools.count(2))
    new.id = next(one for one in itertools.chain([wanted_id], others) if one not in taken)
    if book.nbformat_minor < 5:
        del new["id"]
    return new

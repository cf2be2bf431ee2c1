"""A small lesson, its notebook with right answers, and what can be done to it, for the tests of grading."""

import copy
import json

import nbformat

from course_lib.authoring.source import read_notebook
from tests.authoring.lesson_source import make_lesson

CELLS = '''
# %% [markdown]
# # Twice and thrice

# %% tags=["setup"]
import math
import fractions
from course_lib import check, mine

SCALE, started = 2, print("training ran")

# %%
def doubled(x):
    return math.fsum([x, x])

# %% exercise="twice" role="answer"
def twice(x):
    """Two times x."""
    ### BEGIN SOLUTION
    return doubled(x)
    ### END SOLUTION


# %% exercise="twice" role="check"
check("twice")

# %% tags=["training"]
my_twice = mine("twice")
model = {"weight": 0}
for step in range(3):
    model["weight"] += my_twice(step)
raise RuntimeError("training ran")

# %% exercise="thrice" role="answer"
def thrice(x):
    ### BEGIN SOLUTION
    return twice(x) + x
    ### END SOLUTION


# %% exercise="thrice" role="check"
check("thrice")
'''
EXPECTED = {"twice": 10, "thrice": 15}
RIGHT = {"twice": "right", "thrice": "right"}
GIVEN = {"twice": "stub", "thrice": "stub"}


def small_lesson(root):
    return make_lesson(root, CELLS, exercises="[twice, thrice]")


def answered(lesson):
    """The notebook with right answers."""
    return read_notebook(lesson)


def text_of(book):
    """The file as JupyterLab writes it, nothing mended."""
    data = json.loads(json.dumps(book))
    for one in data["cells"]:
        one["source"] = one["source"].splitlines(keepends=True)
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def data_of(book):
    return text_of(book).encode()


def run(work, last=None):
    """The variables after all cells ran, the answer to `last` at the end; errors end their cell, as while grading."""
    space, errors = {"__name__": "__main__"}, []
    verbs = {"check": lambda name: None, "mine": lambda name: lambda x: space[name](x)}
    order = sorted(work.answers, key=lambda name: name == last)
    for cell in [*work.own, *(cell for name in order for cell in work.answers[name])]:
        try:
            exec(compile(cell.source, cell.place, "exec"), space)
        except Exception as error:  # the cells of odd notebooks raise all sorts
            errors.append(f"{cell.place}: {error}")
        space.update(verbs)  # the set-up imports the real ones
    assert "training ran" not in "".join(errors)
    return space


def verdict(work, name):
    """What an exercise gets: "none" where nothing defines it, "stub", "right", "wrong" or "error"."""
    if not work.answers[name]:
        return "none"
    try:
        return "right" if run(work, name)[name](5) == EXPECTED[name] else "wrong"
    except NotImplementedError:
        return "stub"
    except Exception:  # and so do their answers
        return "error"


def cell(book, wanted):
    return next(one for one in book.cells if one.id == wanted)


def code(source, **more):
    return nbformat.v4.new_code_cell(source, id=more.pop("id", "new"), **more)


def edit(wanted, change):
    """Change the source of a cell by a text or a function of it."""

    def happens(book):
        one = cell(book, wanted)
        one.source = change(one.source) if callable(change) else change

    return happens


def remove(*ids):
    return lambda book: book.update(cells=[one for one in book.cells if one.id not in ids])


def add(source, before=None, **more):
    """A new cell before another one, or at the end."""

    def happens(book):
        at = next((i for i, one in enumerate(book.cells) if one.id == before), len(book.cells))
        book.cells.insert(at, code(source, **more))

    return happens


def both(*steps):
    def happens(book):
        for step in steps:
            step(book)

    return happens


def bare(book):
    book.metadata, book.nbformat_minor = {}, 4
    for one in book.cells:
        one.metadata = {}
        del one["id"]


def copied(wanted):
    def happens(book):
        at = book.cells.index(cell(book, wanted))
        book.cells.insert(at + 1, copy.deepcopy(book.cells[at]))

    return happens


WRONG = "def twice(x):\n    return 0"
GOOD = "def twice(x):\n    return 2 * x"

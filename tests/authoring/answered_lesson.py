"""A small lesson whose notebook a learner has worked in, for the tests of `course reset`."""

import nbformat

CELLS = '''
# %% [markdown]
# # Two exercises

# %% exercise="one_of" role="answer"
def one_of(number):
    """One."""
    ### BEGIN SOLUTION
    return number / number
    ### END SOLUTION


# %% exercise="one_of" role="check"
check("one_of")

# %% [markdown]
# And two.

# %% exercise="two_of" role="answer"
def two_of(number):
    for _ in "a":
        ### BEGIN SOLUTION
        return 2
        ### END SOLUTION


# %% [markdown]
# Check it.

# %% exercise="two_of" role="check"
check("two_of")
'''
MINE = "def one_of(number):\n    return 1  # 하나, my own\n"
ORDER = ["one-of-answer", "one-of-check", "two-of-answer", "two-of-check"]


def change(one, edit):
    """Let a function change the learner's notebook."""
    book = nbformat.read(one.notebook, as_version=4)
    edit(book)
    nbformat.write(book, one.notebook)


def cells(one):
    return {cell.id: cell for cell in nbformat.read(one.notebook, as_version=4).cells}


def marked(one):
    """(exercise, role) of the cells that have them, in order."""
    course = [cell.metadata["course"] for cell in cells(one).values() if "course" in cell.metadata]
    return [(mark["exercise"], mark["role"]) for mark in course]


PAIRS = [(name, role) for name in ("one_of", "two_of") for role in ("answer", "check")]


def backups(one):
    return sorted((one.notebook.parent / "backup").glob("*"))


def remove(*ids):
    return lambda book: book.update(cells=[cell for cell in book.cells if cell.id not in ids])

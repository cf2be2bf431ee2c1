"""The small lesson of `answered_lesson`."""

import nbformat
import pytest

from course_lib.authoring.build import write
from course_lib.authoring.reset import stubbed
from course_lib.authoring.source import read_notebook

from .answered_lesson import CELLS, MINE
from .lesson_source import make_lesson


@pytest.fixture
def one(tmp_path):
    """A lesson whose notebook holds an answer of the learner's to each exercise, with outputs, and a note."""
    made = make_lesson(tmp_path, CELLS, exercises="[one_of, two_of]")
    book = stubbed(read_notebook(made))
    by_id = {cell.id: cell for cell in book.cells}
    by_id["one-of-answer"].source = MINE
    by_id["two-of-answer"].source = "def two_of(number):\n    return 2"
    for name in ("one", "two"):
        text = nbformat.v4.new_output("stream", text=f"✓ {name}_of: passed\n")
        by_id[f"{name}-of-check"].update(execution_count=3, outputs=[text])
    book.cells.insert(1, nbformat.v4.new_markdown_cell("my note", id="note"))
    write(made.notebook, book)
    return made

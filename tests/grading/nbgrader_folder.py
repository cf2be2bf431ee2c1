"""A course folder in nbgrader's layout, what students hand in there, and what can happen to it."""

import copy

import nbformat
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import determine_grade

from course_lib.grading import nbgrader_course
from course_lib.grading.assignment import make
from course_lib.grading.nbgrader_execution import IsolatedExecute, TolerantExporter, TransplantAnswers
from course_lib.grading.release import release

ZERO, FIVE = "00_start_here", "05_self_attention_and_masks"
POINTS = {"softmax": 3.0, "padding_mask": 1.5, "causal_mask": 2.0}
RIGHT = {
    "softmax": "def softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)",
    "causal_mask": "def causal_mask(T, S):\n    return torch.ones(T, S, dtype=torch.bool).tril(S - T)",
    "padding_mask": "def padding_mask(ids, pad):\n    return (ids != pad)[:, None, :]",
}
WRONG = "def softmax(scores, dim=-1):\n    return torch.softmax(scores, 0)"


class Course:
    """A course folder with an assignment of two lessons in it."""

    def __init__(self, root):
        self.root = root
        nbgrader_course.init(root, "test")
        self.assignment = make([0, 5], list(POINTS), POINTS, "hw1")
        release(self.assignment, root)

    def given(self, lesson, answers=()):
        """The students' notebook, with these answers in it."""
        book = nbformat.read(self.root / f"release/hw1/{lesson}.ipynb", as_version=4)
        for name in answers:
            cell_of(book, name, "answer").source = RIGHT[name]
        return book

    def hand_in(self, student, name, content):
        path = self.root / "submitted" / student / "hw1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else nbformat.writes(content).encode())
        return path

    def exporter(self):
        return TolerantExporter(
            parent=Autograde(coursedir=CourseDirectory(root=str(self.root))), default_preprocessors=[]
        )

    def step(self, kind, student="ada", lesson=ZERO):
        """One of our preprocessors as nbgrader has it, and the resources that it gets."""
        return kind(parent=self.exporter()), {"nbgrader": {"student": student, "assignment": "hw1", "notebook": lesson}}

    def sanitized(self, student="ada", lesson=ZERO):
        step, resources = self.step(TransplantAnswers, student, lesson)
        return step.preprocess(nbformat.v4.new_notebook(), resources)[0]

    def executed(self, book, student="ada", lesson=ZERO):
        step, resources = self.step(IsolatedExecute, student, lesson)
        return step.preprocess(copy.deepcopy(book), resources)[0]


def cell_of(book, name, role):
    wanted = {"exercise": name, "role": role}
    return next(cell for cell in book.cells if cell.metadata.get("course") == wanted)


def grades(book):
    """{exercise: (earned, most)} as nbgrader reads them."""
    graded = [cell for cell in book.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    return {cell.metadata.course.exercise: determine_grade(cell) for cell in graded}


def copied(book):
    """Both cells of the exercise copied with all their metadata, as Ctrl-C and Ctrl-V leave them."""
    for role in ("answer", "check"):
        cell = cell_of(book, "softmax", role)
        twin = copy.deepcopy(cell)
        twin.id = f"copy-{role}"
        book.cells.insert(book.cells.index(cell), twin)


def without_metadata(book):
    book.metadata = nbformat.from_dict({})
    for number, cell in enumerate(book.cells):
        cell.metadata, cell.id = nbformat.from_dict({}), f"n{number}"


def raised_points(book):
    cell_of(book, "softmax", "check").metadata.nbgrader.points = 100
    cell_of(book, "softmax", "check").source = "pass"


def old_schema(book):
    for cell in book.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader = nbformat.from_dict({"grade": True, "points": "many", "schema_version": 0})


def odd_metadata(book):
    for cell in book.cells:
        cell.metadata["nbgrader"] = 5


DAMAGES = {
    "nothing": lambda book: None,
    "copied cells": copied,
    "the check deleted": lambda book: book.cells.remove(cell_of(book, "softmax", "check")),
    "reordered": lambda book: book.cells.reverse(),
    "no metadata": without_metadata,
    "points raised, check emptied": raised_points,
    "old metadata of nbgrader": old_schema,
    "metadata of another kind": odd_metadata,
    "a cell that ends the process": lambda book: book.cells.insert(
        2, nbformat.v4.new_code_cell("import os; os._exit(0)")
    ),
    "40,000 lines printed": lambda book: cell_of(book, "softmax", "check").update(
        outputs=[nbformat.v4.new_output("stream", text="passed\n" * 40_000)]
    ),
}

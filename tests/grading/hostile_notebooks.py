"""A learner's notebook in the making, and the list of submissions with what each of them deserves.

A submission is a function that writes into a `Learner`; `@handed_in(lesson, exercise=DESERVED, ...)` puts it on a list.
The assignment holds just these exercises, each worth POINTS.
"""

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import nbformat

from course_lib.authoring import catalogue
from course_lib.authoring.reset import stubbed
from course_lib.authoring.source import read_notebook
from course_lib.checking import FAILED, NOT_ATTEMPTED, TOO_SLOW, WRONG
from course_lib.checking import PASSED as PASS

POINTS, PART = 4.0, -1.0


@dataclass(frozen=True)
class Deserved:
    """What the mark of an exercise must be.

    earned: points, PART for more than none and less than all. says: words in its message or note. followed: as in Mark.
    """

    status: str
    earned: float = 0.0
    mistake: str | None = None
    says: str = ""
    followed: tuple[str, ...] = ()
    flagged: bool = False


PASSED = Deserved(PASS, POINTS)
UNTOUCHED = Deserved(NOT_ATTEMPTED)
SLOW = Deserved(TOO_SLOW)


def failed(says="", **more):
    return Deserved(FAILED, says=says, **more)


def wrong(mistake=None, says="", **more):
    return Deserved(WRONG, mistake=mistake, says=says, **more)


def passed(says="", **more):
    return Deserved(PASS, POINTS, says=says, **more)


@dataclass(frozen=True)
class Handed:
    """One submission. dangerous: it is let loose only behind bubblewrap. hurry: with short limits of time."""

    name: str
    lesson: int
    write: Callable
    deserved: dict[str, Deserved] = field(default_factory=dict)
    dangerous: bool = False
    hurry: bool = False


def lists():
    """(an empty list, a decorator that puts submissions on it)."""
    submissions = []

    def handed_in(lesson, dangerous=False, hurry=False, **deserved):
        def put(write):
            submissions.append(Handed(write.__name__, lesson, write, deserved, dangerous, hurry))
            return write

        return put

    return submissions, handed_in


class Learner:
    """A lesson's notebook as a learner gets it. book: the notebook itself, for what else may happen to one."""

    def __init__(self, lesson):
        solved = read_notebook(catalogue.lesson(lesson))
        self.book = stubbed(solved)
        self.solutions = {role(cell)[0]: cell.source for cell in solved.cells if role(cell)[1] == "answer"}

    def find(self, name, kind="answer"):
        """The cell that answers, or checks, an exercise."""
        return next(cell for cell in self.book.cells if role(cell) == (name, kind))

    def right(self, *names):
        for name in names:
            self.find(name).source = self.solutions[name]

    def answer(self, name, source):
        self.find(name).source = textwrap.dedent(source).strip()

    def finish(self, name, before="", after="", top=""):
        """The right answer with more in it. top: above the function; before, after: round its body, in the function."""
        lines = self.solutions[name].split("\n")
        first = next(i for i, line in enumerate(lines) if "### BEGIN" in line)
        if after:
            result = next(i for i, line in enumerate(lines) if line.strip().startswith("return"))
            lines[result] = (
                lines[result].replace("return ", "result = ") + "\n" + indented(after) + "\n    return result"
            )
        lines.insert(first, indented(before))
        self.find(name).source = textwrap.dedent(top).strip() + "\n\n\n" + "\n".join(lines)

    def cell(self, source, after=None):
        """A cell of the learner's own: at the top, or below the check of an exercise."""
        cells = self.book.cells
        at = 1 if after is None else cells.index(self.find(after, "check")) + 1
        cells.insert(at, nbformat.v4.new_code_cell(textwrap.dedent(source).strip()))

    def text(self):
        """The file. Not through nbformat, which would mend it."""
        return json.dumps(self.book)


def role(cell):
    course = cell.metadata.get("course", {})
    return course.get("exercise"), course.get("role")


def indented(source):
    return textwrap.indent(textwrap.dedent(source).strip("\n"), "    ")

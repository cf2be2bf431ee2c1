"""No solution reaches a learner's notebook, and a stub is an honest beginning of the solution."""

import pytest

from course_lib.authoring.build import STUB
from course_lib.authoring.catalogue import lessons
from course_lib.authoring.source import BEGIN, END

from .conftest import read_lesson_files


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def telling(line):
    """Whether a line gives something away: not `else:`, not `return x`, not a comment."""
    return len(line) >= 12 and not line.startswith("#")


def answer_cells(notebook):
    marked = [cell for cell in notebook.cells if cell.metadata.get("course", {}).get("role") == "answer"]
    return {cell.metadata.course.exercise: cell.source for cell in marked}


def regions(source):
    """The solutions of an answer cell, each as a list of lines."""
    found = []
    for line in lines(source):
        if line == BEGIN:
            found.append([])
            inside = True
        elif line == END:
            inside = False
        elif found and inside:
            found[-1].append(line)
    return found


def leaks(region, shown, cell):
    """What of a solution can be read: in its own answer cell `cell`, or as three lines in a row in `shown`."""
    found = [line for line in region if telling(line) and line in lines(cell)]
    runs = {tuple(shown[i : i + 3]) for i in range(len(shown) - 2)}
    return found + [run for run in zip(region, region[1:], region[2:], strict=False) if run in runs]


@pytest.fixture(scope="module")
def shown():
    """All lines of all notebooks for learners, in a row."""
    books = [read_lesson_files(one).learner for one in lessons()]
    return [line for book in books if book for cell in book.cells for line in lines(cell.source)]


def test_no_solution_stands_in_a_learner_notebook(built, shown):
    stubs = answer_cells(built.learner)
    for exercise, source in answer_cells(built.plain).items():
        assert regions(source)
        for region in regions(source):
            assert region and not leaks(region, shown, stubs[exercise]), exercise


def test_every_line_of_a_stub_occurs_in_the_solution(built):
    solved = answer_cells(built.solution)
    for exercise, source in answer_cells(built.learner).items():
        assert STUB in lines(source)
        assert set(lines(source)) - {STUB} <= set(lines(solved[exercise])), exercise


def test_the_search_for_leaks_finds_them():
    region = ["highest = max(scores)", "x = 1", "y = 2", "return highest"]
    assert leaks(region, [], "def f():\n    highest = max(scores)\n    return 1")
    assert leaks(region, ["a", "x = 1", "y = 2", "return highest", "b"], "")
    assert not leaks(region, ["highest = max(scores)", "x = 1", "b"], "x = 1\n# return highest")
    text = f"def f():\n  a = 1\n  {BEGIN}\n  b = 2\n  {END}\n  c = 3\n  {BEGIN}\n  d = 4\n  {END}"
    assert regions(text) == [["b = 2"], ["d = 4"]]

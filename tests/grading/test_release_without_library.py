"""The first cell of a released notebook: help where the library is missing, and what is shown where it is there."""

import subprocess
import sys

import pytest

from course_lib.grading.assignment import make
from course_lib.grading.release import NO_DIAGNOSES, NO_SOLUTION

from .test_release import ZERO, books_of


def guard(**options):
    book = books_of(make([0], name="hw1", **options))["release", ZERO]
    return next(cell.source for cell in book.cells if cell.id == "assignment-library")


def run_in_ipython(source, before=""):
    """What IPython prints for a cell in a fresh process."""
    code = f"{before}\nfrom IPython.core.interactiveshell import InteractiveShell\n"
    code += f"shell = InteractiveShell.instance(colors='nocolor')\nshell.run_cell({source!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", timeout=120, check=True
    )
    return done.stdout


@pytest.mark.parametrize("blocked", ["course_lib", "torch"])
def test_where_the_library_is_missing_one_message_says_what_to_do(blocked):
    said = run_in_ipython(guard(diagnoses=False), f"import sys; sys.modules[{blocked!r}] = None")
    assert "needs the library of the course" in said and f"{blocked}" in said
    assert "python3 course.py lab" in said and "%pip install -e FOLDER" in said
    assert len(said.strip().splitlines()) <= 5 and "Traceback" not in said and "raise" not in said


def test_where_it_is_there_the_cell_says_nothing_and_sets_what_is_shown():
    after = "\nimport course_lib.learner as learner\nprint(learner._shown)"
    assert run_in_ipython(guard() + after).strip() == "{'diagnoses': True, 'solution': True}"
    said = run_in_ipython(guard(diagnoses=False, solution=False) + after)
    assert said.strip() == "{'diagnoses': False, 'solution': False}"


def test_the_note_says_what_is_not_shown():
    for options, absent in (({}, 0), ({"diagnoses": False}, 1), ({"diagnoses": False, "solution": False}, 2)):
        note = books_of(make([0], name="hw1", **options))["release", ZERO].cells[0].source
        assert sum(one in note for one in (NO_DIAGNOSES, NO_SOLUTION)) == absent

"""Grading: a class of 300 with 10 exercises, and its throughput beside nbgrader's own autograding."""

import os
import runpy
import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

import nbformat

from course_lib import bench
from course_lib.authoring.reset import mark
from course_lib.grading.assignment import make
from course_lib.grading.collecting.submissions import collect
from course_lib.grading.release import release
from course_lib.grading.run import grade_all

LESSONS = ("00", "04", "05")  # ten exercises
STUDENTS, HOSTILE, PROCESSES = 300, 50, 2
BESIDE = 9  # students whom nbgrader grades as well: it takes seconds for each
ROUNDS = 3
IMPORTS = """\
import math
import torch
from torch import nn
from torch.nn import functional
from course_lib import check, mine"""
SETTINGS = """\
c = get_config()
c.CourseDirectory.course_id = "bench"
c.ExecutePreprocessor.timeout = 120"""

made_class = runpy.run_path(str(Path(__file__).with_name("_made_class.py")))


def main():
    """Rows: the class, the class once more, and both ways over the same plain submissions, in turn."""
    assignment = make(LESSONS, name="bench")
    with tempfile.TemporaryDirectory() as folder:
        made_class["write_class"](Path(folder, "in"), LESSONS, STUDENTS, HOSTILE)
        submissions = collect(Path(folder, "in"), assignment)
        once, again = (seconds(submissions, assignment, folder) for _ in range(2))
    count = sum(len(part.points) for part in assignment.parts)
    row = {"size": f"{STUDENTS} submissions × {count} exercises, {HOSTILE} hostile", "unit": "s"}
    yield bench.figures([once], what="course grade", target=bench.Target(at_most=480), **row)
    yield bench.figures([again], what="course grade, again unchanged", **row)
    yield from beside_nbgrader(assignment)


def beside_nbgrader(assignment):
    """Both ways over the same notebooks, which hold imports, answers and checks alone, in turn; starts included."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        release(assignment, folder)
        for path in Path(folder, "source", assignment.name).glob("*.ipynb"):
            nbformat.write(plain(nbformat.read(path, 4)), path)
        write_plain_class(Path(folder), assignment)
        Path(folder, "nbgrader_config.py").write_text(SETTINGS)
        api = nbgrader_api(folder)
        require(api.generate_assignment(assignment.name, force=True))
        submissions = collect(Path(folder, "submitted"), assignment)
        for turn in range(ROUNDS):
            some = submissions[turn::ROUNDS]
            theirs = sum(bench.seconds(partial(autograde, api, assignment.name, one.student)) for one in some)
            times.append((theirs, seconds(some, assignment, Path(folder, f"kept-{turn}"))))
    theirs, ours = (statistics.median(each) for each in zip(*times, strict=True))
    row = ("course grade: throughput", f"{BESIDE // ROUNDS} plain submissions", "nbgrader's autograde")
    found = bench.spread([their_time / our_time for their_time, our_time in times])
    yield bench.Row(*row, *found, "×", ROUNDS, theirs, ours, "s", bench.Target(at_least=4))


def write_plain_class(folder, assignment):
    """Students' notebooks in nbgrader's folders, answered as the made class does."""
    made_class["write_class"](folder / "made", LESSONS, BESIDE)
    for path in sorted((folder / "made").glob("*/*.ipynb")):
        answers = {mark(cell): cell.source for cell in nbformat.read(path, 4).cells if mark(cell)[1] == "answer"}
        book = nbformat.read(folder / "source" / assignment.name / path.name, 4)
        for cell in book.cells:
            cell.source = answers.get(mark(cell), cell.source)
        target = folder / "submitted" / path.parent.name / assignment.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(book, target)


def plain(notebook):
    """The notebook with its exercises and one cell of imports."""
    cells = [cell for cell in notebook.cells if mark(cell)[0]]
    notebook.cells = [nbformat.v4.new_code_cell(IMPORTS, id="imports"), *cells]
    return notebook


def nbgrader_api(folder):
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    # nbgrader starts a program of its own environment by its bare name.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    config = Config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.course_id = "bench"
    return NbGraderAPI(config=config)


def autograde(api, name, student):
    require(api.autograde(name, student))


def require(result):
    """Raise where nbgrader says that it did not succeed."""
    if not result["success"]:
        raise RuntimeError(f"nbgrader: {result['log']}")


def seconds(submissions, assignment, folder):
    return bench.seconds(lambda: grade_all(submissions, assignment, "bench", folder, jobs=PROCESSES))

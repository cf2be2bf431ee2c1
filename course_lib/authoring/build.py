"""`course build`: the source of a lesson -> its solution notebook and its learner notebook.

    solutions/NN_name.py  ->  solutions/NN_name.ipynb   executed, outputs kept
                          ->  notebooks/NN_name.ipynb   stubs instead of solutions, no outputs

A second build changes no byte. If no code cell changed, the stored outputs are used again and nothing is run: to run a
lesson anew, after a change of the library say, delete its solution notebook first.
"""

import copy
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime

import nbformat

from .catalogue import SourceError, UnknownLesson, lesson, lessons
from .files import write_whole
from .outputs import clean
from .source import BEGIN, END, called, read_notebook

STUB = 'raise NotImplementedError("your code here")'  # the text is course_lib.checking.observe.STUB_TEXT
LIMIT = 120  # seconds for all cells of one solution notebook


class BuildError(RuntimeError):
    """A lesson could not be built; the text names the file, the cell and the reason."""


def build(one, say=print):
    """Write both notebooks of a lesson; files whose bytes would not change are left alone.

    A learner notebook that holds answers is copied to `notebooks/backup/` first. Raises SourceError and BuildError,
    and then nothing is written; OSError where the disk refuses, and then no file is half-written.
    """
    plain = read_notebook(one)
    solved = with_stored_outputs(plain, one.solution)
    if solved is None:
        say(f"{one.name}: running the solutions")
        solved = execute(plain, one)
    learner = learner_version(plain)
    if holds_answers(one.notebook, stubs_of(learner, one.solution)):
        say(f"{one.name}: the notebook held answers; they are kept in {back_up(one.notebook)}")
    written = [write(path, notebook) for path, notebook in ((one.solution, solved), (one.notebook, learner))]
    say(f"{one.name}: {'built' if any(written) else 'up to date'}")


def main(keys):
    """Build the lessons with these numbers or names, or all. Returns the exit status: 0, 1 failed, 2 unknown lesson."""
    try:
        chosen = [lesson(key) for key in keys] or lessons()
    except (UnknownLesson, SourceError) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, UnknownLesson) else 1
    failed = False
    for one in chosen:
        try:
            build(one)
        except (SourceError, BuildError, OSError) as error:
            failed = True
            print(f"{one.name}: not built: {error}", file=sys.stderr)
    return int(failed)


def with_stored_outputs(plain, path):
    """`plain` with the outputs stored at `path`, or None if they were made by other code."""
    old = read_if_any(path)
    if old is None:
        return None
    new_code, old_code = ([cell for cell in book.cells if cell.cell_type == "code"] for book in (plain, old))
    if [cell.source for cell in new_code] != [cell.source for cell in old_code]:
        return None
    if any(cell.execution_count is None for cell in old_code):
        return None
    stored = iter(old_code)
    solved = copy.deepcopy(plain)
    for cell in solved.cells:
        if cell.cell_type == "code":
            before = next(stored)
            cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return solved


def execute(plain, one):
    """`plain` with the outputs of a run in a fresh kernel, with a fresh course memory. Raises BuildError."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    solved = copy.deepcopy(plain)
    deadline = time.monotonic() + LIMIT
    running = []
    client = NotebookClient(
        solved,
        timeout_func=lambda cell: max(1, int(deadline - time.monotonic())),
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(one.source.parent)}},
        on_cell_execute=lambda cell, cell_index: running.append(called(cell)),
    )
    with tempfile.TemporaryDirectory() as home:
        try:
            client.execute(env=kernel_environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            raise BuildError(f"{one.source.name}: {running[-1]} raised {error.ename}: {error.evalue}") from error
        except CellTimeoutError as error:
            raise BuildError(
                f"{one.source.name}: the cells together took longer than {LIMIT} s; it stopped in {running[-1]}"
            ) from error
        except DeadKernelError as error:
            raise BuildError(f"{one.source.name}: the kernel died in {running[-1]}") from error
    for cell, before in zip(solved.cells, plain.cells, strict=True):
        cell.metadata = copy.deepcopy(before.metadata)
        if cell.cell_type == "code":
            cell.outputs = clean(cell.outputs)
    solved.metadata = copy.deepcopy(plain.metadata)  # nbclient adds the version of Python and the state of widgets
    return solved


def kernel_environment(home, smoke=False):
    """The environment of a kernel that must not depend on whose machine it is.

    home: folder for `.course/`. smoke: whether trainings stop after two steps and claims are counted only.
    """
    fixed = {"COURSE_HOME": str(home), "COURSE_SMOKE": str(int(smoke)), "PYTHONHASHSEED": "0", "TQDM_DISABLE": "1"}
    return os.environ | fixed


def learner_version(plain):
    """The notebook that learners get: nbgrader cuts the solutions out and clears the outputs. Raises BuildError."""
    try:
        from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, ClearSolutions
    except ImportError as error:
        raise BuildError(f"this needs nbgrader ({error}); install it with: pip install -e .[dev]") from error

    cut = ClearSolutions(
        code_stub={"python": STUB}, begin_solution_delimeter=BEGIN, end_solution_delimeter=END, enforce_metadata=False
    )
    learner, resources = copy.deepcopy(plain), {}
    for step in (cut, ClearHiddenTests(), ClearOutput()):
        learner, resources = step.preprocess(learner, resources)
    return learner


def answers(notebook):
    """{exercise: [source of each of its answer cells]}"""
    found = {}
    for cell in notebook.cells:
        mark = cell.metadata.get("course", {})
        if mark.get("role") == "answer":
            found.setdefault(mark.get("exercise"), []).append(cell.source)
    return found


def stubs_of(learner, solution_path):
    """What the answer cells of an untouched notebook hold: the stubs of this build, or those of the build before."""
    before = read_if_any(solution_path)
    return [answers(learner)] + ([answers(learner_version(before))] if before else [])


def holds_answers(path, stubs):
    """Whether the notebook at `path` has answer cells other than one of `stubs`, or cannot be read."""
    if not path.exists():
        return False
    found = read_if_any(path)
    return found is None or answers(found) not in stubs


def back_up(path):
    """Copy a notebook to the folder `backup/` beside it, under a name not used so far. Returns the new path."""
    folder = path.parent / "backup"
    folder.mkdir(exist_ok=True)
    stamp = f"{path.stem}-{datetime.now():%Y%m%d-%H%M%S}"
    target, number = folder / f"{stamp}.ipynb", 2
    while target.exists():
        target, number = folder / f"{stamp}-{number}.ipynb", number + 1
    write_whole(target, path.read_bytes())
    return target


def read_if_any(path):
    """The notebook at `path`, or None if there is none or it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception:  # nbformat lets whatever it stumbles over through
        return None


def to_text(notebook):
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def write(path, notebook):
    """Write a notebook whole or not at all; returns whether the file changed."""
    data = to_text(notebook).encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
    return True

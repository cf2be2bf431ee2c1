"""`course release`: an assignment in nbgrader's own layout.

    FOLDER/source/NAME/NN_name.ipynb    the instructor's: solutions, and nbgrader's marks on the cells that are graded
    FOLDER/release/NAME/NN_name.ipynb   the students': stubs, locked checks, checksums
    FOLDER/{source,release}/NAME/assignment.json

The second comes of the first by nbgrader's own steps, so `nbgrader generate_assignment NAME`, with the settings that
`course nbgrader init` writes, makes the same files. Exercises that are not graded stay, as practice. Two cells are
added at the top: what is graded, and one that says what to do where `course_lib` is missing. A second release writes
the same bytes.
"""

import copy
import hashlib
import json
import sys
from pathlib import Path

import nbformat
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from course_lib.authoring.build import STUB, to_text
from course_lib.authoring.catalogue import SourceError, UnknownLesson, lesson
from course_lib.authoring.files import write_whole
from course_lib.authoring.source import BEGIN, END, read_notebook
from course_lib.authoring.transplant import mark

from . import assignment as assignments

RECORD = ".course_release.json"  # digests of the files written, by which a later release knows them again
SCHEMA = 3  # of nbgrader's metadata

NOTE = """\
**{name}** · this notebook gives {points}

| exercise | points |
| --- | --- |
{rows}

Write your answers where the stubs stand, and hand in this file with its name, `{file}`.
Cells of your own do no harm."""
PRACTICE = "The other exercises here are practice and give no points: {}."
NO_DIAGNOSES = "`check` says whether an answer passes, and nothing about what is wrong; hints are not shown."
NO_SOLUTION = "`solution` is not shown."

GUARD = '''\
# Run this cell first: it looks for the course's library.
class CourseMissing(ImportError):
    def _render_traceback_(self):
        return str(self).splitlines()


try:
    from course_lib import assessed
except ImportError as error:
    raise CourseMissing(f"""\\
This notebook needs the library of the course, which cannot be used here ({{error}}).
Either put this notebook into the course's folder, run there: python3 course.py lab
and open it in the JupyterLab that starts; or install the course where this notebook
runs, in a cell of its own, with the path of the course's folder: %pip install -e FOLDER""") from None
assessed({options})'''


class ReleaseError(RuntimeError):
    """Nothing was written; the text says why and what to do."""


def main(keys, out, exercises=None, points=None, name=None, diagnoses=True, solution=True, force=False):
    """Release an assignment. Returns the exit status: 0, 1 it could not be done, 2 a name or a number is wrong.

    keys: lessons. out: the course's folder. The rest as for `assignment.make`. force: replace files changed since.
    """
    try:
        assignment = assignments.make(keys, exercises, points, name, diagnoses, solution)
        written = release(assignment, out, force)
    except (UnknownLesson, assignments.AssignmentError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 2
    except (ReleaseError, SourceError, OSError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    total = sum(sum(part.points.values()) for part in assignment.parts)
    print(f"{assignment.name}: {sum(len(part.points) for part in assignment.parts)} exercises, {total:g} points")
    for path in written:
        print(f"  {path}")
    for path in left_over(assignment, Path(out)):
        print(f"course: {path} is of an earlier release; delete it if it is no longer part of it", file=sys.stderr)
    print(f"Give students the folder {Path(out, 'release', assignment.name)}")
    return 0


def release(assignment, out, force=False):
    """Write an assignment into the course's folder `out`; returns the paths of its files, sorted.

    Files that are there with other content are replaced only if an earlier release wrote them so, or with `force`;
    nothing is deleted. Raises ReleaseError, and then nothing is written, SourceError and OSError.
    """
    out = Path(out)
    files = contents(assignment)
    record = read_record(out / RECORD)
    changed = [name for name, data in files.items() if is_changed(out / name, data, record.get(name))]
    if changed and not force:
        raise ReleaseError(
            f"{', '.join(changed)} in {out} is not as `course release` wrote it. Release into another folder or under "
            "another name, or add --force to replace it"
        )
    for name, data in files.items():
        write(out / name, data)
    record.update({name: digest(data) for name, data in files.items()})
    write(out / RECORD, (json.dumps(record, indent=2, sort_keys=True) + "\n").encode())
    return [out / name for name in files]


def contents(assignment):
    """{path in the course's folder: bytes} of all files of an assignment."""
    files = {}
    text = assignments.to_text(assignment)
    for part in assignment.parts:
        source = source_notebook(part, assignment)
        for step, notebook in (("source", source), ("release", release_version(source))):
            files[f"{step}/{assignment.name}/{part.lesson}.ipynb"] = to_text(notebook).encode()
            files[f"{step}/{assignment.name}/{assignments.FILE_NAME}"] = text.encode()
    return dict(sorted(files.items()))


def source_notebook(part, assignment):
    """The instructor's notebook: the lesson with its solutions, and nbgrader's metadata on the graded cells."""
    one = lesson(part.lesson)
    notebook = read_notebook(one)
    for cell in notebook.cells:
        exercise, role = mark(cell)
        if exercise in part.points:
            cell.metadata["nbgrader"] = nbgrader_mark(cell, role, part.points[exercise])
    options = "" if assignment.diagnoses and assignment.solution else (
        f"diagnoses={assignment.diagnoses}, solution={assignment.solution}"
    )  # fmt: skip
    note = nbformat.v4.new_markdown_cell(top_note(part, assignment, one), id="assignment-note")
    guard = nbformat.v4.new_code_cell(GUARD.format(options=options), id="assignment-library")
    notebook.cells = [note, guard, *notebook.cells]
    return notebook


def nbgrader_mark(cell, role, points):
    """nbgrader's metadata of an answer cell or of a check cell."""
    graded = role == "check"
    common = {"grade": graded, "grade_id": cell.id, "locked": graded, "schema_version": SCHEMA}
    return nbformat.from_dict(
        {**common, "solution": not graded, "task": False, **({"points": points} if graded else {})}
    )


def top_note(part, assignment, one):
    rows = "\n".join(f"| `{name}` | {points:g} |" for name, points in part.points.items())
    total = sum(part.points.values())
    others = ", ".join(f"`{name}`" for name in one.exercises if name not in part.points)
    more = [
        PRACTICE.format(others) if others else "",
        "" if assignment.diagnoses else NO_DIAGNOSES,
        "" if assignment.solution else NO_SOLUTION,
    ]
    note = NOTE.format(
        name=assignment.name, points=f"{total:g} point{'s' * (total != 1)}", rows=rows, file=f"{part.lesson}.ipynb"
    )
    return "\n".join(filter(None, [note, *more]))


def release_version(source):
    """The students' notebook of an instructor's: the steps of `nbgrader generate_assignment`, without its database."""
    cut = ClearSolutions(
        code_stub={"python": STUB}, begin_solution_delimeter=BEGIN, end_solution_delimeter=END, enforce_metadata=False
    )
    notebook, resources = copy.deepcopy(source), {}
    steps = (LockCells(), cut, ClearOutput(), CheckCellMetadata(), ComputeChecksums())
    for step in (*steps, ClearHiddenTests(), ClearMarkScheme(), ComputeChecksums(), CheckCellMetadata()):
        notebook, resources = step.preprocess(notebook, resources)
    return notebook


def left_over(assignment, out):
    """Notebooks in the folders of an assignment that are none of it: nbgrader would take them for its own."""
    wanted = {f"{part.lesson}.ipynb" for part in assignment.parts}
    found = [path for step in assignments.KEPT_IN for path in (out / step / assignment.name).glob("*.ipynb")]
    return sorted(path for path in found if path.name not in wanted)


def is_changed(path, data, known):
    """Whether a file stands at `path` that is neither `data` nor what an earlier release wrote there."""
    if not path.exists():
        return False
    there = path.read_bytes()
    return there != data and digest(there) != known


def digest(data):
    return hashlib.sha256(data).hexdigest()


def read_record(path):
    """What earlier releases wrote, {path in the course's folder: digest}; {} where nothing is known."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def write(path, data):
    """Write a file whole or not at all; one that holds these bytes already is left alone."""
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)

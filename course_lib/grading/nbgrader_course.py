"""`course nbgrader init FOLDER`: a course folder in which nbgrader keeps the book and the course grades."""

import shutil
import sys
from pathlib import Path

from course_lib.authoring.build import STUB
from course_lib.authoring.source import BEGIN, END

CONFIG = """\
# nbgrader's settings for this course, written by `course nbgrader init`. What is named in texts loads when it is used.
c = get_config()
c.CourseDirectory.course_id = {course_id!r}

# What students get: the same as `course release` makes. Exercises that are not graded have solutions to cut out too.
c.ClearSolutions.code_stub = {{"python": {stub!r}}}
c.ClearSolutions.begin_solution_delimeter = {begin!r}
c.ClearSolutions.end_solution_delimeter = {end!r}
c.ClearSolutions.enforce_metadata = False

# Autograding: files are read whatever happened to them, answers are put into the notebook as it was given, and they run
# behind the course's walls instead of in a kernel.
c.Autograde.pre_convert_hook = "course_lib.grading.nbgrader_execution.every_notebook"
c.Autograde.exporter_class = "course_lib.grading.nbgrader_execution.TolerantExporter"
c.Autograde.sanitize_preprocessors = [
    "course_lib.grading.nbgrader_execution.TransplantAnswers",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "course_lib.grading.nbgrader_execution.IsolatedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
"""

README = """\
# {course_id}: graded with nbgrader

Run nbgrader's commands in this folder, in a terminal in which the course's Python is active: in the course's folder
`source .venv/bin/activate` (nbgrader does not work without). `hw1` stands for the assignment's name. This folder holds
solutions and grades: students must not read it.

1. Release, in the course's folder: `python3 course.py release 05 --name hw1 --out PATH_OF_THIS_FOLDER`
2. Enter it in the grade book: `nbgrader generate_assignment hw1 --force`
   (`release/hw1` stays as it is: give it to the students)
3. Put what comes back into `submitted/STUDENT/hw1/`, a folder a student
4. Grade: `nbgrader autograde hw1`; one student anew: `nbgrader autograde hw1 --student STUDENT --force`
5. Look at it and add marks by hand: `jupyter lab` in this folder, then the menu Nbgrader > Formgrader
6. Pages for students: `nbgrader generate_feedback hw1` writes `feedback/STUDENT/hw1/`
7. Marks as a table: `nbgrader export --to grades.csv`

The inputs that answers are tried on come from `.course_grading_secret`. With the same file the same answers get the
same marks; keep it from students.

## Late penalties

nbgrader knows what is late by a due date, `nbgrader db assignment add hw1 --duedate "2027-03-01 23:59 UTC"`, and by
`timestamp.txt` in a student's `submitted/STUDENT/hw1/`, with a line like `2027-03-02 10:15:00 UTC`. What that costs is
up to you. At the end of `nbgrader_config.py`, this takes a tenth of the marks for each day that was begun:

```
from nbgrader.plugins import BasePlugin


class TenthADay(BasePlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        days = -(-total_seconds_late // 86_400)
        return round(score * min(1.0, 0.1 * days), 2)


c.AssignLatePenalties.plugin_class = TenthADay
```
"""


def main(folder, course_id=None):
    """Write the course's folder and say what was done. Returns the exit status: 0, or 1."""
    try:
        said = init(folder, course_id)
    except (ValueError, OSError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    print("\n".join(said))
    print(f"The steps from here are in {Path(folder, 'README.md')}")
    return 0


def init(folder, course_id=None):
    """Write nbgrader_config.py, README.md and source/ into a folder, made if it is not there.

    course_id: nbgrader's id of the course, the folder's name if None. A file that is there with other content is kept
    as NAME.backup. Returns what was done, in lines. Raises ValueError for an id that cannot be one, and OSError.
    """
    folder = Path(folder)
    course_id = folder.resolve().name if course_id is None else course_id
    if not course_id.strip() or not course_id.isprintable() or set(course_id) & set("/\\"):
        raise ValueError(f"a course's id is a name without / and \\, got {course_id!r}")
    (folder / "source").mkdir(parents=True, exist_ok=True)
    settings = CONFIG.format(course_id=course_id, stub=STUB, begin=BEGIN, end=END)
    steps = README.format(course_id=course_id)
    return [*put(folder / "nbgrader_config.py", settings), *put(folder / "README.md", steps)]


def put(path, text):
    """Write a file, keeping another one that stands there; returns what was done, in lines."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return [f"{path}: up to date"]
    said = [f"{path}: written"]
    if path.exists():
        kept = free_name(path)
        shutil.copy2(path, kept)
        said.append(f"{kept}: what stood there before")
    path.write_bytes(data)
    return said


def free_name(path):
    """NAME.backup beside a file, with a number where that is taken."""
    kept, number = path.with_name(f"{path.name}.backup"), 2
    while kept.exists():
        kept, number = path.with_name(f"{path.name}.backup-{number}"), number + 1
    return kept

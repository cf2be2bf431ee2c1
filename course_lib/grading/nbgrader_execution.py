"""nbgrader keeps the book, and the course grades: what stands in nbgrader's autograding in the place of its own steps.

Nothing that a student wrote runs in nbgrader's process or in a kernel of its. The settings that `course nbgrader init`
writes put these in their places:

- `every_notebook` (Autograde.pre_convert_hook): a notebook that was renamed or is missing is graded too.
- `TolerantExporter` (Autograde.exporter_class): a file that nbformat cannot read ends nothing.
- `TransplantAnswers` (first of Autograde.sanitize_preprocessors): what nbgrader sees is the notebook as it was given,
  with the student's answers in it. So deleted, copied and reordered cells and lost metadata cannot stop it.
- `IsolatedExecute` (first of Autograde.autograde_preprocessors): writes our marks where nbgrader looks for them.
"""

import atexit
import os
import re
import secrets
from functools import cache
from pathlib import Path

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.v4 import new_notebook, new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool

from course_lib.authoring import catalogue
from course_lib.authoring.transplant import mark
from course_lib.checking.outcome import seen_in, wrapped

from .collecting.handed_in import in_folder
from .collecting.matching import OTHER_NOTEBOOKS
from .collecting.students import Owner
from .collecting.submissions import submission
from .records import Assignment, Part
from .release import release_version
from .repairing.reading import Unreadable, read

SECRET = ".course_grading_secret"
NOT_OURS = "this test is none of the course's checks, and is not graded here: grade it by hand"
LONGEST = 100  # lines that are shown of one mark
UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")  # a student's words may be made of anything


class TolerantExporter(NotebookExporter):
    """Reads what was handed in, whatever its encoding and format; what cannot be read is a notebook without cells."""

    def from_filename(self, filename, resources=None, **options):
        path, course = Path(filename), self.parent.coursedir
        if path.is_relative_to(Path(course.root, course.autograded_directory)):  # what TransplantAnswers made
            return super().from_filename(filename, resources, **options)
        try:
            notebook, _ = read(path)
        except Unreadable as error:
            self.log.warning("%s", error)
            notebook = new_notebook()
        resources = {} if resources is None else resources
        resources["metadata"] = {"name": path.stem, "path": str(path.parent)}
        return self.from_notebook_node(notebook, resources=resources, **options)


class CoursePreprocessor(NbGraderPreprocessor):
    """A step of nbgrader's that knows the course's folder and which notebook it is at."""

    @property
    def coursedir(self):
        return self.parent.parent.coursedir  # the exporter's converter has it

    def source(self, resources):
        """The instructor's notebook that the one at hand comes from. Raises FileNotFoundError."""
        at = resources["nbgrader"]
        folder = self.coursedir.format_path(self.coursedir.source_directory, ".", at["assignment"])
        return nbformat.read(Path(folder, f"{at['notebook']}.ipynb"), as_version=4)

    def handed_in(self, resources):
        """The records.Submission that the notebook at hand comes from: all notebooks of the student's folder."""
        at = resources["nbgrader"]
        folder = self.coursedir.format_path(self.coursedir.submitted_directory, at["student"], at["assignment"])
        owner = Owner(at["student"])
        return submission(at["student"], "", [([], [(owner, entry) for entry in in_folder(folder)])])


class TransplantAnswers(CoursePreprocessor):
    """The notebook as students got it, with this student's answers. A notebook that is no lesson stays as it is."""

    def preprocess(self, nb, resources):
        from .collecting.matching import match
        from .repairing.repair import repair

        pristine = release_version(self.source(resources))
        lesson = lesson_of(pristine)
        if lesson is None:
            return nb, resources
        assignment = Assignment(resources["nbgrader"]["assignment"], (Part(lesson.name, {}),))
        files, _ = match(self.handed_in(resources).files, assignment)
        if lesson.name in files:
            put_in(pristine, repair(files[lesson.name], lesson, lesson.exercises).answers)
        return pristine, resources


class IsolatedExecute(CoursePreprocessor):
    """In the place of nbgrader's Execute: `grade_one` behind the course's walls; its marks become outputs of checks."""

    trust_submissions = Bool(
        False, help="Grade where answers cannot be kept from this machine (macOS), as --trust-submissions does."
    ).tag(config=True)

    def preprocess(self, nb, resources):
        lesson = lesson_of(nb)
        tests = [cell for cell in nb.cells if cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)]
        points = points_of(tests, lesson)
        marks = self.marks(nb, lesson, points, resources) if points else {}
        for cell in tests:
            exercise = mark(cell)[0]
            show_mark(cell, marks.get(exercise) if exercise in points else None)
        return nb, resources

    def marks(self, nb, lesson, points, resources):
        """{exercise: records.Mark}; what the reader of the notebook should know is said in its first code cell."""
        from .grade_command import require_walls
        from .run import grade_one

        require_walls(self.trust_submissions)
        begin(self.log)
        assignment = Assignment(resources["nbgrader"]["assignment"], (Part(lesson.name, points),))
        report = grade_one(self.handed_in(resources), assignment, course_secret(self.coursedir.root))
        # The student's other notebooks are graded where nbgrader comes to them.
        notes = [note for note in report.notes if not note.startswith(OTHER_NOTEBOOKS)]
        said = [*(f"graded: {file}" for file in report.files), *filter(None, [report.trouble]), *notes]
        first = next((cell for cell in nb.cells if cell.cell_type == "code" and not is_grade(cell)), None)
        if first is not None:
            first.outputs = [new_output("stream", name="stdout", text="".join(f"{line}\n" for line in written(said)))]
        self.log.info("%s: %g of %g points", report.student, report.earned, report.points)
        return {one.exercise: one for one in report.marks}


def every_notebook(assignment, student, notebooks):
    """Add what nbgrader does not find by its name, so that it is graded too: the reader knows it by what is in it.

    notebooks: the paths that nbgrader found in one student's folder; this list is what it goes on with. nbgrader has
    made the course's folder the working folder.
    """
    folder = Path(notebooks[0]).parent
    for source in sorted(Path("source", folder.name).glob("*.ipynb")):
        path = str(folder / source.name)
        graded = Path("autograded", folder.parent.name, folder.name, source.name)
        if path not in notebooks and not graded.exists() and lesson_of(nbformat.read(source, as_version=4)):
            notebooks.append(path)


def lesson_of(notebook):
    """The catalogue.Lesson that a notebook of the course was made from, or None for another notebook."""
    named = notebook.metadata.get("course", {}).get("name")
    return next((one for one in catalogue.lessons() if one.name == named), None)


def put_in(notebook, answers):
    """Put answers in the place of the stubs. answers: {exercise: records.Cell, ...}, as in records.Work."""
    for cell in notebook.cells:
        exercise, role = mark(cell)
        if role == "answer" and answers.get(exercise):
            cell.source = "\n\n".join(one.source for one in answers[exercise])


def points_of(tests, lesson):
    """{exercise: points} of the check cells that nbgrader gives points for: its book is what counts."""
    marked = [(*mark(cell), cell) for cell in tests]
    known = lesson.exercises if lesson else ()
    return {
        exercise: float(cell.metadata.nbgrader["points"])
        for exercise, role, cell in marked
        if role == "check" and exercise in known
    }


def show_mark(cell, one):
    """Give a check cell the outputs in which nbgrader's `determine_grade` reads this mark. one: records.Mark or None.

    It gives 0 where there is an error, else the number that an `execute_result` shows, and all points where there is
    neither: so there always is one of them.
    """
    lines = mark_lines(one) if one else [f"✗ {NOT_OURS}"]
    if one is None or (one.earned <= 0 and one.status != "passed"):
        outputs = [new_output("error", ename="CheckFailed", evalue=lines[0], traceback=lines)]
    else:
        earned = min(one.earned, float(cell.metadata.nbgrader["points"]))
        outputs = [
            new_output("stream", name="stdout", text="\n".join(lines) + "\n"),
            new_output("execute_result", data={"text/plain": repr(earned)}, execution_count=1),
        ]
    cell.outputs, cell.execution_count = outputs, None


def mark_lines(one):
    """A mark as the student reads it."""
    lines = [f"{'✓' if one.status == 'passed' else '✗'} {one.exercise}: {one.status}"]
    for line in one.message.splitlines():
        lines += wrapped(line)
    if one.where:
        lines += seen_in(one.where)
    if any(one.aspects.values()):
        lines.append("  " + ", ".join(f"{name} {'✓' if holds else '✗'}" for name, holds in one.aspects.items()))
    if one.followed:
        lines.append(f"  graded with the course's {', '.join(one.followed)} in the place of yours")
    if one.note:
        lines.append(f"  note: {one.note}")
    return [*written(lines), f"  {one.earned:g} of {one.points:g} points"]


def written(lines):
    """Lines that any file can hold, and not too many of them."""
    return [UNWRITABLE.sub("?", line) for line in lines[:LONGEST]]


def course_secret(root):
    """The text that hidden inputs are drawn from, in a file of the course's folder; made on first use."""
    path = Path(root, SECRET)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(16) + "\n")
    except FileExistsError:
        pass
    secret = path.read_text(encoding="ascii").strip()
    if not secret:
        raise ValueError(f"{path} is empty: delete it, and the next run makes a new one")
    return secret


@cache
def begin(log):
    """Once in a process: say which walls are missing, and let the warm processes of grade_one end with this one."""
    from .run import close_rooms
    from .sandbox import bubblewrap_works, protections

    atexit.register(close_rooms)
    for sentence in protections(bubblewrap_works()):
        if sentence.startswith("NOT"):
            log.warning(sentence)

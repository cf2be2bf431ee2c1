"""The commands for instructors: `course release`, `course grade`, `course nbgrader init`."""

from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli_support import LESSON, fail, known


def add_commands(app):
    """Give the `course` command these commands."""
    book = typer.Typer(no_args_is_help=True, help="Let nbgrader keep the grade book (for instructors).")
    book.callback()(nbgrader)
    book.command()(init)
    app.command()(release)
    app.command()(grade)
    app.add_typer(book, name="nbgrader")


def nbgrader():
    """Let nbgrader keep the grade book: formgrader, late penalties, feedback and export are its own."""


def release(
    lessons: Annotated[list[str], typer.Argument(help=LESSON)],
    out: Annotated[Path, typer.Option(help="The course's folder, in nbgrader's layout.")],
    exercises: Annotated[str | None, typer.Option(help="Those that count, with commas between; all if none.")] = None,
    points: Annotated[str | None, typer.Option(help="Other points: softmax=3,encode=2.")] = None,
    name: Annotated[str | None, typer.Option(help="The assignment's name.")] = None,
    diagnoses: Annotated[bool, typer.Option(help="Whether `check` says which mistake it is.")] = True,
    solution: Annotated[bool, typer.Option(help="Whether `solution` shows it.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace files that were changed since.")] = False,
):
    """Make an assignment of lessons: what students get, and what is graded (for instructors)."""
    with needs_instructor():
        from course_lib.grading import release as releasing
    with known():
        raise typer.Exit(
            releasing.main(
                lessons,
                out,
                listed(exercises),
                by_name(points),
                name,
                diagnoses=diagnoses,
                solution=solution,
                force=force,
            )
        )


def grade(
    submissions: Annotated[Path, typer.Argument(help="A folder, nbgrader's folders, or the zip of an LMS.")],
    out: Annotated[Path, typer.Option(help="Where the reports go.")],
    assignment: Annotated[Path | None, typer.Option(help="What `course release` wrote, if not beside it.")] = None,
    roster: Annotated[Path | None, typer.Option(help="A CSV with the columns student and name.")] = None,
    student: Annotated[str | None, typer.Option(help="Grade this student anew.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes (one for each core).")] = None,
    dask: Annotated[str | None, typer.Option(help="The address of a Dask cluster to grade on.")] = None,
    secret: Annotated[str | None, typer.Option(help="What hidden inputs are drawn from; made if none.")] = None,
    trust: Annotated[bool, typer.Option("--trust-submissions", help="Grade where there is no wall (macOS).")] = False,
):
    """Grade what was handed in: marks, a page a student, and the class's mistakes (for instructors)."""
    with needs_instructor():
        from course_lib.grading import grade_command
    options = {"assignment": assignment, "roster": roster, "student": student, "jobs": jobs}
    raise typer.Exit(grade_command.main(submissions, out, **options, dask=dask, secret=secret, trust=trust))


def init(
    folder: Annotated[Path, typer.Argument(help="The course's folder; made if it is not there.")],
    course_id: Annotated[str | None, typer.Option(help="nbgrader's id of the course.")] = None,
):
    """Write a course folder for nbgrader whose autograding runs behind the course's walls."""
    with needs_instructor():
        from course_lib.grading import nbgrader_course
    raise typer.Exit(nbgrader_course.main(folder, course_id))


def listed(text):
    """["a", "b"] of "a,b"; None of None."""
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def by_name(text):
    """{"softmax": 3.0} of "softmax=3"; ends with status 2 where a part is no NAME=NUMBER."""
    found = {}
    for part in listed(text) or ():
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            fail(f"--points takes NAME=NUMBER with commas between, got {part!r}")
    return found


@contextmanager
def needs_instructor():
    """End with status 2 and one line where the packages for instructors are missing."""
    try:
        yield
    except ImportError as error:
        fail(f"this needs the packages for instructors ({error}); install them with: pip install -e .[instructor]")

"""`course grade SUBMISSIONS --out DIR`: mark a class unattended."""

import os
import secrets
import sys
import tempfile
from concurrent.futures import BrokenExecutor
from pathlib import Path

from . import assignment as assignments
from .collecting.submissions import collect
from .reporting.tables import graded_before, write_all
from .run import GRADER_FAILED, grade_all, key_of
from .sandbox import SandboxError, bubblewrap_works, protections

WAYS = "INSTRUCTORS.md, section 'The wall', says how to grade in a container."


ENDED = (
    "the system ended a grading process, as happens when memory runs out. Run the same command again: it goes on where "
    "it stopped; --jobs 1 takes less memory"
)


class GradeError(RuntimeError):
    """Nothing was graded; the text says why and what to do."""


def main(path, out, *, assignment=None, roster=None, student=None, jobs=None, dask=None, secret=None, trust=False):
    """Grade what was handed in and write the reports. Returns the exit status: 0 graded, 1 it could not be done.

    path: folder or zip of submissions. out: folder for the reports. assignment: folder or file that `course release`
    wrote, None to look for it. roster: CSV of students. student: grade this one anew. secret: a text, None for the one
    kept in `out`. trust: grade where answers cannot be kept from this machine.
    """
    try:
        # Absolute, since the workers of a cluster have working folders of their own.
        path, out = Path(os.path.abspath(path)), Path(os.path.abspath(out))
        _grade(path, out, assignment, roster, student, jobs, dask, secret, trust)
    except BrokenExecutor:
        print(f"course: {ENDED}", file=sys.stderr)
        return 1
    except (GradeError, SandboxError, ValueError, LookupError, OSError) as error:
        print(f"course: {error}", file=sys.stderr)
        return 1
    return 0


def _grade(path, out, assignment, roster, student, jobs, dask, secret, trust):
    require_walls(trust)
    if not path.exists():
        raise GradeError(f"there is nothing at {path}")
    what = assignments.read(assignment) if assignment else assignments.find(path)
    if what is None:
        raise GradeError(
            f"no assignment.json was found beside {path}: give the folder that `course release` wrote with --assignment"
        )
    before = graded_before(out)
    if before and before[0] != what.name:
        raise GradeError(f"{out} holds the reports of {before[0]}: give {what.name} a folder of its own with --out")
    out.mkdir(parents=True, exist_ok=True)
    kept = out / ".grading"
    kept.mkdir(exist_ok=True)
    secret = secret or secret_of(kept)
    with tempfile.TemporaryDirectory(prefix=f"unpacked-{os.getpid()}-", dir=kept) as unpacked:
        submissions = collect(path, what, roster, unpacked)
        if not submissions:
            raise GradeError(f"no submission was found in {path}")
        bubblewrap = bubblewrap_works()
        if student is not None:
            forget(student, submissions, what, secret, bubblewrap, kept)
        reports = _with_progress(submissions, what, secret, kept, jobs, dask, bubblewrap)
    _write(out, what, reports, protections(bubblewrap))
    failed = [report for report in reports if report.trouble.startswith(GRADER_FAILED)]
    if failed:
        raise GradeError(f"{len(failed)} of {len(reports)} were not graded; the first: {failed[0].trouble}")


def require_walls(trust):
    """Raise GradeError where answers of strangers must not run."""
    if sys.platform == "win32":
        raise GradeError(f"grading needs Linux or macOS: on Windows use WSL or a container. {WAYS}")
    if trust:
        return
    if sys.platform == "linux" and os.geteuid() == 0 and not bubblewrap_works():
        raise GradeError(
            "bubblewrap is missing or forbidden here, and as root an answer could reach the grader itself. Install it, "
            f"or grade as another user, or, if you trust every student, add --trust-submissions. {WAYS}"
        )
    if sys.platform != "linux":
        raise GradeError(
            "on this system an answer cannot be kept from your files and your network. "
            f"Grade on Linux, or in a container, or, if you trust every student, add --trust-submissions. {WAYS}"
        )


def secret_of(kept):
    """The secret from which hidden inputs are drawn; made on first use, readable by its owner alone."""
    path = kept / "secret"
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(16) + "\n")
    return path.read_text(encoding="ascii").strip()


def forget(student, submissions, what, secret, bubblewrap, kept):
    """Drop the kept result of one student, so that it is graded anew. Raises GradeError for an unknown one."""
    chosen = [one for one in submissions if one.student == student]
    if not chosen:
        raise GradeError(f"there is no submission of {student!r}")
    (kept / f"{key_of(chosen[0], what, secret, bubblewrap)}.json").unlink(missing_ok=True)


def _with_progress(submissions, what, secret, kept, jobs, dask, bubblewrap):
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    last = TextColumn("{task.fields[last]}")
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), last)
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("grading", total=len(submissions), last="")

        def say(report, done):
            progress.update(task, completed=done, last=f"{report.student}: {report.earned:g} of {report.points:g}")

        jobs = jobs or os.cpu_count() or 1
        reports = grade_all(submissions, what, secret, kept, jobs=jobs, dask=dask, bubblewrap=bubblewrap, say=say)
        progress.update(task, completed=len(submissions), last="")
    return reports


def _write(out, what, reports, said):
    from rich.console import Console
    from rich.table import Table

    from .reporting.class_report import ranked_mistakes

    write_all(out, what, reports, said)
    console = Console()
    table = Table(title=f"{what.name}: the mistakes of {len(reports)} students", title_justify="left")
    for column in ("students", "exercise", "mistake"):
        table.add_column(column)
    for count, exercise, mistake in ranked_mistakes(reports)[:10]:
        table.add_row(str(count), exercise, mistake)
    console.print(table if table.rows else f"{what.name}: {len(reports)} students, none of whom made a known mistake")
    if lacking := sum(bool(report.trouble) for report in reports):
        console.print(f"not everything could be graded of {lacking}: see the end of class_report.html", highlight=False)
    for sentence in said:
        console.print(sentence, style=None if not sentence.startswith("NOT") else "red", highlight=False)
    console.print(f"grades.csv, grades.json, feedback/ and class_report.html are in {out}", highlight=False)

"""`course check 01`: run a learner's notebook from top to bottom in a fresh kernel, and say which exercises pass.

The notebook is only read. Another process runs it, through pytest and the plugin of the course. Everything fails
closed: an exercise passes only on a verdict that says so.
"""

import json as json_format
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .catalogue import SourceError, UnknownLesson, lesson

FATAL = {"kernel died", "timeout", "kernel did not start", "unreadable"}  # these spoil a run wherever they happen


def main(key, notebook=None, json=False, timeout=120.0):
    """Check the notebook of a lesson (default: the one in `notebooks/`) and print a table, or rows as JSON.

    timeout: seconds that one cell may take. Returns the exit status: 0 all exercises pass, 1 they do not,
    2 there is no such lesson or notebook.
    """
    try:
        one = lesson(key)
    except (UnknownLesson, SourceError) as error:
        print(error, file=sys.stderr)
        return 2
    path = Path(notebook) if notebook else one.notebook
    if not path.is_file():
        print(f"there is no notebook {path}", file=sys.stderr)
        return 2
    rows = verdicts(one, *run(path, one.name, timeout))
    if json:
        print(json_format.dumps(rows, ensure_ascii=False, indent=1))
    else:
        show(one, rows)
    return 0 if rows and all(row["passed"] for row in rows) else 1


def run(path, lesson_name, timeout):
    """Run a notebook under pytest, with no plugins but nbval and ours.

    Returns (what became of each cell, as the plugin tells it; None if pytest broke off, what pytest printed).
    """
    with tempfile.TemporaryDirectory() as folder:
        report, settings = Path(folder, "report.json"), Path(folder, "pytest.ini")
        settings.write_text("[pytest]\n", encoding="utf-8")
        command = [
            *(sys.executable, "-m", "pytest", str(path.resolve()), "--nbval-lax", f"--nbval-cell-timeout={timeout}"),
            *("-p", "nbval.plugin", "-p", "course_lib.authoring.nbval_plugin", "-p", "no:cacheprovider"),
            *(f"--course-lesson={lesson_name}", f"--course-report={report}", "-c", str(settings), "--color=no"),
        ]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONIOENCODING": "utf-8"}
        environment |= {"COURSE_SMOKE": "1"}  # only exercises are judged, so no model need be trained to its end
        done = subprocess.run(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        try:
            return json_format.loads(report.read_text(encoding="utf-8")), done.stdout
        except (OSError, ValueError):
            return None, done.stdout


def verdicts(one, cells, printed):
    """One row for each exercise of the lesson, and one, without exercise, for each thing that spoilt the run.

    Keys of a row: exercise, status, passed, message, cell.
    """
    if cells is None:
        last = (printed.strip().splitlines() or ["it printed nothing"])[-1]
        cells = [_row(None, "broken off", f"the run broke off: {last}")]
    spoilt = [cell for cell in cells if not cell["passed"] and cell["exercise"] is None and cell["status"] in FATAL]
    spoilt += [cell for cell in cells if cell["status"] == "broken off"]
    checks = {cell["exercise"]: cell for cell in cells if cell["role"] == "check"}  # of copies the last one counts
    absent = spoilt[0]["message"] if spoilt else "no check of this exercise ran"
    rows = [checks.get(name) or _row(name, "not run", absent) for name in one.exercises]
    if not rows:
        rows = [_row(None, "no checks", "this lesson has no exercises, so nothing was checked")]
    kept = ("exercise", "status", "passed", "message", "diagnosis", "cell")
    return [{key: row[key] for key in kept} for row in rows + spoilt]


def _row(exercise, status, message):
    return {
        "exercise": exercise,
        "role": "check",
        "status": status,
        "passed": False,
        "message": message,
        "diagnosis": message,
        "cell": None,
    }


def show(one, rows):
    """Print the rows as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{one.name}: {one.title}", title_justify="left")
    for column in ("", "exercise", "outcome", "what it says"):
        table.add_column(column)
    for row in rows:
        mark = Text("✓", "green") if row["passed"] else Text("✗", "red")
        table.add_row(mark, row["exercise"] or "(the notebook)", row["status"], Text(row["diagnosis"]))
    console = Console()
    console.print(table)
    checks = [row for row in rows if row["exercise"]]
    console.print(f"{sum(row['passed'] for row in checks)} of {len(checks)} exercises pass", highlight=False)

"""pytest plugin for the notebooks of the course: it makes nbval name exercises, fail closed, and close with a table.

Without `--nbval` or `--nbval-lax` it does nothing and imports nothing. With one of them:

- items are called after exercises (`softmax[check]`), and a check that fails shows its message alone;
- the kernel is the Python that runs pytest, a cell may take 120 s, and each notebook stays with one xdist worker;
- a check passes only if it ran and said so. A removed check, a dead kernel, a cell that takes too long and a notebook
  that cannot be read are failures that say what happened; see `notebook_items`;
- under `--nbval`, the peak memory of each notebook's kernel is measured, and above 1.0 GB the notebook fails
  (on a GPU it is shown only).

`--course-expect=untouched` turns the meaning round for notebooks that nobody has worked on: each check must fail as
"not attempted" and all other cells must pass, and then the run is green. Trainings are cut short (`COURSE_SMOKE=1`).
"""

import json
from pathlib import Path

import pytest

NBVAL_TIMEOUT, CELL_TIMEOUT = 2000, 120  # seconds: nbval's default, and ours


def pytest_addoption(parser):
    group = parser.getgroup("course", "notebooks of the course (with --nbval or --nbval-lax)")
    group.addoption(
        "--course-expect",
        choices=["untouched"],
        help="untouched: every check must fail as 'not attempted', and every other cell must pass",
    )
    group.addoption("--course-lesson", help="the lesson that the notebooks belong to, whatever they say themselves")
    group.addoption("--course-report", metavar="PATH", help="write the verdict on every cell to PATH as JSON")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    option = config.option
    if not (config.getoption("nbval", False) or config.getoption("nbval_lax", False)):
        return
    if option.nbval_cell_timeout == NBVAL_TIMEOUT:
        option.nbval_cell_timeout = CELL_TIMEOUT
    if not option.nbval_kernel_name:
        option.nbval_current_env = True
    if getattr(option, "dist", "no") in ("load", "loadscope", "worksteal"):
        option.dist = "loadfile"  # the cells of a notebook need one kernel
    config.pluginmanager.register(Notebooks(config), "course-notebooks")


class Notebooks:
    """The hooks of a run that has notebooks in it. rows: what became of each cell, in plain values."""

    def __init__(self, config):
        self.config, self.rows = config, []

    def pytest_ignore_collect(self, collection_path):
        """What a build put aside in `notebooks/backup/` is no lesson."""
        aside = collection_path.name == "backup" and collection_path.parent.name == "notebooks"
        return True if aside else None

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path, parent):
        collectors = yield
        if file_path.suffix != ".ipynb":
            return collectors
        from nbval.plugin import IPyNbFile

        from .notebook_items import NotebookFile

        theirs = [type(one) is IPyNbFile for one in collectors]
        return [
            NotebookFile.from_parent(parent, path=file_path) if replace else one
            for one, replace in zip(collectors, theirs, strict=True)
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if hasattr(item, "tell") and (report.when == "call" or not report.passed):
            report.course = item.tell(report)
        return report

    def pytest_runtest_logreport(self, report):
        if hasattr(report, "course"):
            self.rows.append(report.course)

    def pytest_sessionfinish(self):
        if self.config.option.course_report and not hasattr(self.config, "workerinput"):
            Path(self.config.option.course_report).write_text(json.dumps(self.rows), encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter):
        self.show_exercises(terminalreporter, exercise_rows(self.rows))
        memory = [row for row in self.rows if row["role"] == "memory"]
        if memory:
            terminalreporter.section("peak memory")
        for row in memory:
            mark = "✓" if row["passed"] else "✗"
            terminalreporter.line(f"{mark} {row['notebook']}  {row['status']}  {row['diagnosis']}".rstrip())

    def show_exercises(self, terminalreporter, rows):
        if not rows:
            return
        columns = ("notebook", "exercise", "status")
        widths = [max(len(row[key]) for row in rows) for key in columns]
        terminalreporter.section("exercises")
        for row in rows:
            cells = [row[key].ljust(width) for key, width in zip(columns, widths, strict=True)]
            mark, why = ("✓", "") if row["passed"] else ("✗", row["diagnosis"])
            terminalreporter.line(f"{mark} {'  '.join(cells)}  {why}".rstrip())
        good = sum(row["passed"] for row in rows)
        terminalreporter.line(f"{good} of {len(rows)} exercises {self.config.option.course_expect or 'passed'}")


def exercise_rows(rows):
    """One row an exercise. Where a learner copied a check cell, the last copy in the notebook counts."""
    last = {(row["notebook"], row["exercise"]): row for row in rows if row["exercise"] and row["role"] == "check"}
    return list(last.values())

"""What the nbval plugin collects from a notebook: its cells, what a notebook of the course lacks, and its memory.

Verdicts fail closed. A check cell passes only if it raised nothing and showed `✓ softmax: passed`. A cell that runs too
long fails, and the rest still runs if it can be interrupted. When the kernel is gone every later cell fails at once.
"""

import itertools
import re
import tempfile
from collections import Counter

import pytest
from nbval.kernel import CURRENT_ENV_KERNEL_NAME
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError, nocolors

from .build import kernel_environment
from .catalogue import SourceError, UnknownLesson
from .identity import identity, required_exercises
from .kernel import Interrupted, Kernel, Stopped
from .outputs import lasting, neutral

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
VERDICT = re.compile(r"✗ \w+: ([a-z ]+)")  # the first line of a CheckFailed
NOT_ATTEMPTED = "not attempted"
MEMORY_GB = 1.0  # the most that a solution notebook's kernel may hold; Binder has 2 for everything


class Failure(Exception):
    """A cell did not do what it has to do; the text is what the report shows."""


class NotebookFile(IPyNbFile):
    """One notebook. cells: its code cells as items. done: how many of them ran. stopped: why no more can run.

    refused: why no kernel started, until a cell has said so.
    """

    memory = None
    refused = None
    stopped = None
    done = 0
    cells = ()

    def setup(self):
        """Start the kernel; where none starts, the first cell fails and says why.

        Answers that pass are remembered only where a learner's notebook is checked (`--nbval-lax`); otherwise the
        memory of the course is an empty folder, so that every run sees the same.
        """
        if not self.cells:
            return
        option = self.config.option
        environment = None
        if option.nbval or option.course_expect:
            self.memory = tempfile.TemporaryDirectory()
            environment = kernel_environment(self.memory.name, smoke=bool(option.course_expect))
        name = CURRENT_ENV_KERNEL_NAME if option.nbval_current_env else option.nbval_kernel_name
        try:
            self.kernel = Kernel(name, str(self.path.parent), option.nbval_kernel_startup_timeout, environment)
        except Exception as error:  # no loopback, no room, no right to write: jupyter_client lets all of it through
            self.refused = f"no kernel started for this notebook: {type(error).__name__}: {error}"
        self.setup_sanitize_files()

    def teardown(self):
        super().teardown()
        if self.memory:
            self.memory.cleanup()

    def collect(self):
        try:
            found = list(super().collect())
        except Exception as error:  # a damaged file breaks the reader in many ways; the other notebooks still count
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            return [self.absent("unreadable", f"this file cannot be read as a notebook: {reason}")]
        try:
            exercises = required_exercises(self.path, self.nb.metadata, self.config.option.course_lesson)
        except (SourceError, UnknownLesson) as error:
            return [self.absent("unknown lesson", str(error))]
        self.cells = self.named(found, exercises)
        checked = {item.exercise for item in self.cells if item.role == "check"}
        absent = [
            self.absent(
                "check removed",
                f'the check cell of {exercise} is gone: put check("{exercise}") into a cell after the answer',
                exercise,
            )
            for exercise in exercises
            if exercise not in checked
        ]
        strict = [Memory.from_parent(self, name="memory")] if self.cells and self.config.option.nbval else []
        return self.cells + absent + strict

    def named(self, found, exercises):
        """nbval's items as ours, called `softmax[check]` and, for a copy of the cell, `softmax[check 2]`."""
        seen, cells = Counter(), []
        for item in found:
            exercise, role = identity(item.cell, exercises)
            seen[exercise, role] += 1
            number = "" if seen[exercise, role] == 1 else f" {seen[exercise, role]}"
            cells.append(
                NotebookCell.from_parent(
                    self,
                    name=f"{exercise}[{role}{number}]" if exercise else item.name,
                    exercise=exercise,
                    role=role,
                    cell_num=item.cell_num,
                    cell=item.cell,
                    options=item.options,
                )
            )
        return cells

    def absent(self, status, message, exercise=None):
        name = f"{exercise}[check]" if exercise else status
        return Absent.from_parent(self, name=name, exercise=exercise, status=status, message=message)


class NotebookCell(IPyNbCell):
    """One code cell. After it ran: status (`passed`, what the check said, or what went wrong), message, diagnosis."""

    def __init__(self, *, exercise, role, **rest):
        super().__init__(**rest)
        self.exercise, self.role = exercise, role
        self.status, self.message, self.diagnosis = "not run", "", ""
        self.colors = nocolors
        if exercise:
            self.user_properties.append(("exercise", exercise))
        if role == "check":  # what it stored, and marks that would skip it, play no part
            self.options.update(skip=False, check_exception=False, check=False)
        if self.cell.execution_count is None:
            self.cell.outputs = []

    def setup(self):
        """nbval would expect failures after a timeout; here they are failures."""

    def runtest(self):
        self.run_cell()
        if self.role == "check" and self.config.option.course_expect == "untouched":
            if self.status != NOT_ATTEMPTED:
                said = f"\n{self.message}" if self.message else ""
                raise Failure(f"the check of an untouched answer must say '{NOT_ATTEMPTED}', got '{self.status}'{said}")
        elif self.status != "passed":
            raise Failure(self.message)

    def run_cell(self):
        """Run the cell and note status, message and diagnosis."""
        if self.parent.refused:
            self.parent.stopped, self.parent.refused = self.parent.refused, None
            return self.note("kernel did not start", self.parent.stopped)
        if not self.parent.stopped and not self.parent.kernel.is_alive():
            self.parent.stopped = "the kernel died after an earlier cell"
        if self.parent.stopped:
            return self.note("not run", f"not run: {self.parent.stopped}")
        try:
            self.run_cells_before()
            super().runtest()
        except Interrupted as late:
            return self.note("timeout", f"in {self.name} {late}")
        except Stopped as stop:
            self.parent.stopped = f"in {self.name} {stop.reason}"
            return self.note(stop.status, self.parent.stopped)
        except NbCellError as error:
            return self.note_error(error)
        except RuntimeError as error:  # nbval's own: the kernel is in no state to go on
            self.parent.stopped = f"in {self.name} the kernel stopped answering: {error}"
            return self.note("kernel died", self.parent.stopped)
        if self.role == "check" and f"✓ {self.exercise}: passed" not in self.shown():
            return self.note("no check ran", f'nothing was checked here: this cell must call check("{self.exercise}")')
        return self.note("passed", "")

    def run_cells_before(self):
        """Run what was deselected (`-k softmax`) but stands above: imports and answers, not checks."""
        kernel = self.parent.kernel
        for item in self.parent.cells[self.parent.done : self.cell_num]:
            if item.role != "check" and not item.options["skip"]:
                sent = kernel.execute_cell_input(item.cell.source, allow_stdin=False)
                kernel.await_reply(sent, timeout=self.config.option.nbval_cell_timeout)
        self.parent.done = self.cell_num + 1

    def note(self, status, message, diagnosis=None):
        self.status, self.message = status, message
        self.diagnosis = message if diagnosis is None else diagnosis

    def note_error(self, error):
        """What an exception in the cell, or outputs that differ, mean."""
        if self.parent.timed_out:  # nbval missed the end of the cell and stopped the kernel
            self.parent.stopped = f"in {self.name} the kernel stopped answering"
            return self.note("kernel died", self.parent.stopped)
        lines = [line.rstrip() for line in ANSI.sub("", error.inner_traceback or "").splitlines()]
        lines = [line for line in lines if line]
        if lines and lines[0].startswith("✗"):
            verdict = VERDICT.fullmatch(lines[0])
            said = itertools.takewhile(lambda line: not line.strip().startswith("seen in:"), lines[1:])
            diagnosis = " ".join(line.strip() for line in said) or lines[0]
            return self.note(verdict[1] if verdict else "failed", "\n".join(lines), diagnosis)
        text = "\n".join([f"{error}", "", *(f"    {line}" for line in self.cell.source.splitlines()), "", *lines])
        return self.note("failed", text, lines[-1] if lines else str(error))

    def shown(self):
        """The lines of text that the cell put out."""
        texts = [out.get("text") or out.get("data", {}).get("text/plain") or "" for out in self.test_outputs or []]
        return [line.strip() for text in texts for line in text.splitlines()]

    def compare_outputs(self, test, ref, skip_compare=None):
        kept = [[output for output in outputs if lasting(output)] for outputs in (test, ref)]
        return super().compare_outputs(*kept, skip_compare)

    def sanitize(self, s):
        s = super().sanitize(s)
        return neutral(s) if isinstance(s, str) else s

    def repr_failure(self, excinfo):
        return str(excinfo.value) if isinstance(excinfo.value, Failure) else super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, f"{self.path.stem}::{self.name}"

    def tell(self, report):
        """The row of this cell in the plugin's table."""
        status, message, diagnosis = self.status, self.message, self.diagnosis
        if report.when != "call":
            status, message = "kernel did not start", str(report.longrepr or "")
            diagnosis = (message.strip().splitlines() or [""])[-1]
        elif report.skipped:
            status = "skipped"
        return row(self, report, status, message, diagnosis)


class Absent(pytest.Item):
    """Something that the notebook lacks; always fails."""

    role = "check"

    def __init__(self, *, exercise, status, message, **rest):
        super().__init__(**rest)
        self.exercise, self.status, self.message = exercise, status, message

    def runtest(self):
        raise Failure(self.message)

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, 0, f"{self.path.stem}::{self.name}"

    def tell(self, report):
        return row(self, report, self.status, self.message, self.message)


class Memory(pytest.Item):
    """Under `--nbval`, after the last cell of a notebook: the most memory that its kernel has held.

    The limit is for a machine without a GPU, as Binder's are; on a GPU the number is shown only.
    """

    exercise, role = None, "memory"
    peak, on_gpu = None, False

    def runtest(self):
        self.peak = self.parent.kernel.peak_memory() if self.parent.kernel else None
        if self.peak is None:
            raise Failure("the memory of its kernel cannot be measured: it is gone")
        self.on_gpu = self.parent.kernel.on_gpu()
        if self.peak > MEMORY_GB and not self.on_gpu:
            raise Failure(f"its kernel held {self.peak:.2f} GB at its peak, and {MEMORY_GB} GB is the most")

    def repr_failure(self, excinfo):
        return str(excinfo.value) if isinstance(excinfo.value, Failure) else super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, 0, f"{self.path.stem}::memory"

    def tell(self, report):
        status = "not measured" if self.peak is None else f"{self.peak:.2f} GB" + " with CUDA" * self.on_gpu
        message = "" if report.passed else str(report.longrepr or "")
        return row(self, report, status, message, message)


def row(item, report, status, message, diagnosis):
    """One row of the table, in plain values, so that xdist can carry it."""
    return {
        "notebook": item.path.name,
        "cell": item.name,
        "exercise": item.exercise,
        "role": item.role,
        "status": status,
        "passed": report.passed,
        "seconds": round(report.duration, 3),
        "message": message,
        "diagnosis": diagnosis,
    }

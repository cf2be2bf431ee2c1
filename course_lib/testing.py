"""`course test`: every test of the course, as three runs of pytest, and one table at the end."""

import os
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from course_lib.authoring.catalogue import repo_root

PROCESSES = 2
CELL_SECONDS = 120
RAN = re.compile(r"(\d+) (?:passed|failed|errors?|xfailed|xpassed)\b")
CLOSING = re.compile(r"=+ (.*\bin [\d.:]+s?.*) =+$|^(no tests ran.*)$")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Run(NamedTuple):
    """One run of pytest: its heading, arguments, and what it adds to the environment."""

    name: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = {}


def runs(fast):
    """The runs, in order. fast: the first one alone, without browser tests."""
    # Each of the processes gets its share of the cores, or torch's threads slow one another down.
    threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // PROCESSES))}
    # A file stays with one process, and so does a notebook with its kernel.
    side_by_side = ("-n", str(PROCESSES), "--dist", "loadfile")
    tests = ("tests", *side_by_side)
    if fast:
        return [Run("tests", (*tests, "-m", "not browser"), threads)]
    timeout = f"--nbval-cell-timeout={CELL_SECONDS}"
    solutions = ("solutions", *side_by_side, "--nbval", timeout)
    untouched = ("notebooks", *side_by_side, "--nbval-lax", "--course-expect=untouched", timeout)
    return [
        Run("tests", tests, threads),
        Run("solution notebooks", solutions, threads),
        Run("untouched notebooks", untouched, {**threads, "COURSE_SMOKE": "1"}),
    ]


def main(arguments=(), fast=False):
    """Run all tests, or, with arguments for pytest, one run with these. Returns 0 only if all passed."""
    if arguments:
        marks = ("-m", "not browser") if fast else ()
        return subprocess.call([sys.executable, "-m", "pytest", *marks, *arguments], cwd=repo_root())
    table = []
    for run in runs(fast):
        print(f"\n##### {run.name}: pytest {' '.join(run.arguments)}", flush=True)
        start = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            code, closing = follow(run, home)
        table.append((run.name, verdict(code, closing), time.monotonic() - start, closing))
    print("\n##### summary")
    for name, result, seconds, closing in table:
        print(f"{name:20} {result:8} {seconds:5.0f} s  {closing}")
    return int(any(result != "passed" for _, result, _, _ in table))


def follow(run, home):
    """Run pytest with its output shown as it comes; return its exit status and its closing line.

    home: the folder of its `.course/`, so that no test touches a learner's.
    """
    command = [sys.executable, "-m", "pytest", *run.arguments]
    command += ["--color=yes"] if sys.stdout.isatty() else []
    process = subprocess.Popen(
        command,
        cwd=repo_root(),
        env={**os.environ, **run.environment, "COURSE_HOME": home, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output = b""
    while chunk := os.read(process.stdout.fileno(), 65536):
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        output = (output + chunk)[-20_000:]  # the closing line is among the last ones
    return process.wait(), closing_line(output.decode(errors="replace"))


def closing_line(output):
    """pytest's last line with its counts, without colours and frame; empty where there is none."""
    for line in reversed(COLOURS.sub("", output).splitlines()):
        if match := CLOSING.search(line.strip()):
            return match[1] or match[2]
    return ""


def verdict(code, closing):
    """passed, failed, or no tests: a run in which no test ran is never a pass."""
    if code not in (0, 5):
        return "failed"
    return "passed" if sum(map(int, RAN.findall(closing))) else "no tests"

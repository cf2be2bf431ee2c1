"""Whole notebooks: `course check` of a solved lesson, and all solution notebooks under nbval as CI runs them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from course_lib import bench
from course_lib.authoring.catalogue import repo_root
from course_lib.testing import runs

LESSONS, ROUNDS = ("00", "09"), 3


def main():
    """Rows of seconds. Everything starts anew: a process, a kernel, torch."""
    with tempfile.TemporaryDirectory() as home:
        for lesson in LESSONS:
            solved = next(Path(repo_root(), "solutions").glob(f"{lesson}_*.ipynb"))
            command = ["course_lib", "check", lesson, str(solved)]
            times = [seconds(command, home) for _ in range(ROUNDS)]
            yield bench.figures(times, what="course check, all right", size=f"lesson {lesson}", unit="s")
        solutions = next(run for run in runs(fast=False) if run.name == "solution notebooks")
        spent = seconds(["pytest", "-q", *solutions.arguments], home, solutions.environment)
        size = "as course test runs them"
        target = bench.Target(at_most=720)
        yield bench.figures([spent], what="all solution notebooks", size=size, unit="s", target=target)


def seconds(command, home, environment=()):
    """Seconds that a module takes as a program, which must succeed. home: the folder of its `.course/`."""
    settings = {**os.environ, **dict(environment), "COURSE_HOME": home}

    def step():
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=repo_root(), env=settings, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-2000:]}")

    return bench.seconds(step)

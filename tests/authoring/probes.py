"""Tiny notebooks for the tests, and a run of pytest over them in a process of its own."""

import json
import os
import subprocess
import sys
import time

import nbformat

# a `check` that behaves like the course's for the plugin, without two seconds for torch
CHECK = """
class CheckFailed(AssertionError):
    def _render_traceback_(self):
        return [str(self), "  what is wrong with it"]

def check(name):
    if name not in globals():
        raise CheckFailed(f"✗ {name}: failed")
    try:
        right = globals()[name]() == 1
    except NotImplementedError:
        raise CheckFailed(f"✗ {name}: not attempted") from None
    if not right:
        raise CheckFailed(f"✗ {name}: wrong")
    print(f"✓ {name}: passed")
"""
STUB = 'raise NotImplementedError("your code here")'


def code(source, exercise=None, role=None, tags=None, outputs=None):
    """A code cell; outputs: text on stdout that it stored, None if it did not run."""
    cell = nbformat.v4.new_code_cell(source)
    if exercise:
        cell.metadata["course"] = {"exercise": exercise, "role": role}
    if tags:
        cell.metadata["tags"] = tags
    if outputs is not None:
        cell.execution_count = 1
        cell.outputs = [nbformat.v4.new_output("stream", text=outputs)] if outputs else []
    return cell


def answer(name, body="return 1"):
    return code(f"def {name}():\n    {body}", name, "answer")


def check(name):
    return code(f'check("{name}")', name, "check")


def book(*cells, exercises=("alpha",), name="probe"):
    """A notebook; name: of its lesson, as the metadata say it, None for none."""
    made = nbformat.v4.new_notebook(cells=list(cells))
    made.metadata["kernelspec"] = {"display_name": "elsewhere", "language": "python", "name": "a-kernel-of-elsewhere"}
    if name:
        made.metadata["course"] = {"name": name, "exercises": list(exercises)}
    return made


def write(folder, name, notebook):
    path = folder / f"{name}.ipynb"
    nbformat.write(notebook, path)
    return path


def run(folder, *options):
    """Run pytest on a folder: (exit status, {notebook stem: {cell name: row}}, what it printed, seconds)."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "pytest", str(folder), "-q", "--color=no", "-c", os.devnull, f"--rootdir={folder}"]
    plugins = ["-p", "nbval.plugin", "-p", "course_lib.authoring.nbval_plugin", "-p", "no:cacheprovider"]
    before = time.monotonic()
    done = subprocess.run(
        [*command, *plugins, f"--course-report={report}", *options],
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # the others take seconds to load
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - before
    books = {}
    for row in json.loads(report.read_text()) if report.exists() else []:
        books.setdefault(row["notebook"].removesuffix(".ipynb"), {})[row["cell"]] = row
    return done.returncode, books, done.stdout + done.stderr, seconds

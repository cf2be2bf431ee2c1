"""The library beside an answer: all that a lesson uses, and no answer."""

import ast
import ctypes
import os
import subprocess
import sys

import pytest

from course_lib import exercises
from course_lib.grading.judge import judge
from course_lib.grading.library import TWINS, make_library
from course_lib.grading.records import Cell, Work
from course_lib.grading.sandbox import COURSE_FOLDER, Room

PR_GET_DUMPABLE = 3
INSIDE = COURSE_FOLDER / "course_lib/grading/inside"
NAMES = [exercise.name for exercise in exercises.by_lesson(5)]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("library"), NAMES)


def test_the_library_holds_no_answers(library):
    there = {path.relative_to(library).as_posix() for path in library.rglob("*")}
    assert not there & {"exercises", "authoring", "testing.py", "cli.py", "checking/engine.py", "checking/matrix.py"}
    assert {path for path in there if path.startswith("grading/") and path.endswith(".py")} == {
        "grading/__init__.py", *(f"grading/inside/{one.name}" for one in INSIDE.glob("*.py"))
    }  # fmt: skip
    assert not any("__pycache__" in path or path.endswith((".pyc", ".ipynb")) for path in there)


def test_twins_are_cut_out_everywhere(library):
    blocked = {name for one in NAMES for name in (one, *TWINS.get(one, ()))}
    found = [
        node
        for path in library.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in blocked
    ]
    assert found
    assert all("NotAvailableWhileGraded" in ast.unparse(node) for node in found)


def test_every_twin_is_a_name_of_the_library():
    root = COURSE_FOLDER / "course_lib"
    files = [path for path in root.rglob("*.py") if "exercises" not in path.parts]
    defined = {getattr(node, "name", "") for path in files for node in ast.parse(path.read_text(encoding="utf-8")).body}
    assert {name for names in TWINS.values() for name in names} <= defined
    assert set(TWINS) <= set(exercises.names())


def test_every_module_of_the_library_can_be_imported(library):
    """What a lesson imports must be there: an import that fails would take names from a right answer."""
    code = """
import importlib, pkgutil, course_lib
for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
    if not module.name.endswith("__main__") and ".cli" not in module.name:
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("course_lib"):
                print(module.name, error)
"""
    environment = {**os.environ, "PYTHONPATH": str(library.parent)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True, cwd=library.parent
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-500:]


def test_without_bubblewrap_the_installed_course_is_out_of_reach_and_so_is_our_memory():
    source = "def softmax(scores, dim=-1):\n    import course_lib.exercises"
    cell = Cell(source, "cell 1", "softmax")
    with Room(["softmax"], bubblewrap=False) as room:
        found = judge(exercises.get("softmax"), Work("00", (cell,), {"softmax": (cell,)}), room, 1, {}, {})
        if sys.platform == "linux":
            assert ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0
    assert "No module named 'course_lib.exercises'" in found.outcome.message

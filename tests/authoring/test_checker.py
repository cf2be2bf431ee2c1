"""`course check`: exit status, reasons and times. The lesson is lesson 0, whose only exercise is softmax."""

import json
import time

import pytest

from course_lib.authoring import checker
from course_lib.authoring.catalogue import lesson

from .probes import CHECK, answer, book, check, code, write

RIGHT = (code(CHECK), answer("softmax"), check("softmax"))


def run(folder, capsys, *cells, timeout=60):
    """(exit status, rows, seconds) of a learner's notebook with these cells."""
    path = write(folder, "mine", book(*cells, name=None))
    before, content = time.monotonic(), path.read_bytes()
    status = checker.main("0", path, json=True, timeout=timeout)
    assert path.read_bytes() == content
    return status, json.loads(capsys.readouterr().out), time.monotonic() - before


def test_all_right(tmp_path, capsys):
    status, rows, _ = run(tmp_path, capsys, *RIGHT, code("1/0  # a learner's own cell"))
    assert status == 0
    assert [(row["exercise"], row["status"], row["passed"]) for row in rows] == [("softmax", "passed", True)]


def test_a_kernel_that_dies_after_the_checks_spoils_the_pass(tmp_path, capsys):
    status, rows, seconds = run(tmp_path, capsys, *RIGHT, code("import os; os._exit(0)"))
    assert status == 1 and seconds < 30
    assert rows[0]["passed"] and not rows[1]["passed"]
    assert rows[1]["exercise"] is None and "the kernel died" in rows[1]["message"]


def test_a_hanging_cell_fails_and_the_rest_is_judged(tmp_path, capsys):
    status, rows, seconds = run(tmp_path, capsys, code("while True: pass"), *RIGHT, timeout=1)
    assert status == 1 and seconds < 30, "a cell that hangs is never a pass"
    assert rows[0]["exercise"] == "softmax" and rows[0]["passed"]
    assert rows[1]["exercise"] is None and "1 s ran out" in rows[1]["message"]


def test_a_cell_that_cannot_be_interrupted(tmp_path, capsys):
    loop = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    status, rows, seconds = run(tmp_path, capsys, code(loop), *RIGHT, timeout=1)
    assert status == 1 and seconds < 30
    assert (rows[0]["exercise"], rows[0]["status"]) == ("softmax", "not run")
    assert all("1 s" in row["message"] for row in rows)


def test_a_kernel_that_does_not_start_says_why_and_once(tmp_path, capsys, monkeypatch):
    (tmp_path / "ipykernel_launcher.py").write_text("raise SystemExit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    status, rows, _ = run(tmp_path, capsys, *RIGHT, code("1"))
    assert status == 1
    assert [(row["exercise"], row["status"]) for row in rows] == [
        ("softmax", "not run"),
        (None, "kernel did not start"),
    ]
    assert all("no kernel started for this notebook: RuntimeError: Kernel died" in row["message"] for row in rows)


def test_an_unreadable_notebook(tmp_path, capsys):
    path = tmp_path / "broken.ipynb"
    path.write_text("<<<<<<< mine")
    assert checker.main("0", path) == 1
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "softmax" in printed and "cannot be read as a notebook" in printed and "0 of 1 exercises pass" in printed


@pytest.mark.parametrize(
    ("cells", "status"),
    [
        (None, "not run"),
        ([], "not run"),
        ([{"exercise": None, "role": None, "status": "timeout", "passed": False}], "not run"),
        ([{"exercise": "softmax", "role": "check", "status": "skipped", "passed": False}], "skipped"),
    ],
)
def test_without_a_passing_verdict_nothing_passes(cells, status):
    filled = [{"message": "a reason", "diagnosis": "", "cell": "Cell 0"} | cell for cell in cells or []]
    rows = checker.verdicts(lesson(0), None if cells is None else filled, "last words")
    assert rows[0]["exercise"] == "softmax" and rows[0]["status"] == status
    assert not any(row["passed"] for row in rows)


def test_unknown_lesson_and_missing_file(tmp_path, capsys):
    assert checker.main("start_hear") == 2
    assert "did you mean 00_start_here?" in capsys.readouterr().err
    assert checker.main("0", tmp_path / "nothing.ipynb") == 2
    assert "nothing.ipynb" in capsys.readouterr().err

"""A term at the command line: release, grade, grade again, one student anew; and what each refusal says."""

import csv
import os
import re
import shlex
import stat
import sys
import zipfile
from concurrent.futures.process import BrokenProcessPool

import nbformat
import pytest
from typer.testing import CliRunner

from course_lib import cli, grading
from course_lib.authoring.catalogue import repo_root
from course_lib.grading import grade_command, run
from course_lib.grading.run import GRADER_FAILED

ANSWER = "def softmax(scores, dim=-1):\n    return torch.softmax(scores, dim={})"


def course(*arguments):
    """(exit status, what it printed) of `course ARGUMENTS`."""
    result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def term(tmp_path_factory):
    """A folder with a released assignment, a zip of three students' notebooks and a roster of four."""
    folder = tmp_path_factory.mktemp("a term of 학생")
    assert course("release", "0", "--name", "hw1", "--points", "softmax=4", "--out", folder / "course")[0] == 0
    given = nbformat.read(folder / "course" / "release" / "hw1" / "00_start_here.ipynb", 4)
    with zipfile.ZipFile(folder / "in.zip", "w") as packed:
        for student, source in (("ada", ANSWER.format("dim")), ("bo", ANSWER.format("0")), ("cy", None)):
            for cell in given.cells:
                if source and cell.id == "softmax-answer":
                    cell.source = source
            packed.writestr(f"{student}/00_start_here.ipynb", nbformat.writes(given) if source else "{")
    (folder / "roster.csv").write_text("student;name\nada;=Ada\nbo;Bo\ncy;Cy\ndi;Di\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def graded(term):
    """What `course grade` says of it, with paths from the working folder as people give them."""
    before = os.getcwd()
    os.chdir(term)
    try:
        return course("grade", "in.zip", "--assignment", "course/release/hw1", "--roster", "roster.csv", "--out", "out")
    finally:
        os.chdir(before)


def grade(term, *options, out="out"):
    known = ("--assignment", term / "course" / "release" / "hw1", "--roster", term / "roster.csv")
    return course("grade", term / "in.zip", *known, "--out", term / out, *options)


def table(term):
    text = (term / "out" / "grades.csv").read_text(encoding="utf-8-sig")
    return {row["student"]: row for row in csv.DictReader(text.splitlines())}


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_class_is_graded(term, graded):
    status, said = graded
    assert status == 0, said
    assert "first_axis_always" in said and "class_report.html" in said
    assert "not everything could be graded of 2" in said
    rows = table(term)
    assert [rows[student]["total"] for student in ("ada", "bo", "cy", "di")] == ["4", "0", "0", "0"]
    assert "first_axis_always" in rows["bo"]["softmax: reason"]
    assert "00_start_here.ipynb" in rows["cy"]["remarks"] and "nothing was handed in" in rows["di"]["remarks"]
    assert rows["ada"]["name"] == "'=Ada"
    assert {path.name for path in (term / "out" / "feedback").iterdir()} == {f"{one}.html" for one in rows}


def test_another_assignment_does_not_take_the_place_of_the_reports(term, graded):
    before = files(term / "out")
    assert course("release", "0", "--name", "hw2", "--out", term / "course")[0] == 0
    status, said = course("grade", term / "in.zip", "--assignment", term / "course/release/hw2", "--out", term / "out")
    assert status == 1 and "holds the reports of hw1: give hw2 a folder of its own with --out" in said
    assert files(term / "out") == before


def test_the_secret_is_the_instructors_alone(term, graded):
    assert stat.S_IMODE((term / "out" / ".grading" / "secret").stat().st_mode) == 0o600
    secret = (term / "out" / ".grading" / "secret").read_text().strip()
    assert not [path for path, data in files(term / "out").items() if path.name != "secret" and secret.encode() in data]


def test_the_same_again_gives_the_same_bytes_and_grades_nothing(term, graded, monkeypatch):
    before = files(term / "out")
    monkeypatch.setattr(run, "grade_one", None)
    assert grade(term)[0] == 0
    assert files(term / "out") == before


def test_the_same_secret_gives_the_same_reports_elsewhere(term, graded):
    secret = (term / "out" / ".grading" / "secret").read_text().strip()
    assert grade(term, "--secret", secret, "--jobs", "1", out="elsewhere")[0] == 0
    reports = [{k: v for k, v in files(term / out).items() if k.parts[0] != ".grading"} for out in ("out", "elsewhere")]
    assert reports[0] == reports[1]


def test_one_student_is_graded_anew(term, graded, monkeypatch):
    seen = []
    plain = run.grade_one
    monkeypatch.setattr(run, "grade_one", lambda one, *rest: seen.append(one.student) or plain(one, *rest))
    assert grade(term, "--student", "bo", "--jobs", "1")[0] == 0
    assert seen == ["bo"]
    status, said = grade(term, "--student", "nobody")
    assert status == 1 and "'nobody'" in said


def test_a_failure_of_the_grader_is_no_success(term, monkeypatch):
    def breaks(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(run, "grade_one", breaks)
    status, said = grade(term, "--jobs", "1", out="broken")
    assert status == 1 and GRADER_FAILED in said and "4 of 4" in said


@pytest.mark.parametrize("packed", [True, False])
def test_workers_elsewhere_find_the_files(term, monkeypatch, packed):
    """They share the folders that the command names, and neither the working folder nor the one for temporary files."""
    if not packed:
        zipfile.ZipFile(term / "in.zip").extractall(term / "in")
    taken = []

    def looks(submissions, *_, **__):
        taken.extend(path for one in submissions for path in one.files)
        return []

    monkeypatch.setattr(grade_command, "grade_all", looks)
    monkeypatch.setattr(grade_command, "_write", lambda *_: None)
    monkeypatch.chdir(term)
    known = ("--assignment", "course/release/hw1", "--out", "shared")
    assert course("grade", "in.zip" if packed else "in", *known)[0] == 0
    assert len(taken) == 3
    assert all(path.is_relative_to(term / ("shared" if packed else "in")) for path in taken)
    assert [path.name for path in (term / "shared" / ".grading").iterdir()] == ["secret"]


def test_a_grading_process_that_the_system_ended_is_said(term, monkeypatch):
    def ended(*_, **__):
        raise BrokenProcessPool("terminated")

    monkeypatch.setattr(grade_command, "grade_all", ended)
    status, said = grade(term, out="ended")
    assert status == 1 and "goes on where it stopped" in said


def test_refusals_say_what_to_do(term, tmp_path, monkeypatch):
    status, said = course("grade", tmp_path / "none", "--out", tmp_path / "out")
    assert status == 1 and "there is nothing at" in said
    status, said = course("grade", tmp_path, "--out", tmp_path / "out")
    assert status == 1 and "--assignment" in said
    (tmp_path / "roster.csv").write_text("who\nada\n")
    status, said = grade(term, "--roster", tmp_path / "roster.csv")
    assert status == 1 and "roster.csv" in said


@pytest.mark.parametrize(("system", "options", "status"), [
    ("win32", (), 1), ("win32", ("--trust-submissions",), 1),
    ("darwin", (), 1), ("darwin", ("--trust-submissions",), 0),
])  # fmt: skip
def test_where_there_is_no_wall_strangers_are_refused(term, graded, monkeypatch, system, options, status):
    monkeypatch.setattr(grade_command.sys, "platform", system)
    found, said = grade(term, *options)
    assert found == status
    assert status == 0 or "container" in said


@pytest.mark.parametrize(("user", "bubblewrap", "trust", "refused"), [
    (0, False, False, True), (0, False, True, False), (0, True, False, False), (1000, False, False, False),
])  # fmt: skip
def test_as_root_without_bubblewrap_strangers_are_refused(monkeypatch, user, bubblewrap, trust, refused):
    monkeypatch.setattr(grade_command.sys, "platform", "linux")
    monkeypatch.setattr(grade_command.os, "geteuid", lambda: user)
    monkeypatch.setattr(grade_command, "bubblewrap_works", lambda: bubblewrap)
    if refused:
        with pytest.raises(grade_command.GradeError, match="as root"):
            grade_command.require_walls(trust)
    else:
        grade_command.require_walls(trust)


def test_instructors_packages_that_are_missing_are_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "course_lib.grading.release", None)
    monkeypatch.delattr(grading, "release", raising=False)
    status, said = course("release", "0", "--out", tmp_path)
    assert status == 2 and "pip install -e .[instructor]" in said


def commands_of_the_page():
    """The commands of INSTRUCTORS.md that the course answers."""
    text = (repo_root() / "INSTRUCTORS.md").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.strip() for block in re.findall(r"```\n(.*?)```", text, re.S) for line in block.splitlines()]
    found = [line.split("course.py ", 1)[1] for line in lines if line.startswith("python3 course.py ")]
    return [shlex.split(line, comments=True) for line in found]


@pytest.mark.parametrize("arguments", commands_of_the_page(), ids=" ".join)
def test_each_command_of_the_page_has_its_options(arguments):
    options = [argument for argument in arguments if argument.startswith("--")]
    commands = [
        argument for argument in arguments[:2] if argument in ("release", "grade", "nbgrader", "init", "update")
    ]
    status, said = course(*commands, "--help")
    assert status == 0
    assert [option for option in options if option not in said] == []

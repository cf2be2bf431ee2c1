"""nbgrader keeps the book with our execution in it: its marks are ours, whatever was handed in."""

import csv
import html
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.coursedir import CourseDirectory
from nbgrader.nbgraderformat import MetadataValidator
from traitlets.config import PyFileConfigLoader

from course_lib.grading import nbgrader_course, run
from course_lib.grading.nbgrader_execution import (
    TransplantAnswers,
    course_secret,
    every_notebook,
)
from course_lib.grading.records import Submission
from tests.notebooks.test_leaks import leaks, lines, regions

from .nbgrader_folder import DAMAGES, FIVE, POINTS, RIGHT, WRONG, ZERO, Course, cell_of, copied


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("nbgrader") / "course")


# --- `course nbgrader init`


def test_init_writes_settings_steps_and_source(tmp_path, capsys):
    assert nbgrader_course.main(tmp_path / "new" / "attention 101") == 0
    folder = tmp_path / "new" / "attention 101"
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "nbgrader_config.py", "source"]
    config = PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()
    assert config.CourseDirectory.course_id == "attention 101"
    assert "README.md" in capsys.readouterr().out


def test_a_second_init_changes_nothing_and_one_over_other_files_keeps_them(tmp_path):
    nbgrader_course.init(tmp_path, "a")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert all("up to date" in line for line in nbgrader_course.init(tmp_path, "a"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    for number, name in enumerate(("nbgrader_config.py.backup", "nbgrader_config.py.backup-2")):
        (tmp_path / "nbgrader_config.py").write_text(f"# mine {number}\n", encoding="utf-8")
        nbgrader_course.init(tmp_path, "a")
        assert (tmp_path / name).read_text(encoding="utf-8") == f"# mine {number}\n"
        assert (tmp_path / "nbgrader_config.py").read_bytes() == before["nbgrader_config.py"]


@pytest.mark.parametrize("course_id", ["", " ", "a/b", "a\\b", "a\nb"])
def test_an_id_that_cannot_be_one_is_refused(tmp_path, capsys, course_id):
    assert nbgrader_course.main(tmp_path / "new", course_id) == 1
    assert capsys.readouterr().err.startswith("course: a course's id") and not (tmp_path / "new").exists()


def test_an_id_cannot_become_code(tmp_path):
    name = 'x"; import os; y = "\'{}'
    nbgrader_course.init(tmp_path, name)
    config = PyFileConfigLoader("nbgrader_config.py", path=str(tmp_path)).load_config()
    assert config.CourseDirectory.course_id == name


# --- the notebook that nbgrader sees


@pytest.mark.parametrize("damage", DAMAGES)
def test_nbgrader_sees_the_notebook_as_given_with_the_answers_in_it(course, damage):
    book = course.given(ZERO, ["softmax"])
    DAMAGES[damage](book)
    course.hand_in("ada", f"{ZERO}.ipynb", book)
    expected = course.given(ZERO, ["softmax"])
    found = course.sanitized()
    MetadataValidator().validate_nb(found)
    assert found.cells == expected.cells and found.metadata == expected.metadata


def test_answers_to_exercises_that_are_practice_are_shown_too(course):
    book = course.given(FIVE, ["causal_mask"])
    mine = "def masked_attention(*arguments, **options):\n    return 'practised'"
    cell_of(book, "masked_attention", "answer").source = mine
    course.hand_in("ben", f"{FIVE}.ipynb", book)
    found = course.sanitized("ben", FIVE)
    assert cell_of(found, "masked_attention", "answer").source == mine
    assert cell_of(found, "causal_mask", "answer").source == RIGHT["causal_mask"]


@pytest.mark.parametrize("content", [b"", b"{", "<<<<<<< HEAD".encode("utf-16"), b"[]"])
def test_a_file_that_cannot_be_read_is_a_notebook_as_given(course, content):
    path = course.hand_in("cy", f"{ZERO}.ipynb", content)
    assert course.sanitized("cy").cells == course.given(ZERO).cells
    text, _ = course.exporter().from_filename(str(path))
    assert nbformat.reads(text, as_version=4).cells == []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_exporter_reads_what_nbformat_does_not(course, encoding):
    book = course.given(ZERO, ["softmax"])
    path = course.hand_in("di", f"{ZERO}.ipynb", nbformat.writes(book).encode(encoding))
    text, resources = course.exporter().from_filename(str(path))
    sources = [(cell.id, cell.source) for cell in nbformat.reads(text, as_version=4).cells]
    assert sources == [(cell.id, cell.source) for cell in book.cells]
    assert resources["metadata"]["name"] == ZERO


def test_the_exporter_leaves_what_we_made_as_it_is(course):
    book = course.given(ZERO, ["softmax"])
    path = course.root / f"autograded/di/hw1/{ZERO}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(book), encoding="utf-8")
    text, _ = course.exporter().from_filename(str(path))
    assert nbformat.reads(text, as_version=4) == book


def test_a_notebook_of_the_instructors_own_stays_as_it_is(course):
    essay = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Write an essay.", id="a")])
    (course.root / "source/hw1/essay.ipynb").write_text(nbformat.writes(essay), encoding="utf-8")
    step, resources = course.step(TransplantAnswers, lesson="essay")
    handed_in = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("An essay.", id="a")])
    assert step.preprocess(handed_in, resources)[0] is handed_in
    (course.root / "source/hw1/essay.ipynb").unlink()


def test_notebooks_that_were_renamed_or_left_out_are_looked_at(course, monkeypatch):
    monkeypatch.chdir(course.root)
    path = course.hand_in("eve", f"{ZERO} (1).ipynb", course.given(ZERO, ["softmax"]))
    notebooks = [str(path)]
    every_notebook(assignment="hw1", student="*", notebooks=notebooks)
    assert notebooks[1:] == [str(path.with_name(f"{name}.ipynb")) for name in (ZERO, FIVE)]
    assert cell_of(course.sanitized("eve"), "softmax", "answer").source == RIGHT["softmax"]
    assert course.sanitized("eve", FIVE).cells == course.given(FIVE).cells
    assert [one.name for one in path.parent.iterdir()] == [path.name], "what was handed in is left alone"


# --- nbgrader itself


def bob(book):
    """A right answer, beside everything that used to stop nbgrader."""
    copied(book)
    book.cells.remove(cell_of(book, "softmax", "check"))
    book.cells.insert(2, nbformat.v4.new_code_cell("import os\nprint('x' * 100_000)\nos._exit(0)"))
    return book


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")
def test_from_release_to_export_the_book_has_our_marks(tmp_path, monkeypatch):
    from nbgrader.apps import NbGraderAPI
    from nbgrader.plugins import CsvExportPlugin

    course = Course(tmp_path / "course")
    released = {path.name: path.read_bytes() for path in (course.root / "release/hw1").iterdir()}
    monkeypatch.chdir(course.root)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # it calls alembic
    config = PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config()
    config.CourseDirectory.root = str(course.root)
    api = NbGraderAPI(CourseDirectory(config=config), config=config)

    def must(result):
        assert result["success"], result.get("log", "") + result.get("error", "")

    must(api.generate_assignment("hw1"))
    assert {path.name: path.read_bytes() for path in (course.root / "release/hw1").iterdir()} == released

    course.hand_in("ada", f"{ZERO}.ipynb", course.given(ZERO, ["softmax"]))
    course.hand_in("ada", f"{FIVE}.ipynb", course.given(FIVE, ["causal_mask"]))
    course.hand_in("bob", f"{ZERO}.ipynb", bob(course.given(ZERO, ["softmax"])))
    late = course.given(ZERO)
    cell_of(late, "softmax", "answer").source = WRONG
    course.hand_in("carol", f"{ZERO} (1).ipynb", late)
    course.hand_in("carol", f"{FIVE}.ipynb", b'{"cells": [')
    for student in ("ada", "bob", "carol"):
        must(api.autograde("hw1", student))
    must(api.generate_feedback("hw1"))
    with api.gradebook as book:
        CsvExportPlugin(parent=api).export(book)
        kept = {
            (grade.notebook.student.id, grade.cell.name): (grade.auto_score, grade.max_score, grade.needs_manual_grade)
            for submission in book.assignment_submissions("hw1")
            for notebook in submission.notebooks
            for grade in notebook.grades
        }
    rows = {row["student_id"]: row for row in csv.DictReader(Path("grades.csv").open(encoding="utf-8"))}
    secret, expected = course_secret(course.root), {"ada": 5.0, "bob": 3.0, "carol": None}
    for student, total in expected.items():
        files = tuple(sorted((course.root / "submitted" / student / "hw1").iterdir()))
        report = run.grade_one(Submission(student, files=files), course.assignment, secret)
        assert total is None or report.earned == total
        assert float(rows[student]["raw_score"]) == float(rows[student]["score"]) == pytest.approx(report.earned)
        assert float(rows[student]["max_score"]) == sum(POINTS.values())
        for mark in report.marks:
            name = f"{mark.exercise}-check".replace("_", "-")
            assert kept[student, name] == (mark.earned, mark.points, False), (student, mark)
    run.close_rooms()
    page = (course.root / f"feedback/carol/hw1/{ZERO}.html").read_text(encoding="utf-8")
    said = html.unescape(re.sub("<[^>]+>", "", page))
    assert "The weights are taken along axis 0" in said and WRONG in said
    solved = nbformat.read(course.root / f"source/hw1/{ZERO}.ipynb", as_version=4)
    assert not any(leaks(one, lines(said), said) for one in regions(cell_of(solved, "softmax", "answer").source))

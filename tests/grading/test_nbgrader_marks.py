"""Our marks in nbgrader's book: what a check cell must show so that nbgrader reads exactly them."""

import os
import stat
import sys

import nbformat
import pytest
from nbgrader.utils import determine_grade

from course_lib.grading import run
from course_lib.grading.nbgrader_execution import SECRET, IsolatedExecute, course_secret, mark_lines
from course_lib.grading.records import Mark, Report

from .nbgrader_folder import ZERO, Course, cell_of, grades


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return Course(tmp_path_factory.mktemp("nbgrader") / "course")


@pytest.fixture
def graded(monkeypatch):
    """A stand-in for grade_one that gives these marks; returns what it was called with."""

    def use(*marks, **more):
        calls = []

        def grade_one(*arguments):
            calls.append(arguments)
            return Report(arguments[0].student, marks=marks, **more)

        monkeypatch.setattr(run, "grade_one", grade_one)
        return calls

    return use


def one_mark(earned, status, **more):
    return Mark("softmax", ZERO, 3.0, earned, status, **more)


@pytest.mark.parametrize(
    "mark",
    [
        one_mark(3.0, "passed"),
        one_mark(0.0, "wrong", message="Which axis?", mistake="x", where="softmax(scores=(3, 4))"),
        one_mark(1.33, "wrong", message="Which axis?", aspects={"values": True, "gradient": False}),
        one_mark(0.01, "failed", message="ZeroDivisionError\n\nwith lines"),
        one_mark(2.9999999999999996, "wrong"),
        one_mark(0.0, "not attempted"),
        one_mark(0.0, "too slow"),
        one_mark(0.0, "not graded", message="the file cannot be read"),
        one_mark(3.0, "wrong", followed=("rnn_cell",)),
        one_mark(0.0, "failed", message="\n".join(["<script>alert(1)</script>"] * 500)),
        one_mark(0.0, "failed", message="\x1b[31m\x00\ud800"),
    ],
)
def test_nbgrader_reads_exactly_our_marks(course, graded, mark):
    calls = graded(mark)
    course.hand_in("ada", f"{ZERO}.ipynb", course.given(ZERO, ["softmax"]))
    book = course.executed(course.given(ZERO, ["softmax"]))
    assert grades(book) == {"softmax": (mark.earned, 3.0)}
    nbformat.validate(book)
    nbformat.writes(book).encode()
    submission, assignment, secret = calls[0]
    assert submission.student == "ada" and [path.name for path in submission.files] == [f"{ZERO}.ipynb"]
    assert [(part.lesson, part.points) for part in assignment.parts] == [(ZERO, {"softmax": 3.0})]
    assert secret == course_secret(course.root)


@pytest.mark.parametrize(("earned", "status"), [(0.0, "passed"), (0.0, "wrong")])
def test_an_exercise_without_points_shows_how_it_went(course, graded, earned, status):
    graded(one_mark(earned, status))
    book = course.given(ZERO)
    cell_of(book, "softmax", "check").metadata.nbgrader.points = 0
    done = course.executed(book)
    assert grades(done) == {"softmax": (0, 0)}
    kinds = {output.output_type for output in cell_of(done, "softmax", "check").outputs}
    assert ("error" in kinds) is (status != "passed")


def test_the_points_are_those_of_nbgraders_book(course, graded):
    calls = graded(Mark("softmax", ZERO, 8.0, 8.0, "passed"))
    book = course.given(ZERO)
    cell_of(book, "softmax", "check").metadata.nbgrader.points = 8
    assert grades(course.executed(book)) == {"softmax": (8.0, 8.0)}
    assert calls[0][1].parts[0].points == {"softmax": 8.0}


def test_no_test_passes_by_silence(course, graded):
    """nbgrader gives all points to a test without outputs: no mark for it must mean an error there."""
    graded()
    assert grades(course.executed(course.given(ZERO))) == {"softmax": (0, 3.0)}
    foreign = course.given(ZERO)
    own = nbformat.v4.new_code_cell("assert True", id="own")
    own.metadata.nbgrader = {**cell_of(foreign, "softmax", "check").metadata.nbgrader, "grade_id": "own"}
    foreign.cells.append(own)
    graded(one_mark(3.0, "passed"))
    done = course.executed(foreign)
    assert determine_grade(done.cells[-1]) == (0, 3.0) and "grade it by hand" in str(done.cells[-1].outputs)
    assert determine_grade(cell_of(done, "softmax", "check")) == (3.0, 3.0)


def test_what_a_reader_should_know_stands_at_the_top(course, graded):
    graded(
        one_mark(3.0, "passed"), files=("a (1)\ud800.ipynb",), notes=("the check of softmax was deleted",), trouble=""
    )
    text = course.executed(course.given(ZERO)).cells[1].outputs[0].text
    assert "graded: a (1)?.ipynb" in text and "the check of softmax was deleted" in text


def test_a_mark_is_told_in_lines():
    mark = one_mark(1.5, "wrong", message="Which " + "very long " * 20 + "axis?", where="softmax(...), a batch",
                    aspects={"shape": True, "values": False}, followed=("encode",), note="in float32")  # fmt: skip
    lines = mark_lines(mark)
    assert lines[0] == "✗ softmax: wrong" and lines[-1] == "  1.5 of 3 points" and max(map(len, lines)) <= 80
    for said in ("seen in: softmax(...), a batch", "shape ✓, values ✗", "the course's encode", "note: in float32"):
        assert any(said in line for line in lines)


def test_without_walls_nothing_is_graded_unless_asked(course, graded, monkeypatch):
    calls = graded(one_mark(3.0, "passed"))
    monkeypatch.setattr(sys, "platform", "darwin")
    step, resources = course.step(IsolatedExecute)
    with pytest.raises(RuntimeError, match="cannot be kept"):
        step.preprocess(course.given(ZERO), resources)
    assert not calls
    step.trust_submissions = True
    assert grades(step.preprocess(course.given(ZERO), resources)[0]) == {"softmax": (3.0, 3.0)}


def test_the_secret_is_made_once_and_is_its_owners(tmp_path):
    secret = course_secret(tmp_path)
    assert len(secret) >= 32 and course_secret(tmp_path) == secret
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / SECRET).stat().st_mode) == 0o600
    (tmp_path / SECRET).write_text("")
    with pytest.raises(ValueError, match="is empty"):
        course_secret(tmp_path)

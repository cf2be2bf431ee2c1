"""Every submission gets the mark that it deserves, whatever else is in it; none ends the run."""

import time

import pytest

from course_lib.authoring import catalogue
from course_lib.grading import judge
from course_lib.grading.records import Assignment, Part, Submission
from course_lib.grading.run import close_rooms, grade_one
from course_lib.grading.sandbox import bubblewrap_works

from .hostile_broken import BROKEN, FOLLOWED
from .hostile_clumsy import CLUMSY
from .hostile_crashes import CRASHES
from .hostile_forging import FORGING
from .hostile_notebooks import PART, POINTS, Learner
from .hostile_resources import RESOURCES
from .hostile_spying import SPYING
from .hostile_wrong import MISTAKEN

SUBMISSIONS = [*CLUMSY, *MISTAKEN, *BROKEN, *FOLLOWED, *RESOURCES, *CRASHES, *FORGING, *SPYING]
SECONDS = 30  # the longest that one may take, on a busy machine


@pytest.fixture(scope="module", autouse=True)
def rooms():
    """The rooms stay warm from one submission to the next, as when a class is graded."""
    yield
    close_rooms()


def graded(one, folder):
    """The Report on a submission."""
    lesson, learner = catalogue.lesson(one.lesson), Learner(one.lesson)
    one.write(learner)
    path = folder / f"{lesson.name}.ipynb"
    path.write_text(learner.text(), encoding="utf-8")
    part = Part(lesson.name, dict.fromkeys(one.deserved, POINTS))
    return grade_one(Submission("s1", "Kim", (path,)), Assignment("hostile", (part,)), "a secret")


@pytest.mark.parametrize("one", SUBMISSIONS, ids=lambda one: one.name)
def test_deserved(one, tmp_path, monkeypatch):
    if one.dangerous and not bubblewrap_works():
        pytest.skip("it is let loose only behind bubblewrap, which does not work here")
    if one.hurry:
        monkeypatch.setattr(judge, "ANSWER_SECONDS", 2.0)
        monkeypatch.setattr(judge, "OPEN_SECONDS", 5.0)
    start = time.monotonic()
    report = graded(one, tmp_path)
    took = time.monotonic() - start
    assert report.trouble == ""
    for mark, (name, deserved) in zip(report.marks, one.deserved.items(), strict=True):
        assert (mark.exercise, mark.status) == (name, deserved.status), mark
        assert 0 < mark.earned < POINTS if deserved.earned == PART else mark.earned == deserved.earned, mark
        assert mark.mistake == deserved.mistake, mark
        assert deserved.says in f"{mark.message} {mark.note}", mark
        assert mark.followed == deserved.followed, mark
        assert mark.flags or not deserved.flagged, mark
        assert len(mark.message) <= 2_000, mark
    assert took < SECONDS * len(one.deserved)


def test_names_are_given_once():
    names = [one.name for one in SUBMISSIONS]
    assert len(set(names)) == len(names) >= 60

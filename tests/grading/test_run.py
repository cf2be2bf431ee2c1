"""A class is graded: each gets what the answer is, nothing is done twice, and the way it was run leaves no trace."""

import json
import os
import signal
import subprocess
import sys
import time

import distributed
import psutil
import pytest

from course_lib.authoring.catalogue import repo_root
from course_lib.grading import run
from course_lib.grading.collecting.submissions import collect
from course_lib.grading.run import grade_all, grade_one

from .classes import as_told, assignment_of, write_class

ASSIGNMENT = assignment_of(0, 4)
SECRET = "a secret of this test"
GRADE = """
import sys
from pathlib import Path
from course_lib.grading.run import grade_all
from course_lib.grading.collecting.submissions import collect
from tests.grading.test_run import ASSIGNMENT, SECRET
if __name__ == "__main__":
    submissions = collect(sys.argv[1], ASSIGNMENT)
    grade_all(submissions, ASSIGNMENT, SECRET, sys.argv[2], jobs=2, say=lambda report, done: print(done, flush=True))
"""


@pytest.fixture(scope="module")
def a_class(tmp_path_factory):
    """(submissions, what they are, reports of a plain run in this process)."""
    folder = tmp_path_factory.mktemp("class")
    told = write_class(folder / "in", (0, 4), students=6, hostile=2, seed=3)
    submissions = collect(folder / "in", ASSIGNMENT)
    reports = grade_all(submissions, ASSIGNMENT, SECRET, folder / "kept", jobs=1)
    return submissions, told, reports


def test_everybody_gets_what_the_answers_are(a_class):
    submissions, told, reports = a_class
    assert [report.student for report in reports] == sorted(told)
    for report in reports:
        assert report.trouble == ""
        for mark in report.marks:
            assert as_told(mark, told[report.student][mark.exercise]), mark
    kinds = {what for answers in told.values() for what in answers.values()}
    assert {"right", "stub"} < kinds


def test_two_processes_give_the_same_reports_and_leave_none(a_class, tmp_path):
    submissions, _, reports = a_class
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    assert grade_all(submissions, ASSIGNMENT, SECRET, tmp_path / "kept", jobs=2) == reports
    left = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
    assert not [one for one in left if "course_lib.grading.inside" in " ".join(one.cmdline())]
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".json"}


def test_what_was_graded_is_not_graded_again(a_class, tmp_path, monkeypatch):
    submissions, _, reports = a_class
    grade_all(submissions[:2], ASSIGNMENT, SECRET, tmp_path, jobs=1)
    graded = []
    monkeypatch.setattr(run, "grade_one", lambda one, *rest: graded.append(one.student) or grade_one(one, *rest))
    assert grade_all(submissions[:3], ASSIGNMENT, SECRET, tmp_path, jobs=1) == reports[:3]
    assert graded == [submissions[2].student]


def test_a_changed_file_or_another_secret_is_graded_again(a_class, tmp_path):
    one = a_class[0][0]
    key = run.key_of(one, ASSIGNMENT, SECRET, True)
    assert run.key_of(one, ASSIGNMENT, SECRET, True) == key
    assert run.key_of(one, ASSIGNMENT, "another", True) != key
    assert run.key_of(one, assignment_of(0), SECRET, True) != key
    path = tmp_path / one.files[0].name
    path.write_bytes(one.files[0].read_bytes() + b"\n")
    assert run.key_of(type(one)(one.student, one.name, (path, *one.files[1:])), ASSIGNMENT, SECRET, True) != key


def test_a_kept_result_that_cannot_be_read_is_made_again(a_class, tmp_path):
    submissions, _, reports = a_class
    grade_all(submissions[:1], ASSIGNMENT, SECRET, tmp_path, jobs=1)
    (kept,) = tmp_path.glob("*.json")
    kept.write_text('{"student": "cut off')
    assert grade_all(submissions[:1], ASSIGNMENT, SECRET, tmp_path, jobs=1) == reports[:1]


def test_a_run_killed_in_the_middle_goes_on_to_the_same_result(a_class, tmp_path):
    submissions, _, reports = a_class
    script = tmp_path / "grade.py"
    script.write_text(GRADE)
    folder, kept = submissions[0].files[0].parents[1], tmp_path / "kept"
    environment = {**os.environ, "PYTHONPATH": str(repo_root())}
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder), str(kept)], env=environment, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout.readline().strip() == "1"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    done = len(list(kept.glob("*.json")))
    assert 1 <= done < len(reports)
    assert list(kept.glob("rooms-*"))
    (kept / f"unpacked-{process.pid}-x").mkdir()
    assert no_worker_is_left(kept)
    assert grade_all(submissions, ASSIGNMENT, SECRET, kept, jobs=1) == reports
    assert not [*kept.glob("rooms-*"), *kept.glob("unpacked-*")]


def no_worker_is_left(kept):
    """Whether the processes of a killed run end by themselves, within a while: they live in its rooms."""
    for _ in range(100):
        lines = [" ".join(one.info["cmdline"] or ()) for one in psutil.process_iter(["cmdline"])]
        if not any(str(kept) in line for line in lines):
            return True
        time.sleep(0.2)
    return False


def test_an_error_of_ours_costs_one_report_and_is_not_kept(a_class, tmp_path, monkeypatch):
    submissions, _, reports = a_class

    def breaks(one, *rest):
        if one.student == submissions[0].student:
            raise RuntimeError("the grader broke")
        return grade_one(one, *rest)

    monkeypatch.setattr(run, "grade_one", breaks)
    first, second = grade_all(submissions[:2], ASSIGNMENT, SECRET, tmp_path, jobs=1)
    assert "the grader broke" in first.trouble and first.earned == 0 and first.points == reports[0].points
    assert second == reports[1]
    monkeypatch.undo()
    assert grade_all(submissions[:2], ASSIGNMENT, SECRET, tmp_path, jobs=1) == reports[:2]


def test_a_dask_cluster_of_two_workers_gives_the_same_marks(a_class, tmp_path):
    submissions, _, reports = a_class
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster:
        found = grade_all(submissions[:4], ASSIGNMENT, SECRET, tmp_path, dask=cluster.scheduler_address)
        assert found == reports[:4]
        with distributed.Client(cluster) as client:
            assert set(client.run(run.close_rooms).values()) == {0}


def test_reports_are_plain_data_that_comes_back(a_class):
    for report in a_class[2]:
        assert run.Report.from_dict(json.loads(json.dumps(report.as_dict()))) == report

"""Grade a class: every submission by itself, several at a time, and nothing twice."""

import atexit
import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import psutil
import torch

from course_lib import exercises
from course_lib.authoring import catalogue
from course_lib.authoring.files import write_whole

from .collecting.submissions import match
from .marks import marks_of
from .records import Mark, Report
from .repairing.repair import repair
from .sandbox import Room

ROOMS = 6  # warm processes that a grading process keeps, one for each lesson
GRADER_FAILED = "the grader failed on this submission"
NOTHING = "nothing was handed in for this lesson"
_rooms = {}


def room_for(lesson, bubblewrap, within=None):
    """The room of a lesson in this process; it stays warm for the next submission."""
    key = lesson, bubblewrap, within
    if key not in _rooms:
        while len(_rooms) >= ROOMS:
            _rooms.pop(next(iter(_rooms))).close()
        names = [exercise.name for exercise in exercises.by_lesson(int(lesson[:2]))]
        _rooms[key] = Room(names, bubblewrap, within)
    return _rooms[key]


def close_rooms():
    """End every warm process of this process; returns how many there were."""
    count = len(_rooms)
    while _rooms:
        _rooms.popitem()[1].close()
    return count


atexit.register(close_rooms)


def grade_one(submission, assignment, secret, bubblewrap=None, within=None):
    """Grade one submission and return its Report; raises nothing on account of what was handed in.

    secret: what the hidden inputs are drawn from. bubblewrap, within: as for `sandbox.Room`.
    """
    files, notes = match(submission.files, assignment)
    marks, taken, troubles = [], [], []
    for part in assignment.parts:
        lesson = catalogue.lesson(part.lesson)
        if part.lesson not in files:
            marks += without_work(part, NOTHING)
            troubles.append(f"{part.lesson}: {NOTHING}")
            continue
        work = repair(files[part.lesson], lesson, lesson.exercises)
        taken.append(work.file)
        notes = [*notes, *(f"{work.file}: {note}" for note in work.notes)]
        if work.trouble:
            marks += without_work(part, work.trouble)
            troubles.append(work.trouble)
        else:
            marks += marks_of(part, work, room_for(part.lesson, bubblewrap, within), secret)
    return Report(
        submission.student,
        submission.name,
        tuple(taken),
        (*submission.notes, *notes),
        "; ".join(troubles),
        tuple(marks),
    )


def without_work(part, why):
    """The marks of a notebook that is not there or cannot be read: nothing earned, and why."""
    return [Mark(name, part.lesson, float(points), 0.0, "not graded", why) for name, points in part.points.items()]


def grade_all(submissions, assignment, secret, kept, *, jobs=2, dask=None, bubblewrap=None, say=None):
    """Grade a class; returns the reports in the order of the submissions.

    kept: folder of results; what is there already, for the same files, assignment, library and secret, is taken from
    it, so an interrupted run goes on where it stopped. jobs: processes on this machine. dask: address of a Dask
    cluster to use instead. say(report, done): called as each one is finished.
    """
    kept = Path(kept).resolve()  # bubblewrap is started in another folder
    kept.mkdir(parents=True, exist_ok=True)
    clear_away(kept)
    keys = [key_of(submission, assignment, secret, bubblewrap) for submission in submissions]
    reports = [load(kept / f"{key}.json") for key in keys]
    done = sum(report is not None for report in reports)
    missing = [i for i, report in enumerate(reports) if report is None]
    within = None if dask else tempfile.mkdtemp(prefix=f"rooms-{os.getpid()}-", dir=kept)
    main = None if dask else os.getpid()
    tasks = [(main, i, submissions[i], assignment, secret, bubblewrap, within) for i in missing]
    with contextlib.ExitStack() as closing:
        if within:
            closing.callback(shutil.rmtree, within, ignore_errors=True)
        results = closing.enter_context(contextlib.closing(_results(tasks, jobs, dask)))
        for i, report, is_sound in results:
            if is_sound:
                save(kept / f"{keys[i]}.json", report)
                report = load(kept / f"{keys[i]}.json")  # so that a kept report is no other than a fresh one
            reports[i], done = report, done + 1
            if say:
                say(report, done)
    for path in set(kept.glob("*.json")) - {kept / f"{key}.json" for key in keys}:
        path.unlink()  # of files, code or points that are no longer these
    clear_away(kept)  # what the processes of a run that was cut off wrote in their last second
    return reports


def clear_away(kept):
    """Remove the rooms and the unpacked files of runs that were cut off."""
    for folder in [*kept.glob("rooms-*"), *kept.glob("unpacked-*")]:
        if not psutil.pid_exists(int(folder.name.split("-")[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _results(tasks, jobs, dask):
    """Yield what `_grade` returns, as it comes."""
    import joblib

    if not tasks:
        return
    jobs = min(jobs, len(tasks))
    with _backend(jobs, dask):
        try:
            parallel = joblib.Parallel(
                return_as="generator_unordered", n_jobs=-1 if dask else jobs, pre_dispatch="2*n_jobs"
            )
            yield from parallel(joblib.delayed(_grade)(*task) for task in tasks)
        finally:
            if not dask and jobs == 1:
                close_rooms()


def _grade(main, index, *task):
    """(index, report, whether it may be kept). An error of ours costs one student's report, not the run.

    main: the process that collects the reports on this machine, or None on a cluster.
    """
    submission, assignment = task[:2]
    if main not in (None, os.getpid()):
        end_with(main)
    try:
        return index, grade_one(*task), True
    except Exception as error:  # whatever it is, 300 others wait
        trouble = f"{GRADER_FAILED} ({type(error).__name__}: {error}); grade it once more"
        marks = [mark for part in assignment.parts for mark in without_work(part, trouble)]
        return index, Report(submission.student, submission.name, trouble=trouble, marks=tuple(marks)), False


@cache
def end_with(main):
    """End this process, and with it its rooms, within a second of the end of the main one, which may be killed."""

    def watch():
        while os.getppid() == main:
            time.sleep(0.5)
        close_rooms()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _backend(jobs, dask):
    """joblib's backend: processes on this machine, or a Dask cluster. Afterwards none of the warm processes is left."""
    import joblib

    if dask:
        from dask.distributed import Client

        with Client(dask) as client, joblib.parallel_config("dask"):
            try:
                yield
            finally:
                client.run(close_rooms)
    elif jobs == 1:
        yield
    else:
        from joblib.externals.loky import get_reusable_executor

        with joblib.parallel_config("loky", inner_max_num_threads=1):
            try:
                yield
            finally:
                get_reusable_executor().shutdown(wait=True, kill_workers=True)


def key_of(submission, assignment, secret, bubblewrap):
    """What a report depends on, as a name: the files, the student, the assignment, the library, the secret."""
    digest = hashlib.sha256()
    told = [submission.student, submission.name, submission.notes, assignment.as_dict(), secret, bubblewrap]
    digest.update(json.dumps([*told, library_fingerprint()], sort_keys=True).encode(errors="surrogateescape"))
    for path in submission.files:
        digest.update(f"\0{path.name}\0".encode(errors="surrogateescape"))
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


@cache
def library_fingerprint():
    """A digest of the course's own code and of the lessons: other code may give other marks."""
    digest = hashlib.sha256(torch.__version__.encode())
    root = catalogue.repo_root()
    for path in sorted([*root.glob("course_lib/**/*.py"), *root.glob("solutions/*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def load(path):
    """A kept report, or None where there is none or it cannot be read."""
    try:
        return Report.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def save(path, report):
    """Keep a report, whole or not at all."""
    write_whole(path, json.dumps(report.as_dict(), ensure_ascii=False))

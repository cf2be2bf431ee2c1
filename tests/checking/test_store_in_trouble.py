"""Files of a learner that are damaged, newer, closed or written by two at once: what they held is never lost."""

import errno
import json
import multiprocessing
import os
import time
from pathlib import Path

import pytest

import course_lib.checking.locks as locks
import course_lib.checking.store as store
from course_lib import check, hint, mine, progress

PASSED = {"status": "passed", "attempts": 3, "hints": 1}


@pytest.fixture(autouse=True)
def forget_what_was_said(monkeypatch):
    monkeypatch.setattr(store, "_said", set())


@pytest.fixture
def folder(course_home):
    made = course_home / ".course"
    made.mkdir()
    return made


def softmax(scores, dim=-1):
    e = (scores - scores.amax(dim, True)).exp()
    return e / e.sum(dim, True)


def as_file(exercises, **rest):
    return json.dumps({"version": 1, "exercises": exercises, **rest})


def kept(folder, name):
    return sorted(path.name for path in folder.glob(f"{name}.*-*"))


@pytest.mark.parametrize(
    ("entry", "carried"),
    [
        (3, None),
        ({"status": ["passed"]}, None),
        ({"attempts": 2}, None),
        ({"status": "passed", "attempts": "3", "hints": 1}, {"status": "passed", "hints": 1}),
        ({"status": "passed", "attempts": -1, "hints": 2.5}, {"status": "passed"}),
        ({"status": "passed", "attempts": True}, {"status": "passed"}),
    ],
)
def test_one_bad_entry_costs_no_other_its_pass(folder, capsys, entry, carried):
    before = as_file({"softmax": entry, "encode": PASSED})
    (folder / "progress.json").write_text(before)
    expected = {"encode": PASSED} | ({"softmax": carried} if carried else {})
    assert store.load_progress() == expected == store.load_progress(), "also when it is read again"
    assert (folder / "progress.json.damaged-1").read_text() == before
    assert capsys.readouterr().err.count("kept as progress.json.damaged-1") == 1
    hint("softmax")
    check(softmax)
    progress()
    assert store.load_progress()["encode"] == PASSED
    assert kept(folder, "progress.json") == ["progress.json.damaged-1"]


DAMAGE = {
    "deep": "[" * 100_000,
    "zeros": "\0" * 300,
    "cut off": '{"exercises": {',
    "no version": '{"version": "x", "exercises": {}}',
    "a text": '"exercises"',
    "a long number": "9" * 9999,
}


@pytest.mark.parametrize("text", DAMAGE.values(), ids=DAMAGE)
def test_no_damage_stops_a_lesson(folder, capsys, text):
    (folder / "progress.json").write_text(text)
    check(softmax)
    assert "kept as progress.json.damaged-1" in capsys.readouterr().err
    assert (folder / "progress.json.damaged-1").read_text() == text
    assert store.load_progress()["softmax"]["status"] == "passed"


def test_a_newer_file_is_kept_and_what_is_understood_goes_on(folder, capsys):
    before = as_file({"encode": PASSED, "later": {"state": 7}}, version=2, badges=["early"])
    (folder / "progress.json").write_text(before)
    check(softmax)
    assert "a newer version of the course (2); it is kept as progress.json.newer-1" in capsys.readouterr().err
    assert (folder / "progress.json.newer-1").read_text() == before
    assert store.load_progress()["encode"] == PASSED and store.load_progress()["softmax"]["status"] == "passed"


def test_fields_that_are_missing_or_unknown_are_no_damage(folder):
    (folder / "progress.json").write_text('{"exercises": {"encode": {"status": "passed", "mood": "glad"}}}')
    check(softmax)
    hint("encode")
    progress()
    entry = store.load_progress()["encode"]
    assert entry == {"status": "passed", "mood": "glad", "attempts": 0, "hints": 1}
    assert kept(folder, "progress.json") == []


@pytest.mark.parametrize("name", ["progress.json", "work.py"])
def test_a_mark_that_an_editor_on_windows_put_before_the_text_is_no_damage(folder, name):
    check(softmax)
    path = folder / name
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert store.load_progress()["softmax"]["status"] == "passed" and "softmax" in store.load_work()
    assert kept(folder, name) == []


@pytest.mark.parametrize("name", ["progress.json", "work.py"])
def test_a_folder_in_the_place_of_a_file_is_set_aside(folder, capsys, name):
    (folder / name).mkdir()
    (folder / name / "inside").write_text("something")
    check(softmax)
    assert f"kept as {name}.damaged-1" in capsys.readouterr().err
    assert (folder / f"{name}.damaged-1" / "inside").read_text() == "something"
    assert store.load_progress()["softmax"]["status"] == "passed" and "softmax" in store.load_work()


@pytest.mark.parametrize("name", ["progress.json", "work.py"])
def test_nothing_is_written_over_a_file_that_cannot_be_read(folder, monkeypatch, capsys, name):
    """As with another owner's file in a folder of one's own, or a network drive that is away for a moment."""
    store.update_progress("encode", status="passed", attempts=1)
    store.save_work("encode", "def encode():\n    pass")
    before = (folder / name).read_bytes()
    read_text = Path.read_text

    def refuse(path, *arguments, **options):
        if path.name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    check(softmax)
    hint("softmax")
    mine("softmax")
    assert capsys.readouterr().err.count(f"{name} cannot be read (Permission denied), so it cannot be saved") == 1
    monkeypatch.undo()
    assert (folder / name).read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_leaves_the_file_as_it_was(folder, monkeypatch, capsys):
    check(softmax)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    made = store.tempfile.mkstemp

    def on_a_full_disk(**options):
        handle, path = made(**options)
        os.close(handle)
        return os.open("/dev/full", os.O_WRONLY), path

    monkeypatch.setattr(store.tempfile, "mkstemp", on_a_full_disk)
    store.update_progress("encode", status="passed")
    store.save_work("encode", "def encode():\n    pass")
    said = capsys.readouterr().err
    assert said.count("cannot be saved (No space left on device)") == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_a_learner_wrote_into_work_py_stays(folder, capsys):
    store.save_work("encode", "def encode():\n    return 1")
    path = folder / "work.py"
    path.write_text("# my answers\nimport math\n" + path.read_text())
    check(softmax)
    assert path.read_text().startswith("# my answers\nimport math\n")
    assert store.load_work()["encode"] == "def encode():\n    return 1"
    path.write_text("import math\nprint('another file altogether')\n")
    check(softmax)
    assert "kept as work.py.damaged-1" in capsys.readouterr().err
    assert "another file" in (folder / "work.py.damaged-1").read_text()
    assert list(store.load_work()) == ["softmax"]


def test_a_comment_that_looks_like_a_heading_begins_no_other_answer(folder):
    source = "def softmax(scores, dim=-1):\n# %% test\n    return scores.softmax(dim)"
    store.save_work("softmax", source)
    store.save_work("encode", "def encode():\n    return 1")
    assert list(store.load_work()) == ["softmax", "encode"]
    assert mine("softmax").__code__.co_filename == "<your softmax>"


def _many(home, names, gate):
    os.environ["COURSE_HOME"] = home
    gate.wait()
    for name in names:
        attempts = store.load_progress().get(name, {}).get("attempts", 0)
        store.update_progress(name, status="passed", attempts=attempts + 1)
        store.save_work(name, f"def {name}():\n    return {name!r}")


def test_two_kernels_at_once_lose_no_pass(course_home):
    """From the first moment on, when there is no folder yet; of the same exercise and of others."""
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(2)
    sets = [[f"{who}_{number}" for number in range(50)] + ["same"] * 50 for who in ("one", "two")]
    both = [context.Process(target=_many, args=(str(course_home), names, gate)) for names in sets]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    expected = set(sets[0]) | set(sets[1])
    assert store.load_progress().keys() == store.load_work().keys() == expected
    assert {entry["status"] for entry in store.load_progress().values()} == {"passed"}
    assert sorted(path.name for path in (course_home / ".course").iterdir()) == [".lock", "progress.json", "work.py"]


def test_counts_never_go_down():
    store.update_progress("softmax", attempts=5, hints=2)
    entry = store.update_progress("softmax", attempts=4, hints=3)
    assert entry == {"status": "not attempted", "attempts": 5, "hints": 3}


def test_a_kernel_that_hangs_with_the_lock_stops_no_lesson(folder, monkeypatch):
    monkeypatch.setattr(locks, "PATIENCE", 0.2)
    start = time.monotonic()
    with locks.alone_in(folder):
        store.update_progress("softmax", status="passed")
    assert 0.15 < time.monotonic() - start < 5
    assert store.load_progress()["softmax"]["status"] == "passed"


def test_a_drive_without_locks_stops_no_lesson(monkeypatch):
    def unknown(handle):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "_take", unknown)
    store.update_progress("softmax", status="passed")
    assert store.load_progress()["softmax"]["status"] == "passed"

"""The two files of a learner's memory: what is written is read back, entry by entry, and a pass stays a pass."""

import json
from pathlib import Path

import pytest

from course_lib.checking import store

ATTEMPTED = {"status": "wrong", "attempts": 1, "hints": 0}


@pytest.fixture(autouse=True)
def forget_what_was_said(monkeypatch):
    monkeypatch.setattr(store, "_said", set())


def test_the_home_is_what_the_variable_says_else_the_nearest_course_above(monkeypatch, tmp_path):
    inner = tmp_path / "course" / "notebooks" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "course" / "course.py").touch()
    (tmp_path / "course.py").touch()
    monkeypatch.chdir(inner)
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "other"))
    assert store.course_home() == tmp_path / "other"
    for nothing in (lambda: monkeypatch.setenv("COURSE_HOME", ""), lambda: monkeypatch.delenv("COURSE_HOME")):
        nothing()
        assert store.course_home() == tmp_path / "course"
    monkeypatch.chdir(tmp_path / "course")
    assert store.course_home() == tmp_path / "course"
    (tmp_path / "course" / "course.py").unlink()
    (tmp_path / "course" / "course.py").mkdir()
    assert store.course_home() == tmp_path, "a folder of that name is no course"


def test_without_a_course_above_the_home_is_here(monkeypatch, tmp_path):
    monkeypatch.delenv("COURSE_HOME")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "is_file", lambda path: False)
    assert store.course_home() == tmp_path


def test_progress_is_merged_entry_by_entry(course_home):
    assert store.load_progress() == {}
    assert store.update_progress("softmax", hints=2) == {"status": "not attempted", "attempts": 0, "hints": 2}
    assert store.update_progress("encode", status="wrong", attempts=1) == ATTEMPTED
    assert store.update_progress("softmax", status="wrong") == {"status": "wrong", "attempts": 0, "hints": 2}
    assert store.load_progress() == {"softmax": {"status": "wrong", "attempts": 0, "hints": 2}, "encode": ATTEMPTED}
    text = (course_home / ".course" / "progress.json").read_text(encoding="utf-8")
    assert json.loads(text)["version"] == 1 and text.endswith("}\n") and "\n " in text, "a person can read it"


def test_a_pass_is_never_taken_back_but_the_rest_goes_on():
    store.update_progress("softmax", status="passed", attempts=1)
    for status in ("wrong", "passed"):
        assert store.update_progress("softmax", status=status, attempts=5)["status"] == "passed"
    assert store.update_progress("softmax", hints=1) == {"status": "passed", "attempts": 5, "hints": 1}


def test_answers_are_kept_side_by_side_and_the_newest_of_each(course_home):
    assert store.load_work() == {}
    store.save_work("softmax", "\n\ndef softmax(x):\n\n    return 1\n\n")
    store.save_work("encode", "def encode():\n    pass")
    store.save_work("third", "x = '# %% not a head'  # %% neither")
    store.save_work("softmax", "def softmax(x):\n\n    return '\N{SNOWMAN}'\n")
    assert store.load_work() == {
        "softmax": "def softmax(x):\n\n    return '\N{SNOWMAN}'",
        "encode": "def encode():\n    pass",
        "third": "x = '# %% not a head'  # %% neither",
    }
    data = (course_home / ".course" / "work.py").read_bytes()
    assert data.startswith(b"# Your answers") and b"\r" not in data and data.endswith(b"neither\n")
    compile(data, "work.py", "exec")
    left = {path.name for path in (course_home / ".course").iterdir() if not path.name.startswith(".")}
    assert left == {"work.py"}, "no file is left over"


@pytest.mark.parametrize("text", [
    '{"exercises": {"a": {"status": 3}}}', '{"exercises": {"a": {}}}', '{"exercises": []}', '{"version": 1}', "3",
])  # fmt: skip
def test_progress_of_another_form_is_set_aside(course_home, capsys, text):
    (course_home / ".course").mkdir()
    (course_home / ".course" / "progress.json").write_text(text)
    assert store.load_progress() == {}
    assert (course_home / ".course" / "progress.json.damaged-1").read_text() == text
    assert "progress.json could not be read; it is kept as progress.json.damaged-1" in capsys.readouterr().err


def test_an_entry_may_know_more_than_we_do(course_home):
    (course_home / ".course").mkdir()
    text = '{"exercises": {"a": {"status": "wrong", "later": 1}, "b": {"status": "passed"}}}'
    (course_home / ".course" / "progress.json").write_text(text)
    assert store.load_progress()["a"]["later"] == 1
    assert store.update_progress("a", hints=1) == {"status": "wrong", "attempts": 0, "hints": 1, "later": 1}

"""Every test runs with a `.course/` of its own, never with a learner's."""

import pytest


@pytest.fixture(autouse=True)
def course_home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"

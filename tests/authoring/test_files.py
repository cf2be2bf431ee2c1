"""A file is written whole or not at all, also where the disk is full."""

import os
from pathlib import Path

import pytest

from course_lib.authoring import build as building
from course_lib.authoring import reset as resetting
from course_lib.authoring.files import write_whole

from .answered_lesson import backups

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")


def fill_up(folder):
    """Make the next file that is written whole in this folder meet a full disk."""
    folder.mkdir(exist_ok=True)
    (folder / f".{os.getpid()}.partial").symlink_to(FULL)


@pytest.mark.parametrize("before", [None, b"the old one"])
def test_a_full_disk_leaves_the_old_file_and_no_half(tmp_path, before):
    path = tmp_path / "out" / "grades.csv"
    fill_up(path.parent)
    if before:
        path.write_bytes(before)
    with pytest.raises(OSError, match="No space left on device: .*grades.csv"):
        write_whole(path, "new" * 10_000)
    assert list(path.parent.iterdir()) == ([path] if before else [])
    assert not before or path.read_bytes() == before
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_a_reset_without_room_for_the_backup_changes_nothing(one, capsys):
    before = one.notebook.read_bytes()
    fill_up(one.notebook.parent / "backup")
    assert resetting.main(one) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "is as it was" in said and "No space left on device: " in said
    assert one.notebook.read_bytes() == before and backups(one) == []


def test_a_build_without_room_says_so_in_one_line(one, capsys, monkeypatch):
    monkeypatch.setattr(building, "lesson", lambda key: one)
    monkeypatch.setattr(building, "execute", lambda plain, one: plain)
    before = one.notebook.read_bytes()
    fill_up(one.notebook.parent / "backup")
    assert building.main(["7"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "not built: " in said and "No space left on device: " in said
    assert one.notebook.read_bytes() == before and backups(one) == [] and not one.solution.exists()

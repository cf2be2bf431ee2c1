"""`course reset` where a notebook cannot be read, is not there, or cannot be written: nothing is lost either."""

import pytest

from course_lib.authoring import reset as resetting
from course_lib.authoring.reset import ResetError, parse, reset, stubbed
from course_lib.authoring.source import read_notebook

from .answered_lesson import backups, cells

DAMAGED = [b"", b"\xff\xfe damaged", b"<<<<<<< mine", b"[1, 2]", b'{"cells": [{"cell_type": "code"}], "nbformat": 4}']
DAMAGED += [b'{"cells": [], "metadata": {"a": "\\ud800"}, "nbformat": 4, "nbformat_minor": 5}']


@pytest.mark.parametrize("data", DAMAGED)
def test_an_unreadable_notebook_is_put_aside_for_a_new_one(one, data, capsys):
    one.notebook.write_bytes(data)
    assert resetting.main(one) == 0
    said = capsys.readouterr().out
    (kept,) = backups(one)
    assert kept.read_bytes() == data and str(kept) in said and "could not be read" in said
    assert list(cells(one)) == list(cell.id for cell in stubbed(read_notebook(one)).cells)


@pytest.mark.parametrize("data", DAMAGED)
def test_an_unreadable_notebook_is_left_alone_when_one_exercise_is_named(one, data, capsys):
    one.notebook.write_bytes(data)
    assert resetting.main(one, ["one_of"]) == 1
    assert one.notebook.read_bytes() == data and backups(one) == []
    assert "`course reset 07`" in capsys.readouterr().err


def test_a_missing_notebook_is_made(one):
    one.notebook.unlink()
    assert reset(one, ["one_of"]) == ["07_small.ipynb was missing: there is a new one now"]
    assert list(cells(one).values()) == stubbed(read_notebook(one)).cells and backups(one) == []


@pytest.mark.parametrize("part", ["back_up", "write"])
def test_a_full_disk_leaves_the_notebook_as_it_was(one, monkeypatch, capsys, part):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = one.notebook.read_bytes()
    monkeypatch.setattr(resetting, part, full)
    assert resetting.main(one) == 1
    assert one.notebook.read_bytes() == before
    assert "No space left" in capsys.readouterr().err


def test_what_was_saved_meanwhile_is_not_overwritten(one, monkeypatch):
    def saved_between(data):
        book = parse(data)
        one.notebook.write_text("newer")
        return book

    monkeypatch.setattr(resetting, "parse", saved_between)
    with pytest.raises(ResetError, match="another program"):
        reset(one)
    assert one.notebook.read_text() == "newer"

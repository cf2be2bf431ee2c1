"""Whatever a file is: a notebook of today's format comes out, or one line that names the file, the place, the cause."""

import os
import socket

import nbformat
import pytest

from course_lib.grading.repairing import reading
from course_lib.grading.repairing.reading import Unreadable, read

from .broken_files import FILES, UNREADABLE
from .small_notebook import answered, data_of


def file_of(name, lesson, folder):
    """The file of `FILES` in a folder."""
    book = answered(lesson)
    made = FILES[name][0](book)
    path = folder / "07_small.ipynb"
    path.write_bytes(made if isinstance(made, bytes) else data_of(book))
    return path


@pytest.mark.parametrize("name", FILES)
def test_what_is_read_is_a_valid_notebook_without_outputs(name, small, tmp_path):
    book, notes = read(file_of(name, small, tmp_path))
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in book.cells]
    assert len(set(ids)) == len(ids)
    assert not any(cell.get("outputs") for cell in book.cells)
    assert all(isinstance(note, str) and "\n" not in note for note in notes)
    nbformat.writes(book).encode()


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_named_with_place_and_cause(name, small, tmp_path):
    made, cause = UNREADABLE[name]
    path = tmp_path / "04 (1).ipynb"
    path.write_bytes(made(data_of(answered(small))) if callable(made) else made)
    with pytest.raises(Unreadable, match=cause) as raised:
        read(path)
    text = str(raised.value)
    assert text.startswith("04 (1).ipynb") and "\n" not in text and len(text) < 200 and str(tmp_path) not in text


def test_what_is_no_file_is_never_opened(small, tmp_path):
    good = file_of("as it was", small, tmp_path)
    link, pipe, folder = tmp_path / "link.ipynb", tmp_path / "pipe.ipynb", tmp_path / "folder.ipynb"
    link.symlink_to(good)
    os.mkfifo(pipe)
    folder.mkdir()
    for path, cause in ((link, "link"), (pipe, "pipe"), (folder, "folder"), (tmp_path / "none.ipynb", "No such file")):
        with pytest.raises(Unreadable, match=f"{path.name}: .*{cause}"):
            read(path)


def test_a_socket_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s.ipynb")
        with pytest.raises(Unreadable, match="a pipe or a device"):
            read(tmp_path / "s.ipynb")


def test_a_file_that_is_too_large(small, tmp_path, monkeypatch):
    path = file_of("as it was", small, tmp_path)
    monkeypatch.setattr(reading, "SIZE_LIMIT", 1 << 20)
    with open(path, "ab") as file:
        file.truncate((1 << 20) + 1)
    with pytest.raises(Unreadable, match="larger than 1 MB"):
        read(path)


def test_cells_that_are_too_long_together(small, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CODE_LIMIT", 100)
    with pytest.raises(Unreadable, match="more than the 100"):
        read(file_of("as it was", small, tmp_path))


def test_a_name_that_is_no_text(tmp_path):
    path = tmp_path / os.fsdecode(b"\xff\n.ipynb")
    path.write_bytes(b"")
    with pytest.raises(Unreadable) as raised:
        read(path)
    assert str(raised.value) == "??.ipynb: the file is empty"


def test_metadata_nested_without_end_are_dropped(small, tmp_path):
    path = tmp_path / "deep.ipynb"
    deep = b'{"a":' * 400 + b"1" + b"}" * 400
    path.write_bytes(b'{"cells": [{"cell_type": "code", "source": "x", "metadata": ' + deep + b'}], "nbformat": 4}')
    book, _ = read(path)
    assert book.cells[0].source == "x" and book.cells[0].metadata == {}


def test_pictures_pasted_into_a_note_are_kept(small, tmp_path):
    book = answered(small)
    note = nbformat.v4.new_markdown_cell("![a](attachment:a.png)", attachments={"a.png": {"image/png": "AAAA"}})
    book.cells.append(note)
    path = tmp_path / "07.ipynb"
    path.write_bytes(data_of(book))
    assert read(path)[0].cells[-1].attachments == {"a.png": {"image/png": "AAAA"}}

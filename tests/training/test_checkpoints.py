"""The file of a checkpoint: whole or refused, whatever happens to it, and nothing in it is run."""

import errno
import io
import os
import pickle
import random
import zipfile
from pathlib import Path

import pytest
import torch

from course_lib.training import checkpoints
from course_lib.training.checkpoints import MAGIC, VERSION, CheckpointError, read_checkpoint, write_checkpoint

STATE = {
    "weights": {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([True, False])},
    "random": torch.get_rng_state(),
    "half": torch.ones(2, dtype=torch.bfloat16),
    "losses": [0.5, 1e-300, 0.1 + 0.2],
    "settings": {"seed": "0", "none": None, "betas": (0.9, 0.98), 3: True},
}


@pytest.fixture
def path(tmp_path):
    """The one file of its folder."""
    (tmp_path / "runs").mkdir()
    write_checkpoint(tmp_path / "runs" / "run.pt", STATE)
    return tmp_path / "runs" / "run.pt"


def same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other and type(one) is type(other)


def test_what_is_read_is_what_was_written(path):
    assert same(read_checkpoint(path), STATE)
    assert [each.name for each in path.parent.iterdir()] == ["run.pt"]
    write_checkpoint(str(path), {"another": 1})
    assert read_checkpoint(str(path)) == {"another": 1}


def test_a_link_stays_a_link(path):
    link = path.with_name("link")
    try:
        link.symlink_to(path)
    except OSError:
        pytest.skip("Windows lets only some users make links")
    write_checkpoint(link, {"another": 1})
    assert link.is_symlink() and read_checkpoint(path) == {"another": 1}


def test_a_file_that_is_cut_off_anywhere_is_refused(path, monkeypatch):
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(CheckpointError, match="cut off"):
        read_checkpoint(path)
    for length in range(len(content)):
        monkeypatch.setattr(Path, "read_bytes", lambda path, length=length: content[:length])  # a disk would take long
        with pytest.raises(CheckpointError, match="cut off|the file is empty|only its start is left"):
            read_checkpoint(path)


def test_a_flipped_bit_anywhere_is_refused(path, monkeypatch):
    content, generator = path.read_bytes(), random.Random(0)
    path.write_bytes(content + b"\0")
    with pytest.raises(CheckpointError, match="SHA-256"):
        read_checkpoint(path)
    for at in range(len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << generator.randrange(8)
        monkeypatch.setattr(Path, "read_bytes", lambda path, damaged=damaged: bytes(damaged))
        with pytest.raises(CheckpointError):
            read_checkpoint(path)


def packed(payload, version=VERSION):
    return MAGIC + version.to_bytes(4, "big") + checkpoints.hashlib.sha256(payload).digest() + payload


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def zipped():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.pkl", b"\x80\x02N.")
    return buffer.getvalue()


FOREIGN = {
    "empty": (b"", "the file is empty"),
    "random": (random.Random(0).randbytes(5000), "not written by this course"),
    "text": (b"loss 0.5\n", "not written by this course"),
    "pickle": (pickle.dumps(STATE["losses"]), "not written by this course"),
    "torch": (saved(STATE), "not written by this course"),
    "zip": (zipped(), "not written by this course"),
    "random inside": (packed(random.Random(0).randbytes(5000)), "torch finds no plain data in it"),
    "nothing inside": (packed(b""), "torch finds no plain data in it"),
    "a zip inside": (packed(zipped()), "torch finds no plain data in it"),
    "a list inside": (packed(saved([1, 2])), "expected a dict in it, got a list"),
    "a module inside": (packed(saved(torch.nn.Linear(2, 2))), "torch finds no plain data in it"),
    "newer": (packed(saved(STATE), VERSION + 1), f"version {VERSION + 1}, and this course reads version {VERSION}"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused(path, kind):
    content, message = FOREIGN[kind]
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message) as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value) and isinstance(caught.value, ValueError)
    assert path.read_bytes() == content


class Harmful:
    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return Path.mkdir, (self.place,)


def test_no_code_in_a_file_is_run(path, tmp_path):
    harm = Harmful(tmp_path / "harm")
    pickles = [pickle.dumps(value, protocol=2) for value in (harm, {"model": harm})]
    for payload in (*pickles, saved(harm), saved({"model": harm})):
        for content in (packed(payload), payload):
            path.write_bytes(content)
            with pytest.raises(CheckpointError):
                read_checkpoint(path)
            assert not harm.place.exists()
    pickle.loads(pickle.dumps(harm))
    assert harm.place.exists(), "these pickles would have done harm"


class Thing:
    pass


def test_what_could_not_be_read_back_is_not_written(path):
    with pytest.raises(CheckpointError, match="could not be read back, since the state holds a .*Thing"):
        write_checkpoint(path, {"model": Thing()})
    assert same(read_checkpoint(path), STATE)


class FullDisk(io.FileIO):
    """A file on a disk that has room for a hundred bytes."""

    def write(self, content):
        if len(content) > 100:
            super().write(content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(content)


def fails(error):
    def call(*arguments):
        raise error

    return call


@pytest.mark.parametrize("there", [True, False], ids=["over an old one", "the first one"])
@pytest.mark.parametrize(
    ("place", "name", "replacement", "error"),
    [
        (Path, "open", lambda path, mode: FullDisk(path, mode), OSError),
        (os, "fsync", fails(OSError(errno.EDQUOT, "Disk quota exceeded")), OSError),
        (os, "replace", fails(PermissionError(errno.EACCES, "in use")), PermissionError),
        (os, "replace", fails(KeyboardInterrupt()), KeyboardInterrupt),
    ],
    ids=["the disk is full", "the quota is used up", "the file is in use", "interrupted"],
)
def test_writing_fails_and_the_old_file_stays(path, monkeypatch, place, name, replacement, error, there):
    if not there:
        path.unlink()
    monkeypatch.setattr(place, name, replacement)
    with pytest.raises(error):
        write_checkpoint(path, {"another": 1})
    monkeypatch.undo()
    assert [each.name for each in path.parent.iterdir()] == ["run.pt"] * there
    assert not there or same(read_checkpoint(path), STATE)


def test_content_reaches_the_disk_before_the_name_and_the_name_too(path, monkeypatch):
    """What stops a machine cannot be tried here, so the order of the calls is looked at."""
    calls, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        calls.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "file")
        fsync(descriptor)

    def replaced(*arguments):
        calls.append("replace")
        replace(*arguments)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write_checkpoint(path, STATE)
    assert calls[:2] == ["file", "replace"]
    assert not os.path.isdir("/proc/self/fd") or calls == ["file", "replace", "folder"]


def test_a_checkpoint_of_a_gpu_is_read_without_one(path, monkeypatch):
    monkeypatch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
    write_checkpoint(path, STATE)
    monkeypatch.undo()
    assert b"cuda:0" in path.read_bytes()
    assert same(read_checkpoint(path), STATE)

"""A checkpoint: one file that is whole or refused, and that runs no code when it is read.

The file is MAGIC, the version of its format (4 bytes, big end first), the SHA-256 of the rest (32 bytes), and the rest:
what `torch.save` makes of a dict of tensors, numbers, strings, lists and dicts.
"""

import contextlib
import hashlib
import io
import os
from pathlib import Path

import torch

MAGIC, VERSION = b"seq2seq-to-transformer checkpoint", 1
HEADER = len(MAGIC) + 4 + 32


class CheckpointError(ValueError):
    """A checkpoint cannot be used, or not be written. The message names the file and the reason.

    >>> print(CheckpointError("run.pt", "it is cut off"))
    checkpoint run.pt: it is cut off
    """

    def __init__(self, path, reason):
        super().__init__(f"checkpoint {path}: {reason}")


def write_checkpoint(path, state):
    """Write a dict so that `path` holds either what it held before or all of the new, whenever the machine stops.

    state: tensors, numbers, strings, None, lists, tuples and dicts of them. Raises CheckpointError where something else
    is in it, which `read_checkpoint` would refuse, and OSError where the disk refuses; `path` is then as before.

    >>> write_checkpoint("run.pt", {"answer": Path("a path")})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    course_lib.training.checkpoints.CheckpointError: checkpoint run.pt: it could not be read back, since the state ...
    """
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    if foreign := torch.serialization.get_unsafe_globals_in_checkpoint(buffer):
        raise CheckpointError(path, f"it could not be read back, since the state holds a {', a '.join(foreign)}")
    payload = buffer.getbuffer()
    write_whole(path, MAGIC + VERSION.to_bytes(4, "big") + hashlib.sha256(payload).digest(), payload)


def write_whole(path, *parts):
    """Write a file whole or not at all: `path` is as before until all parts, bytes, are on the disk.

    Raises OSError, which names the file, where the disk refuses.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/file", b"two ", b"parts")
    ...     Path(folder, "file").read_bytes()
    b'two parts'
    """
    target = Path(path).resolve()  # of a link, the file it leads to
    temporary = target.with_name(f"{target.name}.tmp")  # always the same, so that killed runs leave one at most
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())  # or the new name could reach the disk before the content
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say for which file
            error.filename = str(target)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder):
    """See that the new name reaches the disk too. Windows has no such call, some network drives refuse it."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def read_checkpoint(path):
    """The dict that `write_checkpoint` was given, its tensors on the CPU.

    Raises CheckpointError for a file that is cut off, damaged, of another format or from somewhere else, OSError where
    it cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(f"{folder}/run.pt", {"step": 3, "weights": torch.ones(2)})
    ...     read_checkpoint(f"{folder}/run.pt")
    {'step': 3, 'weights': tensor([1., 1.])}
    """
    content = Path(path).read_bytes()
    if not content.startswith(MAGIC):
        what = "the file is empty" if not content else "it was not written by this course, or only its start is left"
        raise CheckpointError(path, what)
    version = int.from_bytes(content[len(MAGIC) : len(MAGIC) + 4], "big")
    digest, payload = content[len(MAGIC) + 4 : HEADER], memoryview(content)[HEADER:]
    if len(content) < HEADER:
        raise CheckpointError(path, "it is cut off")
    if version != VERSION:
        raise CheckpointError(path, f"its format is version {version}, and this course reads version {VERSION}")
    if hashlib.sha256(payload).digest() != digest:
        raise CheckpointError(path, "it is cut off or damaged: its SHA-256 does not match its content")
    try:
        # weights_only: a pickle may call anything when it is read; this reads data alone.
        state = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # torch has many ways to say that it does not understand a file
        raise CheckpointError(path, "torch finds no plain data in it") from error
    if not isinstance(state, dict):
        raise CheckpointError(path, f"expected a dict in it, got a {type(state).__name__}")
    return state

"""Empty a folder, whatever an answer did to it."""

import contextlib
import os
import uuid


def empty(folder):
    """Remove all that is in a folder; returns whether it is empty now.

    Folders are flattened, not descended into: they may be nested deeper than a path or a stack can be long.
    """
    with contextlib.suppress(OSError):
        reopen(folder)
        for name in os.listxattr(folder) if hasattr(os, "listxattr") else ():
            os.removexattr(folder, name)
        while entries := list(os.scandir(folder)):
            for entry in entries:
                remove(entry, folder)
        return True
    return False


def remove(entry, folder):
    """Remove an entry of a folder; the folders in it move up into the folder."""
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.path)
        return
    reopen(entry.path)
    for inner in list(os.scandir(entry.path)):
        if inner.is_dir(follow_symlinks=False):
            reopen(inner.path)  # who moves a folder writes its `..`
            os.rename(inner.path, os.path.join(folder, uuid.uuid4().hex))
        else:
            os.unlink(inner.path)
    os.rmdir(entry.path)


def reopen(folder):
    os.chmod(folder, 0o700)

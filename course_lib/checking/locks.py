"""Let one process at a time change the files of a folder: two kernels of one learner write the same progress."""

import contextlib
import os
import time

PATIENCE = 5.0  # seconds; a change takes milliseconds, so whoever holds the lock longer hangs


@contextlib.contextmanager
def alone_in(folder):
    """Hold the lock of a folder. The system frees it with the process, so it never goes stale.

    Without a lock where there is none to be had: the folder is missing or read-only, its drive knows no locks, or
    another process has kept it for PATIENCE seconds. A lesson goes on then all the same.
    """
    try:
        handle = open(folder / ".lock", "a")
    except OSError:
        handle = None
    try:
        if handle:
            _wait_for(handle)
        yield
    finally:
        if handle:
            handle.close()


def _wait_for(handle):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            return _take(handle)
        except (BlockingIOError, PermissionError):
            time.sleep(0.005)
        except OSError:  # a drive without locks
            return None


def _take(handle):
    """Take the lock. Raises BlockingIOError (POSIX) or PermissionError (Windows) where another process has it."""
    if os.name == "nt":
        import msvcrt

        handle.seek(0)
        msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

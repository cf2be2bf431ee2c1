"""The warm process: it has torch loaded and forks a process for each answer.

    python -m course_lib.grading.inside CONTROL_FD OWN_PROCESS_SPACE

On the control socket, the judge sends START with a file descriptor to start an answer, END to end it at once, and LOST
to end it where it seems to have ended itself. The reply to these two is JSON on how it ended: {"signal": 11} or
{"status": 0}. Nothing of an answer is left then; where that cannot be promised, "left" is in the reply.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
import time

from . import LOST, answering
from .leftovers import empty

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
PATIENCE = 0.5  # seconds between the end of a connection and that of its process


def main(control, alone):
    """Serve until the judge hangs up. alone: whether every other process here belongs to an answer."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what an answer leaves behind comes to this process
        libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # which no answer can trace, nor read or write its memory
    forget_the_course()
    control = socket.socket(fileno=control)
    control.send(b"r")
    child = None
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            break
        if descriptors:
            child = os.fork()
            if child == 0:
                control.close()
                answering.serve(descriptors[0])
            os.close(descriptors[0])
        else:
            control.send(json.dumps(end(child, alone, PATIENCE if message == LOST else 0.0)).encode())
            child = None
    end(child, alone)


def forget_the_course():
    """Leave no way to import another copy of the course than ours: without bubblewrap the installed one is in reach."""
    ours = os.path.dirname(sys.modules["course_lib"].__path__[0])
    sys.meta_path[:] = [one for one in sys.meta_path if not one.__module__.startswith("__editable__")]
    sys.path[:] = [path for path in sys.path if path == ours or not os.path.isdir(os.path.join(path, "course_lib"))]


def end(child, alone, patience=0.0):
    """Kill an answer's process and everything it started, empty the folder; how the process had ended before.

    patience: seconds to wait for its own end.
    """
    ended, until = reap(child, os.WNOHANG), time.monotonic() + patience
    while child and ended is None and time.monotonic() < until:
        time.sleep(0.005)
        ended = reap(child, os.WNOHANG)
    if alone:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
    elif child and ended is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
    if child and ended is None:
        reap(child, 0)
    while found := strays():  # the children of one that is killed come to us in turn
        for stray in found:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(stray, signal.SIGKILL)
                os.waitpid(stray, 0)
    return (ended or {}) | ({} if empty(".") else {"left": True})


def reap(child, options):
    """How a process ended, as {"signal": n} or {"status": n}; None while it runs or where there is none."""
    if not child:
        return None
    try:
        pid, status = os.waitpid(child, options)
    except ChildProcessError:
        return None
    if not pid:
        return None
    return {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"status": os.WEXITSTATUS(status)}


def strays():
    """Processes that an answer left behind."""
    path = f"/proc/self/task/{os.getpid()}/children"
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [int(pid) for pid in file.read().split()]


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "1")

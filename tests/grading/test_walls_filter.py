"""The system-call filter: what it refuses, and what every answer needs."""

import ctypes
import errno
import mmap
import os
import socket
import threading

import pytest

from course_lib.grading.inside import limits, seccomp

filtered = pytest.mark.skipif(not seccomp.available(), reason="no system-call filter for this machine")


@filtered
@pytest.mark.parametrize(
    "call, allowed",
    [
        (lambda libc: os.getpid(), True),
        (lambda libc: os.kill(os.getpid(), 0), True),
        (lambda libc: threading.Thread(target=int).start(), True),
        (lambda libc: open(os.devnull).close(), True),
        (lambda libc: mmap.mmap(-1, 4096).close(), True),
        (lambda libc: os.sched_setaffinity(0, os.sched_getaffinity(0)), True),
        (lambda libc: limits._limit(limits.resource.RLIMIT_CORE, 0), True),
        (lambda libc: os.fork(), False),
        (lambda libc: os.kill(os.getppid(), 0), False),
        (lambda libc: os.kill(-1, 0), False),
        (lambda libc: libc.sigqueue(os.getppid(), 0, None), False),
        (lambda libc: limits.resource.prlimit(os.getppid(), limits.resource.RLIMIT_CPU), False),
        (lambda libc: os.sched_setaffinity(os.getppid(), {0}), False),
        (lambda libc: os.setpriority(os.PRIO_PROCESS, 0, 19), False),
        (lambda libc: socket.socket(), False),
        (lambda libc: libc.ptrace(16, os.getppid(), 0, 0), False),
        (lambda libc: libc.unshare(0x10000000), False),
        (lambda libc: libc.semget(4244, 1, 0o1600), False),
        (lambda libc: libc.shmget(4244, 1, 0o1600), False),
        (lambda libc: libc.msgget(4244, 0o1600), False),
        (lambda libc: libc.prctl(1, 0, 0, 0, 0), False),
    ],
)
def test_the_filter(call, allowed):
    child = os.fork()
    if child == 0:
        status = 9
        try:
            os.setsid()
            seccomp.restrict()
            libc = ctypes.CDLL(None, use_errno=True)
            status = 1 if call(libc) == -1 and ctypes.get_errno() == errno.EPERM else 0
        except PermissionError:
            status = 1
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == (0 if allowed else 1)


@pytest.mark.parametrize("machine", list(seccomp.ARCHITECTURES))
def test_the_filter_of_each_machine_is_a_whole_program(machine):
    """Every jump lands in it, and its last step is a verdict."""
    program = seccomp.instructions(machine, 4321)
    for at, step in enumerate(program):
        code, if_true, if_false, _ = seccomp.struct.unpack("HBBI", step)
        if code & 7 == 5:
            assert at + 1 + max(if_true, if_false) < len(program)
    assert program[-1][:2] == seccomp.struct.pack("H", seccomp.RETURN)
    column = list(seccomp.ARCHITECTURES).index(machine)
    numbers = [pair[column] for pair in (*seccomp.REFUSED.values(), *seccomp.TO_ITSELF.values()) if pair[column]]
    assert len(set(numbers)) == len(numbers)

"""What stands between an answer and everything else, and that nothing of an answer is left."""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from course_lib import exercises
from course_lib.checking import PASSED
from course_lib.grading import judge as judging
from course_lib.grading import sandbox
from course_lib.grading.inside import leftovers, seccomp
from course_lib.grading.judge import judge
from course_lib.grading.records import Cell, Work
from course_lib.grading.sandbox import COURSE_FOLDER, Room, bubblewrap, bubblewrap_works, protections

walled = pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")
filtered = pytest.mark.skipif(not seccomp.available(), reason="no system-call filter for this machine")
RIGHT = "def padding_mask(ids, pad):\n    return (ids != pad)[:, None, :]"
INSIDE = COURSE_FOLDER / "course_lib/grading/inside"
NAMES = [exercise.name for exercise in exercises.by_lesson(5)]


@pytest.fixture(scope="module", params=[pytest.param(True, marks=walled), False], ids=["walled", "filter alone"])
def room(request):
    with Room(NAMES, bubblewrap=request.param) as room:
        yield room


@pytest.fixture(scope="module")
def walled_room():
    with Room(NAMES, bubblewrap=True) as room:
        yield room


def ask(room, source, then="done"):
    """The Outcome of an answer to padding_mask that runs this source and then raises what it says."""
    body = "\n".join(f"    {line}" for line in source.strip().split("\n"))
    head = "import ctypes, os, signal, sys\n\ndef padding_mask(ids, pad):"
    return outcome(room, f"{head}\n{body}\n    raise Exception({then})")


def outcome(room, source, own=()):
    cell = Cell(source, "cell 1", "padding_mask")
    work = Work("05", (*own, cell), {"padding_mask": (cell,)})
    return judge(exercises.get("padding_mask"), work, room, 5, {}, {}).outcome


def test_an_environment_that_is_reached_through_a_link_is_found(tmp_path, monkeypatch):
    """As where home folders are links to another disk, or where Python is started as `../env/bin/python`."""
    link = tmp_path / "env"
    link.symlink_to(Path(sys.executable).parent.parent)
    for python in (link / "bin" / Path(sys.executable).name, Path(os.path.relpath(sys.executable))):
        monkeypatch.setattr(sys, "executable", str(python))
        with Room(NAMES, bubblewrap=bubblewrap_works()) as room:
            assert is_right(room)


def is_right(room):
    return outcome(room, RIGHT).status == PASSED


def processes_of(room):
    """The warm process and all below it, the warm one first."""
    return [psutil.Process(room.process.pid), *psutil.Process(room.process.pid).children(recursive=True)]


def settled(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def system_v():
    """All segments, semaphores and queues of the system."""
    return [line for kind in ("shm", "sem", "msg") for line in Path("/proc/sysvipc", kind).read_text().splitlines()[1:]]


# What is left behind.


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_nothing_outlives_an_answer(room):
    assert is_right(room)
    before = len(processes_of(room)), threading.active_count(), set(os.listdir("/dev/shm")), system_v()
    for source in (
        "import threading, time\nfor _ in range(50): threading.Thread(target=time.sleep, args=(999,)).start()",
        "libc = ctypes.CDLL(None)\nlibc.shmget(4243, 4096, 950), libc.semget(4243, 1, 950), libc.msgget(4243, 950)",
        "os.setsid() if os.getpid() != os.getsid(0) else None\nos.fork()",
        "from multiprocessing import shared_memory\nshared_memory.SharedMemory('left-by-an-answer', True, 4096)",
        "open('note', 'w').write('for the next one')\nos.makedirs('a/b/c')\nos.chmod('a/b', 0)\nos.chmod('a', 0)",
    ):
        assert ask(room, source).status == "failed"
    said = ask(room, "", "str(os.listdir('.'))").message
    assert said.startswith("Exception: []")
    assert settled(lambda: len(processes_of(room)) == before[0])
    assert (threading.active_count(), system_v()) == (before[1], before[3])
    left = set(os.listdir("/dev/shm")) - before[2]
    for name in left:
        os.unlink(f"/dev/shm/{name}")
    assert not left or not room.bubblewrap  # without bubblewrap the system's folders can be written, as the report says


def test_a_closed_room_leaves_nothing():
    with Room(NAMES, bubblewrap=bubblewrap_works()) as room:
        assert is_right(room)
        ask(room, "for _ in range(2000):\n    os.mkdir('deep')\n    os.chdir('deep')")
        processes = processes_of(room)
    assert not room.folder.exists()
    assert settled(lambda: not any(process.is_running() for process in processes))


def test_folders_deeper_than_any_stack_are_emptied(tmp_path):
    here = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path)
    try:
        for _ in range(3000):
            os.mkdir("deep")
            os.chdir("deep")
    finally:
        os.fchdir(here)
        os.close(here)
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed" / "note").write_text("x")
    (tmp_path / "closed").chmod(0)
    (tmp_path / "outside").symlink_to(Path(__file__).parent)
    assert leftovers.empty(tmp_path)
    assert list(tmp_path.iterdir()) == [] and Path(__file__).exists()
    assert not leftovers.empty(tmp_path / "missing")


def test_a_room_starts_anew_after_its_process_was_killed(room, monkeypatch):
    monkeypatch.setattr(judging, "OPEN_SECONDS", 2.0)
    monkeypatch.setattr(sandbox, "END_SECONDS", 1.0)
    assert is_right(room)
    for how in (signal.SIGKILL, signal.SIGSTOP):
        warm = room.process.pid
        for process in reversed(processes_of(room)):
            process.send_signal(how)
        outcome(room, RIGHT)  # this one may be lost, the next one is not
        assert is_right(room)
        assert room.process.pid != warm


@walled
def test_one_answer_cannot_spoil_the_next(walled_room):
    warm = walled_room.process and walled_room.process.pid
    ask(walled_room, "import resource\nresource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))")
    ask(walled_room, "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))")
    ask(walled_room, "ctypes.CDLL(None).sigqueue(os.getppid(), 9, None)")
    ask(walled_room, "os.setxattr('.', 'user.note', b'x')\nos.chmod('.', 0o500)")
    said = ask(walled_room, "open('a', 'w').close()", "str([os.listdir('.'), os.listxattr('.')])").message
    assert said.startswith("Exception: [['a'], []]")
    assert is_right(walled_room)
    assert warm is None or walled_room.process.pid == warm


# What an answer may do.


@pytest.mark.parametrize(
    "source",
    [
        "os.fork()",
        "os.kill(os.getppid(), 0)",
        "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
        "ctypes.CDLL(None).sigqueue(os.getppid(), 0, None) == 0 or os.kill(1, 0)",
        "import socket\nsocket.socket()",
        "import socket\nsocket.socketpair()",
        "import subprocess\nsubprocess.run(['true'])",
        "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        "import fcntl\nfcntl.fcntl(0, fcntl.F_SETOWN, os.getppid())",
    ],
)
@filtered
def test_refused_with_and_without_bubblewrap(room, source):
    assert "Operation not permitted" in ask(room, source).message


@walled
def test_files_are_not_there(walled_room, tmp_path):
    (tmp_path / "secret.txt").write_text("a secret")
    for path in (tmp_path / "secret.txt", COURSE_FOLDER / "solutions", COURSE_FOLDER / "course_lib"):
        assert ask(walled_room, "", f"str(os.path.exists({str(path)!r}))").message.startswith("Exception: False"), path
    assert "PermissionError" in ask(walled_room, "open('/proc/1/mem', 'r+b')").message
    assert ask(walled_room, "", "str(os.environ)").message.count("COURSE_HOME") == 0


@walled
def test_a_course_among_system_files_is_hidden(monkeypatch, tmp_path):
    """As in an image that has the repository in /usr/src, or the package among Python's own."""
    monkeypatch.setattr(sandbox, "COURSE_FOLDER", Path("/usr/src/course"))
    command = bubblewrap(tmp_path)
    at = command.index("/usr/src/course")
    assert command[at - 1] == "--tmpfs" and command.index("/usr") < at
    (folder := tmp_path / "prefix" / "lib" / "course" / "solutions").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(sandbox, "COURSE_FOLDER", folder.parent)
    assert str(folder) in bubblewrap(tmp_path)


def test_protections_say_what_is_on():
    with_it, without = protections(True), protections(False)
    assert any(one.startswith("bubblewrap:") for one in with_it)
    assert not any("NOT on: bubblewrap" in one for one in with_it)
    assert any(one.startswith("NOT on: bubblewrap") for one in without)
    assert seccomp.available() == any("filter kept it" in one for one in with_it)


def test_protections_say_that_there_is_no_filter(monkeypatch):
    monkeypatch.setattr(seccomp, "available", lambda: False)
    assert any("NOT on: the system-call filter" in one for one in protections(True))


def test_a_malformed_exception_becomes_texts():
    raised = judging._as_texts(judging.Raised([1], None, {"a": 2}))
    assert (raised.kind, raised.text, raised.raised_in) == ("Exception", "", "")
    assert len(judging._as_texts(judging.Raised("A", "x" * 10**6, "")).text) == judging.LONGEST_TEXT


def test_a_line_refuses_what_is_announced_too_large():
    here, there = socket.socketpair()
    with here, there, pytest.raises(judging.WorkerDied, match="more than a check can take"):
        judging.Line(here).read(2**60)


def test_gradients_cannot_be_asked_on_a_line_that_was_lost():
    here, there = socket.socketpair()
    with here:
        there.close()
        peer = judging.JudgePeer(here)
        for _ in range(2):
            with pytest.raises(judging.WorkerDied):
                peer.ask("vjp", [])
            assert peer.lost

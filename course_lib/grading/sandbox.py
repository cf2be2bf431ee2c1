"""The wall around a learner's code: a warm process behind bubblewrap where it is, and a process for each answer.

A `Room` is for one lesson: it holds the library copy of that lesson and the warm process. Its
`process_for_an_answer` gives a connection to a fresh process; leaving it ends whatever the answer started.
"""

import contextlib
import ctypes
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from .inside import END, LOST, START, seccomp
from .inside.leftovers import empty
from .library import make_library

PR_SET_DUMPABLE = 4
START_SECONDS, END_SECONDS = 60.0, 10.0
DISK = 64 << 20  # bytes that an answer may write in its folder, behind bubblewrap
INSIDE, COURSE = "/answer", "/course"
COURSE_FOLDER = Path(__file__).resolve().parents[2]
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
)
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "agg",
}  # fmt: skip


class SandboxError(RuntimeError):
    """No answer can be run here; the text says why."""


class Room:
    """The place where the answers of one notebook run.

    exercises: names whose twins its library lacks. bubblewrap: whether to use it (None: if it works here). within: the
    folder for its own temporary folder, the system's if None.
    """

    def __init__(self, exercises, bubblewrap=None, within=None):
        self.bubblewrap = bubblewrap_works() if bubblewrap is None else bubblewrap
        self.folder = Path(tempfile.mkdtemp(prefix="course-room-", dir=within))
        make_library(self.folder, exercises)
        self.process = self.control = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """End the warm process and all that runs in it, and remove the library copy."""
        self._stop()
        if empty(self.folder):
            self.folder.rmdir()

    @contextlib.contextmanager
    def process_for_an_answer(self):
        """Yield (socket to a fresh process, a function that ends it and tells how it had ended)."""
        here, there = socket.socketpair()
        ended = []

        def end(how=LOST):
            if not ended:
                ended.append(self._end(how))
            return ended[0]

        with here:
            with there:
                self._start_answer(there)
            try:
                yield here, end
            finally:
                end(END)

    def _start_answer(self, connection):
        for _ in range(2):  # an answer before this one may have killed the warm process
            if self.process is None or self.process.poll() is not None:
                self._start()
            try:
                socket.send_fds(self.control, [START], [connection.fileno()])
                return
            except OSError:
                self._stop()
        raise SandboxError("the process that runs answers ends as soon as it starts")

    def _end(self, how):
        """{"signal": n}, {"status": n}, or {} where it was still running; {"lost": True} where nobody can tell."""
        try:
            self.control.settimeout(END_SECONDS)
            self.control.send(how)
            ended = dict(json.loads(self.control.recv(1000)))
        except (OSError, ValueError, TypeError):  # the warm process was killed, stopped, or is busy cleaning up
            ended = {"lost": True}
        if "lost" in ended or ended.pop("left", False):
            self._stop()  # a new one will start
        return ended

    def _start(self):
        self._stop()
        if not self.bubblewrap and sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # our memory is no file that an answer can open
        self.control, theirs = socket.socketpair()
        work = Path(tempfile.mkdtemp(prefix="work-", dir=self.folder))
        # Behind bubblewrap the environment stands at its real place; its python, a link itself, is not followed.
        python = os.path.join(os.path.realpath(os.path.dirname(sys.executable)), os.path.basename(sys.executable))
        inside = [python, "-s", "-P", "-m", "course_lib.grading.inside", str(theirs.fileno())]
        if self.bubblewrap:
            command = [*bubblewrap(self.folder / "course_lib"), *inside, "1"]
        else:
            command = [*inside, "0"]
        home = INSIDE if self.bubblewrap else str(work)
        library = COURSE if self.bubblewrap else str(self.folder)
        environment = {**ENVIRONMENT, "HOME": home, "TMPDIR": home, "PYTHONPATH": library}
        with theirs:
            self.process = subprocess.Popen(
                command, env=environment, cwd=work, pass_fds=(theirs.fileno(),), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
        self.control.settimeout(START_SECONDS)
        try:
            ready = self.control.recv(1)
        except OSError:
            ready = b""
        if not ready:
            self.process.kill()
            said = self.process.communicate()[1].decode(errors="replace").strip().splitlines()
            self._stop()
            raise SandboxError(f"the process that runs answers does not start: {said[-1] if said else 'no reason'}")

    def _stop(self):
        if self.control is not None:
            self.control.close()
            self.control = None
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process.stderr.close()
            self.process = None


def bubblewrap(library):
    """The command that runs another one without network, among read-only files, in a process space of its own.

    Only the system, this Python and the library copy are there; the one folder that can be written is empty. The
    command is process 1: the kernel keeps it from signals from within, and bubblewrap's own process 1, whose memory an
    answer could write, is not needed.
    """
    command = ["bwrap", "--unshare-all", "--unshare-user", "--uid", "65534", "--gid", "65534", "--die-with-parent"]
    command += ["--as-pid-1", "--cap-drop", "ALL", "--hostname", "answer"]
    for path in SYSTEM:
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    if Path("/usr") in COURSE_FOLDER.parents:  # images like to put things there: no solutions, no submissions
        command += ["--tmpfs", str(COURSE_FOLDER)]
    for path in dict.fromkeys(map(os.path.realpath, (sys.base_prefix, sys.prefix))):
        command += ["--ro-bind", path, path]
    for path in installed_course():
        command += ["--tmpfs", path]
    command += ["--ro-bind", str(library), f"{COURSE}/course_lib", "--proc", "/proc", "--dev", "/dev"]
    command += ["--dir", "/tmp", "--size", str(DISK), "--tmpfs", INSIDE]
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", INSIDE]


def installed_course():
    """Folders of the course that lie beside the Python packages that a worker reads."""
    if not any(Path(prefix).resolve() in COURSE_FOLDER.parents for prefix in (sys.prefix, sys.base_prefix)):
        return []
    own = (COURSE_FOLDER / name for name in ("course_lib", "solutions", "notebooks", "tests", ".git"))
    return [str(path) for path in own if path.is_dir()]


@functools.cache
def bubblewrap_works():
    """Whether bubblewrap is here and may do its work (containers often forbid it)."""
    if sys.platform != "linux" or not shutil.which("bwrap"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*bubblewrap(folder), "true"], capture_output=True, timeout=30)
    return done.returncode == 0


def protections(bubblewrap):
    """What stands between an answer and this machine, in sentences for the report."""
    said = ["Each answer ran in a process of its own, with limits on time, memory, open files and file size."]
    if seccomp.available():
        said.append("A system-call filter kept it from starting processes, sending signals and opening connections.")
    else:
        said.append(
            "NOT on: the system-call filter against processes, signals and connections (Linux on x86-64 or ARM)."
        )
    if bubblewrap:
        said.append(
            "bubblewrap: no network, its own process space, read-only system files; neither the exercises nor "
            "anybody's submission nor this machine's other files were there to be read."
        )
    else:
        said.append(
            "NOT on: bubblewrap. An answer could read the files that you can read, the course's solutions among them, "
            "and write where you can write; as root it could reach the grader's memory."
        )
    return said

"""Set up the course in .venv when that is needed, then run it there: `python3 course.py lab`.

Needs the standard library alone, and parses on old Pythons, so that they can say what they lack.
`--cpu-torch`, in any place, takes torch's small CPU build when torch is first installed.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.realpath(__file__))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "course.json")  # what was installed; written last, so a set-up without it was cut off
EXTRAS = dict.fromkeys(("build", "test", "bench", "matrix", "experiment"), "dev")
EXTRAS.update(dict.fromkeys(("release", "grade", "nbgrader"), "instructor"))
LEAST_GB = 2  # what the smallest set-up takes
COURSE = "import course_lib; print(course_lib.__path__[0])"
# pip lists the files of a package last: one without a list was cut off half-way.
SOUND = "import sys, pip, importlib.metadata as m; sys.exit(any(d.files is None for d in m.distributions()))"


class SetupError(Exception):
    """The set-up cannot go on; the message is one line for the reader."""


def main(arguments):
    cpu_torch = "--cpu-torch" in arguments
    arguments = [argument for argument in arguments if argument != "--cpu-torch"]
    try:
        if sys.version_info < (3, 11):  # noqa: UP036 (this file runs before any version is known)
            raise SetupError("the course needs Python 3.11 or newer; this is {}.{}".format(*sys.version_info))
        extras = {EXTRAS[argument] for argument in arguments[:1] if argument in EXTRAS}
        if needs_setup(extras):
            with open(os.path.join(ROOT, ".venv.lock"), "w") as handle:
                wait_for_lock(handle)
                if needs_setup(extras):  # another course.py may have done it meanwhile
                    set_up(extras, cpu_torch)
        return run(arguments)
    except KeyboardInterrupt:
        return complain("interrupted; the next start goes on from here", 130)
    except SetupError as error:
        return complain(error, 1)
    except OSError as error:
        return complain(reason(str(error)) or error, 1)


def needs_setup(extras):
    """Whether .venv is missing, broken or moved, lacks an extra, or is older than the two files of versions."""
    stamp = read_stamp()
    current = stamp["versions"] == versions() and extras <= set(stamp["extras"])
    return not current or ask_python(COURSE) != os.path.join(ROOT, "course_lib")


def set_up(extras, cpu_torch):
    """Make .venv, or bring a sound one up to date: nothing that works is thrown away, nothing is uninstalled."""
    stamp = read_stamp()
    extras = sorted(extras.union(stamp["extras"]))
    if not stamp["versions"]:
        say_how_much(cpu_torch)
    if stamp["place"] != ROOT or ask_python(SOUND) is None:  # moved: its programs look for Python in the old place
        make_venv()
    print("course: installing into .venv", flush=True)
    target = "." + ("[" + ",".join(extras) + "]" if extras else "")
    command = [PYTHON, "-m", "pip", "install", "-c", "constraints.txt", "-e", target]
    command += ["--extra-index-url", cpu_index()] if cpu_torch else []
    pip = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    try:
        errors = pip.communicate()[1].decode(errors="replace")
    except KeyboardInterrupt:
        pip.wait()  # it was interrupted too, and tidies up
        raise
    if pip.returncode:
        if not reason(errors):
            sys.stderr.write("".join(errors.splitlines(True)[-20:]))
        raise SetupError(reason(errors) or f"pip ended with status {pip.returncode}, see above")
    with open(STAMP + ".new", "w", encoding="utf-8") as handle:
        json.dump({"place": ROOT, "versions": versions(), "extras": extras}, handle)
    os.replace(STAMP + ".new", STAMP)


def say_how_much(cpu_torch):
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < LEAST_GB:
        raise SetupError(f"no space left on the disk: {free:.1f} GB are free in {ROOT}, {LEAST_GB} GB are needed")
    if sys.platform.startswith("linux") and not cpu_torch:
        print("course: first set-up. torch's default build for Linux: up to 3 GB to download, 7 GB on the disk.")
        print("course: no NVIDIA GPU? Press Ctrl-C and add --cpu-torch: 0.4 GB to download, 2 GB on the disk.")
    else:
        print("course: first set-up: 0.4 GB to download, 2 GB on the disk.")


def make_venv():
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        raise SetupError("this Python lacks venv or ensurepip; on Debian and Ubuntu: sudo apt install python3-venv")
    print("course: making .venv", flush=True)
    base = getattr(sys, "_base_executable", sys.executable)  # not a Python inside the .venv that is cleared
    done = subprocess.run([base, "-m", "venv", "--clear", VENV], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        text = " ".join(done.stdout.decode(errors="replace").split())
        raise SetupError(reason(text) or f"no .venv could be made: {text}")


def reason(text):
    """One line for the troubles that learners meet; None for the rest."""
    for pattern, line in (
        (
            r"No space left|Errno 28\b|WinError 112|quota exceeded",
            f"no space left on the disk, in {ROOT} or in the folder for temporary files",
        ),
        (
            r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
            "a download is not trusted, as behind some companies' proxies: set PIP_CERT to their certificate",
        ),
        (
            r"connection broken|NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout",
            "no network: the packages cannot be downloaded; connect and start again",
        ),
        (r"Errno (13|30)\b|WinError 5\b|Permission denied|Read-only file system", f"no permission to write in {ROOT}"),
    ):
        if re.search(pattern, text, re.I):
            return line
    return None


def wait_for_lock(handle):
    """Hold the lock file until it is closed. The system frees it with the process, so it never goes stale."""
    for attempt in range(10**9):
        try:
            if os.name == "nt":
                import msvcrt

                return msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
            import fcntl

            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            if attempt == 0:
                print("course: another course.py is setting up .venv; waiting for it", flush=True)
            time.sleep(0.5)


def read_stamp():
    try:
        with open(STAMP, encoding="utf-8") as handle:
            stamp = json.load(handle)
        return {"place": stamp["place"], "versions": stamp["versions"], "extras": list(stamp["extras"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"place": ROOT, "versions": None, "extras": []}


def versions():
    """A hash of the two files that say what belongs into .venv."""
    digest = hashlib.sha256()
    for name in ("pyproject.toml", "constraints.txt"):
        with open(os.path.join(ROOT, name), "rb") as handle:
            digest.update(handle.read() + b"\0")
    return digest.hexdigest()


def ask_python(code):
    """What .venv's Python prints for a line of code; None where there is none or it fails."""
    try:
        command = [PYTHON, "-X", "utf8", "-P", "-c", code]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.decode("utf-8").strip() if done.returncode == 0 else None


def cpu_index():
    """The address of torch's CPU builds, which Binder takes too."""
    with open(os.path.join(ROOT, "binder", "requirements.txt")) as handle:
        return re.search(r"^--extra-index-url\s+(\S+)", handle.read(), re.M).group(1)


def run(arguments):
    """Run the course in .venv and return its exit status."""
    process = subprocess.Popen([PYTHON, "-P", "-m", "course_lib"] + arguments)
    signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    while True:
        try:
            code = process.wait()
            return code if code >= 0 else 128 - code
        except KeyboardInterrupt:  # the course got it too and decides: JupyterLab asks
            pass


def complain(message, status):
    sys.stderr.write(f"course: {message}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

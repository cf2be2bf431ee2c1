"""course.py with a stub of pip: when it installs, when it does not, and what it says when it cannot.

The environments are real but empty. `venv` and `pip` are stubs on PYTHONPATH, so nothing is downloaded.
"""

import ast
import errno
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BOOTSTRAP = ROOT / "course.py"
posix = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

VENV = """
import os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path = [entry for entry in sys.path if os.path.abspath(entry) != here]
del sys.modules["__main__"]
import venv
venv.EnvBuilder(clear="--clear" in sys.argv, symlinks=os.name != "nt").create(sys.argv[-1])
"""
PIP = """
import json, os, sys, sysconfig, time
if __name__ == "__main__":
    with open(os.environ["PIP_CALLS"], "a", encoding="utf-8") as log:
        log.write(json.dumps(sys.argv[1:]) + chr(10))
    print("pip at work", flush=True)
    time.sleep(float(os.environ.get("PIP_TAKES", 0)))
    if os.environ.get("PIP_SAYS"):
        sys.exit(os.environ["PIP_SAYS"])
    with open(os.path.join(sysconfig.get_path("purelib"), "course.pth"), "w", encoding="utf-8") as pth:
        pth.write(os.getcwd())
"""
COURSE = "import sys; print('ran', *sys.argv[1:]); sys.exit(7)"


class Clone:
    """A small copy of the repository, with stubs of venv and pip."""

    def __init__(self, folder):
        self.root = folder / "강의 copy"
        for name, text in {
            "pyproject.toml": "[project]\n",
            "constraints.txt": "torch==2.13.0\n",
            "binder/requirements.txt": "# CPU\n--extra-index-url https://index.invalid/cpu\ntorch\n",
            "course_lib/__init__.py": "",
            "course_lib/__main__.py": COURSE,
        }.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        shutil.copy(BOOTSTRAP, self.root)
        self.stubs = folder / "stubs"
        self.stubs.mkdir()
        (self.stubs / "venv.py").write_text(VENV)
        (self.stubs / "pip.py").write_text(PIP)
        self.log = folder / "calls"
        self.venv = self.root / ".venv"
        self.elsewhere = folder

    def start(self, *arguments, **environment):
        return subprocess.Popen(
            [sys.executable, self.root / "course.py", *arguments],
            cwd=self.elsewhere,
            env={**os.environ, "PYTHONPATH": str(self.stubs), "PIP_CALLS": str(self.log), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )

    def run(self, *arguments, **environment):
        """(exit status, stdout, stderr)"""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err

    def pip_calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def site_packages(self):
        return next(self.venv.rglob("site-packages"))


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


@pytest.fixture
def ready(clone):
    """A clone that has been set up once; it holds a file that a rebuild would remove."""
    assert clone.run("lab")[0] == 7
    (clone.venv / "mine").touch()
    clone.log.unlink()
    return clone


def bootstrap(root):
    """course.py of a clone as a module."""
    spec = importlib.util.spec_from_file_location("bootstrap", root / "course.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- when it installs


def test_fresh_clone_is_set_up_and_run(clone):
    status, out, err = clone.run("lab", "--no-browser")
    assert (status, err) == (7, "")
    assert clone.pip_calls() == [["install", "-c", "constraints.txt", "-e", "."]]
    assert "to download" in out and out.index("to download") < out.index("pip at work")
    assert out.splitlines()[-1] == "ran lab --no-browser"


def test_unchanged_needs_no_pip(ready):
    assert ready.run("lab") == (7, "ran lab\n", "")
    assert ready.pip_calls() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_brings_the_same_environment_up_to_date(ready, name):
    with open(ready.root / name, "a") as handle:
        handle.write("# newer\n")
    status, out, _ = ready.run("lab")
    assert status == 7 and len(ready.pip_calls()) == 1
    assert "to download" not in out
    assert (ready.venv / "mine").exists()
    assert ready.run("lab")[0] == 7 and len(ready.pip_calls()) == 1


@pytest.mark.parametrize("command", ["build", "test", "bench", "matrix", "experiment"])
def test_commands_of_authors_bring_dev(ready, command):
    ready.run(command)
    assert ready.pip_calls() == [["install", "-c", "constraints.txt", "-e", ".[dev]"]]
    assert (ready.venv / "mine").exists()


def test_extras_add_up(ready):
    ready.run("test")
    ready.run("grade")
    ready.run("lab")
    assert [call[-1] for call in ready.pip_calls()] == [".[dev]", ".[dev,instructor]"]


def test_cpu_build_comes_from_the_address_that_binder_uses(clone):
    status, out, _ = clone.run("lab", "--cpu-torch")
    assert clone.pip_calls()[0][-2:] == ["--extra-index-url", "https://index.invalid/cpu"]
    assert status == 7 and out.endswith("ran lab\n")
    assert "7 GB" not in out


def test_an_environment_without_a_stamp_is_kept_when_it_works(ready):
    (ready.venv / "course.json").unlink()
    assert ready.run("lab")[0] == 7
    assert len(ready.pip_calls()) == 1 and (ready.venv / "mine").exists()


# --- what it mends


def remove_python(clone):
    for path in [*(clone.venv / "bin").glob("python*"), *(clone.venv / "Scripts").glob("python*")]:
        path.unlink()


def other_version(clone):
    """As after an upgrade of the system's Python: it no longer looks where the packages are."""
    folder = clone.site_packages()
    shutil.move(folder, folder.parent / "of-another-version")
    (clone.stubs / "pip.py").rename(clone.stubs / "hidden.py")
    stub = clone.stubs / "venv.py"
    stub.write_text(stub.read_text() + "\nos.rename(here + '/hidden.py', here + '/pip.py')\n")


def half_a_package(clone):
    folder = clone.site_packages() / "torch-2.13.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    (clone.venv / "course.json").unlink()


def move(clone):
    clone.root = clone.root.rename(clone.root.with_name("moved"))
    clone.venv = clone.root / ".venv"


@pytest.mark.parametrize("damage", [remove_python, other_version, half_a_package, move])
def test_a_broken_environment_is_made_again(ready, damage):
    damage(ready)
    status, out, err = ready.run("lab")
    assert (status, err) == (7, "") and out.endswith("ran lab\n")
    assert len(ready.pip_calls()) == 1
    assert not (ready.venv / "mine").exists()
    assert ready.run("lab") == (7, "ran lab\n", "")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"place": 1}', '{"place": "x", "versions": "y", "extras": null}'])
def test_a_stamp_that_cannot_be_read_counts_as_none(ready, text):
    (ready.venv / "course.json").write_text(text)
    assert ready.run("lab")[0] == 7
    assert len(ready.pip_calls()) == 1


@posix
def test_interrupted_set_up_goes_on_next_time(clone):
    process = clone.start("lab", PIP_TAKES="30")
    while not clone.pip_calls():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines() == ["course: interrupted; the next start goes on from here"]
    status, out, _ = clone.run("lab")
    assert status == 7 and len(clone.pip_calls()) == 2
    assert "to download" in out


def test_two_at_once_install_once(clone):
    first = clone.start("lab", PIP_TAKES="2")
    while not clone.pip_calls():
        time.sleep(0.05)
    status, out, err = clone.run("lab")
    assert (status, err) == (7, "")
    assert out.splitlines() == ["course: another course.py is setting up .venv; waiting for it", "ran lab"]
    first.communicate(timeout=20)
    assert first.returncode == 7 and len(clone.pip_calls()) == 1


@posix
def test_a_lock_of_a_killed_process_is_free(clone):
    process = clone.start("lab", PIP_TAKES="30")
    while not clone.pip_calls():
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    assert (clone.root / ".venv.lock").exists()
    assert clone.run("lab")[0] == 7


@posix
def test_terminating_it_terminates_the_course(ready):
    (ready.root / "course_lib/__main__.py").write_text("import time; print('up', flush=True); time.sleep(60)")
    process = ready.start("lab")
    assert process.stdout.readline() == "up\n"
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM


# --- what it says when it cannot

RETRY = (
    "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/\nERROR: No matching distribution"
)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (RETRY, "no network: the packages cannot be downloaded; connect and start again"),
        ("OSError: [Errno 28] No space left on device", "no space left on the disk, in {root} or in the folder for"),
        ("OSError: [Errno 13] Permission denied: 'x'", "no permission to write in {root}"),
    ],
)
def test_one_line_for_what_pip_ran_into(clone, said, line):
    status, _, err = clone.run("lab", PIP_SAYS=said)
    assert status == 1
    assert len(err.splitlines()) == 1 and err.startswith("course: " + line.format(root=clone.root))
    assert clone.run("lab")[0] == 7


def test_other_errors_of_pip_are_shown(clone):
    status, _, err = clone.run("lab", PIP_SAYS="ERROR: ResolutionImpossible")
    assert status == 1
    assert err.splitlines() == ["ERROR: ResolutionImpossible", "course: pip ended with status 1, see above"]


def test_a_failed_update_keeps_the_environment(ready):
    (ready.root / "constraints.txt").write_text("torch==9\n")
    assert ready.run("lab", PIP_SAYS=RETRY)[0] == 1
    assert (ready.venv / "mine").exists()
    (ready.root / "constraints.txt").write_text("torch==2.13.0\n")
    ready.log.unlink()
    assert ready.run("lab")[0] == 7 and ready.pip_calls() == []


def test_too_old_a_python(clone, monkeypatch, capsys):
    module = bootstrap(clone.root)
    monkeypatch.setattr(module.sys, "version_info", (3, 8, 1))
    assert module.main(["lab"]) == 1
    assert capsys.readouterr().err == "course: the course needs Python 3.11 or newer; this is 3.8\n"


def test_no_space(clone, monkeypatch, capsys):
    module = bootstrap(clone.root)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: namedtuple("Usage", "free")(3e8))
    assert module.main(["lab"]) == 1
    assert capsys.readouterr().err.startswith("course: no space left on the disk: 0.3 GB are free in ")
    assert not clone.venv.exists()


@pytest.mark.parametrize("missing", ["venv", "ensurepip"])
def test_no_venv_module(clone, monkeypatch, capsys, missing):
    module = bootstrap(clone.root)
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None if name == missing else name)
    assert module.main(["lab"]) == 1
    assert "python3-venv" in capsys.readouterr().err
    assert not clone.venv.exists()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_folder_that_cannot_be_written(clone, monkeypatch, capsys, number):
    module = bootstrap(clone.root)

    def refuse(handle):
        raise OSError(number, os.strerror(number), "x")

    monkeypatch.setattr(module, "wait_for_lock", refuse)
    assert module.main(["lab"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert ("no space left" if number == errno.ENOSPC else "no permission to write in") in said


# --- the file itself, and the address it reads


def test_it_parses_on_old_pythons_and_needs_the_standard_library_alone():
    tree = ast.parse(BOOTSTRAP.read_text(encoding="utf-8"), feature_version=(3, 6))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.ImportFrom, ast.NamedExpr))]
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names


def test_binder_takes_the_cpu_build_and_our_pins():
    lines = (ROOT / "binder" / "requirements.txt").read_text().splitlines()
    assert "-c ../constraints.txt" in lines and "torch" in lines
    assert bootstrap(ROOT).cpu_index() in "\n".join(lines)
    assert (ROOT / "binder" / "runtime.txt").read_text() == "python-3.11\n"
    assert os.name == "nt" or os.access(ROOT / "binder" / "postBuild", os.X_OK)

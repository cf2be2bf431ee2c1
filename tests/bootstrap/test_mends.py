"""course.py: broken environments are made again, and what was interrupted, or done twice at once, ends well."""

import os
import shutil
import signal
import time

import pytest

from .stub_clones import posix


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

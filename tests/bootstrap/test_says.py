"""course.py: what it says when it cannot go on, in one line."""

import errno
import os
from collections import namedtuple

import pytest

from .stub_clones import bootstrap

RETRY = (
    "WARNING: Retrying after connection broken by 'NewConnectionError(...)': /simple/\nERROR: No matching distribution"
)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (RETRY, "no network: the packages cannot be downloaded; connect and start again"),
        (
            "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: "
            "CERTIFICATE_VERIFY_FAILED] certificate verify failed'))': /simple/",
            "a download is not trusted, as behind some companies' proxies: set PIP_CERT to their certificate",
        ),
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

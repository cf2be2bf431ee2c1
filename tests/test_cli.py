"""The `course` command: what it passes on, what it says about unknown names, and how `course test` counts."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from course_lib import bench, cli, doctor, lab, testing
from course_lib.authoring import build, catalogue, checker, reset

COMMANDS = ("lab", "check", "build", "reset", "matrix", "experiment", "bench", "doctor", "test")


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
    ],
)
def test_unknown_names_end_with_status_2_and_the_nearest(arguments, said):
    status, text = course(*arguments)
    assert status == 2
    assert said in text and len(text.splitlines()) == 1


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


@pytest.mark.parametrize("uid", [0, 1000])
def test_lab_opens_lesson_0_and_passes_the_rest_on(monkeypatch, uid):
    from jupyterlab.labapp import LabApp

    calls = record(monkeypatch, LabApp, "launch_instance")
    monkeypatch.setattr(lab.os, "geteuid", lambda: uid, raising=False)
    assert course("lab", "--no-browser", "--port", "9000", "--ServerApp.quit_button=False")[0] == 0
    [((options,), _)] = calls
    assert f"--ServerApp.root_dir={catalogue.repo_root()}" in options
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in options
    assert ("--allow-root" in options) == (uid == 0)
    assert options[-3:] == ["--port", "9000", "--ServerApp.quit_button=False"]
    assert lab.os.environ["COURSE_HOME"] == str(catalogue.repo_root())


def test_lab_says_so_where_lesson_0_is_not_built(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(lab, "lesson", lambda key: SimpleNamespace(notebook=tmp_path / "00_start_here.ipynb"))
    assert lab.open_lab([]) == 1
    assert "course build" in capsys.readouterr().err


# --- bench


@pytest.fixture
def benchmarks(tmp_path):
    (tmp_path / "speed.py").write_text("'''How fast.'''\ndef main():\n    return [{'what': 'a', 'ratio': 1.23456}]\n")
    (tmp_path / "_shared.py").write_text("")
    return bench.found(tmp_path)


def test_bench_finds_its_files(benchmarks):
    assert list(benchmarks) == ["speed"]


def test_bench_prints_a_table_or_json(benchmarks, capsys):
    assert bench.main(benchmarks.values()) == 0
    table = capsys.readouterr().out
    assert "How fast." in table and "1.23 " in table and "torch" in table
    assert bench.main(benchmarks.values(), as_json=True) == 0
    [one] = json.loads(capsys.readouterr().out)["benchmarks"]
    assert one == {"name": "speed", "title": "How fast.", "rows": [{"what": "a", "ratio": 1.23456}]}


def test_bench_without_files_is_no_success(capsys):
    assert bench.main([]) == 1


# --- doctor


def test_doctor_has_one_line_for_each_topic(capsys):
    doctor.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line[4:].split(":")[0] for line in lines] == [
        "Python", "packages", "device", "memory", "disk", "Korean font", "Chromium",
    ]  # fmt: skip


def test_doctor_compares_with_the_pins(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=2", "torch"]\n')
    (tmp_path / "constraints.txt").write_text("numpy==2.4.6\ntorch==2.13.0\nruff==1.0\nold==1 ; python_version < '3'\n")
    here = {"numpy": "2.4.6", "torch": "2.13.0"}
    monkeypatch.setattr(doctor, "installed", here.get)
    assert doctor.packages(tmp_path) == (
        "packages",
        "2 of 3 pinned packages are here, all in their pinned version",
        "",
        True,
    )
    here["numpy"] = "2.0.0"
    found = doctor.packages(tmp_path)
    assert "numpy is 2.0.0, not 2.4.6" in found.text and found.advice and not found.needed
    del here["torch"]
    found = doctor.packages(tmp_path)
    assert "torch is missing" in found.text and found.advice and found.needed


def test_doctor_ignores_local_build_tags(monkeypatch):
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "2.13.0+cpu")
    assert doctor.installed("torch") == "2.13.0"


def test_doctor_fails_only_where_a_lesson_would(monkeypatch, capsys):
    for name in ("python", "packages", "device", "memory", "disk", "korean_font", "browser"):
        monkeypatch.setattr(doctor, name, lambda: doctor.Finding("topic", "fine"))
    assert doctor.main() == 0
    monkeypatch.setattr(doctor, "browser", lambda: doctor.Finding("topic", "none", "get one", needed=False))
    assert doctor.main() == 0
    monkeypatch.setattr(doctor, "disk", lambda: doctor.Finding("topic", "full", "free some"))
    assert doctor.main() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "-   topic: none. get one"


def test_doctor_reports_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "tpu")
    assert "COURSE_DEVICE" in doctor.device().advice


# --- test


@pytest.mark.parametrize(
    ("output", "closing"),
    [
        ("...\n===== 3 passed, 1 skipped in 0.12s =====\n", "3 passed, 1 skipped in 0.12s"),
        ("\x1b[32m=== \x1b[1m3 passed\x1b[0m in 65.2s (0:01:05)\x1b[0m ===\x1b[0m\n", "3 passed in 65.2s (0:01:05)"),
        ("=== short test summary ===\nFAILED a\n=== 1 failed in 2.00s ===\n\n", "1 failed in 2.00s"),
        ("=== no tests ran in 0.01s ===\n", "no tests ran in 0.01s"),
        ("INTERNALERROR\n", ""),
    ],
)  # fmt: skip
def test_the_closing_line_of_pytest(output, closing):
    assert testing.closing_line(output) == closing


@pytest.mark.parametrize(
    ("code", "closing", "verdict"),
    [
        (0, "3 passed in 1s", "passed"),
        (0, "1 xfailed in 1s", "passed"),
        (0, "5 skipped in 1s", "no tests"),
        (0, "", "no tests"),
        (5, "no tests ran in 0.01s", "no tests"),
        (1, "1 failed, 3 passed in 1s", "failed"),
        (2, "1 error in 1s", "failed"),
        (-9, "3 passed in 1s", "failed"),
    ],
)
def test_a_run_without_tests_is_no_pass(code, closing, verdict):
    assert testing.verdict(code, closing) == verdict


def test_a_failed_run_does_not_stop_the_next(monkeypatch, tmp_path, capfd):
    (tmp_path / "test_bad.py").write_text("def test_it():\n    assert False\n")
    (tmp_path / "test_good.py").write_text("import os\ndef test_it():\n    assert os.environ['COURSE_SMOKE'] == '1'\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    plain = ("-p", "no:cacheprovider", "-p", "no:xdist")
    monkeypatch.setattr(testing, "repo_root", lambda: tmp_path)
    bad = testing.Run("bad", ("test_bad.py", *plain))
    good = testing.Run("good", ("test_good.py", *plain), {"COURSE_SMOKE": "1"})
    monkeypatch.setattr(testing, "runs", lambda fast: [bad, good])
    assert testing.main() == 1
    out = capfd.readouterr().out.splitlines()
    assert out[-3] == "##### summary"
    assert out[-2].startswith("bad") and " failed " in out[-2] and "1 failed in" in out[-2]
    assert out[-1].startswith("good") and " passed " in out[-1] and "1 passed in" in out[-1]


def test_a_run_has_a_course_folder_of_its_own(monkeypatch, tmp_path):
    (tmp_path / "test_home.py").write_text(
        "import os, pathlib\ndef test_it():\n"
        "    home = pathlib.Path(os.environ['COURSE_HOME'])\n"
        "    assert home.is_dir() and not any(home.iterdir())\n"
        "    pathlib.Path('home.txt').write_text(str(home))\n"
    )
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.setattr(testing, "repo_root", lambda: tmp_path)
    monkeypatch.setattr(testing, "runs", lambda fast: [testing.Run("one", ("test_home.py", "-p", "no:cacheprovider"))])
    assert testing.main() == 0
    home = Path((tmp_path / "home.txt").read_text())
    assert home != tmp_path and not home.exists()


def test_the_three_runs_and_the_fast_one():
    unit, solutions, untouched = testing.runs(fast=False)
    assert unit.arguments[0] == "tests" and int(unit.environment["OMP_NUM_THREADS"]) >= 1
    assert {"solutions", "--nbval"} <= set(solutions.arguments)
    assert {"notebooks", "--nbval-lax", "--course-expect=untouched"} <= set(untouched.arguments)
    assert untouched.environment == {"COURSE_SMOKE": "1"}
    [fast] = testing.runs(fast=True)
    assert fast.arguments[-2:] == ("-m", "not browser")


def test_arguments_go_to_one_run_of_pytest(monkeypatch):
    calls = record(monkeypatch, testing.subprocess, "call", status=4)
    assert course("test", "-k", "softmax", "--maxfail=1")[0] == 4
    assert calls[0][0][0] == [sys.executable, "-m", "pytest", "-k", "softmax", "--maxfail=1"]

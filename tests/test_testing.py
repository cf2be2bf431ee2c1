"""`course test`: what it runs, and how it counts."""

from pathlib import Path

import pytest

from course_lib import testing


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
    assert solutions.environment == unit.environment
    assert untouched.environment == {**unit.environment, "COURSE_SMOKE": "1"}
    for run in (unit, solutions, untouched):
        assert run.arguments[1:5] == ("-n", "2", "--dist", "loadfile"), "a notebook stays with its kernel"
    [fast] = testing.runs(fast=True)
    assert fast.arguments[-2:] == ("-m", "not browser")

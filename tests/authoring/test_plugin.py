"""How notebooks behave under nbval with our plugin: all probes run once, in one process, and tests read the rows."""

import subprocess
import sys

import pytest

from .probes import CHECK, STUB, answer, book, check, code, run, write

LIMIT = 2  # seconds for a cell of a probe


@pytest.fixture(scope="module")
def learners(tmp_path_factory):
    """Every probe, as a learner's notebook."""
    folder = tmp_path_factory.mktemp("learners")
    setup, both = code(CHECK), ("alpha", "beta")
    probes = {
        "right": book(setup, answer("alpha"), check("alpha")),
        "wrong": book(
            setup, answer("alpha", "return 2"), check("alpha"), answer("beta"), check("beta"), exercises=both
        ),
        "untouched": book(setup, answer("alpha", STUB), check("alpha")),
        "dies": book(setup, answer("alpha", "import os; os._exit(1)"), check("alpha"), answer("beta"), check("beta")),
        "dies_between": book(setup, code("import os; os._exit(0)"), answer("alpha"), check("alpha")),
        "hangs": book(setup, answer("alpha", "while True: pass"), check("alpha"), answer("beta"), check("beta")),
        "hangs_for_good": book(
            code("while True:\n    try:\n        print('.')\n    except BaseException:\n        pass"),
            setup,
            answer("alpha"),
            check("alpha"),
        ),
        "check_deleted": book(setup, answer("alpha"), answer("beta"), check("beta"), exercises=both),
        "no_checks": book(setup, answer("alpha")),
        "no_code": book(),
        "check_emptied": book(setup, answer("alpha"), code("# nothing", "alpha", "check")),
        "check_skipped": book(
            setup, answer("alpha", "return 2"), code("# NBVAL_SKIP\ncheck('alpha')", "alpha", "check")
        ),
        "failure_expected": book(
            setup,
            answer("alpha", "return 2"),
            code("check('alpha')", "alpha", "check", tags=["raises-exception"]),
        ),
        "answer_deleted": book(setup, check("alpha")),
        "syntax_error": book(setup, answer("alpha", "return 1 1"), check("alpha")),
        "check_copied": book(setup, check("alpha"), answer("alpha"), check("alpha")),
        "metadata_lost": book(setup, code("def alpha():\n    return 1"), code("check('alpha')")),
        "noisy": book(
            code("import sys, warnings\nwarnings.warn('careful')\nprint('noise', file=sys.stderr)"),
            setup,
            answer("alpha"),
            check("alpha"),
            code("print('after')", outputs="something stale\n"),
        ),
        "00_renamed (1)": book(setup, code("def softmax(x): return x"), name=None),
        "no_lesson": book(code("1 + 1"), name=None),
    }
    for name, notebook in probes.items():
        write(folder, name, notebook)
    (folder / "truncated.ipynb").write_text('{"cells": [')
    (folder / "empty.ipynb").write_text("")
    (folder / "other_json.ipynb").write_text("[1, 2]")
    (folder / "utf16.ipynb").write_text('{"cells": []}', encoding="utf-16")
    (folder / "half_a_cell.ipynb").write_text('{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5}')
    return run(folder, "--nbval-lax", f"--nbval-cell-timeout={LIMIT}")


def verdict(learners, name, cell="alpha[check]"):
    row = learners[1][name][cell]
    return row["passed"], row["status"]


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("right", "passed"),
        ("wrong", "wrong"),
        ("untouched", "not attempted"),
        ("dies", "kernel died"),
        ("dies_between", "not run"),
        ("hangs", "timeout"),
        ("hangs_for_good", "not run"),
        ("check_deleted", "check removed"),
        ("no_checks", "check removed"),
        ("no_code", "check removed"),
        ("check_emptied", "no check ran"),
        ("check_skipped", "wrong"),
        ("failure_expected", "wrong"),
        ("answer_deleted", "failed"),
        ("syntax_error", "failed"),
        ("metadata_lost", "passed"),
        ("noisy", "passed"),
    ],
)
def test_a_check_passes_only_if_it_ran_and_said_so(learners, name, status):
    assert verdict(learners, name) == (status == "passed", status)


def test_the_run_is_red(learners):
    assert learners[0] == 1


def test_one_wrong_exercise_leaves_the_others_alone(learners):
    assert verdict(learners, "wrong", "beta[check]") == (True, "passed")
    assert verdict(learners, "check_deleted", "beta[check]") == (True, "passed")


def test_what_failed_says_why(learners):
    def message(name, cell="alpha[check]"):
        return learners[1][name][cell]["message"]

    assert message("wrong") == "✗ alpha: wrong\n  what is wrong with it"
    assert "the kernel died" in message("dies") and "alpha[check]" in message("dies")
    assert "the kernel died" in message("dies", "beta[check]") and "alpha[check]" in message("dies", "beta[check]")
    assert f"{LIMIT} s" in message("hangs") and f"{LIMIT} s" in message("hangs_for_good")
    assert 'check("alpha")' in message("check_deleted") and "alpha" in message("no_checks")
    assert "SyntaxError" in message("syntax_error", "alpha[answer]")
    assert "\x1b" not in learners[2]


def test_a_dead_kernel_is_noticed_at_once(learners):
    rows = learners[1]["dies"]
    assert rows["alpha[check]"]["seconds"] < 5
    assert rows["beta[answer]"]["seconds"] + rows["beta[check]"]["seconds"] < 1


def from_cell(learners, name, cell):
    """Rows of a notebook from one cell on."""
    rows = list(learners[1][name].values())
    return rows[[row["cell"] for row in rows].index(cell) :]


def test_a_hanging_cell_ends_with_its_time_limit_and_the_rest_is_run(learners):
    hanging, *after = from_cell(learners, "hangs", "alpha[check]")
    assert hanging["seconds"] < LIMIT + 5 and not hanging["passed"] and hanging["status"] == "timeout"
    assert after and all(row["status"] != "not run" for row in after)


def test_after_a_cell_that_cannot_be_interrupted_nothing_is_green(learners):
    hanging, *after = from_cell(learners, "hangs_for_good", "Cell 0")
    assert hanging["seconds"] < LIMIT + 5
    assert after and all(row["status"] == "not run" and not row["passed"] for row in after)


@pytest.mark.parametrize("name", ["truncated", "empty", "other_json", "utf16", "half_a_cell"])
def test_an_unreadable_notebook_is_one_failure_with_its_reason(learners, name):
    (row,) = learners[1][name].values()
    assert not row["passed"] and row["status"] == "unreadable" and "cannot be read" in row["message"]


def test_of_copied_checks_the_last_one_counts(learners):
    rows = learners[1]["check_copied"]
    assert not rows["alpha[check]"]["passed"] and rows["alpha[check 2]"]["passed"]
    assert "✓ check_copied.ipynb" in learners[2]


def test_a_renamed_file_is_known_by_its_number(learners):
    assert verdict(learners, "00_renamed (1)", "softmax[check]") == (False, "check removed")


def test_a_notebook_of_no_lesson_needs_no_check(learners):
    assert list(learners[1]["no_lesson"]) == ["Cell 0"]


def test_stale_outputs_and_warnings_play_no_part(learners):
    assert all(row["passed"] for row in learners[1]["noisy"].values())


def test_the_run_closes_with_a_table(learners):
    table = learners[2].partition(" exercises ")[2]
    assert "✗ wrong.ipynb" in table and "what is wrong with it" in table
    assert "exercises passed" in table


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """Two notebooks with outputs, under --nbval."""
    folder = tmp_path_factory.mktemp("strict")
    write(
        folder,
        "same",
        book(
            code("import sys; print(1); print('progress', file=sys.stderr)", outputs="1\n"),
            code("print(hex(id(1)))", outputs="0x7fffaabbccdd\n"),
            code("print(2)", outputs="3\n", tags=["nbval-ignore-output"]),
            code("from ipywidgets import Label\nLabel('a')", outputs=""),
            exercises=(),
        ),
    )
    write(folder, "changed", book(code("print(1)", outputs="2\n"), exercises=()))
    return run(folder, "--nbval")


def test_outputs_are_compared_without_what_varies(strict):
    assert all(row["passed"] for row in strict[1]["same"].values())
    assert not strict[1]["changed"]["Cell 0"]["passed"]


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("untouched")
    setup = code(CHECK)
    stub = answer("alpha", STUB)
    write(folder, "good", book(setup, stub, check("alpha")))
    write(folder, "solved", book(setup, answer("alpha"), check("alpha")))
    write(folder, "broken", book(setup, stub, check("alpha"), code("1/0")))
    write(folder, "gone", book(setup, stub))
    (folder / "notebooks" / "backup").mkdir(parents=True)
    write(folder / "notebooks" / "backup", "aside", book(code("1/0")))
    return run(folder, "--nbval-lax", "--course-expect=untouched")


def test_untouched_notebooks_fail_in_their_checks_and_nowhere_else(untouched):
    status, books, _, _ = untouched
    assert status == 1
    assert all(row["passed"] for row in books["good"].values())
    assert [row["cell"] for row in books["solved"].values() if not row["passed"]] == ["alpha[check]"]
    assert [row["cell"] for row in books["broken"].values() if not row["passed"]] == ["Cell 3"]
    assert [row["cell"] for row in books["gone"].values() if not row["passed"]] == ["alpha[check]"]


def test_backups_are_left_alone(untouched):
    assert "aside" not in untouched[1]


def test_a_lesson_that_does_not_exist_fails(tmp_path):
    write(tmp_path, "lost", book(code("1")))
    status, books, _, _ = run(tmp_path, "--nbval-lax", "--course-lesson=nowhere")
    assert status == 1 and books["lost"]["unknown lesson"]["message"].startswith("there is no lesson 'nowhere'")


def test_one_exercise_can_be_chosen(tmp_path):
    cells = [code(CHECK), code("one = 1"), answer("alpha", "return one"), check("alpha"), answer("beta"), check("beta")]
    write(tmp_path, "chosen", book(*cells, exercises=("alpha", "beta")))
    status, books, _, _ = run(tmp_path, "--nbval-lax", "-k", "alpha and check")
    assert status == 0 and list(books["chosen"]) == ["alpha[check]"]


def test_a_notebook_has_one_kernel_though_there_are_two_workers(tmp_path):
    for name in ("one", "two"):
        source = f"import os\nwith open('{name}.pids', 'a') as file:\n    print(os.getpid(), file=file)"
        notes = [code(source) for _ in range(4)]
        write(tmp_path, name, book(code(CHECK), *notes, answer("alpha"), check("alpha")))
    status, books, printed, _ = run(tmp_path, "--nbval-lax", "-p", "xdist.plugin", "-n2")
    assert status == 0, printed
    assert "2 of 2 exercises passed" in printed and set(books) == {"one", "two"}
    for name in ("one", "two"):
        pids = (tmp_path / f"{name}.pids").read_text().split()
        assert len(pids) == 4 and len(set(pids)) == 1


def test_without_nbval_the_plugin_imports_nothing():
    program = (
        "import sys, pytest; pytest.main(['--co', '-q', '--rootdir=/', '-c', '/dev/null', '/dev/null']);"
        "loaded = [name for name in ('torch', 'jupytext', 'course_lib.checking', 'course_lib.authoring.source')"
        " if name in sys.modules]; assert 'course_lib.authoring.nbval_plugin' in sys.modules; assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

"""course.py: when it installs and when it does not, and that it runs wherever Python does."""

import ast
import os
import sys

import pytest

from .stub_clones import BOOTSTRAP, ROOT, bootstrap


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

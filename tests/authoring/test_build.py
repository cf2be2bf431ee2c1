import nbformat
import pytest

from course_lib.authoring import build as building
from course_lib.authoring.build import BuildError, build, read_if_any
from course_lib.checking.observe import STUB_TEXT

from .lesson_source import CELLS, make_lesson

EXPERIMENT = CELLS.index('# %% tags=["experiment"]')


def no_run(*_):
    raise AssertionError("the solutions were run")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A lesson that was built once; tests that change it take a copy."""
    one = make_lesson(tmp_path_factory.mktemp("course"))
    build(one, say=lambda text: None)
    return one


def contents(one):
    return one.solution.read_bytes(), one.notebook.read_bytes()


def test_the_learner_gets_a_stub(built):
    cells = {cell.id: cell for cell in nbformat.read(built.notebook, as_version=4).cells}
    stub = f'def one_of(number):\n    """One, for any number."""\n    raise NotImplementedError("{STUB_TEXT}")'
    assert cells["one-of-answer"].source == stub
    assert all(not cell.outputs and cell.execution_count is None for cell in cells.values() if "outputs" in cell)


def test_stored_outputs_tell_nothing_of_the_machine(built):
    notebook = nbformat.read(built.solution, as_version=4)
    nbformat.validate(notebook)
    (output,) = notebook.cells[-1].outputs
    first, second = output.text.splitlines()
    assert second == "second line" and "0x…" in first and "tmp" in first and str(built.source.parent) not in first
    assert set(notebook.metadata) == {"course", "kernelspec", "language_info"}
    assert notebook.metadata.language_info == {"name": "python"}
    assert all("execution" not in cell.metadata for cell in notebook.cells)


def test_a_second_build_runs_and_changes_nothing(built, monkeypatch):
    before = contents(built)
    monkeypatch.setattr(building, "execute", no_run)
    build(built)
    assert contents(built) == before


def test_a_second_run_gives_the_same_bytes(built):
    before = contents(built)
    built.solution.unlink()
    build(built)
    assert contents(built) == before


def test_new_prose_is_built_without_running(tmp_path, built, monkeypatch):
    one = copy_of(built, tmp_path, CELLS.replace("About one", "All about one"))
    before = nbformat.read(built.solution, as_version=4).cells
    monkeypatch.setattr(building, "execute", no_run)
    build(one)
    after = nbformat.read(one.solution, as_version=4).cells
    assert [a == b for a, b in zip(before, after, strict=True)] == [False] + [True] * 5
    assert after[-1].outputs


def copy_of(built, root, cells):
    one = make_lesson(root, cells)
    one.notebook.parent.mkdir(exist_ok=True)
    for old, new in ((built.solution, one.solution), (built.notebook, one.notebook)):
        new.write_bytes(old.read_bytes())
    return one


def test_answers_of_a_learner_are_kept(tmp_path, built):
    one = copy_of(built, tmp_path, CELLS)
    answered = one.notebook.read_text().replace(f'raise NotImplementedError(\\"{STUB_TEXT}\\")', "return 1")
    one.notebook.write_text(answered)
    said = []
    build(one, say=said.append)
    (kept,) = (tmp_path / "notebooks" / "backup").iterdir()
    assert kept.read_text() == answered and kept.name.startswith("07_small-")
    assert any(str(kept) in text for text in said)
    assert one.notebook.read_bytes() == built.notebook.read_bytes()
    build(one)
    assert len(list(kept.parent.iterdir())) == 1


def test_an_untouched_notebook_needs_no_copy_when_its_stub_changes(tmp_path, built):
    one = copy_of(built, tmp_path, CELLS.replace("One, for any number.", "One, for every number."))
    build(one)
    assert "every number" in one.notebook.read_text()
    assert not (tmp_path / "notebooks" / "backup").exists()


def test_a_notebook_that_cannot_be_read_is_kept(tmp_path, built):
    one = copy_of(built, tmp_path, CELLS)
    one.notebook.write_bytes(b"\xff\xfe damaged")
    build(one)
    (kept,) = (tmp_path / "notebooks" / "backup").iterdir()
    assert kept.read_bytes() == b"\xff\xfe damaged"
    assert read_if_any(one.notebook) is not None


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("1 / 0", "raised ZeroDivisionError"),
        ("import os; os._exit(0)", "the kernel died"),
        ("import time; time.sleep(60)", "took longer than 3 s"),
    ],
)
def test_a_lesson_that_does_not_run_is_not_written(tmp_path, built, monkeypatch, cell, reason):
    one = copy_of(built, tmp_path, f"{CELLS[:EXPERIMENT]}# %%\n{cell}\n")
    before = contents(one)
    monkeypatch.setattr(building, "LIMIT", 3)
    with pytest.raises(BuildError, match=f"07_small.py: .*{reason}|07_small.py.*{reason}") as raised:
        build(one)
    assert f"the cell that starts with `{cell}`" in str(raised.value)
    assert contents(one) == before


def test_main_names_unknown_lessons(capsys):
    assert building.main(["bottelneck"]) == 2
    assert "there is no lesson 'bottelneck'" in capsys.readouterr().err

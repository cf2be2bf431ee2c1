"""The committed notebooks are what their sources say. No notebook is executed here: nbval does that, once."""

import copy
import re

import pytest

from course_lib.authoring.build import STUB, to_text
from course_lib.authoring.catalogue import lessons, repo_root
from course_lib.authoring.outputs import WIDGET_VIEW, neutral
from course_lib.checking.observe import STUB_TEXT

# folders of one machine, and hosts that only some machines reach
MACHINE = re.compile(
    r"/(home|Users)/\w|/(root|tmp|work)/|\b[A-Z]:\\|ipykernel_\d|\b0x[0-9a-f]{6,}|--(extra-)?index-url"
    r"|\b(localhost|127\.0\.0\.1)\b|://[^/\s]*(artifactory|nexus|registry|mirror|proxy|\.internal|\.corp|\.local)\b"
)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook):
    """(cell id, text) of every source and every text output of a notebook."""
    for cell in notebook.cells:
        yield cell.id, cell.source
        for output in cell.get("outputs", []):
            yield cell.id, output.get("text", "")
            for kind, value in output.get("data", {}).items():
                if not kind.startswith("image/") or kind == "image/svg+xml":
                    yield cell.id, str(value)


def test_every_lesson_has_its_notebooks_and_nothing_else_lies_beside_them():
    names = {one.name for one in lessons()}
    for folder in ("solutions", "notebooks"):
        assert {path.stem for path in (repo_root() / folder).glob("*.ipynb")} == names, folder


def test_the_learner_notebook_is_what_a_build_gives(built):
    assert built.lesson.notebook.read_text(encoding="utf-8") == to_text(built.stubs), "run `course build`"


def test_the_solution_notebook_is_what_a_build_gives_apart_from_outputs(built):
    without = copy.deepcopy(built.solution)
    for cell in code_cells(without):
        cell.outputs, cell.execution_count = [], None
    assert to_text(without) == to_text(built.plain), "run `course build`"


def test_the_learner_notebook_with_the_solutions_put_back_is_the_solution_notebook(built):
    regions = solution_regions(built.lesson.source)
    filled = copy.deepcopy(built.learner)
    for cell in filled.cells:
        while STUB in cell.source:
            cell.source = re.sub(
                rf"^[ \t]*{re.escape(STUB)}$", lambda _: next(regions), cell.source, count=1, flags=re.M
            )
    assert next(regions, None) is None
    assert [(cell.id, cell.metadata, cell.source) for cell in filled.cells] == [
        (cell.id, cell.metadata, cell.source) for cell in built.solution.cells
    ]


def solution_regions(path):
    """The solutions of a source with their markers, in order."""
    text = path.read_text(encoding="utf-8")
    return iter(re.findall(r"^[ \t]*### BEGIN SOLUTION\n.*?### END SOLUTION$", text, re.M | re.S))


def test_the_solution_notebook_was_run_from_top_to_bottom(built):
    counts = [cell.execution_count for cell in code_cells(built.solution)]
    assert counts == list(range(1, len(counts) + 1))
    outputs = [output for cell in code_cells(built.solution) for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


def test_the_learner_notebook_was_not_run(built):
    assert all(not cell.outputs and cell.execution_count is None for cell in code_cells(built.learner))


@pytest.mark.parametrize("kind", ["solution", "learner"])
def test_a_notebook_tells_nothing_of_the_machine(built, kind):
    notebook = getattr(built, kind)
    for cell_id, text in texts(notebook):
        assert not MACHINE.search(text), f"cell {cell_id}: {MACHINE.search(text)[0]}"
        assert neutral(text) == text, f"cell {cell_id}"
    assert "widgets" not in notebook.metadata
    assert not [cell.id for cell in code_cells(notebook) for out in cell.outputs if WIDGET_VIEW in out.get("data", {})]


def test_the_stub_is_the_one_that_the_checks_know():
    assert STUB == f'raise NotImplementedError("{STUB_TEXT}")'

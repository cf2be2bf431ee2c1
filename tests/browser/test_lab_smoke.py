"""The driver itself: a notebook opens, runs, takes text and shows what it should, and nothing leaves the machine."""

import nbformat
import pytest

pytestmark = pytest.mark.browser

CELLS = {
    "greeting": "print('hello')",
    "one-answer": 'def one():\n    raise NotImplementedError("your code here")',
    "one-check": "assert one() == 1\nprint('right')",
    "never": "print('not reached')",
}


@pytest.fixture(scope="module")
def notebook(lab):
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.cells = [nbformat.v4.new_markdown_cell("# Smoke")]
    for name, source in CELLS.items():
        made.cells.append(nbformat.v4.new_code_cell(source, id=name))
    nbformat.write(made, lab.root / "smoke.ipynb")
    return lab.open("smoke.ipynb")


def test_run_all_stops_at_the_first_cell_that_raises(notebook):
    notebook.run_all()
    assert notebook.text("greeting").strip() == "hello"
    assert notebook.outputs("one-check")[0]["ename"] == "NotImplementedError"
    assert notebook.has_run("one-check") and not notebook.has_run("never")


def test_an_answer_is_written_run_and_saved(notebook, lab):
    notebook.write("one-answer", "def one():\n    if True:\n        return 1  # 하나")
    notebook.run("one-answer")
    notebook.run("one-check")
    assert notebook.text("one-check").strip() == "right"
    notebook.save()
    saved = {cell.id: cell for cell in nbformat.read(lab.root / "smoke.ipynb", as_version=4).cells}
    assert "하나" in saved["one-answer"].source and saved["one-check"].outputs[0].text == "right\n"


def test_cells_are_found_by_id_and_index(notebook):
    assert notebook.source(1) == notebook.source("greeting") == CELLS["greeting"]
    with pytest.raises(LookupError, match="greeting"):
        notebook.index("nowhere")


def test_nothing_is_asked_of_another_host(notebook):
    assert notebook.elsewhere == []

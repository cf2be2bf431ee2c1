"""Lesson 1 as a new learner meets it: run all, not attempted, a wrong answer named, the right one passes."""

import shutil

import nbformat
import pytest

from course_lib.authoring.catalogue import lesson

pytestmark = pytest.mark.browser

HEAD = "def rnn_cell(x, h, W_xh, W_hh, b):\n    "


@pytest.fixture(scope="module")
def notebook(lab):
    source = lesson(1).notebook
    shutil.copy(source, lab.root / source.name)
    opened = lab.open(source.name)
    opened.run_all()
    return opened


def test_run_all_stops_at_the_first_check_as_not_attempted(notebook):
    text = notebook.text("rnn-cell-check")
    assert "✗ rnn_cell: not attempted" in text
    assert "Traceback" not in text, "the message stands alone"
    assert not notebook.has_run("encode-check")
    assert notebook.text("rnn-cell-answer") == "", "the answer cell itself raises nothing"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return torch.tanh(x @ W_xh + h @ W_hh)", "The bias is missing"),
        ("return torch.tanh(x @ W_xh + h @ W_hh.T + b)", "W_hh is transposed"),
        ("torch.tanh(x @ W_xh + h @ W_hh + b)", "returns None"),
        ("return torch.tanh(x @ W_xh + h @ W_hhh + b)", "NameError"),
    ],
)
def test_a_wrong_answer_is_named(notebook, body, words):
    notebook.write("rnn-cell-answer", HEAD + body)
    notebook.run("rnn-cell-answer")
    notebook.run("rnn-cell-check")
    text = notebook.text("rnn-cell-check")
    assert "✗ rnn_cell: " in text and words in text
    assert text.count("?") >= 1 and "Traceback" not in text


def test_the_right_answer_passes_and_is_kept(notebook, lab):
    notebook.write("rnn-cell-answer", HEAD + "return torch.tanh(x @ W_xh + h @ W_hh + b)")
    notebook.run("rnn-cell-answer")
    notebook.run("rnn-cell-check")
    assert "✓ rnn_cell: passed" in notebook.text("rnn-cell-check")
    assert "def rnn_cell" in (lab.home / ".course" / "work.py").read_text(encoding="utf-8")
    notebook.save()
    saved = {cell.id: cell for cell in nbformat.read(lab.root / lesson(1).notebook.name, as_version=4).cells}
    assert saved["rnn-cell-check"].outputs[0]["data"]["text/plain"] == "✓ rnn_cell: passed"


def test_the_lesson_asks_no_other_host(notebook):
    assert notebook.elsewhere == []

"""Keys typed in a widget move it and leave the notebook alone, in JupyterLab and in Notebook 7."""

import json

import nbformat
import pytest

from .widgets import notebook_of, stops

pytestmark = pytest.mark.browser

MADE = """from course_lib.explore.alignment import alignment
from course_lib.explore.bottleneck import bottleneck
from course_lib.explore.score_lab import score_lab
aligned = alignment([[0.9, 0.1], [0.2, 0.8]], ["하나", "둘"], ["one", "two"])
measured, scored = bottleneck(), score_lab([[1, 0]])"""
STATE = """import json
print(json.dumps([{name: getattr(w, name) for name in w.STATE} for w in (aligned, measured, scored)]))"""
# To the notebook: insert a cell above or below, cut, delete, undo, turn into text or code, merge, go up or down.
KEYS = [*"abxddzmy", "Shift+M", "ArrowUp", "ArrowUp", "ArrowDown", "ArrowRight", "ArrowRight"]


@pytest.mark.parametrize("app", ["lab/tree", "notebooks"])
def test_letters_and_arrows_move_the_widget_and_not_the_notebook(lab, app):
    name = f"keys-{app[:3]}.ipynb"
    nbformat.write(notebook_of(MADE, "aligned", "measured", "scored", STATE), lab.root / name)
    notebook = lab.open(name, app)
    notebook.run_all()
    before = json.loads(notebook.text("cell-4"))
    for cell in ("cell-1", "cell-2", "cell-3"):
        root = notebook.cell(cell).locator(".course-explorable[data-ready='1']")
        root.wait_for(timeout=8_000)
        at = 0
        while at < len(marked := stops(root)):  # marked anew, for each key may draw the picture anew
            marked[at].focus()
            there = notebook.edited()
            for key in KEYS:
                notebook.page.keyboard.press(key)
            assert notebook.edited() == there, f"{cell}, stop {at}: the keys went to the notebook"
            assert len(there[2]) == 5
            at += 1
        assert at >= 4
    notebook.page.wait_for_timeout(300)
    notebook.run("cell-4")
    after = json.loads(notebook.text("cell-4"))
    assert all(now != then for now, then in zip(after, before, strict=True)), "each widget took its keys"
    assert notebook.elsewhere == []

"""What a lesson's explorables must do in JupyterLab, in the learner's own notebook with every exercise answered.

Two test files ask it, for half of the lessons each, so that two workers share them.
"""

import json

import nbformat

from course_lib.authoring.catalogue import lessons

from .widgets import violations

# name: (what is focused, the key, the trait that moves); each lesson's explorables are moved so, by keyboard
MOVES = {
    "bottleneck": ("input[id$='-length']", "End", "length"),
    "alignment": ("[data-key='row-0']", "ArrowDown", "row"),
    "score_lab": ("[data-key='query']", "ArrowRight", "query"),
    "decode_stepper": ("[data-key='step-1']", "ArrowRight", "step"),
    "softmax_lab": ("input[id$='-temperature']", "End", "temperature"),
    "mask_builder": ("[data-key='cell-1-0']", "Enter", "closed"),
    "head_grid": ("[data-key='head-0-0']", "ArrowRight", "opened"),
    "position_waves": ("input[id$='-position']", "End", "position"),
    "block_xray": ("input[id$='-shortcuts']", "Space", "shortcuts"),
    "translator": ("select[id$='-head']", "ArrowDown", "head"),
    "sampler": ("[data-key='node-']", "ArrowRight", "node"),
    "cost": ("input[id$='-length']", "End", "length"),
    "families": ("[data-key='token-7']", "ArrowLeft", "token"),
}
BEFORE = "import os\nos.environ.update(COURSE_SMOKE='1', COURSE_HOME={home!r})  # nothing is trained to its end"
STATE = """import json
from course_lib.explore.base import Explorable
shown = [value for value in Out.values() if isinstance(value, Explorable)]
print(json.dumps([[one.NAME, {trait: getattr(one, trait) for trait in one.STATE}] for one in shown]))"""


def explore_cells(path):
    cells = nbformat.read(path, as_version=4).cells
    return [cell.id for cell in cells if "explore" in cell.metadata.get("tags", ())]


WITH_EXPLORABLES = [one for one in lessons() if one.notebook.is_file() and explore_cells(one.notebook)]


def answered(one, home):
    """The learner's notebook of a lesson, its answer cells filled in from the solutions."""
    notebook = nbformat.read(one.notebook, as_version=4)
    answers = {cell.id: cell.source for cell in nbformat.read(one.solution, as_version=4).cells}
    for cell in notebook.cells:
        if cell.metadata.get("course", {}).get("role") == "answer":
            cell.source = answers[cell.id]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(BEFORE.format(home=str(home)), id="before"))
    notebook.cells.append(nbformat.v4.new_code_cell(STATE, id="state"))
    return notebook


def check_explorables(lab, home, one):
    """Run a lesson, move each explorable by keyboard, look at it in both themes, save, close and open again."""
    name, cells = f"explore-{one.name}.ipynb", explore_cells(one.notebook)
    nbformat.write(answered(one, home), lab.root / name)
    notebook = lab.open(name)
    notebook.theme("Light")
    notebook.run_all(seconds=120)
    roots = [notebook.cell(cell).locator(".course-explorable") for cell in cells]
    for root in roots:
        root.locator("xpath=self::*[@data-ready='1']").wait_for(timeout=10_000)

    began = json.loads(notebook.text("state"))
    assert len(began) == len(cells), "each cell ends with its explorable, so that it is shown"
    assert {shown for shown, _ in began} <= MOVES.keys(), "say in MOVES how a new explorable is moved by keyboard"
    for (shown, _), root in zip(began, roots, strict=True):
        selector, key, _ = MOVES[shown]
        root.locator(selector).press(key)
    notebook.page.wait_for_timeout(300)
    notebook.run("state")
    for (shown, before), (_, now) in zip(began, json.loads(notebook.text("state")), strict=True):
        assert {trait for trait in now if now[trait] != before[trait]} == {MOVES[shown][2]}, shown

    for theme in ("Light", "Dark"):
        notebook.theme(theme)
        for root in roots:
            root.locator(f"xpath=self::*[@data-dark='{str(theme == 'Dark').lower()}']").wait_for(timeout=10_000)
            root.scroll_into_view_if_needed()
            assert violations(root) == []

    notebook.save()
    assert [root.count() for root in roots] == [1] * len(cells), "the open notebook stays live"
    file = nbformat.read(lab.root / name, as_version=4)
    assert "widgets" not in file.metadata
    saved = {cell.id: cell.outputs for cell in file.cells if cell.cell_type == "code"}
    for cell in cells:
        (data,) = [output.data for output in saved[cell] if output.output_type != "stream"]  # a cell may print, too
        assert set(data) == {"image/png", "text/plain"} and data["text/plain"].rstrip().endswith(".")
    assert notebook.errors == [] and notebook.elsewhere == []
    notebook.page.close()

    again = lab.open(name)  # in the dark from the start
    for cell in cells:
        again.cell(cell).locator("img").wait_for(timeout=30_000)
        assert "model not found" not in again.text(cell)
        again.run(cell)
        again.cell(cell).locator(".course-explorable[data-ready='1'][data-dark='true']").wait_for(timeout=10_000)
    again.theme("Light")
    assert again.errors == [] and again.elsewhere == []
    again.page.close()

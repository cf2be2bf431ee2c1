"""In a kernel one picture grows in place; elsewhere nothing is shown."""

import io

import pytest
from PIL import Image

from course_lib.training import History, live_curve

CELL = """
import torch
from course_lib.training import fit
model = torch.nn.Linear(1, 1)
def batches():
    while True:
        yield torch.ones(4, 1)
history = fit(model, batches(), lambda m, b: m(b).square().mean(), steps=400, evaluate=lambda m: {"exact": 0.5})
"""


@pytest.mark.parametrize("losses", [[], [3.0], [3.0, 2.0], [2.0 / (n + 1) for n in range(300)]])
@pytest.mark.parametrize("metrics", [[], [{"step": 1, "exact": 0.1}, {"step": 2, "exact": 0.4, "token": 0.5}]])
def test_any_history_can_be_drawn_and_the_same_one_gives_the_same_bytes(losses, metrics):
    history = History(losses=losses, metrics=metrics)
    png = live_curve.draw(history)
    assert png == live_curve.draw(history)
    picture = Image.open(io.BytesIO(png))
    assert picture.format == "PNG" and picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)


def test_the_loss_of_held_out_data_stands_beside_that_of_training():
    def drawn(*rows):
        return Image.open(io.BytesIO(live_curve.draw(History(losses=[3.0, 2.0], metrics=[*rows]))))

    bare, loss, both = drawn(), drawn({"step": 2, "loss": 2.5}), drawn({"step": 2, "loss": 2.5, "exact": 0.5})
    assert bare.size == loss.size and bare.tobytes() != loss.tobytes()
    assert both.size == drawn({"step": 2, "exact": 0.5}).size == (2 * bare.width, bare.height)


def test_there_is_no_notebook_in_a_test():
    assert not live_curve.in_notebook()


def test_redraws_are_rare_and_in_place(monkeypatch):
    shown, clock = [], iter([0.0, 0.0, 0.5, 1.6, 1.6, 1.7, 1.7])

    class Handle:
        def update(self, picture, raw):
            shown.append("update")

    def display(picture, raw, display_id):
        assert set(picture) == {"image/png", "text/plain"} and raw and display_id
        shown.append("display")
        return Handle()

    curve = live_curve.LiveCurve()
    monkeypatch.setattr(curve, "_display", display)
    monkeypatch.setattr(live_curve.time, "monotonic", lambda: next(clock))
    for last in (False, False, False, True):
        curve.update(History(losses=[1.0, 0.9]), last=last)
    assert shown == ["display", "update", "update"]


def test_a_curve_begins_with_a_line_unless_there_is_none(monkeypatch):
    """One loss alone would be empty axes from 0.96 to 1.04, for a second."""
    curve, shown = live_curve.LiveCurve(), []
    monkeypatch.setattr(curve, "_display", lambda picture, **options: shown.append(picture))
    curve.update(History(losses=[1.0]))
    assert not shown
    curve.update(History(losses=[1.0]), last=True)
    assert len(shown) == 1


def test_a_notebook_is_left_with_one_picture_a_training(monkeypatch):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    monkeypatch.setenv("CI", "true")
    often = "from course_lib.training import live_curve\nlive_curve.REDRAW_EVERY = 0.05\n" + CELL
    smoke = "import os\nos.environ['COURSE_SMOKE'] = '1'\n" + CELL
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in (often, smoke)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(notebook, timeout=120).execute()
    for cell in notebook.cells:
        (output,) = cell.outputs
        assert output.output_type == "display_data" and set(output.data) == {"image/png", "text/plain"}
        assert output.data["text/plain"] == "Training loss against steps"

"""Explorables in Chromium: the page agrees with Python, works by keys, reads well, asks nobody; one of them in Lab."""

import shutil
from importlib import resources
from pathlib import Path

import axe_playwright_python
import nbformat
import numpy as np
import pytest

from course_lib.explore.alignment import alignment
from course_lib.explore.bottleneck import bottleneck
from course_lib.explore.score_lab import score_lab

from .labdrive import LOCAL, Notebook, lab_server

pytestmark = pytest.mark.browser

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
RUN = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})"
FOUND = f"() => {RUN}.then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"


def notebook_of(*sources):
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.cells = [nbformat.v4.new_code_cell(text, id=f"cell-{at}") for at, text in enumerate(sources)]
    return made


@pytest.fixture(scope="module")
def context(lab):
    """The browser that all tests share: two of Playwright's loops cannot run at once."""
    nbformat.write(notebook_of("1"), lab.root / "empty.ipynb")
    return lab.open("empty.ipynb").page.context


@pytest.fixture
def visit(context, tmp_path):
    """visit(explorable): its standalone page; at the end, nothing went wrong and nothing left the machine."""
    pages, trouble = [], []

    def go(explorable):
        page = context.new_page()
        pages.append(page)
        page.on("console", lambda message: message.type == "error" and trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: LOCAL.match(r.url) or r.url.startswith("file:") or trouble.append(r.url))
        page.goto(explorable.to_html(tmp_path / "page.html").as_uri())
        page.locator("#explorable[data-ready='1']").wait_for(timeout=10_000)
        return page

    yield go
    for page in pages:
        page.close()
    assert trouble == []


def random_weights(rows=4, columns=9, seed=0):
    raised = np.exp(2 * np.random.default_rng(seed).normal(size=(rows, columns)))
    return raised / raised.sum(axis=1, keepdims=True)


def make(name, lang="en"):
    if name == "bottleneck":
        return bottleneck(lang=lang)
    if name == "alignment":
        return alignment(random_weights(), list("3월 1일<b>&"), list("0301"), source_length=7, lang=lang)
    return score_lab([[1, 0], [0, 1], [-1, -1]], W=[[1, 0.5], [-1, 1]], lang=lang)


def state(page):
    return page.evaluate("() => window.model.state")


def follow(explorable, page):
    """Give the Python side the state that the page is in."""
    for name in explorable.STATE:
        setattr(explorable, name, state(page)[name])


def said(page):
    return page.locator(".live").inner_text()


@pytest.mark.parametrize("name", ["bottleneck", "alignment", "score_lab"])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_reads_well_in_both_themes_and_on_a_phone(visit, name, lang):
    explorable = make(name, lang)
    page = visit(explorable)
    page.evaluate(AXE)
    views = ["lines", "matrix"] if name == "alignment" else [None]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dark = "true" if scheme == "dark" else "false"
        page.locator(f"#explorable[data-dark={dark}]").wait_for(timeout=5_000)
        for view in views:
            if view:
                page.locator("select").first.select_option(view)
            assert page.evaluate(FOUND) == []
    assert said(page) == explorable.sentence()
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_bottleneck_by_keys(visit):
    explorable = make("bottleneck")
    page = visit(explorable)
    for task in ("copy", "reverse"):
        page.get_by_label("task").select_option(task)
        for step in ("length End", "width End", "length ArrowLeft", "length Home", "width Home"):
            slider, key = step.split()
            page.get_by_label(slider, exact=True).press(key)
            follow(explorable, page)
            assert float(page.locator("#explorable").get_attribute("data-recall")) == explorable.recall()
            assert said(page) == explorable.sentence()
    page.get_by_role("button", name="reset").press("Enter")
    assert {name: state(page)[name] for name in explorable.STATE} == explorable.start


@pytest.mark.parametrize("length", [9, 6, 0])
def test_alignment_by_keys(visit, length):
    weights = random_weights()
    weights[1] = np.eye(9)[8]  # a row that looks at padding alone
    explorable = alignment(weights, list("3월 1일<b>&"), list("0301"), source_length=length)
    page = visit(explorable)

    def agree():
        follow(explorable, page)
        shown = np.array(page.evaluate("() => document.querySelector('#explorable').shown"))
        assert np.abs(shown - explorable.shown()).max() < 0.005 and said(page) == explorable.sentence()

    agree()
    rows = page.locator("[data-key^='row-']")
    for view in ("lines", "matrix"):
        page.get_by_label("view").select_option(view)
        rows.first.press("ArrowDown")
        assert page.evaluate("() => document.activeElement.dataset.key") == "row-1"
        agree()
        page.locator("[data-key='row-1']").press("End")
        assert state(page)["row"] == 3
        page.get_by_role("button", name="step back").press("Enter")
        assert state(page)["step"] == 3 and rows.count() == 3
        agree()
        page.get_by_label("decoded").press("End")
        if length < 9:
            page.get_by_label("mask padding").press("Space")
        agree()
        page.get_by_role("button", name="reset").press("Enter")
        agree()
    assert page.locator("#explorable b").count() == 0


def test_alignment_by_hand(visit):
    page = visit(make("alignment"))
    page.locator("[data-key='row-2']").hover()
    assert state(page)["row"] == 2


def test_score_lab_by_keys_and_by_hand(visit):
    explorable = make("score_lab")
    page = visit(explorable)

    def agree():
        follow(explorable, page)
        for found in page.evaluate("() => document.querySelector('#explorable').found"):
            assert np.abs(np.array(found["raw"]) - explorable.scores(found["kind"])).max() < 0.005
            assert np.abs(np.array(found["weights"]) - explorable.weights(found["kind"])).max() < 0.005
            assert np.abs(np.array(found["context"]) - explorable.context(found["kind"])).max() < 0.005
        assert said(page) == explorable.sentence()

    for left, right in (("dot", "scaled"), ("general", "additive")):
        page.get_by_label("first score").select_option(left)
        page.get_by_label("second score").select_option(right)
        for key in ("ArrowRight", "Shift+ArrowUp", "ArrowUp"):
            page.locator("[data-key='query']").press(key)
        agree()
        for slider, key in (("query x", "Home"), ("query y", "End")):
            page.get_by_label(slider).press(key)
            agree()
    assert state(page)["query"] == [-3, 3]
    page.get_by_label("W₁₂").fill("-1.5")
    page.get_by_label("W₁₂").press("Tab")
    assert state(page)["W"][0][1] == -1.5
    agree()
    box = page.locator("svg").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert np.abs(state(page)["query"]).max() < 0.1
    agree()


MAKE = """from course_lib.explore.alignment import alignment
shown = alignment([[0.9, 0.1], [0.2, 0.8]], ["하나", "둘"], ["one", "two"])
shown"""


def test_in_lab_a_later_cell_reads_the_state_and_the_picture_stays(context, tmp_path):
    switch = tmp_path / "config" / "jupyter_server_config.d"
    switch.mkdir(parents=True)
    with resources.as_file(resources.files("course_lib.explore") / "course_lib.json") as path:
        shutil.copy(path, switch)  # what installation puts below the prefix
    served = tmp_path / "served"
    served.mkdir()
    nbformat.write(notebook_of(MAKE, "print('row', shown.row)"), served / "a.ipynb")
    with lab_server(served, JUPYTER_CONFIG_PATH=str(switch.parent)) as url:
        notebook = Notebook.open(context.new_page(), url, "a.ipynb")
        notebook.run("cell-0")
        live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
        live.wait_for(timeout=8_000)
        live.locator("[data-key='row-0']").press("ArrowDown")
        live.locator("[data-key='row-1']").press("b")  # would insert a cell, were it Lab's
        notebook.page.wait_for_timeout(400)
        notebook.run("cell-1")
        assert notebook.text("cell-1").strip() == "row 1"
        assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2
        notebook.save()
        saved = nbformat.read(served / "a.ipynb", as_version=4)
        assert set(saved.cells[0].outputs[0].data) == {"image/png", "text/plain"} and "widgets" not in saved.metadata
        assert live.count() == 1, "the open notebook stays live"
        again = Notebook.open(notebook.page, url, "a.ipynb")
        again.cell("cell-0").locator("img").wait_for(timeout=30_000)
        assert "model not found" not in again.text("cell-0")
        assert notebook.elsewhere == [] and again.elsewhere == []

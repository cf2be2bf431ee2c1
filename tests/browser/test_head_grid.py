"""The head grid: the page agrees with Python in every state, and in Lab the kernel is asked about a head."""

import json

import nbformat
import numpy as np
import pytest

from course_lib.explore.base import fixed
from course_lib.explore.head_grid import head_grid
from course_lib.explore.head_maps import row_difference
from tests.explore.random_heads import apply, cost, maps, random_states
from tests.explore.test_head_grid import make

from .widgets import compare, follow, near, notebook_of, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

STRANGE = ["나는", "{row}", "</script>", "constructor", "a long token, and more", "$x$", "none", "  "]
SHAPES = [(1, 1, 1, 1), (2, 3, 5, 5), (3, 4, 8, 3), (8, 16, 4, 4), (1, 2, 64, 64)]
READ = """{found: root.found, source: root.dataset.source, shown: all('weight'), costs: all('cost'),
    texts: [...root.querySelectorAll('[data-weight]')].map((node) => node.textContent),
    opened: [...root.querySelectorAll('[aria-pressed=true]')].map((node) => node.dataset.key)}"""


def grid(shape, ablate=cost, **changes):
    rows, columns = ((STRANGE * 8)[:count] for count in shape[2:])
    return head_grid(maps(*shape), ablate=ablate, target_tokens=rows, source_tokens=columns, **changes)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ablate", [None, cost])
def test_the_page_agrees(visit, shape, ablate):
    """With the kernel's answers as it would send them, of every kind."""
    made, states = grid(shape, ablate), []
    for at, one in enumerate(random_states(made, 20 if shape[-1] == 64 else 60)):
        apply(made, one)
        states.append(one | {"answers": made.answers, "lang": ("en", "ko")[at % 2]})
    all_maps = np.array(made.maps)

    def agree(found, state):
        page = found["found"]
        drawn = [made.weights(which)[made.row] for which in (("opened", "second") if made.second else ("opened",))]
        assert near(page["opened"], drawn[0]) and near(found["shown"], np.ravel(drawn)), state
        assert found["texts"] == [fixed(share).removeprefix("0") for share in np.ravel(drawn)]
        assert near(page["sharp"], all_maps.max(axis=-1).mean(axis=-1).ravel())
        if made.second:
            assert page["differ"] == pytest.approx(row_difference(made.weights(), made.weights("second")))
        assert found["source"] == ("answered" if made.off else "on")
        assert sorted(found["costs"]) == pytest.approx(sorted(made.costs().values()))
        assert found["opened"] == [f"head-{made.opened[0]}-{made.opened[1]}"]

    compare(visit, made, states, READ, agree)


def test_the_colours_of_a_map_are_its_weights(visit):
    """Each cell of the large map lies within the path of its colour."""
    raised = np.exp(np.random.default_rng(0).normal(size=(1, 1, 5, 5)))
    made = head_grid(raised / raised.sum(axis=-1, keepdims=True), "abcde", row=2)
    assert 0.3 < made.weights().max() < 0.9
    page = visit(made)
    probe = """stretch => { window.model.set('stretch', stretch);
        const box = document.querySelectorAll('.scroll')[1].querySelector('g');
        return [...Array(5).keys()].map((row) => [...Array(5).keys()].map((column) => {
            const point = new DOMPoint(column + 0.5, row + 0.5);
            const hit = [...box.children].filter((path) => path.isPointInFill(point));
            return hit.length === 1 ? hit[0].getAttribute('fill') : hit.length })) }"""
    palette = [
        "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
    ]  # fmt: skip
    for stretch in (False, True):
        shares = made.weights() / (made.weights().max() if stretch else 1)
        want = [[palette[min(9, int(share * 10))] for share in row] for row in shares]
        assert page.evaluate(probe, stretch) == want


def test_without_a_kernel_only_what_was_asked_before_is_known(visit):
    made = make(ablate=lambda layer, head: layer + head / 8, off=True)
    page = visit(made)
    assert said(page) == made.sentence() and "ablate says 0" in said(page)
    page.locator("[data-key='head-0-0']").press("ArrowRight")
    assert "No kernel has answered" in said(page) and "Known are the 1 of 6 heads" in said(page)
    assert page.locator("[data-cost]").count() == 1
    page.locator("[data-key='head-0-1']").press("ArrowLeft")
    assert said(page) == made.sentence()


def test_a_kernel_is_waited_for_but_not_for_ever(visit):
    made = make(ablate=lambda layer, head: layer + head / 8)
    page = visit(made)
    page.evaluate("() => { window.model.state.alone = false }")
    page.get_by_label("switch the opened head off").press("Space")
    assert said(page).endswith("With layer 1, head 1 off: asking ablate …")
    page.locator("#explorable[data-source='no_answer']").wait_for(timeout=6_000)
    assert "No kernel has answered" in said(page)
    follow(made, page)
    page.evaluate("answers => window.model.set('answers', answers)", made.answers)  # the kernel wakes up
    assert said(page) == made.sentence() and "ablate says 0" in said(page)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reads_well_in_both_themes_and_on_a_phone(visit, shape, lang):
    made = grid(shape, second=(0, shape[1] - 1), row=shape[2] - 1, off=True, lang=lang)
    for head in range(shape[1]):
        made.opened = [shape[0] - 1, head]
    page = visit(made)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
        assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split()), "spaces in a row are one on a page"
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable script").count() == 0


def test_by_keys(visit):
    """The whole task without a mouse: open heads, another query, compare, switch off, reset."""
    made = make(ablate=lambda layer, head: layer - head / 8)
    page = visit(made)

    def agree():
        follow(made, page)
        if made.off:  # as the kernel would
            page.evaluate("answers => window.model.set('answers', answers)", made.answers)
        assert said(page) == made.sentence()

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 8, "all heads are one stop"
    page.locator("[data-key='head-0-0']").press("ArrowRight")
    walked = {"ArrowDown": [1, 1], "End": [1, 2], "ArrowRight": [1, 2], "ArrowUp": [0, 2], "Home": [0, 0]}
    for key, want in [
        *walked.items(),
        ("ArrowUp", [0, 0]),
        ("ArrowDown", [1, 0]),
        ("ArrowDown", [1, 0]),
        ("ArrowUp", [0, 0]),
    ]:
        page.keyboard.press(key)
        agree()
        assert made.opened == want
        assert page.evaluate("() => document.activeElement.dataset.key") == f"head-{want[0]}-{want[1]}", (
            "focus goes along"
        )
    page.get_by_label("query", exact=True).press("End")
    agree()
    assert made.row == 4 and len(stops(root)) == 8
    page.get_by_label("compare with").select_option(label="layer 2, head 3")
    agree()
    assert made.second == [1, 2] and "The two heads put" in said(page)
    page.get_by_label("switch the opened head off").press("Space")
    agree()
    page.locator("[data-key='head-0-0']").press("ArrowDown")
    agree()
    assert made.costs() == {(0, 0): 0, (1, 0): 1} and "It costs most to lose layer 2, head 1 (+1.000)" in said(page)
    assert page.locator("[data-key='head-1-0']").get_attribute("aria-label").endswith("switched off it costs +1.000")
    page.get_by_label("colours up to").press("Space")
    agree()
    page.get_by_label("compare with").select_option("")
    agree()
    assert made.second == []
    page.get_by_role("button", name="reset").press("Enter")
    assert {name: state(page)[name] for name in made.STATE} == made.start
    agree()


def test_by_hand(visit):
    page = visit(make())
    page.locator("[data-key='head-1-2']").click()
    assert state(page)["opened"] == [1, 2]
    large = page.locator(".scroll").nth(1).locator("g")
    box = large.bounding_box()
    large.click(position={"x": box["width"] * 0.3, "y": box["height"] * 0.7})
    assert state(page)["row"] == 3


DEFINE = """import torch
from course_lib.explore.head_grid import head_grid

asked = []

def loss_rises(layer, head):
    asked.append([layer, head])
    return torch.tensor(0.5) if head < 2 else 1 / 0

grid = head_grid(torch.rand(1, 3, 4, 4).softmax(-1), ["나는", "너를", "정말", "사랑해"], ablate=loss_rises)
grid"""
STATE = "import json\nprint(json.dumps([asked, grid.opened, grid.off, [[*head] for head in grid.costs()]]))"


def test_in_lab_the_kernel_is_asked(lab):
    nbformat.write(notebook_of(DEFINE, STATE), lab.root / "heads.ipynb")
    notebook = lab.open("heads.ipynb")
    notebook.run("cell-0")
    live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
    live.wait_for(timeout=8_000)
    sentence = live.locator(".live")
    live.locator("[data-key='head-0-0']").press("ArrowRight")
    live.get_by_label("switch the opened head off").press("Space")
    live.locator("xpath=self::*[@data-source='answered']").wait_for(timeout=10_000)
    assert "With layer 1, head 2 off, loss_rises says +0.500" in sentence.inner_text()
    live.locator("[data-key='head-0-1']").press("x")  # would cut a cell, were it Lab's
    live.locator("[data-key='head-0-1']").press("ArrowRight")
    live.get_by_text("ZeroDivisionError").wait_for(timeout=10_000)
    live.locator("[data-key='head-0-2']").press("ArrowLeft")
    assert "says +0.500" in sentence.inner_text(), "asked before, so the answer is there at once"
    notebook.page.wait_for_timeout(400)
    notebook.run("cell-1")
    assert json.loads(notebook.text("cell-1")) == [[[0, 1], [0, 2]], [0, 1], True, [[0, 1]]]
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 2
    assert notebook.errors == [] and notebook.elsewhere == []
    notebook.page.close()

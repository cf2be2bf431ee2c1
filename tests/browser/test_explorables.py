"""Explorables in Chromium: the page agrees with Python, works by keys, reads well, asks nobody."""

import numpy as np
import pytest

from course_lib.explore.alignment import alignment
from course_lib.explore.bottleneck import bottleneck
from course_lib.explore.score_lab import score_lab

from .widgets import focused, follow, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

NAMES = ["bottleneck", "alignment", "score_lab"]


def random_weights(rows=4, columns=9, seed=0):
    raised = np.exp(2 * np.random.default_rng(seed).normal(size=(rows, columns)))
    return raised / raised.sum(axis=1, keepdims=True)


def make(name, lang="en"):
    if name == "bottleneck":
        return bottleneck(lang=lang)
    if name == "alignment":
        return alignment(random_weights(), list("3월 1일<b>&"), list("0301"), source_length=7, lang=lang)
    return score_lab([[1, 0], [0, 1], [-1, -1]], W=[[1, 0.5], [-1, 1]], lang=lang)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_reads_well_in_both_themes_and_on_a_phone(visit, name, lang):
    explorable = make(name, lang)
    page = visit(explorable)
    views = ["lines", "matrix"] if name == "alignment" else [None]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        dark = "true" if scheme == "dark" else "false"
        page.locator(f"#explorable[data-dark={dark}]").wait_for(timeout=5_000)
        for view in views:
            if view:
                page.locator("select").first.select_option(view)
            assert violations(page) == []
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


@pytest.mark.parametrize("name", NAMES)
def test_the_tab_key_reaches_everything_and_gets_out(visit, name):
    page = visit(make(name))
    page.evaluate("() => document.body.prepend(document.createElement('button'))")  # where Shift+Tab comes out
    root = page.locator("#explorable")
    kinds = "input:not(:disabled), select, button:not([tabindex='-1']), [tabindex='0']"
    for view in ["lines", "matrix"] if name == "alignment" else [None]:
        if view:
            page.get_by_label("view").select_option(view)
        way = walk(root)
        assert way == list(range(root.locator(kinds).count())), "Tab reaches every control once, in order, and leaves"
        stops(root)[0].press("Shift+Tab")
        assert focused(root) is None, "Shift+Tab leaves too"


@pytest.mark.parametrize("name", NAMES)
def test_the_focus_stays_where_it_is_when_the_picture_is_drawn_anew(visit, name):
    page = visit(make(name))
    root = page.locator("#explorable")
    for at, stop in enumerate(stops(root)):
        stop.focus()
        for lang in ("ko", "en"):
            page.evaluate("lang => window.model.set('lang', lang)", lang)
            stops(root)  # what was drawn anew has lost its mark
            assert focused(root) == at


def test_a_button_keeps_the_focus_when_it_has_nothing_left_to_do(visit):
    page = visit(make("alignment"))
    back = page.get_by_role("button", name="step back")
    for _ in range(5):
        back.press("Enter")
    assert state(page)["step"] == 1 and back.get_attribute("aria-disabled") == "true"
    assert back.evaluate("node => node === document.activeElement")

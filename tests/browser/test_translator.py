"""The translator in a bare page: agrees with Python in every state, and reads well wherever it stands."""

import numpy as np
import pytest

from course_lib.explore.base import fixed
from course_lib.explore.decode_stepper import chance
from tests.explore.random_heads import apply
from tests.explore.stub_translators import BAD, CAT, EXAMPLES, LOVE, TYPED, WRONG, random_states, right, strange, ties
from tests.explore.test_translator import make

from .test_translator_typing import awake, focus
from .widgets import compare, near, said, state, stops, violations

pytestmark = pytest.mark.browser

READ = """{found: root.found, source: root.dataset.source, shown: all('weight'), chances: all('chance'),
    texts: [...root.querySelectorAll('[data-weight], [data-chance]')].map((node) => node.textContent),
    chosen: [...root.querySelectorAll('[aria-pressed=true]')].map((node) => node.dataset.key),
    selects: [...root.querySelectorAll('select')].map((node) => node.value),
    field: root.querySelector('input').value}"""


@pytest.mark.parametrize("function", [right, strange, ties])
def test_the_page_agrees(visit, function):
    """In examples, and in what was typed, with the kernel's answer as it would send it."""
    made, states = make(function), []
    texts = [*EXAMPLES, TYPED, "constructor", "toString", "", "  ", "<b>" * 12]
    texts += ["y" * length for length in range(20, 30)]
    for at, one in enumerate(random_states(made, texts, 90)):
        apply(made, one)
        states.append(one | {"answer": made.answer, "lang": ("en", "ko")[at % 2]})

    def agree(found, state):
        shown, weights = made.shown(), made.weights()
        assert found["source"] == shown.get("problem", "answered"), state
        known = list(made.translations)
        assert found["selects"][0] == (str(known.index(made.text)) if made.text in known else "")
        assert found["selects"][1:] == [str(made.layer), "" if made.head is None else str(made.head)]
        assert found["field"] == made.text
        if weights is None:
            assert found["found"] is None and found["texts"] == found["chosen"] == []
            return
        row = weights[made.place()]
        assert near(found["found"]["weights"], weights) and near(found["shown"], row), state
        assert near(found["chances"], shown["probability"]) and found["found"]["text"] == shown["text"]
        assert sorted(found["texts"]) == sorted([*map(fixed, row), *map(chance, shown["probability"])]), state
        assert found["chosen"] == [f"row-{made.place()}"]

    compare(visit, made, states, READ, agree)


def test_the_lines_are_the_weights(visit):
    """As thick and as dark as the weight; of the tokens not looked at, the strongest line alone."""
    made = make(row=1, head=0)
    page = visit(made)
    weights, T = made.weights(), len(made.weights())
    look = (
        "all => all.map(line => [line.getAttribute('stroke-width'), line.getAttribute('stroke-opacity')].map(Number))"
    )
    drawn = page.locator("line[stroke='var(--line)']").evaluate_all(look)
    want = [[1.5 + 5 * share, 0.15 + 0.85 * share] for share in weights[1] if share >= 0.005]
    assert np.allclose(drawn, want)
    ends = "all => all.map(line => [line.getAttribute('x1'), line.getAttribute('x2')].map(Number))"
    others = page.locator("line[stroke='var(--rule)']").evaluate_all(ends)
    middle = "all => all.map(text => +text.getAttribute('x'))"
    above = page.locator("[data-weight]").evaluate_all(middle)
    below = page.locator("[data-chance]").evaluate_all(middle)
    assert others == [[below[row], above[weights[row].argmax()]] for row in range(T) if row != 1]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("function", "text"),
    [(right, CAT), (strange, "x" * 26), (strange, "x" * 4), (ties, LOVE), (right, BAD), WRONG["scores"][:1] + (LOVE,)],
    ids=["words", "long", "strange", "eight", "unknown", "wrong"],
)
def test_reads_well_in_both_themes_and_on_a_phone(visit, function, text, lang):
    made = make(function, [LOVE, "그녀는 내일 시장에서 빵을 사지 않을 거야"], text=text, row=3, lang=lang)
    page = visit(made)
    for woken in (False, True):
        if woken:
            awake(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
            assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split()), "spaces in a row are one on a page"
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_timeout(200)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    shape = page.locator("svg").evaluate_all("all => all.map(node => node.getBoundingClientRect().width)")
    assert all(width <= 300 for width in shape)
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable :is(b, script)").count() == 0


def test_two_rows_where_there_is_room_and_two_columns_where_there_is_none(visit):
    page = visit(make(text=CAT, row=1))
    page.locator("[data-key='row-1']").focus()

    def middles():
        return page.locator("[data-key^='row-']").evaluate_all("all => all.map(node => node.getBBox().y)")

    for width, rows in ((1400, 1), (320, 4), (800, 1)):
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_timeout(200)
        assert len({round(y) for y in middles()}) == rows
        assert focus(page) == "row-1", "the focus stays"


def test_by_hand(visit):
    page = visit(make(text=CAT))
    page.locator("[data-key='row-2']").hover()
    assert state(page)["row"] == 2
    page.locator("[data-key='row-1']").click()
    assert state(page)["row"] == 1


def test_the_focus_stays_where_it_is_when_the_picture_is_drawn_anew(visit):
    page = visit(make(text=CAT, row=2))
    awake(page)
    root = page.locator("#explorable")
    for at, stop in enumerate(stops(root)):
        stop.focus()
        for lang in ("ko", "en"):
            page.evaluate("lang => window.model.set('lang', lang)", lang)
            stops(root)  # what was drawn anew has lost its mark
            assert page.evaluate("() => +document.activeElement.dataset.stop") == at

"""The position waves in a bare page: agree with Python in every state, work by keys, read well, ask nobody."""

import numpy as np
import pytest

from course_lib.explore.base import fixed
from course_lib.explore.position_waves import ORDERS, VERB, WIDTH, clocks, position_waves
from tests.explore.test_position_waves import states

from .widgets import compare, follow, near, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

READ = """{found: root.found, alike: all('alike'), waves: all('wave'), distance: all('distance'),
    hands: [...root.querySelectorAll('[data-hand]')].map((hand) => [hand.dataset.hand, hand.getAttribute('x2'),
    hand.getAttribute('y2')].map(Number))}"""


@pytest.mark.parametrize(("size", "count"), [((64, 32), 90), ((2, 2), 30), ((128, 128), 12), ((7, 6), 60)], ids=str)
def test_the_page_agrees(visit, size, count):
    made = position_waves(*size)

    def agree(found, state):
        page, row = found["found"], made.encoding()[made.position]
        assert near(page["row"], row), state
        assert near(page["alike"], list(made.similarity().values())) and near(found["alike"], page["alike"]), state
        assert near(found["waves"], row[2 * made.pair : 2 * made.pair + 2]), state
        assert page["clocks"] == clocks(size[1] // 2, made.pair) == [pair for pair, _, _ in found["hands"]]
        # A hand points to 12 at sine 0 and cosine 1, and turns with the clock.
        assert near(np.array(found["hands"]) / [1, 33, -33], made.hands()), state
        assert near(page["verbs"], [made.verb(ORDERS[0]), made.verb(ORDERS[made.shuffle])]), state
        assert near(page["distance"], made.distance()) and found["distance"] == [page["distance"]]

    spoken = [one | {"lang": ("en", "ko")[at % 2]} for at, one in enumerate(states(made, count))]
    compare(visit, made, spoken, READ, agree)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("size", [(64, 32), (128, 128), (2, 2)], ids=str)
def test_reads_well_in_both_themes_and_on_a_phone(visit, size, lang):
    made = position_waves(*size, position=1, shuffle=4, added=True, base=100, lang=lang)
    page = visit(made)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
        assert violations(page) == []
    assert said(page) == made.sentence()
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


def test_by_keys(visit):
    """The whole task without a mouse: walk, another hand, another base, a bag of words and a sentence."""
    made = position_waves(position=0, pair=0)
    page = visit(made)

    def agree():
        follow(made, page)
        assert said(page) == made.sentence()
        assert page.locator("[data-distance]").inner_text().endswith(fixed(made.distance()))

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 6
    for _ in range(3):
        page.get_by_label("position", exact=True).press("ArrowRight")
        agree()
    page.get_by_label("pair", exact=True).press("End")
    page.get_by_label("base").press("Home")
    agree()
    assert (made.position, made.pair, made.base) == (3, 15, 100)
    for _ in range(4):
        page.get_by_label("shuffle the words").press("ArrowRight")
        agree()
        assert "0.00 away" in said(page), "a bag of words"
    page.get_by_label("add positions to the words").press("Space")
    agree()
    assert made.added and made.distance() > 1
    page.get_by_label("shuffle the words").press("Home")
    agree()
    assert made.shuffle == 0 and made.distance() == 0
    page.get_by_role("button", name="reset").press("Enter")
    assert {name: state(page)[name] for name in made.STATE} == made.start
    agree()


def test_the_words_and_their_vectors_are_there_as_text(visit):
    made = position_waves(shuffle=5, added=True)
    page = visit(made)
    texts = page.locator("#explorable > div > svg text").all_text_contents()
    assert texts[0] == "고양이+PE(0) 가+PE(1) 강아지+PE(2) 를+PE(3) 본다+PE(4)"
    assert texts[WIDTH + 1] == "본다+PE(0) 를+PE(1) 강아지+PE(2) 가+PE(3) 고양이+PE(4)"
    assert ORDERS[5].index(VERB) == 0
    assert texts[1 : WIDTH + 1] == [fixed(part).replace("-", "−") for part in made.verb(ORDERS[0])]

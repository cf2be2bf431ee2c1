"""The softmax lab in a bare page: agrees with Python in every state, works by keys, reads well, asks nobody."""

import math
import random

import numpy as np
import pytest

from course_lib.explore.base import fixed
from course_lib.explore.softmax_lab import COLDEST, HOTTEST, WIDTHS, softmax_lab
from tests.explore.test_softmax_lab import SCORES, TOKENS, make

from .test_parity import compare, near
from .widgets import follow, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

ROWS = {
    "five": (SCORES, TOKENS),
    "sixteen": (np.random.default_rng(0).normal(size=16), [f"token {at} " * 3 for at in range(16)]),
    "one": ([0.7], ["</script>"]),
    "all the same": (np.zeros(8), list("abcdefgh")),
    "two lead": ([2.0, 2.0, -1.0], list("$_^")),
    "far apart": ([20.0, -20.0, 0.0], ["나는", "{token}", "constructor"]),
}
READ = "{found: root.found, weights: all('weight'), scores: all('score')}"


@pytest.mark.parametrize("name", ROWS)
def test_the_page_agrees(visit, name):
    made, chance = softmax_lab(*ROWS[name]), random.Random(name)
    ends = [(d_k, warm) for d_k in (WIDTHS[0], WIDTHS[-1]) for warm in (COLDEST, 0.125, 1, HOTTEST)]
    drawn = [(chance.choice(WIDTHS), round(chance.uniform(COLDEST, HOTTEST), 3)) for _ in range(60)]
    states = [
        {"d_k": d_k, "temperature": warm, "root": root, "lang": chance.choice(["en", "ko"])}
        for d_k, warm in ends + drawn
        for root in (True, False)
    ]

    def agree(found, state):
        page = found["found"]
        assert near(page["weights"], made.weights()) and near(found["weights"], made.weights()), state
        assert np.allclose(page["given"], made.logits()) and np.allclose(found["scores"], made.logits()), state
        assert page["entropy"] == pytest.approx(made.entropy(), abs=1e-9)
        assert page["variance"] == pytest.approx(made.variance())
        # To a share of itself: nought would be near enough to what is left of a saturated softmax.
        assert page["norm"] == pytest.approx(made.jacobian_norm(), rel=1e-6, abs=1e-150)
        for curve, root in zip(page["curves"], (True, False), strict=True):
            assert np.allclose(curve, made.curve(root), rtol=1e-6, atol=1e-12), state

    compare(visit, made, states, READ, agree)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", ["five", "sixteen"])
def test_reads_well_in_both_themes_and_on_a_phone(visit, name, lang):
    made = softmax_lab(*ROWS[name], lang=lang)
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
    assert page.locator("#explorable b").count() == 0


def test_by_keys(visit):
    """From a healthy softmax to a saturated one and back, without a mouse."""
    made = make()
    page = visit(made)

    def agree():
        follow(made, page)
        assert said(page) == made.sentence()
        assert page.locator("[data-weight]").all_inner_texts() == [fixed(weight) for weight in made.weights()]

    assert walk(page.locator("#explorable")) == list(range(len(stops(page.locator("#explorable")))))
    page.get_by_label("divide by √d_k").press("Space")
    for _ in range(3):
        page.get_by_label("d_k", exact=True).press("ArrowRight")
        agree()
    assert state(page)["d_k"] == 512 and state(page)["root"] is False and "saturated" in said(page)
    page.get_by_label("temperature").press("End")
    agree()
    assert state(page)["temperature"] == 10 and "saturated" not in said(page)
    page.get_by_label("temperature").press("Home")
    page.get_by_label("d_k", exact=True).press("Home")
    agree()
    page.get_by_role("button", name="reset").press("Enter")
    assert {name: state(page)[name] for name in made.STATE} == made.start
    agree()


def test_the_point_stands_on_the_curve_that_is_chosen(visit):
    page = visit(make(d_k=1024, root=False))
    ring = "() => [...document.querySelectorAll('circle[fill=none]')].map(ring => +ring.getAttribute('cy'))"
    low = page.evaluate(ring)
    page.get_by_label("divide by √d_k").press("Space")
    assert len(low) == 2 and all(now < before - 50 for now, before in zip(page.evaluate(ring), low, strict=True))


def test_a_temperature_between_the_stops_is_shown_as_it_is(visit):
    page = visit(make(temperature=1.37))
    assert page.locator("output").first.inner_text() == "1.37"
    page.get_by_label("temperature").press("ArrowRight")
    assert state(page)["temperature"] == 2 and math.isclose(make(temperature=1.37).temperature, 1.37)

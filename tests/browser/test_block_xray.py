"""The X-ray of the block in a bare page: agrees with Python in every state, works by keys, reads well, asks nobody."""

import numpy as np
import pytest

from course_lib.explore.base import fixed
from course_lib.explore.block_stages import key_of
from course_lib.explore.block_xray import CURVES, block_xray, short
from course_lib.masks import causal_mask
from tests.explore.random_blocks import encoder, states, vectors
from tests.explore.test_block_xray import make

from .widgets import compare, near, said, stops, violations, walk

pytestmark = pytest.mark.browser

STRANGE = ["나는", "{block}", "</script>", "constructor", "a long token, and more", "$x$", "none", " "]
READ = """{found: root.found, length: all('length'), alike: all('alike'), heard: all('heard'),
    texts: [...root.querySelectorAll('[data-length]')].map((cell) => cell.textContent),
    dots: [...root.querySelectorAll('[data-heard] span')].map((span) => span.textContent),
    names: [...root.querySelectorAll('tbody th')].map((name) => name.textContent),
    shapes: [...root.querySelectorAll('tbody td:nth-child(2)')].map((shape) => shape.textContent),
    curves: ['meanlength', 'meanalike', 'gradient'].map(all)}"""


def follow(made, page):
    """As `widgets.follow`, without bringing all that was measured out of the page for each trait."""
    read = "names => names.map((name) => [name, window.model.get(name)])"
    for name, value in page.evaluate(read, list(made.STATE)):
        setattr(made, name, value)


def built(count, length, kind=None):
    ours, x = encoder(count), vectors(length)
    for parameter in ours.parameters():
        parameter.data *= {"zero": 0, "tiny": 1e-20, "huge": 1e3}.get(kind, 1)
    if kind:
        x[-1] = 0
    return block_xray(ours, x, (STRANGE * 2)[:length], mask=causal_mask(length) if kind is None else None)


@pytest.mark.parametrize(
    ("count", "length", "kind"),
    [(3, 5, None), (1, 2, None), (12, 16, None), (2, 8, "zero"), (4, 3, "tiny"), (3, 8, "huge")],
)
def test_the_page_agrees(visit, count, length, kind):
    made = built(count, length, kind)

    def agree(found, state):
        shown, at = made.shown(), made.block - 1
        lengths = made.lengths()
        assert found["length"] == lengths[~np.isnan(lengths)].tolist(), state
        assert found["texts"] == [short(one) for one in found["length"]]
        assert found["alike"] == [one for one in shown["alike"][at] if one is not None], state
        assert found["heard"] == [one for one in made.heard() if one is not None], state
        rows = [row[made.token] for row in shown["heard"][at] if row is not None]
        assert found["dots"] == ["".join("○●"[row >> s & 1] for s in range(length)) for row in rows], state
        assert found["curves"] == [[one for one in shown[name] if one is not None] for name in CURVES], state
        assert found["shapes"] == [
            f"({length}, {made.d_ff[at] if name == 'hidden' else 12})" for name in made.stages[made.order]
        ]
        names = " ".join(found["names"])
        assert names.count(made.say("is_off")) == (
            (not made.attention) + 2 * (not made.feed_forward) + 2 * (not made.shortcuts) + 2 * (not made.norms)
        )
        page = found["found"]
        assert page["key"] == key_of(made.switches()) and page["findings"] == made.findings(), state
        assert near(page["scale"], made.scale()), state

    compare(visit, made, list(states(made, 96)), READ, agree)


def test_numbers_are_written_alike(visit):
    """Lengths of all sizes, halves among them, through the page's own `short`."""
    drawn = np.random.default_rng(0)
    values = [float(f"{10 ** drawn.uniform(-8, 8):.4g}") for _ in range(400)]
    values += [0.0, 0.125, 0.0625, 12.25, 12.75, 150.5, 12_500.0, 99_500.0, 9.995, 0.0995, 0.09995, 9999.5, 1e-300]
    page = visit(make())
    shown = page.evaluate(
        """values => { const key = '1111post', state = window.model.state;
            return values.map((value) => {
                state.states[key].length[0][0][0] = value;
                window.model.set('lang', 'en');
                return document.querySelector('[data-length]').textContent; }) }""",
        values,
    )
    assert shown == [short(value) for value in values]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("size", [(3, 5), (12, 16), (1, 2)], ids=str)
def test_reads_well_in_both_themes_and_on_a_phone(visit, size, lang):
    made = built(*size)
    for name, value in {"feed_forward": False, "norms": False, "lang": lang, "token": 1}.items():
        setattr(made, name, value)
    page = visit(made)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
        assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split()), "spaces in a row are one on a page"
    page.set_viewport_size({"width": 800, "height": 700})
    assert page.evaluate("() => document.querySelector('#explorable').offsetHeight") <= 620
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable script").count() == 0


def test_by_keys(visit):
    """The whole task without a mouse: switch each part off, turn the order round, open a block, follow a token."""
    made = make()
    page = visit(made)
    last = page.locator("tbody tr").last

    def agree():
        follow(made, page)
        assert said(page) == made.sentence()
        assert page.locator(".chosen[data-length]").all_inner_texts()[0] == short(made.lengths()[0, made.token])

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 9, "eight controls, and the table"
    for label, part in (
        ("attention", "attention"), ("feed-forward", "feed_forward"), ("shortcuts", "shortcuts"), ("norms", "norms"),
    ):  # fmt: skip
        box = page.get_by_label(label, exact=True)
        box.press("Space")
        agree()
        assert getattr(made, part) is False and f"Off: {label}." in said(page)
        box.press("Space")
        agree()
    assert said(page).startswith("All parts are on.")
    page.get_by_label("norms stand").select_option("pre")
    agree()
    assert made.order == "pre" and last.locator("th").inner_text() == "+ shortcut"
    page.get_by_label("block", exact=True).press("End")
    page.get_by_label("follow").select_option("2")
    agree()
    assert (made.block, made.token) == (3, 2) and "Block 3" in page.locator(".title").first.inner_text()
    page.get_by_role("button", name="reset").press("Enter")
    agree()
    assert {name: getattr(made, name) for name in made.STATE} == made.start


def test_the_charts_compare_with_the_blocks_as_they_are(visit):
    made = make(order="pre")
    page = visit(made)
    now, given = (page.locator(f".chart path{which}") for which in (":not([stroke-dasharray])", "[stroke-dasharray]"))
    assert now.count() == given.count() == 3

    def ways(paths):
        return [path.get_attribute("d") for path in paths.all()]

    assert ways(now) != ways(given)
    page.get_by_label("norms stand").select_option("post")
    assert ways(now) == ways(given)
    labels = [chart.get_attribute("aria-label") for chart in page.locator(".chart svg").all()]
    follow(made, page)
    mean, alike, gradient = (made.shown()[name] for name in CURVES)
    assert labels == [
        f"Mean length: {short(mean[0])} at the input, {short(mean[-1])} at the top",
        f"Mean cosine: {fixed(alike[0])} at the input, {fixed(alike[-1])} at the top",
        f"Gradient: {short(gradient[0])} at the input, 1.00 at the top",
    ]

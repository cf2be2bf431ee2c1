"""The three families in a bare page: agrees with Python in every state, works by keys, reads well, asks nobody."""

import itertools

import pytest

from course_lib.explore.families import families, grouped
from course_lib.explore.family_masks import FAMILIES
from tests.explore.test_families import STRANGE, make, random_states, wrong

from .test_translator_typing import focus
from .widgets import compare, follow, said, state, stops, violations

pytestmark = pytest.mark.browser

READ = """{found: root.found, arcs: all('arc'),
    cells: [...root.querySelectorAll('[data-cell]')].map((cell) => [cell.dataset.cell, cell.textContent]),
    strips: [...root.querySelectorAll('[data-strip]')].map((cell) => [cell.dataset.strip, cell.textContent]),
    counts: [...root.querySelectorAll('[data-count]')].map((cell) => cell.textContent),
    titles: [...root.querySelectorAll('.title')].map((title) => title.textContent),
    frames: [...root.querySelectorAll('[data-key^=token] rect')].map((frame) => frame.hasAttribute('stroke-dasharray')),
    pressed: [...root.querySelectorAll('[aria-pressed=true]')].map((node) => node.dataset.key),
    radio: root.querySelector('input:checked').value, disabled: root.querySelector('input[type=range]').disabled,
    output: root.querySelector('output').textContent}"""
MANY = {
    "source": ["translation", "나", "모델이라는것", "$x$", "<b>", "ab"],
    "target": ["The", "brownish", " "] + ["x"] * 3,
}
MADE = {"own": {}, "strange": STRANGE, "many": MANY, "two": {"source": ["</script>"], "target": ["none"], "d_model": 1}}


def cells_of(made):
    """[(place, text)] of all cells, as the page must have them."""
    mask, stages, (leaks, blind) = made.mask(), made.stages(), made.disagreements() or ([], [])
    for rows, columns in made.grids().values():
        for row, column in itertools.product(rows, columns):
            kind = stages[row] if mask[row, column] else "hidden"
            text = "✓" if row == made.token and mask[row, column] else ""
            text = "!" if [row, column] in leaks else "0" if [row, column] in blind else text
            yield [f"{row}-{column}-{kind}", text]


def counts_of(made):
    """What the table says: this pass and all so far, with the cache and without, then what is kept."""
    if made.family == "encoder-only":
        return []
    cached, anew = made.scores(True), made.scores(False)
    growing, fixed = len(made.grids().get("decoder", [()])[0]) - len(made.target) + made.written, 0
    if made.family == "encoder-decoder":
        fixed = len(made.source)
    layer = 2 * (growing + fixed) * made.d_model
    formula = f"2 · {f'({growing} + {fixed})' if fixed else growing} · {made.d_model} = {grouped(layer)}"
    rows = [cached[-1], anew[-1], sum(cached), sum(anew)]
    return [*map(grouped, rows), formula, "0", grouped(layer * made.num_layers), "0"]


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_the_page_agrees(visit, name, measured):
    made = make(**MADE[name])
    S, N = len(made.source), len(made.source) + 1 + len(made.target)
    if measured:
        cells = {"own": wrong, "strange": wrong, "many": wrong, "two": lambda family, *_: [[1, 1, 0]] * 3}[name]
        made = make(**MADE[name], influence={family: lambda f=family: cells(f, S, N) for family in FAMILIES[::2]})
    edges = [
        {"family": family, "token": token, "written": written, "cache": cache, "lang": "en"}
        for family in FAMILIES
        for token, written, cache in itertools.product((0, S, N - 1), (0, N - S - 1), (True, False))
    ]

    def agree(found, state):
        mask, page = made.mask(), found["found"]
        assert page["mask"] == mask.tolist() and page["stages"] == made.stages(), state
        assert page["kept"] == list(made.kept()) and page["cached"] == made.scores(True), state
        leaks, blind = made.disagreements() or ([], [])
        assert (page["leaks"], page["blind"]) == (leaks, blind) and page["places"] == made.places()
        assert found["cells"] == list(cells_of(made)), state
        strips = [f"{letter}-{stage}" for name in made.grids() for letter in "KV" for stage in made.strip(name)]
        assert found["strips"] == [[one, "+" if one.endswith("now") else ""] for one in strips], state
        assert found["counts"] == counts_of(made), state
        assert [title for title in found["titles"] if title != made.say("counts")] == [*map(made.title, made.grids())]
        assert found["arcs"] == [at for at in range(N) if mask[made.token, at] and at != made.token], state
        assert found["frames"] == (~mask[made.token]).tolist() and found["pressed"] == [f"token-{made.token}"]
        assert found["radio"] == made.family and found["disabled"] == (made.family == "encoder-only")
        assert found["output"] == made.say("of", written=made.written, all=len(made.target))

    compare(visit, made, [*edges, *random_states(made, 90)], READ, agree)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", ["own", "many"])
def test_reads_well_in_both_themes_and_on_a_phone(visit, name, family, lang):
    count = len(make(**MADE[name]).places())
    measured = {family: lambda: wrong(family, count // 2, count)}
    made = families(**MADE[name], family=family, written=1, token=8, lang=lang, influence=measured)
    page = visit(made)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
        assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split())
    if name == "own":
        page.set_viewport_size({"width": 800, "height": 900})
        assert page.evaluate("() => document.querySelector('#explorable').offsetHeight") <= 700
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    sizes = page.locator("[data-cell]").evaluate_all("all => all.map(cell => [cell.offsetWidth, cell.offsetHeight])")
    assert min(wide for wide, _ in sizes) >= 20 and min(high for _, high in sizes) >= 18, "cells can be told apart"
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable :is(b, script)").count() == 0


def test_no_text_covers_another(visit):
    """Tokens stay in their frames, and names of rows and columns beside one another, at any width."""
    page = visit(make(**MANY))
    over = """() => {
        const boxes = (nodes) => [...nodes].map((node) => node.getBoundingClientRect());
        const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
        const tokens = boxes(document.querySelectorAll('#explorable [data-key^=token] rect'));
        const wide = (group, part) => group.querySelector(part).getBoundingClientRect().width;
        const out = [...document.querySelectorAll('#explorable [data-key^=token]')]
            .filter((group) => wide(group, 'text') > wide(group, 'rect'));
        const cut = [...document.querySelectorAll('#explorable :is(th, td)')]
            .filter((cell) => cell.scrollWidth > cell.offsetWidth + 1);
        const meeting = tokens.some((one, at) => tokens.some((other, to) => to > at && meet(one, other)));
        return [meeting, out.length, cut.length];
    }"""
    for width, family in itertools.product((320, 800, 1600), FAMILIES):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("family => window.model.set('family', family)", family)
        assert page.evaluate(over) == [False, 0, 0], (width, family)


def test_by_keys(visit):
    """The whole task without a mouse: choose each family, walk through the text, write, do without the cache, reset."""
    made = make()
    page = visit(made)

    def agree(**want):
        follow(made, page)
        assert said(page) == made.sentence() and {name: getattr(made, name) for name in want} == want

    root, radio = page.locator("#explorable"), page.locator("input[type=radio]:checked")
    assert len(stops(root)) == 12, (
        "three families, slider, box, reset, a token, and what may scroll: text, costs, grids"
    )
    stops(root)[1].focus()
    way = [1]
    while len(way) < 12:
        page.keyboard.press("Tab")
        at = page.evaluate("() => document.activeElement.dataset.stop")
        if at is None:
            break
        way.append(int(at))
    assert way == [1, *range(3, 12)], "the families are one stop, the chosen one"
    for key, family in (("ArrowRight", "decoder-only"), ("ArrowRight", "encoder-only"), ("ArrowLeft", "decoder-only")):
        radio.press(key)
        agree(family=family)
        assert page.evaluate("() => document.activeElement.value") == family
    written = page.get_by_label("tokens written so far")
    for key, count in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("End", 3), ("ArrowLeft", 2)):
        written.press(key)
        agree(written=count)
        now = page.locator("[data-strip='K-now']").count()
        assert (now, page.locator("[data-strip='K-before']").count()) == ((6, 0) if count == 0 else (1, 5 + count))
    page.get_by_label("cache keys and values").press("Space")
    agree(cache=False)
    assert page.locator("[data-strip='V-now']").count() == 8 and page.locator("[data-strip$='before']").count() == 0
    page.locator("[data-key='token-7']").press("ArrowRight")
    agree(token=8)
    for key, token in (("ArrowRight", 8), ("ArrowUp", 7), ("Home", 0), ("ArrowLeft", 0), ("ArrowDown", 1), ("End", 8)):
        page.keyboard.press(key)
        agree(token=token)
        assert focus(page) == f"token-{token}" and len(stops(root)) == 10
    page.get_by_role("button", name="reset").press("Enter")
    agree(**made.start)
    assert radio.input_value() == "encoder-decoder"
    page.wait_for_timeout(200)
    assert {name for sent in page.evaluate("() => window.model.log") for name in sent} == set(made.STATE)


def test_the_focus_stays_when_the_picture_is_drawn_anew(visit):
    page = visit(make(family="decoder-only"))
    root = page.locator("#explorable")
    for at in range(len(stops(root))):
        stops(root)[at].focus()
        for lang in ("ko", "en"):
            page.evaluate("lang => window.model.set('lang', lang)", lang)
            stops(root)
            assert page.evaluate("() => +document.activeElement.dataset.stop") == at


def test_by_hand(visit):
    page = visit(make())
    page.locator("[data-key='token-2']").click()
    assert state(page)["token"] == 2
    page.locator("[data-cell^='6-1-']").click()
    assert state(page)["token"] == 6 and page.locator("tr th.chosen").all_inner_texts() == ["I", "I"]
    page.get_by_label("decoder-only").check()
    assert state(page)["family"] == "decoder-only" and page.locator("tr th.chosen").all_inner_texts() == ["I"]


def test_a_token_that_is_chosen_by_key_is_scrolled_into_sight(visit):
    page = visit(make(**MANY, family="decoder-only", token=0))
    page.set_viewport_size({"width": 320, "height": 900})
    page.locator("[data-key='token-0']").focus()
    for at in range(1, 13):
        page.keyboard.press("ArrowRight")
        box = page.locator(f"[data-key='token-{at}'] rect").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 320, at

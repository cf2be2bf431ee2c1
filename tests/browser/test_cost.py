"""What attention costs in a bare page: agrees with Python in every state, works by keys, reads well, asks nobody."""

import base64
import itertools

import nbformat
import numpy as np
import pytest

from course_lib.explore.cost import cost, plain
from course_lib.explore.cost_counts import (
    CHOICES,
    KEPT,
    KINDS,
    SHARED,
    bytes_in_words,
    crossing,
    grouped,
    large,
    layer,
    memory,
    multiplications,
    percent,
    times,
)
from course_lib.explore.cost_picture import curves
from tests.explore.test_cost import pretend, random_states

from .test_translator_typing import awake
from .widgets import compare, follow, notebook_of, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

READ = """{found: root.found, source: root.dataset.source, now: all('now'), crossing: all('crossing'),
    rows: [...root.querySelectorAll('[data-row]')].map((row) =>
        [row.dataset.row, ...[...row.children].map((cell) => cell.textContent)]),
    bytes: [...root.querySelectorAll('[data-bytes]')].map((bar) => bar.dataset.bytes),
    wide: [...root.querySelectorAll('[data-bytes]')].map((bar) => +bar.getAttribute('width')),
    texts: [...root.querySelectorAll('svg text.halo')].map((text) => text.textContent),
    outputs: [...root.querySelectorAll('output')].map((output) => output.textContent),
    selects: [...root.querySelectorAll('select')].map((node) => node.value),
    window: root.querySelector('input[id$=window]').disabled}"""
FOUND = {
    "three": [[512, 0.31, None], [1024, 1.5, 4.8], [2048, 12.0, 8.0]],
    "one": [[16, 1200.0, None]],
    "none": [],
}
EDGES = [
    dict(zip(CHOICES, ends, strict=True))
    for ends in itertools.product(*((values[0], values[-1]) for values in CHOICES.values()))
]


def answers(monkeypatch, rows, **more):
    """Whatever is measured, that comes out."""
    pretend(lambda attention, setting: {"name": "<b>mine", "rows": rows, **more}, monkeypatch)


def set_all(made, states):
    """The states, with the answers that a kernel gives in them."""
    for at, one in enumerate(states):
        for name, value in one.items():
            setattr(made, name, value)
        made.measures = at % 3
        yield one | {"measures": made.measures, "answer": made.answer}


@pytest.mark.parametrize("name", [*FOUND, "problem"])
def test_the_page_agrees(visit, monkeypatch, name):
    answers(monkeypatch, FOUND.get(name, []), **({"problem": "RuntimeError: <i> {layer}"} if name == "problem" else {}))
    made = cost()
    edges = [
        one | {"kind": kind, "shared": shared, "lang": "en"}
        for one, kind, shared in zip(EDGES, itertools.cycle(KINDS), itertools.cycle(SHARED), strict=False)
    ]
    states = list(set_all(made, [*edges, *random_states(120, seed=len(name))]))

    def agree(found, state):
        s, kept = made.setting(), memory(made.setting())
        want = multiplications(s) | kept | {"layer": layer(s)[0]}
        assert found["found"] == {what: str(number) for what, number in want.items()}, state
        at = CHOICES["length"].index(s.length)
        assert np.allclose(found["now"], [line[at] for line in curves(s).values()], rtol=1e-15), state
        assert found["crossing"] == [crossing(s)] * (crossing(s) is not None), state
        rows, measured = [], made.measured()
        if measured and measured["rows"]:
            for (length, ms, factor), counted in zip(measured["rows"], made.counted(), strict=True):
                rows.append([f"at-{length}", grouped(length), plain(ms), times(factor), times(counted)])
        rows += [[what, made.word(what), *cells] for what, cells in made.table().items()]
        assert found["rows"] == rows, state
        assert found["bytes"] == [str(kept[what]) for what in KEPT], state
        assert [wide > 0 for wide in found["wide"]] == [kept[what] > 0 for what in KEPT]
        named = [f"{made.word(what)}: {bytes_in_words(kept[what])}" for what in KEPT]
        assert found["texts"] == [*([grouped(crossing(s))] if crossing(s) else []), *named], state
        assert found["outputs"] == [grouped(made.trait_values()[what]) for what in (*list(CHOICES)[:5], "window")]
        assert found["selects"] == [s.kind, s.shared, str(s.size)] and found["window"] == (s.kind != "window")
        assert found["source"] == ("answered" if measured else "unasked"), state

    compare(visit, made, states, READ, agree)


def test_numbers_are_written_alike(visit):
    """Also where a digit more makes another power or unit, and beyond what a float holds exactly."""
    edges = [10**power * lead + more for power in range(22) for lead in (1, 9, 95, 99, 994, 995, 9994, 9995, 99949)
             for more in (-1, 0, 1)]  # fmt: skip
    numbers = [str(number) for number in (*edges, *np.random.default_rng(0).integers(1, 2**62, 200))]
    source = base64.b64encode(cost()._esm_text().encode()).decode()
    written = """async ([source, numbers]) => {
        const { large, bytesInWords, percent } = await import(`data:text/javascript;base64,${source}`);
        return numbers.map((text, at) => [large(BigInt(text)), bytesInWords(BigInt(text)), percent(BigInt(at), 777n)]);
    }"""
    found = visit(cost()).evaluate(written, [source, numbers])
    for at, number in enumerate(map(int, numbers)):
        assert found[at] == [large(number), bytes_in_words(number), percent(at, 777)], number


def test_a_bar_is_as_long_as_its_logarithm(visit):
    made = cost(heads=64, length=2**20, texts=256, layers=96, size=4, width=8192)
    bars = visit(made).locator("[data-bytes]").evaluate_all("all => all.map(bar => +bar.getAttribute('width'))")
    kept = [np.log10(float(memory(made.setting())[what])) - 3 for what in KEPT]
    assert np.allclose(np.array(bars) / bars[0], np.array(kept) / kept[0])
    assert bars[1] <= 320, "the largest there can be"


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("kind", KINDS)
def test_reads_well_in_both_themes_and_on_a_phone(visit, monkeypatch, kind, lang):
    answers(monkeypatch, FOUND["three"])
    made = cost(kind=kind, shared="quarter", measures=1, lang=lang)
    page = visit(made)
    for woken in (False, True):
        if woken:
            awake(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
            assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split())
    for width, most in ((1100, 740), (800, 800)):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.querySelector('#explorable').offsetHeight") <= most
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable :is(b, i, script)").count() == 0


def test_no_text_covers_another(visit):
    """Within each drawing, at the ends of all sliders."""
    page = visit(cost())
    over = """() => [...document.querySelectorAll('#explorable svg')].flatMap((drawing) => {
        const all = [...drawing.querySelectorAll('text')], boxes = all.map((node) => node.getBoundingClientRect());
        const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
        return boxes.flatMap((one, at) => all.filter((_, to) => to > at && meet(one, boxes[to]))
            .map((other) => [all[at].textContent, other.textContent]));
    })"""
    for width, lang, one in itertools.product((320, 800, 1100), ("en", "ko"), EDGES[::17]):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("one => { Object.assign(window.model.state, one); window.model.set('lang', one.lang) }", one | {
            "lang": lang, "kind": KINDS[len(lang + str(one)) % 4],
        })  # fmt: skip
        assert page.evaluate(over) == [], (width, one)


def test_by_keys(visit):
    """Each control without a mouse, and reset."""
    made = cost(kind="window")
    page = visit(made)

    def agree(**want):
        follow(made, page)
        assert said(page) == made.sentence() and {name: getattr(made, name) for name in want} == want

    root = page.locator("#explorable")
    assert len(stops(root)) == 12, "six sliders, three selects, to measure, reset, and a table that may scroll"
    assert walk(root) == list(range(12))
    named = {"tokens N": "length", "width D": "width", "heads H": "heads", "layers L": "layers"}
    named |= {"texts at once B": "texts", "window w": "window"}
    for label, name in named.items():
        slider, values = page.get_by_role("slider", name=label), CHOICES[name]
        for key, at in (("Home", 0), ("ArrowRight", 1), ("End", -1), ("ArrowLeft", -2)):
            slider.press(key)
            agree(**{name: values[at]})
            assert slider.get_attribute("aria-valuetext") == grouped(values[at])
    for label, name, value in (("keys and values", "shared", "one"), ("attention", "kind", "linear")):
        page.get_by_label(label, exact=True).press("End")
        agree(**{name: value})
    assert page.get_by_role("slider", name="window w").is_disabled()
    page.get_by_label("bytes a number b").press("End")
    agree(size=4)
    page.get_by_role("button", name="measure here").press("Enter")
    agree(measures=0)
    assert page.get_by_text("Only a running notebook can measure.").is_visible()
    page.get_by_role("button", name="reset").press("Enter")
    agree(**made.start)
    page.wait_for_timeout(200)
    sent = {name for sent in page.evaluate("() => window.model.log") for name in sent}
    assert sent == set(made.STATE) - {"measures"}


def test_a_kernel_is_asked_and_waited_for_but_not_for_ever(visit, monkeypatch):
    answers(monkeypatch, FOUND["three"])
    made = cost()
    page = visit(made)
    awake(page)
    assert page.get_by_text("Only a running notebook can measure.").is_hidden()
    button = page.get_by_role("button", name="measure here")
    button.press("Enter")
    assert state(page)["measures"] == 1 and said(page) == f"{made.sentence()} Measuring …"
    page.locator("#explorable[data-source='no_answer']").wait_for(timeout=8_000)
    assert said(page).endswith("Then run this cell again.")
    for count in (2, 3):
        button.press("Enter")
        assert said(page).endswith("Measuring …") and state(page)["measures"] == count
        follow(made, page)
        page.evaluate("answer => window.model.set('answer', answer)", made.answer)
        assert said(page) == made.sentence() and made.measured()
        assert page.locator("[data-row='at-1024'] td").all_inner_texts() == ["1.5", "×4.8", "×2.15"]
    page.get_by_role("slider", name="width D").press("Home")
    assert said(page).endswith("This setting is not measured yet.") and page.locator("[data-row^='at-']").count() == 0
    page.get_by_role("button", name="reset").press("Enter")
    follow(made, page)
    assert said(page) == made.sentence() and made.measures == 0


def test_the_focus_stays_when_the_picture_is_drawn_anew(visit, monkeypatch):
    answers(monkeypatch, FOUND["three"])
    page = visit(cost(measures=1, kind="window"))
    root = page.locator("#explorable")
    count = len(stops(root))
    for at in range(count):
        stops(root)[at].focus()
        for lang in ("ko", "en"):
            page.evaluate("lang => window.model.set('lang', lang)", lang)
            assert len(stops(root)) == count
            assert page.evaluate("() => +document.activeElement.dataset.stop") == at


def test_in_lab_the_kernel_measures(lab):
    nbformat.write(
        notebook_of("from course_lib.explore.cost import cost; cost(width=64, length=64)"), lab.root / "c.ipynb"
    )
    notebook = lab.open("c.ipynb")
    notebook.run("cell-0")
    live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
    live.get_by_role("button", name="measure here").press("Enter")
    live.locator("xpath=self::*[@data-source='answered']").wait_for(timeout=15_000)
    assert live.locator("[data-row^='at-'] th").all_inner_texts() == ["16", "32", "64"]
    assert notebook.errors == [] and notebook.elsewhere == []

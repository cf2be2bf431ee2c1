"""The mask builder: the page agrees with Python in every state, and in Lab the kernel runs the learner's function."""

import json

import nbformat
import numpy as np
import pytest

from course_lib.explore.mask_builder import mask_builder
from tests.explore.attention_functions import WRONG, after_softmax, ignores, nan_rows, raises, random_states
from tests.explore.test_mask_builder import TOKENS, apply, make

from .test_parity import compare, near
from .widgets import follow, notebook_of, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

STRANGE = ["나는", "{at}", "</script>", "constructor", "a long token, and more", "$x$", "sum", "none"] * 2
READ = """{found: root.found, source: root.dataset.source, texts: [...root.querySelectorAll('[data-key^=cell]')]
    .map((node) => [node.innerText.split('\\n'), node.getAttribute('aria-pressed')])}"""


def with_languages(states):
    return [one | {"lang": ("en", "ko")[at % 2]} for at, one in enumerate(states)]


@pytest.mark.parametrize("tokens", [["a"], TOKENS, STRANGE], ids=len)
def test_the_page_agrees(visit, tokens):
    """Without kernel: the textbook in JavaScript against the course's function."""
    made = make(None, tokens)

    def agree(found, state):
        page, mask = found["found"], made.allowed()
        assert found["source"] == "by_course" and (np.array(page["mask"]) == mask).all(), state
        assert near(page["weights"], made.weights()) and near(page["change"], made.answer["change"]), state
        assert page["leaks"] == made.leaks() == [] and page["broken"] == made.answer["broken"]
        for (texts, pressed), open_, weight in zip(found["texts"], mask.flat, made.weights().flat, strict=True):
            assert pressed == str(bool(open_)).lower() and (texts == ["−∞", "0"]) == (not open_), state
            assert not open_ or abs(float(texts[1]) - weight) < 0.0051, state

    compare(visit, made, with_languages(random_states(120, len(tokens))), READ, agree)


@pytest.mark.parametrize("attend", WRONG)
def test_the_page_shows_what_the_kernel_found(visit, attend):
    """With the kernel's answer for each state, as it would send it: leaks, NaN and errors of a learner's function."""
    made, states = make(attend), []
    for one in with_languages(random_states(60, len(TOKENS), seed=1)):
        apply(made, one)
        states.append(one | {"answer": made.answer})

    def agree(found, state):
        page, weights = found["found"], made.weights()
        assert found["source"] == "by_yours", state
        assert page["problem"] == made.answer["problem"] and page["broken"] == made.answer["broken"]
        if page["problem"]:
            assert {texts[1] for texts, _ in found["texts"]} == {"?"}
            return
        assert np.allclose(page["weights"], weights, equal_nan=True), state
        assert page["leaks"] == made.leaks(), state
        for (texts, _), open_, weight in zip(found["texts"], made.allowed().flat, weights.flat, strict=True):
            assert (texts[0] == "−∞") == (not open_)
            assert (texts[1] == "NaN") == bool(np.isnan(weight))
            # A hidden cell that has a weight all the same is marked.
            assert texts[1].startswith("!") == bool(not open_ and abs(weight) > 1e-5), state

    compare(visit, made, states, READ, agree)


def test_a_leak_is_seen_in_words(visit):
    page = visit(make(ignores, causal=True, changed=3))
    assert "LEAK: row 0, 1, 2 may not look at it" in said(page)
    changes = page.locator("[data-change]").all_inner_texts()
    assert [text.startswith("LEAK ") for text in changes] == [True] * 3 + [False] * 2
    page = visit(make(after_softmax, causal=True, changed=3))
    assert page.get_by_text("≠ 1").count() == 4, "the last row sees all"
    assert "LEAK: row 0, 1, 2 may" in said(page)
    page = visit(make(nan_rows, padding=5))
    assert page.get_by_text("nothing left").count() == 5 and "0/0, NaN" in said(page)
    assert page.locator("[data-key^=cell]", has_text="NaN").count() == 25
    page = visit(make(raises))
    assert "raises stopped: “RuntimeError: sizes do not fit: (5, 8)”." in said(page)


def test_without_a_kernel_the_course_answers_and_says_so(visit):
    page, course = visit(make(ignores, causal=True, changed=3)), make(None, causal=False, changed=3)
    assert "come from ignores" in said(page), "the state that was saved with its answer"
    page.get_by_label("causal").press("Space")
    assert "No kernel answers" in said(page) and "not from ignores" in said(page)
    found = page.evaluate("() => document.querySelector('#explorable').found")
    assert near(found["weights"], course.weights()) and found["leaks"] == []
    page.get_by_label("causal").press("Space")
    assert "come from ignores" in said(page) and "LEAK" in said(page)


def test_a_kernel_is_waited_for_but_not_for_ever(visit):
    made = make(ignores, causal=True, changed=3)
    page = visit(made)
    page.evaluate("() => { window.model.state.alone = false }")
    page.get_by_label("causal").press("Space")
    assert said(page) == "25 of 25 cells are open. Asking ignores …"
    assert page.locator("[data-key='cell-0-4']").inner_text().endswith("…")
    page.locator("#explorable[data-source='no_answer']").wait_for(timeout=6_000)
    follow(made, page)
    page.evaluate("answer => window.model.set('answer', answer)", made.answer)  # the kernel wakes up
    assert said(page) == made.sentence() and "come from ignores" in said(page)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("attend", [None, ignores, nan_rows, raises])
def test_reads_well_in_both_themes_and_on_a_phone(visit, attend, lang):
    made = mask_builder(attend, TOKENS, causal=True, padding=1, changed=2, lang=lang)
    made.closed = [[0, 0]]
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
    assert len(ids) == len(set(ids)) and page.locator("#explorable b").count() == 0


def test_by_keys(visit):
    """The whole task without a mouse: masks, single cells, an empty row, a changed token, reset."""
    made = make()
    page = visit(made)

    def agree():
        follow(made, page)
        assert said(page) == made.sentence()

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 6, "all cells are one stop"
    page.get_by_label("causal").press("Space")
    agree()
    page.get_by_label("padding at the end").press("ArrowRight")
    agree()
    page.get_by_label("change a token").select_option("1")
    agree()
    page.locator("[data-key='cell-0-0']").press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("() => document.activeElement.dataset.key") == "cell-1-2"
    assert len(stops(root)) == 6, "still one stop"
    page.keyboard.press("Space")
    agree()
    assert made.opened == [[1, 2]] and made.closed == []
    assert page.evaluate("() => document.activeElement.dataset.key") == "cell-1-2", "the focus stays"
    page.keyboard.press("Enter")
    agree()
    assert made.opened == [] == made.closed, "a cell that is as causal wants it again needs no entry"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    agree()
    assert made.closed == [[0, 0]] and "Nothing is left for row 0" in said(page)
    for key, want in (("ArrowLeft", "0-0"), ("End", "0-4"), ("ArrowUp", "0-4"), ("ArrowDown", "1-4")):
        page.keyboard.press(key)
        assert page.evaluate("() => document.activeElement.dataset.key") == f"cell-{want}"
    page.get_by_label("causal").press("Space")
    agree()
    assert made.closed == [[0, 0]], "by hand, so it stays"
    page.get_by_label("change a token").select_option("")
    assert state(page)["changed"] is None
    agree()
    page.get_by_role("button", name="reset").press("Enter")
    assert {name: state(page)[name] for name in made.STATE} == made.start
    agree()


def test_by_hand(visit):
    page = visit(make(causal=True))
    page.locator("[data-key='cell-0-3']").click()
    page.locator("[data-key='cell-4-0']").click()
    page.locator("[data-key='cell-0-3']").click()
    assert (state(page)["opened"], state(page)["closed"]) == ([], [[4, 0]])


def test_the_cell_with_the_focus_is_in_sight_on_a_phone(visit):
    """Its row's name and change stay while the grid scrolls; the cell must not lie below them."""
    page = visit(make(None, STRANGE))
    page.set_viewport_size({"width": 320, "height": 900})
    page.locator("[data-key='cell-0-0']").focus()
    seen = """() => { const node = document.activeElement, box = node.getBoundingClientRect();
        return node.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)) }"""
    for key in ["ArrowRight"] * 15 + ["ArrowLeft"] * 15:
        page.keyboard.press(key)
        assert page.evaluate(seen), page.evaluate("() => document.activeElement.dataset.key")
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert page.evaluate(seen), "drawing anew keeps the place"


DEFINE = """import torch

def masked_attention(query, key, value, mask):
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1)  # the mask is forgotten
    return weights @ value, weights

from course_lib.explore.mask_builder import mask_builder

built = mask_builder(masked_attention, ["나는", "너를", "정말", "사랑해"], causal=True, changed=3)
built"""
STATE = "import json\nprint(json.dumps([built.closed, built.changed, built.leaks(), built.answer['change'][3] > 0]))"
BREAK = "masked_attention = None\nbuilt._attend = lambda *given: 1 / 0\nbuilt.padding = 2"


def test_in_lab_the_kernel_runs_the_learners_function(lab):
    nbformat.write(notebook_of(DEFINE, STATE, BREAK), lab.root / "masks.ipynb")
    notebook = lab.open("masks.ipynb")
    notebook.run("cell-0")
    live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
    live.wait_for(timeout=8_000)
    sentence = live.locator(".live")
    assert "come from masked_attention" in sentence.inner_text() and "LEAK: row 0, 1, 2" in sentence.inner_text()
    live.locator("[data-key='cell-0-0']").press("End")
    live.locator("[data-key='cell-0-3']").press("ArrowDown")
    for _ in range(2):
        notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("x")  # would cut a cell, were it Lab's
    notebook.page.keyboard.press("Space")  # query 3 may not look at itself any longer
    live.get_by_label("change a token").select_option("0")
    live.locator("xpath=self::*[@data-source='by_yours']").wait_for(timeout=10_000)
    assert "9 of 16 cells are open" in sentence.inner_text()
    live.get_by_label("change a token").select_option("3")
    live.locator("xpath=self::*[@data-source='by_yours']").wait_for(timeout=10_000)
    notebook.page.wait_for_timeout(400)
    notebook.run("cell-1")
    assert json.loads(notebook.text("cell-1")) == [[[3, 3]], 3, [0, 1, 2], True]
    assert "LEAK: row 0, 1, 2" in sentence.inner_text()
    notebook.run("cell-2")
    live.get_by_text("ZeroDivisionError").wait_for(timeout=10_000)
    assert notebook.page.locator(".jp-Notebook .jp-Cell").count() == 3
    assert notebook.errors == [] and notebook.elsewhere == []
    notebook.page.close()

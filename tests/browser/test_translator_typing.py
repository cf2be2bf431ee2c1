"""The translator by keyboard: Korean can be typed, the kernel is asked at rest, and in Lab it translates."""

import json

import nbformat
import pytest

from tests.explore.stub_translators import CAT, LOVE, TYPED
from tests.explore.test_translator import make

from .widgets import follow, notebook_of, said, state, stops, walk

pytestmark = pytest.mark.browser


def awake(page):
    """From now on the page takes it that there is a kernel."""
    page.evaluate("() => { window.model.state.alone = false; window.model.set('lang', window.model.state.lang) }")


def answer(made, page):
    """What a kernel would do: take the state, send the answer."""
    follow(made, page)
    page.evaluate("answer => window.model.set('answer', answer)", made.answer)


def focus(page):
    return page.evaluate("() => document.activeElement.dataset.key")


def test_without_a_kernel_there_are_the_examples(visit):
    made = make()
    page = visit(made)
    field = page.get_by_label("your sentence", exact=True)
    assert field.is_disabled() and page.get_by_text("No kernel here: choose one of the examples.").is_visible()
    page.get_by_role("button", name="translate").press("Enter")
    assert state(page)["text"] == LOVE
    page.get_by_label("example").select_option(CAT)
    follow(made, page)
    assert made.text == CAT and said(page) == made.sentence() and field.input_value() == CAT
    page.evaluate("text => window.model.set('text', text)", TYPED)
    assert said(page) == f"“{TYPED}”: no kernel answers, so it is not translated. The examples can still be chosen."
    assert page.locator("svg").count() == 0
    page.get_by_role("button", name="reset").press("Enter")
    follow(made, page)
    assert said(page) == made.sentence() and made.text == LOVE


def test_a_kernel_is_waited_for_but_not_for_ever(visit):
    made = make(row=2)
    page = visit(made)
    awake(page)
    field = page.get_by_label("your sentence", exact=True)
    assert field.is_enabled() and page.get_by_text("No kernel here").is_hidden()
    field.fill(TYPED)
    assert state(page)["text"] == LOVE, "what is typed is not asked before Enter or the button"
    field.press("Enter")
    assert said(page) == f"“{TYPED}”: asking right …" and (state(page)["text"], state(page)["row"]) == (TYPED, 0)
    assert page.evaluate("() => document.activeElement.tagName") == "INPUT"
    page.locator("#explorable[data-source='no_answer']").wait_for(timeout=6_000)
    answer(made, page)  # the kernel wakes up
    assert said(page) == made.sentence() and "becomes “A”" in said(page)
    assert [sent for sent in page.evaluate("() => window.model.log") if "text" in sent][0].items() >= {
        ("text", TYPED), ("row", 0),
    }, "both in one message"  # fmt: skip
    field.fill("친규가 자")
    page.get_by_role("button", name="translate").press("Space")
    answer(made, page)
    assert said(page).startswith("“친규가” is not a word of this grammar") and "친구가" in said(page)
    assert page.locator("svg").count() == 0 and field.input_value() == "친규가 자", "what was typed can be mended"
    field.fill("")
    field.press("Enter")
    answer(made, page)
    assert said(page) == "Type a sentence first."
    page.get_by_role("button", name="reset").press("Enter")
    assert field.input_value() == LOVE


def test_what_is_typed_stays_until_it_is_asked(visit):
    page = visit(make())
    awake(page)
    field = page.get_by_label("your sentence", exact=True)
    field.fill("친구")
    page.get_by_label("layer").select_option("0")
    page.evaluate("() => window.model.set('lang', 'ko')")
    assert page.locator("input").input_value() == "친구" and state(page)["text"] == LOVE
    page.get_by_role("button", name="처음으로").press("Enter")
    assert page.locator("input").input_value() == LOVE


def test_an_input_method_can_compose(visit):
    """Nothing is asked and nothing drawn while a letter is under way; the Enter that ends it asks nothing either."""
    made = make()
    page = visit(made)
    awake(page)
    field, keys = page.get_by_label("your sentence", exact=True), page.context.new_cdp_session(page)

    def compose(text):
        keys.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})

    field.fill("친구가 ")
    field.press("End")
    for text in ("ㅈ", "자"):
        compose(text)
    before = said(page)
    page.keyboard.press("Enter")
    assert state(page)["text"] == LOVE and said(page) == before
    page.evaluate("text => window.model.set('text', text)", CAT)  # another view of the same widget, say
    assert said(page) == before and field.input_value() == "친구가 자"
    keys.send("Input.insertText", {"text": "자"})  # the letter is done
    assert "고양이가" in said(page), "what was to be drawn meanwhile"
    field.fill("친구가 ")
    compose("자")
    keys.send("Input.insertText", {"text": "자"})
    # Safari ends the composition first; its Enter then comes as key 229
    late = "new KeyboardEvent('keydown', {key: 'Enter', keyCode: 229, bubbles: true})"
    field.evaluate(f"node => node.dispatchEvent({late})")
    assert state(page)["text"] == CAT and field.input_value() == TYPED
    page.keyboard.press("Enter")
    assert state(page)["text"] == TYPED
    answer(made, page)
    assert said(page) == made.sentence() and "becomes “A”" in said(page)


def test_by_keys(visit):
    """The whole task without a mouse: choose, type, walk along what is written, another layer and head, reset."""
    made = make()
    page = visit(made)
    awake(page)

    def agree(**want):
        answer(made, page)
        assert said(page) == made.sentence()
        assert {name: state(page)[name] for name in want} == want

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 9, "all written tokens are one stop"
    example = page.get_by_label("example")
    example.press("ArrowDown")
    agree(text=CAT, row=0)
    page.locator("[data-key='row-0']").press("ArrowRight")
    walked = {"ArrowDown": 2, "ArrowUp": 1, "ArrowLeft": 0, "End": 3, "ArrowRight": 3, "Home": 0}
    for key, want in walked.items():
        page.keyboard.press(key)
        agree(row=want)
        assert focus(page) == f"row-{want}" and len(stops(root)) == 9, "the focus goes along"
    back, forward = page.get_by_role("button", name="step back"), page.get_by_role("button", name="step on")
    for at in (1, 2, 3, 3):
        forward.press("Enter")
        agree(row=at)
    assert forward.get_attribute("aria-disabled") == "true"
    back.press("Space")
    agree(row=2)
    page.get_by_label("layer").press("ArrowUp")
    agree(layer=0)
    page.get_by_label("head").press("ArrowDown")
    agree(head=0)
    page.get_by_label("head").press("End")
    agree(head=2)
    page.get_by_label("head").press("Home")
    agree(head=None)
    page.get_by_label("your sentence").fill(TYPED)
    page.get_by_label("your sentence").press("Enter")
    agree(text=TYPED, row=0)
    assert example.input_value() == "" and "probability" in page.locator("[data-key='row-0']").get_attribute(
        "aria-label"
    )
    page.get_by_role("button", name="reset").press("Enter")
    agree(**made.start)
    page.wait_for_timeout(200)
    assert {name for sent in page.evaluate("() => window.model.log") for name in sent} >= set(made.STATE)


DEFINE = """import functools, torch
from course_lib.data.korean import all_tokens
from course_lib.data.vocabulary import Vocabulary
from course_lib.explore.translator import translator
from course_lib.transformer import Transformer
from course_lib.translation import translate

korean, english = Vocabulary([t for t in all_tokens()[0] if t != "시장"]), Vocabulary(all_tokens()[1])
torch.manual_seed(0)
model = Transformer(len(korean), len(english), d_model=16, num_heads=4, d_ff=8, encoder_layers=1, decoder_layers=2)
asked = []

def by_mine(text):
    asked.append(text)
    return translate(model, text, korean, english, max_length=9)

shown = translator(by_mine, ["나는 너를 사랑해", "고양이가 우유를 마셔"])
shown"""
STATE = "import json\nprint(json.dumps([asked, shown.text, shown.head, shown.row, shown.shown().get('source')]))"


def test_in_lab_the_kernel_translates_what_is_typed(lab):
    nbformat.write(notebook_of(DEFINE, STATE), lab.root / "translate.ipynb")
    notebook = lab.open("translate.ipynb")
    notebook.run("cell-0")
    live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
    live.wait_for(timeout=8_000)
    sentence, field = live.locator(".live"), live.get_by_label("your sentence", exact=True)
    assert field.is_enabled() and sentence.inner_text().startswith("“나는 너를 사랑해” becomes “")
    there = notebook.edited()
    field.press("ControlOrMeta+a")
    for key in "abxddzm":  # each would edit the notebook, were it Lab's
        notebook.page.keyboard.press(key)
    notebook.page.keyboard.press("Enter")
    live.get_by_text("“abxddzm” is not a word of this grammar").wait_for(timeout=10_000)
    field.fill("시장에 가")
    field.press("Enter")
    live.get_by_text("this model has no id for 시장").wait_for(timeout=10_000)
    field.fill("친구가 어제 빵을 먹었어.")
    field.press("Enter")
    live.locator("xpath=self::*[@data-source='answered']").wait_for(timeout=10_000)
    assert (
        sentence.inner_text().startswith("“친구가 어제 빵을 먹었어.” becomes “")
        and "layer 2, mean over" in sentence.inner_text()
    )
    live.locator("[data-key='row-0']").press("End")
    live.get_by_label("head").press("ArrowDown")
    assert notebook.edited() == there, "the keys went to the notebook"
    notebook.page.wait_for_timeout(400)
    notebook.run("cell-1")
    asked, text, head, row, source = json.loads(notebook.text("cell-1"))
    assert asked[2:] == ["abxddzm", "시장에 가", "친구가 어제 빵을 먹었어."] and text == asked[-1]
    assert head == 0 and row > 0 and source == ["친구", "가", "어제", "빵", "을", "먹었어"]
    assert notebook.errors == [] and notebook.elsewhere == []
    notebook.page.close()

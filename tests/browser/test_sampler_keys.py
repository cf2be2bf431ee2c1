"""The sampler by keyboard and with a kernel: the whole task, what is waited for, and in Lab texts are drawn."""

import json

import nbformat
import pytest

from course_lib.explore.sampler import Sampler
from tests.explore.samplers import make
from tests.explore.stub_languages import EOS, HOME, ID, garden

from .test_translator_typing import focus
from .widgets import notebook_of, said, stops, walk

pytestmark = pytest.mark.browser


def state(page):
    """The traits that a learner moves: all others are large here."""
    names = list(Sampler.STATE)
    return page.evaluate("names => Object.fromEntries(names.map(name => [name, window.model.state[name]]))", names)


def follow(made, page):
    for name, value in state(page).items():
        setattr(made, name, value)


def awake(page):
    """The page begins anew, and takes it that there is a kernel."""
    page.evaluate("""async () => {
        window.model.state.alone = false;
        const scripts = [...document.scripts].map(script => script.textContent).join('');
        const source = scripts.match(/data:text\\/javascript;base64,[^"]*/)[0];
        (await import(source)).default.render({model: window.model, el: document.getElementById('explorable')});
    }""")


def test_by_keys(visit):
    """The whole task without a mouse: a sentence, a width, grow the tree, walk through it, rank, filter, reset."""
    made = make(width=2)
    page = visit(made)

    def agree(**want):
        follow(made, page)
        assert said(page) == made.sentence()
        assert {name: state(page)[name] for name in want} == want

    root = page.locator("#explorable")
    assert walk(root) == list(range(len(stops(root)))) and len(stops(root)) == 13, "all nodes are one stop"
    He, goes, to = ID["He"], ID["goes"], ID["to"]
    page.locator("[data-key='node-']").press("ArrowRight")
    agree(node=[ID["Every"]])
    way = [
        ("ArrowDown", [He]),
        ("ArrowRight", [He, goes]),
        ("ArrowRight", [He, goes, to]),
        ("ArrowRight", [He, goes, to, ID["school"]]),
    ]
    way += [
        ("ArrowLeft", [He, goes, to]),
        ("ArrowUp", [He, goes, to]),
        ("ArrowDown", [ID["Every"], ID["day"], ID["he"]]),
    ]
    way += [("Home", []), ("ArrowLeft", [])]
    for name, path in way:
        page.keyboard.press(name)
        agree(node=path)
        assert focus(page) == f"node-{'-'.join(map(str, path))}" and len(stops(root)) == 13, "the focus goes along"
    page.keyboard.press("End")
    agree()
    assert state(page)["node"][-1] == EOS and "nothing follows" in said(page)
    step = page.get_by_label("step", exact=True)
    step.press("Home")
    agree(step=0)
    on, back = page.get_by_role("button", name="step on"), page.get_by_role("button", name="step back")
    assert back.get_attribute("aria-disabled") == "true" and page.locator("[data-key^='node-']").count() == 1
    for at in range(1, 8):
        on.press("Enter")
        agree(step=at)
    assert on.get_attribute("aria-disabled") == "true"
    on.press("Enter")
    agree(step=7)
    back.press("Space")
    agree(step=6)
    page.get_by_label("beam width").press("End")
    agree(width=5)
    page.get_by_label("length penalty α").press("End")
    agree(alpha=2)
    page.get_by_label("sentence").press("ArrowDown")
    agree(text=HOME)
    for label, key_, trait, value in (
        ("temperature", "Home", "temperature", 0), ("temperature", "End", "temperature", 3),
        ("top-k", "Home", "top_k", 1), ("top-k", "ArrowRight", "top_k", 2), ("top-k", "End", "top_k", None),
        ("top-p", "ArrowLeft", "top_p", 0.95), ("top-p", "Home", "top_p", 0),
    ):  # fmt: skip
        page.get_by_label(label).press(key_)
        agree(**{trait: value})
    page.get_by_role("button", name="reset").press("Enter")
    agree(**made.start)
    page.wait_for_timeout(200)
    assert {name for sent in page.evaluate("() => window.model.log") for name in sent} == set(made.STATE) - {"draws"}


def test_by_hand(visit):
    page = visit(make(width=2))
    page.locator(f"[data-key='node-{ID['He']}']").click()
    assert state(page)["node"] == [ID["He"]]
    assert page.locator(f"[data-key='node-{ID['He']}'] title").text_content().startswith("He, step 1, place 2, probab")


def test_the_step_on_show_is_scrolled_into_sight(visit):
    page = visit(make(width=2, step=1))
    page.set_viewport_size({"width": 320, "height": 900})
    seen = "node => { const box = node.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth }"
    for _ in range(5):
        page.get_by_role("button", name="step on").press("Enter")
        assert page.locator("[data-now-step]").evaluate(seen)
    page.locator("[data-key='node-']").press("ArrowRight")
    for _ in range(4):
        assert page.locator("[aria-pressed='true'] text").first.evaluate(seen)
        page.keyboard.press("ArrowRight")


def test_the_focus_stays_where_it_is_when_the_picture_is_drawn_anew(visit):
    page = visit(make(width=2, node=[ID["He"]]))
    root = page.locator("#explorable")
    for at, stop in enumerate(stops(root)):
        stop.focus()
        for lang in ("ko", "en"):
            page.evaluate("lang => window.model.set('lang', lang)", lang)
            stops(root)
            assert page.evaluate("() => +document.activeElement.dataset.stop") == at


def test_without_a_kernel_nothing_is_drawn(visit):
    page = visit(make())
    assert page.get_by_role("button", name="draw a text").count() == 0
    assert page.locator("ol").count() == 0
    page.evaluate("() => { window.model.state.answers = {}; window.model.set('text', 'another') }")
    assert said(page) == "“another”: no kernel answers, so there is no tree."
    assert page.locator("#explorable svg").count() == 0


def test_a_kernel_draws_and_is_waited_for_but_not_for_ever(visit):
    made = make(temperature=1.5)
    page = visit(made)
    awake(page)
    draw = page.get_by_role("button", name="draw a text")

    def answer():
        follow(made, page)
        page.evaluate("drawn => window.model.set('drawn', drawn)", made.drawn)

    for count in (1, 2):
        draw.press("Enter")
        assert state(page)["draws"] == count and page.get_by_text("asking garden …").is_visible()
        answer()
        assert page.get_by_text("asking garden …").count() == 0 and said(page) == made.sentence()
        assert page.locator("ol li").count() == count and page.locator("ol li").first.get_attribute("value") == str(
            count
        )
    draw.press("Space")
    page.get_by_text("no kernel answers", exact=True).wait_for(timeout=6_000)
    answer()  # the kernel wakes up
    assert page.locator("ol li").count() == 3
    assert page.locator("ol li strong").first.inner_text() == f"{made.drawn[-1]['sum']:.2f}"
    assert page.evaluate("() => document.activeElement.tagName") == "BUTTON", "the focus stays"
    page.get_by_label("sentence").press("ArrowDown")
    answer()
    assert page.locator("ol").count() == 0, "they were drawn of another sentence"
    page.get_by_role("button", name="reset").press("Enter")
    answer()
    assert page.locator("ol").count() == 0 and state(page)["draws"] == 0
    made = make(
        lambda sentence, prefixes: garden(sentence, prefixes) if len(prefixes[0]) != 1 or len(prefixes) > 1 else 1 / 0
    )
    assert "problem" not in made.answer
    page = visit(made)
    awake(page)
    page.get_by_role("button", name="draw a text").press("Enter")
    made.draws = 1
    page.evaluate("drawn => window.model.set('drawn', drawn)", made.drawn)
    assert page.get_by_text("next_logits stopped: “ZeroDivisionError: division by zero”").is_visible()


def test_a_tree_is_waited_for_but_not_for_ever(visit):
    made = make()
    page = visit(made)
    page.evaluate("() => { window.model.state.answers = {} }")
    awake(page)
    page.evaluate("answer => window.model.set('answer', answer)", made.answer)
    assert said(page) == made.sentence()
    page.get_by_label("sentence").press("ArrowDown")
    assert said(page) == f"“{HOME}”: asking garden …"
    page.locator("#explorable[data-source='no_answer']").wait_for(timeout=6_000)
    follow(made, page)
    page.evaluate("answer => window.model.set('answer', answer)", made.answer)
    assert said(page) == made.sentence()
    page.get_by_label("sentence").press("ArrowUp")
    follow(made, page)
    assert said(page) == made.sentence(), "what was answered once is kept"


DEFINE = """import torch
from course_lib.data.vocabulary import SPECIAL
from course_lib.explore.sampler import sampler

symbols = [*SPECIAL, *"abcdefgh"]
asked = []

def mine(sentence, prefixes):
    asked.append(len(prefixes))
    return torch.stack([torch.sin(torch.arange(12.0) * (1 + len(text)) + sum(text)) * 2 for text in prefixes])

shown = sampler(mine, ["가", "나"], symbols=symbols, eos=2, spell="".join, max_length=6)
shown"""


STATE = (
    "import json\nprint(json.dumps([shown.text, shown.node, shown.draws, [entry['text'] for entry in shown.drawn]]))"
)


def test_in_lab_the_kernel_draws_and_grows_another_tree(lab):
    nbformat.write(notebook_of(DEFINE, STATE), lab.root / "sample.ipynb")
    notebook = lab.open("sample.ipynb")
    notebook.run("cell-0")
    live = notebook.cell("cell-0").locator(".course-explorable[data-ready='1']")
    live.wait_for(timeout=8_000)
    there = notebook.edited()
    live.locator("[data-key='node-']").press("ArrowRight")
    for name in "abxdm":  # each would edit the notebook, were it Lab's
        notebook.page.keyboard.press(name)
    draw = live.get_by_role("button", name="draw a text")
    for count in (1, 2):
        draw.press("Enter")
        live.locator("ol li strong").nth(count - 1).wait_for(timeout=10_000)
    live.get_by_label("sentence").select_option("1")
    live.get_by_text("“나”, beam of width 3").wait_for(timeout=10_000)
    assert live.locator("ol").count() == 0 and notebook.edited() == there
    draw.press("Enter")
    live.locator("ol li strong").wait_for(timeout=10_000)
    notebook.page.wait_for_timeout(300)
    notebook.run("cell-1")
    text, node, draws, drawn = json.loads(notebook.text("cell-1"))
    assert (text, len(node), draws, len(drawn)) == ("나", 1, 3, 1)
    assert notebook.errors == [] and notebook.elsewhere == []
    notebook.page.close()

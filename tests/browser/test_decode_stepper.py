"""The decode stepper in a bare page: agrees with Python in every state, works by keys, reads well, asks nobody."""

import random

import pytest

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import Vocabulary
from course_lib.explore.base import fixed
from course_lib.explore.decode_stepper import chance, decode_stepper, seen
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from tests.explore.stepper_models import SYMBOLS, all_states, make, one_date, random_model

from .test_parity import compare, near
from .widgets import follow, said, state, stops, violations, walk

pytestmark = pytest.mark.browser

STRANGE = ["<b>", "$x$", " ", "constructor", "나는" * 15, "{step}", "</script>"]
TEXTS = ("reads", "writes", "without", "top")


def strange():
    """Tokens that would be markup, code or nothing at all, and a run that is longer than its target."""
    vocabulary = Vocabulary(STRANGE)
    model = Seq2Seq(Encoder(20, 8, 12), Decoder(len(vocabulary), 8, 12, 12))
    batch = make_batch([([4], vocabulary.encode(STRANGE))])
    return decode_stepper(model, batch, vocabulary, source="<i>source</i>" * 9, forcing=True)


MADE = {
    "a run that never ends": lambda: make(seed=1),
    "an error makes it longer or shorter": lambda: make(seed=8, ends=6.0),
    "ends early": lambda: make(seed=0, ends=4.0),
    "one step": lambda: make(seed=0, ends=6.0),
    "twenty steps": lambda: decode_stepper(random_model(), one_date("0123456789-01234567"), SYMBOLS, max_length=20),
    "strange tokens": strange,
}


@pytest.mark.parametrize("name", MADE)
def test_the_page_agrees(visit, name):
    made, chooser = MADE[name](), random.Random(name)
    states = [
        {"step": chooser.randint(1, made.steps), "lang": chooser.choice(["en", "ko"])}
        | {trait: getattr(made, trait) for trait in ("forcing", "inject_at", "inject_token")}
        for _ in all_states(made)
    ]
    # Errors that need not be possible there, and steps beyond the end of a run.
    tokens = ["", *sorted(set(made.symbols.values()))]
    for _ in range(60):
        place = chooser.choice([0, *range(2, made.steps + 1)])
        states.append({"step": chooser.choice([1, made.steps]), "forcing": chooser.random() < 0.5, "lang": "en"})
        states[-1] |= {"inject_at": place, "inject_token": chooser.choice(tokens)}

    def agree(found, state):
        lines, error = made.shown(), made.error()
        assert len(found["shown"]) == len(lines), state
        for here, there in zip(found["shown"], lines, strict=True):
            assert [here[part] for part in TEXTS] == [there[part] for part in TEXTS], state
            assert near(here["shares"], there["shares"]), state
            assert here["moved"] is there["moved"] is None or near(here["moved"], there["moved"]), state
        ended = made.step > len(lines)
        plain = made.runs["forced" if made.forcing else "free"]["plain"]
        both = error and made.inject_at <= made.step <= len(plain)
        bars = ([] if ended else lines[made.step - 1]["shares"]) + (plain[made.step - 1][1] if both else [])
        assert near(found["bars"], bars), state
        offered = found["options"][1:]
        assert len(offered) == len(made.choices()), state
        assert all(chance(share) in text for text, (_, share) in zip(offered, made.choices(), strict=True)), state
        assert found["chosen"] == (
            [token for token, _ in made.choices()].index(made.inject_token) + 1
            if error and made.inject_at == made.step
            else 0
        )

    select = "root.querySelector('select')"
    read = f"options: [...{select}.options].map(node => node.textContent), chosen: {select}.selectedIndex"
    compare(visit, made, states, f"{{shown: root.shown, bars: all('share'), {read}}}", agree)


def test_the_line_of_steps_shows_what_differs(visit):
    made = make(seed=8, ends=6.0)
    page = visit(made)
    for _ in all_states(made):
        page.evaluate(
            "changes => Object.entries(changes).forEach(([name, value]) => window.model.set(name, value))",
            {name: getattr(made, name) for name in made.STATE},
        )
        rows = page.locator("tbody tr").evaluate_all(
            "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
        )
        reads, writes, without, moved = (row[1:] for row in rows)
        lines, place = made.shown(), made.inject_at
        assert writes[: len(lines)] == [seen(line["writes"]) for line in lines]
        assert len(reads) == max(len(lines), len(made.runs["forced" if made.forcing else "free"]["plain"]))
        if not place:
            assert set(without) == set(moved) == {""}
            continue
        assert reads[place - 1].endswith(f"→{made.inject_token}") and not any(without[: place - 1] + moved[: place - 1])
        for at, line in enumerate(lines[place - 1 :], place - 1):
            assert (without[at] == "=") == (line["writes"] == line["without"])
            assert moved[at] == ("–" if line["moved"] is None else fixed(line["moved"]).removeprefix("0"))


def test_the_whole_task_by_keys(visit):
    made = make(seed=8, ends=6.0)
    page = visit(made)
    slider, forcing = page.get_by_label("step", exact=True), page.get_by_label("teacher forcing")
    on, back = page.get_by_role("button", name="step on"), page.get_by_role("button", name="step back")
    choice, undo = page.get_by_label("this step reads"), page.get_by_role("button", name="take the error back")

    def agree(**want):
        follow(made, page)
        assert said(page) == made.sentence()
        assert {name: state(page)[name] for name in want} == want

    back.press("Enter")
    undo.press("Enter")
    agree(step=1, inject_at=0)
    choice.press("ArrowDown")
    agree(inject_at=0)  # the first step reads BOS and nothing else
    on.press("Enter")
    on.press("Space")
    agree(step=3)
    choice.press("ArrowDown")
    choice.press("ArrowDown")
    agree(inject_at=3, inject_token=made.choices()[1][0])
    assert page.evaluate("() => document.activeElement.tagName") == "SELECT"
    slider.press("End")
    agree(step=made.steps)
    slider.press("Home")
    agree(step=1)
    forcing.press("Space")
    agree(forcing=True, step=1)
    columns = page.locator("[data-key^='step-']")
    assert columns.count() == 11
    page.locator("[data-key='step-1']").press("ArrowRight")
    page.locator("[data-key='step-2']").press("End")
    agree(step=11)
    assert page.evaluate("() => document.activeElement.dataset.key") == "step-11"
    page.locator("[data-key='step-11']").press("ArrowRight")
    page.locator("[data-key='step-11']").press("ArrowLeft")
    agree(step=10)
    page.locator("[data-key='step-10']").press("Home")
    agree(step=1)
    undo.press("Enter")
    agree(inject_at=0, inject_token="")
    page.get_by_role("button", name="reset").press("Enter")
    agree(**made.start)
    page.wait_for_timeout(200)
    saved = page.evaluate("() => window.model.log")
    assert {name for changes in saved for name in changes} == set(made.STATE), "the kernel heard of everything"
    here = page.locator("#explorable")
    assert walk(here) == list(range(len(stops(here)))), "the tab key reaches everything and gets out"
    assert page.locator("[data-key^='step-'][tabindex='0']").count() == 1


def test_by_hand(visit):
    made = make()
    page = visit(made)
    page.locator("[data-key='step-4']").click()
    page.get_by_label("this step reads").select_option(index=2)
    page.get_by_label("teacher forcing").check()
    follow(made, page)
    assert said(page) == made.sentence() and made.step == made.inject_at == 4 and made.forcing
    page.get_by_label("this step reads").select_option(index=0)
    follow(made, page)
    assert said(page) == made.sentence() and made.inject_at == 0


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_reads_well_in_both_themes_and_on_a_phone(visit, lang):
    made = make(lang=lang, step=4)
    token = made.choices()[0][0]
    page = visit(made)

    def put(**changes):
        for name, value in changes.items():
            page.evaluate("([name, value]) => window.model.set(name, value)", [name, value])

    for changes in ({}, {"inject_at": 4, "inject_token": token}, {"forcing": True, "step": 12}):
        put(**changes)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            dark = "true" if scheme == "dark" else "false"
            page.locator(f"#explorable[data-dark={dark}]").wait_for(timeout=5_000)
            assert violations(page) == []
        follow(made, page)
        assert said(page) == made.sentence()
    page.set_viewport_size({"width": 320, "height": 700})
    rows = page.locator("tbody th").evaluate_all("all => all.map(cell => cell.offsetHeight)")
    assert max(rows) < 40, "the names of the rows stay on one line"
    for step in (11, 1, 6):
        put(step=step)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
        box = page.locator(f"[data-key='step-{step}']").bounding_box()
        names = page.locator("tbody th").first.bounding_box()
        assert names["x"] + names["width"] <= box["x"] and box["x"] + box["width"] <= 320, "the step can be seen"
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", ["twenty steps", "strange tokens"])
def test_nothing_is_markup_and_nothing_is_too_wide(visit, name):
    page = visit(MADE[name]())
    page.get_by_label("step", exact=True).press("End")
    assert page.locator("#explorable :is(b, i, script)").count() == 0
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320

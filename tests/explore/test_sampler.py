"""The sampler without a browser: what it says and draws, what it refuses, and that no function breaks it."""

import io
import json
import math
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib.explore import sampler as sampler_module

from .random_heads import apply
from .samplers import LANGUAGES, into_the_tree, make, random_states, words
from .stub_languages import HOME, ID, SCHOOL, WRONG, garden


def test_the_sentence_says_what_the_garden_path_shows():
    made = make(width=1)
    assert made.sentence() == (
        "“그는 매일 학교에 가”, beam of width 1, step 7 of 7. Texts that go on: 0; texts that have ended: 1. In front "
        "at α = 0: “Every day he goes to school”, tokens 7, sum -3.30, score -3.30. The likeliest first token is "
        "“Every”, probability 0.460."
    )
    made.width, made.alpha, made.node = 2, 1, [ID["He"], ID["goes"]]
    assert "In front at α = 1: “He goes to school each day”, tokens 7, sum -2.19, score -1.10." in made.sentence()
    assert made.sentence().endswith("After “He goes” the likeliest token is “to”, probability 0.850.")
    made.top_k, made.temperature = 2, 0.5
    assert made.sentence().endswith(
        "At temperature 0.5, top-k 2, top-p 1 it is drawn with probability 0.980; tokens that can be drawn: 2 of 26."
    )
    made.step = 3
    assert "step 3 of 7. Texts that go on: 2; texts that have ended: 0. After “He goes”" in made.sentence()
    made.step = 0
    assert "step 0 of 7. Texts that go on: 1; texts that have ended: 0. The likeliest first" in made.sentence()


def test_a_penalty_ranks_anew_what_has_ended():
    made = make(text=HOME, width=2)
    short, long = "He goes", "He goes to school"
    assert [made.written(node) for node, *_ in made.ended()] == [short, long]
    made.alpha = 1
    assert [made.written(node) for node, *_ in made.ended()] == [long, short] and f"“{long}”" in made.sentence()


def test_what_is_looked_at_is_in_the_tree_or_its_longest_beginning():
    made = make(width=2, node=[ID["He"], ID["goes"], ID["to"]])
    assert words(made, made.place()) == (ID["He"], ID["goes"], ID["to"])
    made.step = 2
    assert words(made, made.place()) == (ID["He"], ID["goes"]) and len(made.node) == 3
    made.node = [ID["day"], ID["He"]]
    assert made.place() == 0
    made.step, made.node = 10, [*words(make(width=2), make(width=2).ended()[0][0])]
    assert made.bars() is None
    assert made.sentence().endswith("After “He goes to school each day” and its end token nothing follows.")


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", WRONG)
def test_nothing_that_a_function_does_kills_the_widget(name, lang):
    function, wanted = WRONG[name]
    made = make(function, lang=lang, draws=1)
    if lang == "en":
        assert re.search(wanted, made.sentence()), made.sentence()
    assert not re.search(r"\{\w+\}", made.sentence()) and len(made.sentence()) < 500
    made.text, made.width, made.node, made.draws = HOME, 1, [4], 3
    assert made.answer["for"] == HOME and json.dumps(made.page_state(), allow_nan=False)
    if name != "always one row":  # a draw asks about one text
        assert all("problem" in entry for entry in made.drawn[1:]) and "Last drawn" not in made.sentence()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.static_png() == made.static_png()


@pytest.mark.parametrize(
    ("spell", "wanted"),
    [
        (lambda tokens: 1 / 0, "spell raised ZeroDivisionError"),
        (list, "spell: expected it to return a text, got a list"),
    ],
)
def test_what_spell_does_is_said_as_its_own(spell, wanted):
    made = make(spell=spell, draws=1)
    assert wanted in made.sentence() and wanted in made.drawn[0]["problem"]


def test_a_problem_with_one_sentence_leaves_the_others():
    made = make(lambda sentence, prefixes: garden(sentence, prefixes) if sentence == SCHOOL else None)
    whole = made.sentence()
    made.text = HOME
    assert made.sentence().startswith(f"“{HOME}”: next_logits stopped: “ValueError: it must return logits (1, 26)")
    made.text = SCHOOL
    assert made.sentence() == whole


@pytest.mark.parametrize(
    "kind",
    [np.asarray, np.float32, lambda rows: rows.tolist(), lambda rows: torch.tensor(rows).bfloat16().requires_grad_()],
)
def test_logits_of_any_kind(kind):
    made = make(lambda sentence, prefixes: kind(garden(sentence, prefixes)), width=2)
    assert made.written(made.ended()[0][0]) == "He goes to school each day"


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_state_can_be_said_and_sent(name, lang):
    made = LANGUAGES[name](lang=lang)
    for at, state in enumerate(random_states(made, 40)):
        apply(made, state | {"draws": at % 3})
        said = re.sub(r"\{at\}", "", made.sentence())
        assert "{" not in said and json.dumps(made.page_state(), allow_nan=False)


def test_reset_knows_where_it_began():
    made = make(text=HOME, width=2, step=1, alpha=0.5, node=[ID["He"]], temperature=2, top_k=5, top_p=0.5, draws=1)
    start = {name: getattr(made, name) for name in made.STATE}
    made.text, made.width, made.step, made.draws = SCHOOL, 3, 2, 4
    assert made.start == start and start["node"] == [ID["He"]] and start["draws"] == 1
    assert make().start["step"] == make().max_length == 10 and make().start["text"] == SCHOOL


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", LANGUAGES)
def test_the_picture_is_small_and_the_same_each_time(name, lang):
    made, again = (LANGUAGES[name](lang=lang) for _ in "ab")
    for at, state in enumerate([{"width": 5}, {"width": 5, "step": 3}, *random_states(made, 3, seed=3)]):
        apply(made, state)
        made.node = into_the_tree(made, at)
        apply(again, state | {"node": made.node})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first, second = made.static_png(), again.static_png()
        assert first == second and len(first) <= 20_000, state
        image = Image.open(io.BytesIO(first))
        assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_pictures_tell_states_apart():
    states = [
        {"step": 0},
        {"step": 1},
        {},
        {"width": 2},
        {"alpha": 2},
        {"node": [ID["He"]]},
        {"temperature": 2},
        {"top_k": 2},
    ]
    assert len({make(**state).static_png() for state in states}) == len(states)


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = make().to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 300_000
    assert page.count("</script>") == 1 and "import " not in make()._esm_text()


def test_a_page_has_all_sentences_and_the_kernel_sends_one(monkeypatch):
    made = make(text=HOME)
    assert set(made.page_state()["answers"]) == {SCHOOL, HOME} and made.page_state()["alone"] is True
    assert made.answer["for"] == HOME and "answers" not in made.trait_names()
    size = len(json.dumps(made.answer, ensure_ascii=False))
    monkeypatch.setattr(sampler_module, "MOST_BYTES", 1.5 * size)
    assert set(made.page_state()["answers"]) == {HOME}, "the present one, and of the others what has room"


def test_korean_says_as_much():
    state = {"width": 2, "alpha": 0.6, "node": [ID["He"]], "temperature": 0.7, "top_k": 9, "draws": 1}
    english, korean = (make(lang=lang, **state).sentence() for lang in ("en", "ko"))
    assert sorted(re.findall(r"\d+(?:\.\d+)?", english)) == sorted(re.findall(r"\d+(?:\.\d+)?", korean))
    assert korean != english and "너비 2의 빔" in korean


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"function": 3}, TypeError, "next_logits: expected a function, got a int"),
        ({"spell": " "}, TypeError, "spell: expected a function, got a str"),
        ({"sentences": SCHOOL}, TypeError, "sentences: expected a list of texts, got the one text '그는"),
        ({"sentences": []}, ValueError, "sentences: expected 1 to 8, got 0"),
        ({"sentences": list("abcdefghi")}, ValueError, "sentences: expected 1 to 8, got 9"),
        ({"sentences": [3]}, TypeError, "sentences: expected texts, got 3 among them"),
        ({"symbols": "abc"}, TypeError, "symbols: expected a list of texts, got the one text 'abc'"),
        ({"symbols": ["a"]}, ValueError, "symbols: expected at least 2, a token and the end, got 1"),
        ({"symbols": ["a", None]}, TypeError, "symbols: expected texts, got None among them"),
        ({"eos": 26}, ValueError, "eos: expected an id from 0 to 25, got 26"),
        ({"eos": "<eos>"}, ValueError, "eos: expected an id from 0 to 25, got '<eos>'"),
        ({"max_length": 0}, ValueError, "max_length: expected 1 to 20 tokens, got 0"),
        ({"max_length": 21}, ValueError, "max_length: expected 1 to 20 tokens, got 21"),
        ({"beams": 3}, TypeError, "beams: no state of a sampler; it has text, width, step, alpha, node"),
        ({"text": "가"}, traitlets.TraitError, "text: expected one of the 2 sentences, got '가'"),
        ({"width": 0}, traitlets.TraitError, "width: expected 1 to 5, got 0"),
        ({"width": 6}, traitlets.TraitError, "width: expected 1 to 5, got 6"),
        ({"step": -1}, traitlets.TraitError, "step: expected 0 or more, got -1"),
        ({"alpha": 2.5}, traitlets.TraitError, "alpha: expected 0 to 2, got 2.5"),
        ({"alpha": math.nan}, traitlets.TraitError, "alpha: expected 0 to 2, got nan"),
        ({"node": [26]}, traitlets.TraitError, r"node: expected ids from 0 to 25, got \[26\]"),
        ({"temperature": -1}, traitlets.TraitError, "temperature: expected 0 to 3, got -1"),
        ({"temperature": 3.1}, traitlets.TraitError, "temperature: expected 0 to 3, got 3.1"),
        ({"top_k": 0}, traitlets.TraitError, "top_k: expected 1 to 26, or None, got 0"),
        ({"top_k": 27}, traitlets.TraitError, "top_k: expected 1 to 26, or None, got 27"),
        ({"top_p": 1.1}, traitlets.TraitError, "top_p: expected 0 to 1, got 1.1"),
        ({"draws": -1}, traitlets.TraitError, "draws: expected 0 or more, got -1"),
        ({"lang": "fr"}, traitlets.TraitError, "lang"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)

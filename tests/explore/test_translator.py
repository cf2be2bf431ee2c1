"""The translator without a browser: what is typed is asked, and nothing that is typed or written breaks it."""

import functools
import io
import json
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib.explore.base import name_of
from course_lib.explore.translator import translator
from course_lib.translation import END, Translation, translate

from ..test_translation import ENGLISH, KOREAN
from ..test_translation import make as make_model
from .random_heads import apply
from .stub_translators import BAD, CAT, EXAMPLES, LOVE, TYPED, WRONG, random_states, right, strange, ties


def make(function=right, examples=EXAMPLES, **changes):
    return translator(function, examples, **changes)


def test_it_shows_what_the_library_finds():
    model = make_model()
    function = functools.partial(translate, model, source_vocabulary=KOREAN, target_vocabulary=ENGLISH, max_length=6)
    want, made = function(LOVE), make(function, [LOVE], row=2)
    assert made.shape == [3, 2] and made.layer == 2, "the last layer, unless told"
    assert np.allclose(made.weights(), want.cross[2].mean(dim=0), atol=1e-4)
    made.layer, made.head = 0, 1
    assert np.allclose(made.weights(), want.cross[0, 1], atol=1e-4)
    assert made.function == "translate" and f"becomes “{want.text}”" in made.sentence()
    made.text = "학교에 친구가 자"
    assert made.sentence().startswith("The grammar can read it, but this model has no id for 학교, 에.")


def test_the_sentence_says_who_looks_where():
    made = make(
        lambda text: Translation(("나", "사랑해"), ("I", "love", END), [[[[1, 0], [0.09, 0.91], [0, 0]]]], (1, 0.5, 0))
    )
    assert made.sentence() == (
        "“나는 너를 사랑해” becomes “I love”. Token 1 of 3, “I”, looks most at “나” (weight 1.00) in layer 1, mean "
        "over heads. The model gave it probability 1.000."
    )
    made.row, made.head = 1, 0
    assert "Token 2 of 3, “love”, looks most at “사랑해” (weight 0.91) in layer 1, head 1." in made.sentence()
    made.row = 2
    assert "Token 3 of 3, “EOS”, looks at nothing in layer 1, head 1: its row is all zeros." in made.sentence()
    assert made.sentence().endswith("probability <0.001.")


def test_a_sentence_without_end_and_one_of_nothing_are_said():
    made = make(
        lambda text: Translation("a", ("x", "y") if text == LOVE else (END,), np.ones((1, 1, 2 - (text != LOVE), 1)))
    )
    assert made.sentence().endswith("There is no end token.") and "probability" not in made.sentence()
    made.text = CAT
    assert "becomes nothing: the end token came first. Token 1 of 1, “EOS”" in made.sentence()
    assert "no end token" not in made.sentence() and made.static_png()


def test_what_is_typed_is_asked_once_and_examples_were_asked_before():
    asked = []
    made = make(lambda text: asked.append(text) or right(text))
    assert asked == EXAMPLES
    made.text, made.row, made.lang = CAT, 3, "ko"
    assert asked == EXAMPLES
    made.text = TYPED
    assert asked[3:] == [TYPED] and made.answer["for"] == TYPED
    assert made.shown()["source"] == ["친구", "가", "자"]
    made.text, made.head = LOVE, 1
    made.text = TYPED
    assert len(asked) == 4, "its answer was still there"
    assert list(made.translations) == EXAMPLES


def test_a_row_beyond_the_end_is_the_last_one():
    made = make(text=CAT, row=4)
    assert made.place() == 3 and "Token 4 of 4" in made.sentence()
    made.text = TYPED
    assert made.place() == 1 and "Token 2 of 2, “EOS”" in made.sentence() and made.row == 4


def test_a_word_that_is_not_known_is_said():
    made = make(text=BAD)
    said = made.sentence()
    assert said.startswith("“친규가” is not a word of this grammar, or not with this particle. Near it: 친구가,")
    assert said.endswith("Which one was meant?") and made.weights() is None
    made.text = "zzz"
    assert "nothing comes near it" in made.sentence()
    for text in ("", "  ", "\n"):
        made.text = text
        assert made.sentence() == "Type a sentence first."


def test_a_text_of_its_own_is_an_example_too():
    """Reset leads back to it, without a kernel too."""
    made = make(text=TYPED)
    assert list(made.translations) == [TYPED, *EXAMPLES] and made.start["text"] == TYPED
    assert list(make(text=CAT).translations) == EXAMPLES and make().text == LOVE
    assert make(text="").sentence() == "Type a sentence first." and list(make(text="").translations) == EXAMPLES
    assert list(make(examples=[], text=LOVE).translations) == [LOVE]
    assert list(make(examples=[LOVE, CAT, LOVE]).translations) == [LOVE, CAT]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("name", WRONG)
def test_nothing_that_a_function_does_kills_the_widget(name, lang):
    function, words = WRONG[name]
    made = make(function, [LOVE], lang=lang)
    if lang == "en":
        assert re.search(words, made.sentence()), made.sentence()
    assert "{" not in made.sentence() and len(made.sentence()) < 500 and made.weights() is None and made.shape == []
    made.text = LOVE + "."
    assert made.answer["for"] == made.text and json.dumps(made.page_state(), allow_nan=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.static_png() == made.static_png()


def test_layers_and_heads_become_known_with_the_first_translation():
    made = make(examples=[BAD])
    assert made.shape == [] and made.layer == 0
    with pytest.raises(traitlets.TraitError, match="layer: expected 0 to 0, got 1"):
        made.layer = 1
    made.text = LOVE
    assert made.shape == [2, 3]
    made.layer, made.head = 1, 2
    assert "layer 2, head 3" in made.sentence()


def test_all_sentences_have_the_same_layers_and_heads():
    made = make(lambda text: Translation("a", "b", np.ones((1 + (text != LOVE), 1, 1, 1))), [LOVE, CAT])
    made.text = CAT
    assert "cross: expected 1 layers and 1 heads as before, got 2 and 1" in made.sentence()
    made.text = "가"
    assert "expected 1 layers" in made.sentence()


@pytest.mark.parametrize(
    "cross",
    [
        lambda weights: weights.tolist(),
        lambda weights: weights.numpy(),
        lambda weights: weights.bfloat16().requires_grad_(),
        lambda weights: weights.float()[..., :].mT.contiguous().mT,
    ],
)
def test_weights_of_any_kind_and_a_bare_tuple(cross):
    want = make().weights()
    assert np.allclose(
        make(lambda text: right(text)._replace(cross=cross(right(text).cross))).weights(), want, atol=1e-2
    )
    assert np.allclose(make(lambda text: (*right(text)[:2], cross(right(text).cross))).weights(), want, atol=1e-2)


@pytest.mark.parametrize("function", [right, strange, ties])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_state_can_be_said_and_sent(function, lang):
    made = make(function, lang=lang)
    for state in random_states(made, [*EXAMPLES, TYPED, "", "x" * 200]):
        apply(made, state)
        said = made.sentence()
        assert not re.search(r"\{(?!at\})", said) and json.dumps(made.page_state(), allow_nan=False)
        if made.weights() is not None:
            assert made.weights().shape == (len(made.shown()["target"]), len(made.shown()["source"]))


def test_reset_knows_where_it_began():
    made = make(text=CAT, layer=0, head=1, row=2)
    made.text, made.layer, made.head, made.row = LOVE, 1, None, 0
    assert made.start == {"text": CAT, "layer": 0, "head": 1, "row": 2}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("function", "text"), [(right, LOVE), (right, BAD), (strange, "x" * 26), (strange, "x" * 4), (ties, "")]
)
def test_the_picture_is_small_and_the_same_each_time(function, text, lang):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (make(function, [LOVE], text=text, row=9, lang=lang).static_png() for _ in range(2))
    assert first == second and len(first) <= 20_000
    image = Image.open(io.BytesIO(first))
    assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_a_long_translation_is_drawn_around_the_token_looked_at():
    text = "x" * 13  # 40 written tokens
    assert len(strange(text).target) == 40
    pictures = [make(strange, [text], text=text, row=row).static_png() for row in (0, 20, 37)]
    assert len(set(pictures)) == 3 and all(len(picture) <= 20_000 for picture in pictures)


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = make(strange, ["</script>"]).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 80_000
    assert page.count("</script>") == 1


def test_korean_says_as_much():
    english, korean = (make(row=2, lang=lang).sentence() for lang in ("en", "ko"))
    assert sorted(re.findall(r"\d+(?:\.\d+)?", english)) == sorted(re.findall(r"\d+(?:\.\d+)?", korean))
    assert korean != english and "2층, 헤드 평균" in korean


def test_a_function_is_called_by_its_name():
    assert name_of(right, "it") == "right" == name_of(functools.partial(functools.partial(right)), "it")
    assert name_of(lambda text: text, "translate") == "translate" and name_of(WRONG.get, "it") == "get"
    assert name_of(torch.nn.ReLU(), "it") == "ReLU"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"function": 3}, TypeError, "translate: expected a function text -> Translation, got a int"),
        ({"examples": LOVE}, TypeError, "examples: expected a list of sentences, got the one text '나는"),
        ({"examples": []}, ValueError, "examples: expected 1 to 24 sentences, got 0"),
        ({"examples": [f"{at}" for at in range(25)]}, ValueError, "examples: expected 1 to 24 sentences, got 25"),
        ({"examples": [3]}, TypeError, "examples: expected sentences of at most 200 letters, got 3"),
        ({"examples": ["가" * 201]}, TypeError, "examples: expected sentences of at most 200 letters, got '가가"),
        ({"layer": 2}, traitlets.TraitError, "layer: expected 0 to 1, got 2"),
        ({"layer": -1}, traitlets.TraitError, "layer: expected 0 to 1, got -1"),
        ({"head": 3}, traitlets.TraitError, "head: expected 0 to 2, or None, got 3"),
        ({"head": "mean"}, traitlets.TraitError, "head.*'mean'"),
        ({"row": -1}, traitlets.TraitError, "row: expected 0 or more, got -1"),
        ({"lang": "fr"}, traitlets.TraitError, "lang"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)
    with pytest.raises(traitlets.TraitError, match="text: expected at most 200 letters, got 201"):
        make().text = "가" * 201


def test_pages_stay_below_two_megabytes():
    def large(text):
        weights = np.random.default_rng(0).dirichlet(np.ones(24), size=(6, 8, 32))
        return Translation(("a",) * 24, ("b",) * 32, weights)

    assert make(large, [str(at) for at in range(6)]).shape == [6, 8]
    with pytest.raises(ValueError, match=r"examples: expected at most 1.9 MB .*, got .* \(12 sentences, 6 × 8 heads\)"):
        make(large, [str(at) for at in range(12)])

"""The mask builder without a browser: the mask is the library's, and every wrong function is seen, not fatal."""

import io
import json
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib import masks
from course_lib.attention import scaled_dot_product_attention
from course_lib.explore.mask_builder import mask_builder

from .attention_functions import (
    WRONG,
    after_softmax,
    ignores,
    inverted,
    nan_rows,
    raises,
    random_states,
    right,
    uniform_rows,
)

TOKENS = ["the", "고양이", "sat$", "<b>", " "]


def make(attend=None, tokens=TOKENS, **changes):
    return mask_builder(attend, tokens, **changes)


def apply(made, state):
    for name, value in state.items():
        setattr(made, name, value)


def test_causal_and_padding_are_the_librarys():
    for count in (1, 4, 16):
        made = make(tokens=["a"] * count)
        for causal in (False, True):
            for padding in range(count + 1):
                apply(made, {"causal": causal, "padding": padding})
                ids = torch.tensor([[1] * (count - padding) + [0] * padding])
                want = masks.padding_mask(ids, 0)[0] & (masks.causal_mask(count) if causal else torch.tensor(True))
                assert (made.allowed() == want.expand(count, count).numpy()).all()


def test_a_hand_wins_over_causal_and_padding():
    made = make(causal=True, padding=1)
    made.opened, made.closed = [[0, 4], [0, 2]], [[3, 0]]
    assert made.allowed()[0].tolist() == [True, False, True, False, True]
    assert made.allowed()[3].tolist() == [False, True, True, True, False]
    assert made.opened == [[0, 2], [0, 4]], "sorted, so that equal masks are equal states"
    made.causal = made.padding = 0
    assert not made.allowed()[3, 0], "what a hand closed stays closed"


@pytest.mark.parametrize("attend", [None, right], ids=["ours", "the learner's"])
def test_weights_are_scaled_dot_product_attention_and_only_what_may_be_seen_moves_an_output(attend):
    made = make(attend)
    for state in random_states(60, len(TOKENS)):
        apply(made, state)
        query, key, value = (torch.tensor(made.vectors[name]) for name in ("query", "key", "value"))
        mask = torch.from_numpy(made.allowed())
        _, want = scaled_dot_product_attention(query, key, value, mask=mask, need_weights=True)
        assert np.allclose(made.weights(), want, atol=1e-5)
        assert made.leaks() == [] and made.answer["broken"] == [] and made.answer["problem"] == ""
        if made.changed is not None:
            moved = np.array(made.answer["change"]) > 1e-5
            sees = made.allowed()[:, made.changed]
            others = np.arange(len(TOKENS)) != made.changed
            assert (moved == sees)[others].all()
        said = made.sentence()
        assert "LEAK" not in said and "do not sum" not in said and "stays the same" not in said
        assert ("Nothing is left" in said) == (not made.allowed().any(axis=1).all())


def test_a_mask_that_is_ignored_is_seen():
    made = make(ignores, causal=True, changed=3)
    assert made.leaks() == [0, 1, 2]
    said = made.sentence()
    assert "LEAK: row 0, 1, 2 may not look at it" in said and "Hidden cells with weight: 10" in said
    made.causal = False
    assert made.leaks() == [] and "No leak." in made.sentence()


def test_a_mask_after_the_softmax_leaks_through_the_sum():
    made = make(after_softmax, causal=True, changed=4)
    said = made.sentence()
    assert made.leaks() == [0, 1, 2, 3] and "do not sum to 1" in said and "Hidden cells" not in said
    made.changed = None
    assert "LEAK" not in made.sentence() and "do not sum to 1" in made.sentence()


def test_a_mask_of_the_other_convention_leaks_and_is_blind():
    made = make(inverted, causal=True, changed=2)
    assert made.leaks() == [0, 1] and "Row 3, 4 may look at it, and its output stays the same." in made.sentence()


def test_a_row_with_nothing_left():
    made = make(nan_rows, changed=4)
    made.closed = [[2, key] for key in range(5)]
    said = made.sentence()
    assert np.isnan(made.weights()[2]).all() and np.isfinite(np.delete(made.weights(), 2, axis=0)).all()
    assert "Nothing is left for row 2" in said and "0/0, NaN" in said and "Row 2 holds NaN" in said
    assert made.answer["weights"][2] == ["NaN"] * 5 and json.dumps(made.answer, allow_nan=False)
    made = make(uniform_rows, changed=4)
    made.closed = [[2, key] for key in range(5)]
    assert made.leaks() == [2], "a row with nothing left that looks everywhere leaks"
    made.changed = 2
    assert made.leaks() == [2], "its own new vector too"
    made = make(changed=4)
    made.closed = [[2, key] for key in range(5)]
    assert not made.weights()[2].any() and made.answer["change"][2] == 0
    made.changed = 2
    assert made.leaks() == [], "with nothing to look at, its own new query moves nothing"


@pytest.mark.parametrize("attend", WRONG)
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_nothing_that_a_function_does_kills_the_widget(attend, lang):
    made = make(attend, lang=lang)
    for state in random_states(30, len(TOKENS)):
        apply(made, state)
        said = made.sentence()
        assert "{" not in said and attend.__name__ in said
        assert json.dumps(made.page_state(), allow_nan=False) and isinstance(made.leaks(), list)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.static_png() == made.static_png()


@pytest.mark.parametrize(
    ("attend", "words"),
    [
        (raises, r"RuntimeError: sizes do not fit: \(5, 8\)"),
        (lambda query, key, value: None, "TypeError: .*positional argument"),
        (lambda *given: None, "it must return .output, weights., got a NoneType"),
        (lambda *given: given[0], "it must return .output, weights., got a Tensor"),
        (lambda *given: given[:3], "it must return .output, weights., got 3 values"),
        (lambda *given: (given[0], None), "weights must be a tensor of shape .5, 5., got a NoneType"),
        (lambda *given: (given[0].T, given[3]), r"output must be a tensor of shape \(5, 8\), got shape \(8, 5\)"),
        (lambda *given: (given[0], given[3][None]), r"weights must .* \(5, 5\), got shape \(1, 5, 5\)"),
        (lambda *given: [][0], "IndexError"),
        (lambda *given: assert_long(), "a{200}.*…"),
    ],
)
def test_what_goes_wrong_is_said(attend, words):
    made = make(attend, causal=True, changed=1)
    assert re.search(words, made.sentence()) and len(made.sentence()) < 500
    assert made.leaks() == [] and made.weights().size == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.static_png()
    assert "15 of 25 cells are open" in made.sentence()


def assert_long():
    raise ValueError("a" * 5000)


def test_a_function_may_write_into_its_arguments():
    given = []

    def writes(query, key, value, mask):
        given.append((value.clone(), mask.clone()))
        mask[:], value[:] = True, 0
        return right(query, key, value, mask)

    made = make(writes, causal=True, changed=2)
    made.padding = 1
    made.padding = 0
    first, again = given[0], given[4]
    assert all(torch.equal(*pair) for pair in zip(first, again, strict=True))
    assert torch.equal(given[1][1], first[1]), "asked with the changed token, it gets the mask as it was"


def test_only_a_new_mask_or_token_asks_the_function_again():
    asked = []

    def counts(query, key, value, mask):
        asked.append(mask)
        return right(query, key, value, mask)

    made = make(counts, causal=True)
    assert len(asked) == 1
    made.closed = [[0, 4]]  # is hidden already
    made.lang = "ko"
    assert len(asked) == 1
    with made.hold_trait_notifications():  # as a message of the page sets several
        made.causal, made.padding, made.changed = False, 2, 1
    assert len(asked) == 3, "once as it is, once with the token changed"
    assert made.answer["for"] == "11100/11100/11100/11100/11100:1"


def test_vectors_are_the_same_every_time():
    assert make().vectors == make().vectors and make().vectors != make().others
    assert np.shape(list(make().vectors.values())) == (3, 5, 8)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("count", [1, 5, 8, 9, 16])
def test_the_picture_is_small_and_the_same_each_time(lang, count):
    def picture():
        made = make(ignores, (TOKENS * 4)[:count], causal=True, padding=count // 4, changed=count - 1, lang=lang)
        return made.static_png()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = picture(), picture()
    assert first == second and len(first) <= 20_000
    image = Image.open(io.BytesIO(first))
    assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    made = make(nan_rows, ["</script>"] * 16, padding=16)
    page = made.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 80_000
    assert page.count("</script>") == 1


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"attend": TOKENS}, TypeError, r"attend: expected a function \(query, key, value, mask\).*, got a list"),
        ({"tokens": []}, ValueError, "tokens: expected 1 to 16, got 0"),
        ({"tokens": ["a"] * 17}, ValueError, "tokens: expected 1 to 16, got 17. Cut the sentence."),
        ({"padding": 6}, traitlets.TraitError, "padding: expected 0 to 5, got 6"),
        ({"padding": -1}, traitlets.TraitError, "padding: expected 0 to 5, got -1"),
        ({"changed": 5}, traitlets.TraitError, "changed: expected 0 to 4 or None, got 5"),
        ({"causal": 2}, traitlets.TraitError, "causal.*expected a boolean.*2"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)


@pytest.mark.parametrize("cells", [[[0, 5]], [[-1, 0]], [[0]], [[0, 1, 2]], [["a", 0]], [3]])
@pytest.mark.parametrize("name", ["opened", "closed"])
def test_it_refuses_a_cell_outside(cells, name):
    made = make()
    with pytest.raises(traitlets.TraitError, match=rf"{name}: expected \[query, key\], 0 to 4, got "):
        setattr(made, name, cells)
    assert made.allowed().all()

"""The head grid without a browser: it holds the maps that were given, asks once, and survives any answer."""

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

from course_lib.explore.head_grid import head_grid
from course_lib.explore.head_maps import ask, pooled, row_difference
from course_lib.multi_head_attention import MultiHeadAttention

from .random_heads import apply, cost, maps, random_states

TOKENS = ["the", "고양이", "sat$", "<b>", " "]


def make(shape=(2, 3, 5, 5), ablate=cost, tokens=TOKENS, **changes):
    return head_grid(maps(*shape), tokens, ablate, **changes)


def test_it_holds_what_a_module_gives():
    torch.manual_seed(0)
    module, x = MultiHeadAttention(16, 4), torch.randn(1, 5, 16)
    _, weights = module(x, need_weights=True)  # (1, H, N, N), with a gradient
    made = head_grid(weights, TOKENS)
    assert np.shape(made.maps) == (1, 4, 5, 5)
    for head in range(4):
        made.opened = [0, head]
        assert np.allclose(made.weights(), weights[0, head].detach(), atol=1e-4)
    assert head_grid(weights[0], TOKENS).maps == made.maps, "three axes are the heads of one layer"
    assert head_grid(weights.bfloat16(), TOKENS).maps != []
    weights = maps(3, 2, 5, 5)  # four axes start with the layers
    assert np.allclose(head_grid(weights, TOKENS, opened=(2, 1)).weights(), weights[2, 1], atol=1e-4)


def test_rows_are_queries():
    made = head_grid(maps(1, 2, 2, 3), target_tokens=["I", "go"], source_tokens=["나는", "간다", "."], row=1)
    most = made.weights()[1].argmax()
    assert made.weights().shape == (2, 3) and f"query 1 “go” looks most at key {most}" in made.sentence()


def test_a_row_of_nothing_and_a_token_of_spaces_are_said():
    assert "query 0 “the” may look at nothing" in make(opened=(1, 2)).sentence()
    assert "“␣”" in make(row=4).sentence()


def test_a_head_is_asked_about_once_and_only_when_it_is_off():
    asked = []
    made = make(ablate=lambda *head: asked.append(head) or 0.25)
    made.opened, made.row = [1, 2], 3
    assert asked == [] and made.costs() == {} and "off" not in made.sentence()
    made.off = True
    assert asked == [(1, 2)] and made.costs() == {(1, 2): 0.25}
    assert "With layer 2, head 3 off, ablate says +0.250" in made.sentence() and "Asked so far" not in made.sentence()
    made.opened = [0, 1]
    made.opened, made.off, made.lang = [1, 2], False, "ko"
    made.off = True
    assert asked == [(1, 2), (0, 1)] and list(made.costs()) == [(0, 1), (1, 2)]
    with made.hold_trait_notifications():  # as a message of the page sets several
        made.opened, made.off = [0, 0], True
    assert asked[2:] == [(0, 0)]


def test_the_costliest_is_named():
    made = make(ablate=lambda layer, head: [0.1, 0.9, -2][head], off=True)
    for head in range(3):
        made.opened = [0, head]
    assert "Asked so far: 3 of 6 heads. It costs most to lose layer 1, head 2 (+0.900)." in made.sentence()
    assert "ablate says −2.000" in made.sentence()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.31249, "+0.312"), (0.0625, "+0.063"), (-0.0625, "−0.063"), (0, "0"), (-0.0, "0"), (0.0004, "+4.0e-4"),
        (1234.5, "+1.2e3"), (-1e-30, "−1.0e-30"), (999.9, "+999.900"), (1e300, "+1.0e300"),
    ],
)  # fmt: skip
def test_a_cost_has_its_sign(value, text):
    for number in (value, np.float64(value), torch.tensor([value], dtype=torch.float64)):
        assert ask(lambda *head, number=number: number, 0, 0) == {"cost": pytest.approx(value), "text": text}


@pytest.mark.parametrize(
    ("ablate", "words"),
    [
        (lambda *head: None, "TypeError: it must return a number, got None"),
        (lambda *head: "0.5", "it must return a number, got a str"),
        (lambda *head: True, "it must return a number, got a bool"),
        (lambda *head: [1.0], "TypeError: float.. argument must be"),
        (lambda *head: torch.ones(2), "Error: .*converted to"),
        (lambda *head: math.nan, "it must return a finite number, got nan"),
        (lambda *head: -math.inf, "it must return a finite number, got -inf"),
        (lambda layer: 0, "TypeError: .*positional argument"),
        (lambda *head: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda *head: TOKENS.index("a" * 5000), "a{200}.*…"),
    ],
)
def test_what_goes_wrong_is_said(ablate, words):
    made = make(ablate=ablate, off=True)
    assert re.search(words, made.sentence()) and "ablate stopped" in made.sentence() and len(made.sentence()) < 600
    assert made.costs() == {} and made.static_png()


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_state_can_be_said_and_sent(lang):
    made = make(lang=lang)
    for state in random_states(made):
        apply(made, state)
        assert "{" not in made.sentence() and json.dumps(made.page_state(), allow_nan=False)


def test_the_difference_is_the_share_of_weight_that_lies_elsewhere():
    same, other = np.eye(4), np.eye(4)[::-1]
    assert row_difference(same, same) == 0 and row_difference(same, other) == 1
    assert row_difference(same, np.full((4, 4), 0.25)) == 0.75
    assert row_difference(same, same[[0, 1, 2, 2]]) == 0.25, "a mean over the queries"
    made = make(second=(1, 1))
    assert f"{row_difference(made.weights(), made.weights('second')):.2f} of a query's weight" in made.sentence()


def test_a_thin_diagonal_is_not_lost_when_a_map_is_drawn_small():
    for count, side in ((64, 11), (64, 64), (9, 4), (5, 8)):
        small = pooled(np.eye(count), side)
        assert max(small.shape) <= side and small.max(axis=0).min() == small.max(axis=1).min() == 1
    assert pooled(np.zeros((64, 3)), 16).shape == (16, 3)


def test_reset_knows_where_it_began():
    made = make(opened=(1, 0), second=(0, 1), row=2)
    made.opened, made.second, made.row, made.off = [0, 0], [], 0, True
    assert made.start == {"opened": [1, 0], "second": [0, 1], "row": 2, "off": False, "stretch": False}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (1, 4, 24, 24), (3, 8, 5, 9), (8, 16, 45, 45), (2, 4, 64, 64)], ids=str
)
def test_the_picture_is_small_and_the_same_each_time(lang, shape):
    def picture():
        rows, columns = ((TOKENS * 13)[:count] for count in shape[2:])
        made = head_grid(
            maps(*shape), ablate=cost, target_tokens=rows, source_tokens=columns,
            second=(0, shape[1] - 1), row=shape[2] - 1, stretch=shape[0] == 3, off=True, lang=lang,
        )  # fmt: skip
        return made.static_png()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = picture(), picture()
    assert first == second and len(first) <= 20_000
    image = Image.open(io.BytesIO(first))
    assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = make(tokens=["</script>"] * 5).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 80_000
    assert page.count("</script>") == 1


def test_the_largest_page_is_below_two_megabytes(tmp_path):
    made = head_grid(maps(8, 16, 45, 45), range(45))
    assert 1_500_000 < made.to_html(tmp_path / "page.html").stat().st_size < 2_000_000
    with pytest.raises(
        ValueError, match=r"attn: expected at most 1.9 MB .*, got .* MB \(8 × 16 × 64 × 64\). Take fewer"
    ):
        head_grid(maps(8, 16, 64, 64), range(64))


def test_korean_says_as_much():
    english, korean = (make(second=(1, 1), off=True, lang=lang).sentence() for lang in ("en", "ko"))
    numbers = r"\d+\.\d+"
    assert re.findall(numbers, english) == re.findall(numbers, korean) and "{" not in korean and korean != english


GIVEN = maps(2, 3, 5, 5)


@pytest.mark.parametrize(
    ("attn", "words"),
    [
        (GIVEN[0, 0], r"attn: expected \(layers, heads, T, S\) or \(heads, T, S\), got shape \(5, 5\)"),
        (GIVEN[None], r"attn: expected .*, got shape \(1, 2, 3, 5, 5\). Take one sentence: no batch axis"),
        (GIVEN[:, :0], r"attn: expected .*, got shape \(2, 0, 5, 5\)"),
        (np.zeros((9, 2, 5, 5)), "9 layers, at most 8 can be shown. Is the first axis a batch"),
        (np.zeros((2, 17, 5, 5)), "17 heads, at most 16"),
        (np.zeros((2, 65, 5)), "65 queries, at most 64"),
        (np.zeros((2, 5, 65)), "65 keys, at most 64"),
        (GIVEN * np.nan, "attn: expected weights from 0 to 1, got NaN"),
        (GIVEN - 1, "attn: expected weights from 0 to 1, got -.* scores before the softmax"),
        (GIVEN * 5, "attn: expected weights from 0 to 1, got"),
    ],
)
def test_it_refuses_such_weights(attn, words):
    with pytest.raises(ValueError, match=words):
        head_grid(attn, TOKENS)


@pytest.mark.parametrize("attn", [[torch.rand(3, 5, 5, requires_grad=True)] * 2, None, "weights", {"a": 1}])
def test_it_refuses_what_is_no_tensor(attn):
    with pytest.raises(TypeError, match=f"attn: expected one tensor or array .*, got a {type(attn).__name__}"):
        head_grid(attn, TOKENS)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"tokens": TOKENS[:4]}, ValueError, "tokens holds 4 tokens, but the weights have 5"),
        ({"tokens": None}, ValueError, "target_tokens: expected 5 tokens, got none"),
        ({"source_tokens": ["a"]}, ValueError, "source_tokens holds 1 tokens, but the weights have 5"),
        ({"ablate": 3}, TypeError, r"ablate: expected a function \(layer, head\) -> number, got a int"),
        (
            {"opened": (2, 0)},
            traitlets.TraitError,
            r"opened: expected \[layer, head\], 0 to 1 and 0 to 2, got \[2, 0\]",
        ),
        ({"opened": ()}, traitlets.TraitError, r"opened: expected .*, got \[\]"),
        ({"opened": 1}, traitlets.TraitError, "opened.*list.*1"),
        ({"second": (0, 3)}, traitlets.TraitError, r"second: expected .* or \[\], got \[0, 3\]"),
        ({"second": ("a", 0)}, traitlets.TraitError, "second: expected"),
        ({"row": 5}, traitlets.TraitError, "row: expected 0 to 4, got 5"),
        ({"row": -1}, traitlets.TraitError, "row: expected 0 to 4, got -1"),
        ({"off": True, "ablate": None}, traitlets.TraitError, "off: expected False where no ablate is given, got True"),
        ({"stretch": 2}, traitlets.TraitError, "stretch.*expected a boolean.*2"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)

"""Position waves without a browser: the encoding is the library's, likeness knows only distance, a bag stays a bag."""

import io
import math
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib.attention import scaled_dot_product_attention
from course_lib.explore.position_waves import BASES, ORDERS, TOKENS, clocks, frequency, position_waves
from course_lib.positions import sinusoidal_encoding

SIZES = [(64, 32), (2, 2), (128, 128), (7, 6), (33, 10)]


def states(made, count=40, seed=0):
    """Random states of a widget, its corners first."""
    drawn = np.random.default_rng(seed)
    ends = [(0, 0), (made.n_positions - 1, made.d_model // 2 - 1), (made.n_positions - 1, 0)]
    ends += [(int(drawn.integers(made.n_positions)), int(drawn.integers(made.d_model // 2))) for _ in range(count)]
    for at, (position, pair) in enumerate(ends):
        base, added = BASES[at % len(BASES)], bool(drawn.integers(2))
        yield {"position": position, "pair": pair, "base": base, "shuffle": at % len(ORDERS), "added": added}


def apply(made, state):
    for name, value in state.items():
        setattr(made, name, value)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_encoding_is_sines_and_cosines_interleaved(size):
    made = position_waves(*size)
    for state in states(made, 10):
        apply(made, state)
        waves, speed = made.encoding(), frequency(made.pair, made.d_model, made.base)
        assert torch.equal(torch.from_numpy(waves), sinusoidal_encoding(*size, base=made.base, dtype=torch.float64))
        angle = np.arange(size[0]) * made.base ** (-2 * made.pair / size[1])
        assert np.allclose(
            waves[:, 2 * made.pair : 2 * made.pair + 2], np.stack([np.sin(angle), np.cos(angle)], axis=1)
        )
        for pair, sine, cosine in made.hands():
            assert sine**2 + cosine**2 == pytest.approx(1)
            assert math.sin(made.position * frequency(pair, made.d_model, made.base)) == pytest.approx(sine, abs=1e-9)
        assert speed == pytest.approx(made.base ** -(2 * made.pair / size[1]))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_likeness_depends_on_the_distance_alone(size):
    made = position_waves(*size)
    for state in states(made, 8):
        apply(made, state)
        from_zero, here = made.similarity(0), made.similarity()
        assert sorted(here) == list(range(-made.position, size[0] - made.position))
        assert here[0] == pytest.approx(size[1] / 2) and max(here.values()) == pytest.approx(here[0])
        assert all(value == pytest.approx(from_zero[abs(k)], abs=1e-9) for k, value in here.items())
        assert "(largest difference 0.00)" in made.sentence()


def test_without_positions_every_shuffle_is_one_bag_and_with_them_none_is():
    made = position_waves()
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in ORDERS) and len({*map(tuple, ORDERS)}) == len(ORDERS)
    assert [TOKENS[at] for at in ORDERS[1]] == "강아지 가 고양이 를 본다".split()
    for base in BASES:
        for at in range(len(ORDERS)):
            apply(made, {"base": base, "shuffle": at, "added": False})
            assert made.distance() < 1e-12 and "0.00 away" in made.sentence()
            made.added = True
            assert made.distance() > 1 if at else made.distance() == 0
            assert f"{made.distance():.2f} away" in made.sentence()


def test_the_words_are_attended_to_as_the_library_does_it():
    made = position_waves(added=True)
    for at, order in enumerate(ORDERS):
        made.shuffle = at
        given = {name: torch.tensor(values, dtype=torch.float64) for name, values in made.vectors.items()}
        for added in (True, False):
            made.added = added
            X = given["X"][order]
            X = X + sinusoidal_encoding(5, 8, base=made.base, dtype=torch.float64) if added else X
            output, _ = scaled_dot_product_attention(X @ given["W_Q"], X @ given["W_K"], X @ given["W_V"])
            assert np.allclose(made.verb(order), output[order.index(4)])


def test_clocks_go_from_the_fastest_to_the_slowest_and_the_chosen_one_is_among_them():
    assert clocks(16, 0) == [0, 4, 8, 11, 15] and clocks(16, 3) == [0, 3, 4, 8, 11, 15]
    assert clocks(1, 0) == [0] and clocks(3, 1) == [0, 1, 2] and clocks(64, 63) == [0, 16, 32, 47, 63]


def test_the_sentence_holds_the_numbers():
    said = position_waves(position=10, pair=3).sentence()
    angle = 10 * 10000 ** (-6 / 32)
    assert (
        f"sine {math.sin(angle):.2f} and cosine {math.cos(angle):.2f}" in said and "turn takes 35.3 positions" in said
    )
    assert "is 16.00 for k = 0 and 15.31 for k = 1" in said and "without positions" in said
    assert "for k = -1" in position_waves(position=63).sentence(), "the last position looks back"
    assert "added (base 100)" in position_waves(base=100, added=True).sentence()


def test_reset_knows_where_it_began():
    made = position_waves(position=5, pair=2, base=100, shuffle=3, added=True)
    made.position, made.added = 6, False
    assert made.start == {"position": 5, "pair": 2, "base": 100.0, "shuffle": 3, "added": True}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("size", SIZES[:3], ids=str)
def test_the_picture_is_small_and_the_same_each_time(lang, size):
    made, again = (position_waves(*size, lang=lang) for _ in "ab")
    for state in list(states(made, 0)):
        apply(made, state)
        apply(again, state)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first, second = made.static_png(), again.static_png()
        assert first == second and len(first) <= 20_000, state
        image = Image.open(io.BytesIO(first))
        assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = position_waves(128, 128).to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 60_000


def test_korean_says_as_much():
    english, korean = position_waves(position=9).sentence(), position_waves(position=9, lang="ko").sentence()
    numbers = r"-?\d+\.\d+"
    assert re.findall(numbers, english) == re.findall(numbers, korean) and "{" not in korean and korean != english


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"n_positions": 1}, ValueError, "n_positions: expected a whole number from 2 to 128, got 1"),
        ({"n_positions": 129}, ValueError, "n_positions: expected .*, got 129"),
        ({"n_positions": 8.0}, ValueError, "n_positions: expected .*, got 8.0"),
        ({"d_model": 7}, ValueError, "d_model: expected an even number from 2 to 128, got 7"),
        ({"d_model": "8"}, ValueError, "d_model: expected .*, got '8'"),
        ({"d_model": 130}, ValueError, "d_model: expected .*, got 130"),
        ({"base": 5000}, traitlets.TraitError, "base: expected 100, 1000, 10000 or 100000, got 5000"),
        ({"base": math.nan}, traitlets.TraitError, "base: expected .*, got nan"),
        ({"position": 64}, traitlets.TraitError, "position: expected 0 to 63, got 64"),
        ({"position": -1}, traitlets.TraitError, "position: expected 0 to 63, got -1"),
        ({"pair": 16}, traitlets.TraitError, "pair: expected 0 to 15, got 16"),
        ({"shuffle": 6}, traitlets.TraitError, "shuffle: expected 0 to 5, got 6"),
        ({"added": "yes"}, traitlets.TraitError, "added.*expected a boolean.*'yes'"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        position_waves(**changes)

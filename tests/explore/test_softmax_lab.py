"""The softmax lab without a browser: its numbers are torch's, the root keeps the gradient, refusals name the cause."""

import io
import math
import re
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib import attention
from course_lib.explore.softmax_lab import (
    COLDEST,
    HOTTEST,
    WIDTHS,
    entropy,
    jacobian,
    jacobian_norm,
    logits,
    softmax,
    softmax_lab,
)

SCORES = [1.2, 0.4, -0.7, 0.1, -1.5]
TOKENS = ["the", "고양이", "sat$", "<b>", " "]


def make(**changes):
    return softmax_lab(**{"scores": SCORES, "tokens": TOKENS} | changes)


def draws(count=50):
    """(scores, d_k, root, temperature) of all kinds, the ends of both sliders first."""
    drawn = np.random.default_rng(0)
    for d_k in (WIDTHS[0], WIDTHS[-1]):
        for temperature in (COLDEST, HOTTEST):
            yield from ((np.array(SCORES), d_k, root, temperature) for root in (True, False))
    yield np.zeros(4), 64, True, 1.0
    yield np.array([2.0]), 1024, False, 0.1
    for _ in range(count):
        width, temperature = int(drawn.choice(WIDTHS)), float(drawn.uniform(COLDEST, HOTTEST))
        yield drawn.normal(size=drawn.integers(1, 17)), width, bool(drawn.integers(2)), temperature


def test_it_is_scaled_dot_product_attention_of_vectors_with_these_scores():
    """A query of √d_k times a unit vector, and keys whose part along it is the score: q · k = score √d_k."""
    for d_k in (4, 64, 1024):
        key = torch.randn(len(SCORES), d_k, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        key[:, 0] = torch.tensor(SCORES, dtype=torch.float64)
        query = torch.zeros(1, d_k, dtype=torch.float64)
        query[0, 0] = math.sqrt(d_k)
        _, want = attention.scaled_dot_product_attention(query, key, key, need_weights=True)
        assert np.allclose(make(d_k=d_k).weights(), want[0])
        assert np.allclose(make(d_k=d_k, root=False).weights(), torch.softmax(attention.dot_score(query, key), -1)[0])


@pytest.mark.parametrize("draw", list(draws()))
def test_numbers_are_torchs(draw):
    scores, d_k, root, temperature = draw
    given = torch.tensor(scores) * math.sqrt(d_k) / (math.sqrt(d_k) if root else 1) / temperature
    want = torch.softmax(given, dim=-1)
    weights = softmax(logits(scores, d_k, root, temperature))
    assert np.allclose(weights, want, atol=1e-12)
    assert entropy(weights) == pytest.approx(float(torch.special.entr(want).sum()) / math.log(2), abs=1e-9)
    exact = torch.autograd.functional.jacobian(lambda given: torch.softmax(given, dim=-1), given)
    assert np.allclose(jacobian(weights), exact, atol=1e-12)
    assert jacobian_norm(weights) == pytest.approx(float(exact.norm()), abs=1e-9)
    assert 0 <= jacobian_norm(weights) <= 0.5 + 1e-12 and 0 <= entropy(weights) <= math.log2(len(scores)) + 1e-9


def test_the_norm_of_a_saturated_softmax_is_small_not_the_noise_of_rounding():
    """Two keys: the Jacobian is p (1 - p) times [[1, -1], [-1, 1]], of norm 2 p (1 - p)."""
    for gap in (20.0, 45.0, 100.0):
        assert jacobian_norm(softmax(np.array([gap, 0.0]))) == pytest.approx(2 * math.exp(-gap), rel=1e-6, abs=0)


def test_without_the_root_the_gradient_vanishes_as_d_k_grows_and_with_it_nothing_changes():
    shown = make()
    kept, lost = np.array(shown.curve(True)), np.array(shown.curve(False))
    assert np.ptp(kept, axis=0).max() < 1e-12 and kept[0, 1] > 0.1
    assert (np.diff(lost, axis=0) < 0).all() and lost[-1, 1] < 1e-6 * kept[-1, 1]
    assert [make(d_k=d_k, root=False).jacobian_norm() for d_k in WIDTHS] == pytest.approx(lost[:, 1].tolist())


def test_variance_is_d_k_without_the_root_and_one_with_it():
    scores = np.random.default_rng(1).normal(size=16)
    scores = (scores - scores.mean()) / scores.std()
    for d_k in WIDTHS:
        assert softmax_lab(scores, range(16), d_k=d_k).variance() == pytest.approx(1, abs=1e-3)
        assert softmax_lab(scores, range(16), d_k=d_k, root=False).variance() == pytest.approx(d_k, rel=1e-3)
    assert softmax_lab(scores, range(16), temperature=2).variance() == pytest.approx(0.25, abs=1e-3)


def test_the_sentence_holds_the_numbers():
    shown = make(d_k=256)
    for root, how in ((True, "divided by"), (False, "not divided by")):
        shown.root = root
        said = shown.sentence()
        assert f"d_k = 256, {how} √d_k" in said and f"{shown.weights().max():.2f}" in said and "“the”" in said
        assert f"{shown.entropy():.2f} of 2.32 bits" in said
        assert ("saturated" in said) == (not root)
    tiny = float(re.search(r"Jacobian (\S+)\. The", said)[1])
    assert tiny == pytest.approx(shown.jacobian_norm(), rel=0.5)
    assert "A single key" in softmax_lab([0.3], ["a"]).sentence()
    assert "“␣”" in softmax_lab([0.3, 1], ["a", " "]).sentence()


def test_reset_knows_where_it_began_and_a_state_can_be_asked_for():
    shown = make(d_k=128, root=False, temperature=2)
    shown.d_k, shown.temperature, shown.root = 4, 0.5, True
    assert shown.start == {"temperature": 2.0, "d_k": 128, "root": False}


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("count", [1, 5, 16])
def test_the_picture_is_small_and_the_same_each_time(lang, count):
    def picture():
        scores = np.random.default_rng(count).normal(size=count)
        return softmax_lab(scores, (TOKENS * 4)[:count], d_k=512, root=False, lang=lang).static_png()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = picture(), picture()
    assert first == second and len(first) <= 20_000
    image = Image.open(io.BytesIO(first))
    assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = make().to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 60_000


def test_korean_says_as_much():
    english, korean = make(root=False).sentence(), make(root=False, lang="ko").sentence()
    assert re.findall(r"\d\S*\d", english) != [] and "{" not in korean and korean != english


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"tokens": ["a"]}, ValueError, "tokens: expected one for each of the 5 scores, got 1"),
        ({"scores": [], "tokens": []}, ValueError, "scores: expected 1 to 16 numbers, got 0"),
        ({"scores": [0.0] * 17, "tokens": ["a"] * 17}, ValueError, "scores: expected 1 to 16 numbers, got 17"),
        ({"scores": [[1.0, 2.0]], "tokens": ["a", "b"]}, ValueError, r"scores must have shape \(any\), got \(1, 2\)"),
        ({"scores": [1.0, math.nan], "tokens": ["a", "b"]}, ValueError, "scores holds NaN"),
        ({"scores": [1.0, -35.5], "tokens": ["a", "b"]}, ValueError, "scores: expected .* at most 20, got -35.5"),
        ({"d_k": 48}, traitlets.TraitError, "d_k: expected a power of 2, one of 4, 8, .*, got 48"),
        ({"d_k": 2048}, traitlets.TraitError, "d_k: expected .*, got 2048"),
        ({"temperature": 0}, traitlets.TraitError, "temperature: expected 0.1 to 10, got 0"),
        ({"temperature": math.nan}, traitlets.TraitError, "temperature: expected 0.1 to 10, got nan"),
        ({"root": "yes"}, traitlets.TraitError, "root.*expected a boolean.*'yes'"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)


def test_a_tensor_with_a_gradient_is_welcome():
    assert np.allclose(softmax_lab(torch.tensor(SCORES, requires_grad=True), TOKENS).scores, SCORES)

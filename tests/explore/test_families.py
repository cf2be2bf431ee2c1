"""The three families without a browser: masks as models have them, counts as models compute, in words and pictures."""

import io
import itertools
import json
import re
import warnings

import numpy as np
import pytest
import traitlets
from PIL import Image

from course_lib.explore.families import families
from course_lib.explore.family_masks import FAMILIES, grids_of, kept_of, mask_of, scores_of, stages_of
from course_lib.masks import causal_mask

from .family_models import D, heard, written

SIZES = [(1, 3), (5, 9), (1, 13), (11, 13), (4, 6)]
STRANGE = {"source": ["<b>", "나는", "$x$", " ", "constructor"], "target": ["{token}", "a long token, and more", "은"]}


def make(**changes):
    return families(**changes)


def wrong(family, S=5, N=9):
    """A matrix that disagrees with the family's mask in three cells, where all three can be."""
    found = mask_of(family, S, N).astype(float)
    for cell in ((7, 8), (2, 6), (8, 0)):
        found[cell] = 0 if found[cell] else -1e-30
    return found


def random_states(made, count=60, seed=0):
    drawn, N, T = np.random.default_rng(seed), len(made.source) + 1 + len(made.target), len(made.target)
    for at in range(count):
        state = {"family": FAMILIES[at % 3], "token": int(drawn.integers(N)), "written": int(drawn.integers(T + 1))}
        yield state | {"cache": bool(drawn.integers(3)), "lang": ("en", "ko")[at % 2]}


def apply(made, state):
    for name, value in state.items():
        setattr(made, name, value)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("S", "N"), SIZES)
def test_a_model_hears_what_the_mask_lets_through(family, S, N):
    """Through three layers of the library, and through any number: the mask is its own square."""
    mask = mask_of(family, S, N)
    assert np.array_equal(heard(family, S, N).numpy() != 0, mask)
    assert np.array_equal(np.linalg.matrix_power(mask.astype(int), 12) > 0, mask)


def test_what_each_family_may_see():
    causal = causal_mask(9).numpy()
    assert mask_of("encoder-only", 5, 9).all() and np.array_equal(mask_of("decoder-only", 5, 9), causal)
    both = mask_of("encoder-decoder", 5, 9)
    assert both[:5, :5].all() and both[5:, :5].all() and not both[:5, 5:].any()
    assert np.array_equal(both[5:, 5:], causal[:4, :4])
    for family, (S, N) in itertools.product(FAMILIES, SIZES):
        drawn = np.zeros((N, N), dtype=int)
        for rows, columns in grids_of(family, S, N).values():
            drawn[np.ix_(rows, columns)] += 1
        assert drawn.max() == 1 and not mask_of(family, S, N)[drawn == 0].any(), "each open cell is drawn once"


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder-only"])
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize(("S", "N"), SIZES)
def test_a_model_computes_and_keeps_as_much(family, cache, S, N):
    count = N - S - 1
    scores, numbers = written(family, S, 1 + count, cache)
    assert scores_of(family, S, N, count, cache) == scores
    for fewer in range(count):
        assert scores_of(family, S, N, fewer, cache) == scores[: fewer + 1]
    if cache:
        assert numbers == 2 * D * sum(kept_of(family, S, count))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize(("S", "N"), SIZES)
def test_the_rows_computed_now_have_the_scores_of_the_pass(family, cache, S, N):
    """The rows of a grid, each with as many scores as tokens are there, make the count of the pass."""
    for count in range(N - S):
        stages, total = stages_of(family, S, N, count, cache), 0
        for rows, columns in grids_of(family, S, N).values():
            there = [[place for place in places if stages[place] != "later"] for places in (rows, columns)]
            total += sum(stages[row] == "now" for row in there[0]) * len(there[1])
        assert total == scores_of(family, S, N, count, cache)[-1]
        assert stages.count("later") == (0 if family == "encoder-only" else N - S - 1 - count)
        if cache and count and family != "encoder-only":
            assert stages.count("now") == 1


def test_the_lessons_example():
    made = make()
    assert made.places() == ["나", "는", "너", "를", "사랑해", "BOS", "I", "love", "you"]
    assert (made.family, made.token, made.written, made.cache) == ("encoder-decoder", 7, 3, True)
    said = made.sentence()
    assert "“love” may see BOS, I, love, and by cross-attention all of the source: 나, 는, 너, 를, 사랑해." in said
    assert "Hidden from it: you." in said and "8 of 9 tokens can reach it. From its row “you” is written." in said
    assert "Now the row of “you” alone is computed: 9 scores" in said and "55 with the cache, 105 without." in said
    assert "4 tokens of the decoder, and of 5 source tokens, which do not grow; 9,216 numbers a layer, 55,296" in said
    made.family = "decoder-only"
    assert "“love” may see 나, 는, 너, 를, 사랑해, =, I, love. Hidden from it: you." in made.sentence()
    assert "60 with the cache, 230 without. Kept: keys and values of 9 tokens, 9,216 numbers" in made.sentence()
    apply(made, {"written": 0, "token": 8})
    assert "Now 6 rows are computed: 36 scores" in made.sentence() and "It is not written yet." in made.sentence()
    assert "From its row the end is written." in made.sentence()
    apply(made, {"cache": False, "written": 1, "token": 2})
    assert "Now 7 rows are computed: 49 scores" in made.sentence() and "No keys and values are kept" in made.sentence()
    assert "From its row" not in made.sentence() and "“너” may see 나, 는, 너. Hidden" in made.sentence()
    made.family = "encoder-only"
    assert "“너” may see 나, 는, 너, 를, 사랑해, =, I, love, you. However" in made.sentence()
    assert made.sentence().endswith("One pass computes all 9 rows, 81 scores a head and layer. Nothing is kept.")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_strip_tells_which_keys_are_kept(family):
    made = make(family=family)
    for made.cache, made.written in itertools.product([True, False], range(4)):
        strips = {name: made.strip(name) for name in made.grids()}
        kept = sum(stage != "later" for strip in strips.values() for stage in strip)
        if made.cache:
            assert kept == sum(made.kept())
        else:
            assert made.kept() == (0, 0) and "before" not in sum(strips.values(), [])
        assert strips.get("encoder", []) == []


def test_nothing_is_claimed_as_measured_unless_it_was():
    for family in FAMILIES:
        assert "easured" not in make(family=family).sentence() and make(family=family).disagreements() is None
    for made in (
        make(influence={family: lambda f=family: heard(f, 5, 9) for family in FAMILIES}),
        make(influence={family: lambda f=family: heard(f, 5, 9).tolist() for family in FAMILIES}),
        make(influence={family: lambda f=family: (heard(f, 5, 9) != 0).numpy() for family in FAMILIES}),
    ):
        for made.family in FAMILIES:
            assert made.disagreements() == ([], []) and "nothing outside the mask." in made.sentence()
    made = make(influence={"decoder-only": lambda: np.ones((9, 9), dtype=bool)}, family="decoder-only")
    assert len(made.disagreements()[0]) == 36 and "marked “!”: 36." in made.sentence()
    assert "no grid" not in made.sentence() and "easured" not in make(family="encoder-only").sentence()


def test_where_model_and_mask_disagree():
    made = make(influence={family: lambda f=family: wrong(f) for family in FAMILIES})
    want = {
        "encoder-only": ([], [[2, 6], [7, 8], [8, 0]]),
        "encoder-decoder": ([[2, 6], [7, 8]], [[8, 0]]),
        "decoder-only": ([[2, 6], [7, 8]], [[8, 0]]),
    }
    for made.family in FAMILIES:
        assert made.disagreements() == want[made.family]
        plain = make(family=made.family)
        assert made.static_png() != plain.static_png() and made.sentence().startswith(plain.sentence())
    assert made.sentence().endswith("marked “!”: 2. Cells inside the mask without any influence, marked “0”: 1.")
    made.family = "encoder-decoder"
    assert "in no grid, since the encoder would see what is written: 1." in made.sentence()


@pytest.mark.parametrize("arguments", [{}, STRANGE, {"source": ["a"], "target": ["b"]}], ids=["own", "strange", "two"])
def test_every_state_can_be_said_sent_and_drawn(arguments):
    count = 1 + sum(map(len, arguments.values())) if arguments else 9
    made = make(**arguments, influence=dict.fromkeys(FAMILIES, lambda: np.eye(count)))
    for at, state in enumerate(random_states(made)):
        apply(made, state)
        said = made.sentence().replace("{token}", "")
        assert "{" not in said and said.endswith(".") and json.dumps(made.page_state(), allow_nan=False)
        if at % 20 < 3:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                first, second = made.static_png(), made.static_png()
            assert first == second and len(first) <= 20_000, state
            image = Image.open(io.BytesIO(first))
            assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_the_longest_picture_is_small_too():
    for lang, family in itertools.product(("en", "ko"), FAMILIES):
        made = make(source=["모델이라는것들"] * 6, target=["translate"] * 6, lang=lang, family=family, written=3)
        assert len(made.static_png()) <= 20_000


def test_pictures_tell_states_apart():
    states = [{}, {"family": "encoder-only"}, {"family": "decoder-only"}, {"token": 8}, {"written": 2}]
    states += [{"written": 0}, {"written": 2, "cache": False}, {"lang": "ko"}]
    assert len({make(**state).static_png() for state in states}) == len(states)


def test_korean_says_as_much():
    for state in random_states(make(), 40, seed=2):
        english, korean = (make(**state | {"lang": lang}).sentence() for lang in ("en", "ko"))
        assert sorted(re.findall(r"\d[\d,]*", english)) == sorted(re.findall(r"\d[\d,]*", korean))


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = make().to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 60_000
    assert page.count("</script>") == 1 and "import " not in make()._esm_text()


def test_reset_knows_where_it_began():
    made = make(family="decoder-only", written=1)
    apply(made, {"family": "encoder-only", "token": 0, "written": 3, "cache": False})
    assert made.start == {"family": "decoder-only", "token": 7, "written": 1, "cache": True}
    assert make(source=["a"], target=["c"]).start["token"] == 2, "the only target token"


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"source": "나는"}, TypeError, "source: expected a list of tokens, got the one text '나는'"),
        ({"target": []}, ValueError, "target: expected at least one token, got none"),
        ({"target": ["I", 3]}, TypeError, "target: expected tokens that are texts, got 3 among them"),
        ({"source": [""]}, TypeError, "source: expected tokens that are texts, got '' among them"),
        ({"source": ["a"] * 10}, ValueError, "source and target: expected at most 12 tokens together, got 13"),
        ({"separator": ""}, TypeError, "separator: expected a token that is a text, got ''"),
        ({"begin": None}, TypeError, "begin: expected a token that is a text, got None"),
        ({"d_model": 0}, ValueError, "d_model: expected a whole number from 1 on, got 0"),
        ({"num_layers": True}, ValueError, "num_layers: expected a whole number from 1 on, got True"),
        ({"influence": [1]}, TypeError, r"influence: expected a dict \{family: function .* \(9, 9\)\}, got a list"),
        ({"influence": {"gpt": len}}, ValueError, "influence: expected families among encoder-only, .* got 'gpt'"),
        ({"influence": {"encoder-only": 1}}, TypeError, "influence.'encoder-only'.: expected a function .*got a int"),
        ({"influence": {"encoder-only": lambda: np.ones((5, 5))}}, ValueError, r"shape \(9, 9\), got \(5, 5\)"),
        ({"mask": 3}, TypeError, "mask: no state of families; it has family, token, written, cache, lang"),
        ({"family": "gpt"}, traitlets.TraitError, "family"),
        ({"token": 9}, traitlets.TraitError, "token: expected 0 to 8, got 9"),
        ({"written": 4}, traitlets.TraitError, "written: expected 0 to 3, got 4"),
        ({"written": -1}, traitlets.TraitError, "written: expected 0 to 3, got -1"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        make(**changes)

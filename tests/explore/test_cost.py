"""What attention costs without a browser: in words and pictures, and how it is measured."""

import io
import json
import re
import time
import warnings

import numpy as np
import pytest
import torch
import traitlets
from PIL import Image

from course_lib.attention import scaled_dot_product_attention
from course_lib.explore import cost as cost_module
from course_lib.explore.cost import cost
from course_lib.explore.cost_counts import CHOICES, KINDS, SHARED, Setting
from course_lib.explore.cost_measure import _lengths

BASE = {"layers": 3, "texts": 2, "size": 4, "kind": "full", "window": 4, "shared": "all"}


def setting(N, D, H, **changes):
    return Setting(N, D, H, **BASE | changes)


def pretend(measured, monkeypatch):
    """Nothing is measured: `measured(attention, setting)` says what came out."""
    monkeypatch.setattr(cost_module, "measure", measured)


def random_states(count=60, seed=0):
    drawn = np.random.default_rng(seed)
    for at in range(count):
        state = {name: values[drawn.integers(len(values))] for name, values in CHOICES.items()}
        yield state | {"kind": KINDS[at % 4], "shared": SHARED[at // 4 % 3], "lang": ("en", "ko")[at % 2]}


def test_the_lessons_example():
    made = cost()
    assert made.sentence() == (
        "At 8,192 tokens attention to all pairs takes 57% of a layer's multiplications. Beyond 6,144 tokens it takes "
        "more than all the rest. One layer, one text: 2.4·10¹¹ multiplications. A GRU as wide: 5.2·10¹⁰, but in 8,192 "
        "steps that wait for each other. All layers and texts (24·16): 9.2·10¹³. Memory: weights 605 MB, scores of one "
        "layer 34 GB, cache 13 GB. The largest: scores of one layer. Together 48 GB: too much for a laptop's 16 GB, "
        "not for a large accelerator's 80 GB. Twice the heads: multiplications ×1, scores ×2, cache ×1."
    )
    assert made.table()["scores"] == ["34 GB", "×4", "×1", "×2", "B·H·N²·b"]
    made.shared = "one"
    assert "Beyond 5,184 tokens" in made.sentence() and "cache 805 MB" in made.sentence()
    assert made.sentence().endswith("Twice the heads: multiplications ×1, scores ×2, cache ×0.5.")
    made.kind = "tiled"
    assert "scores of one layer 8.4 MB" in made.sentence() and "not more than a laptop's" in made.sentence()
    made.kind, made.shared = "window", "all"
    assert "the window of 256 takes 4% of a layer's" in made.sentence() and "Beyond" not in made.sentence()
    made.length = 64
    assert "The window of 256 covers all 64 tokens" in made.sentence() and "Beyond" not in made.sentence()
    made.kind, made.width, made.heads = "linear", 64, 64
    assert "no scores, states" in made.sentence() and "as many heads as numbers in a vector." in made.sentence()
    assert "–" in made.table()["scores"] and made.word("cache") == "states"


def test_every_state_can_be_said_sent_and_drawn():
    made = cost()
    for at, state in enumerate(random_states()):
        for name, value in state.items():
            setattr(made, name, value)
        said = made.sentence()
        assert "{" not in said and said.endswith(".") and json.dumps(made.page_state(), allow_nan=False)
        if at % 11 == 0:  # each kind, and either language
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                first, second = made.static_png(), made.static_png()
            assert first == second and len(first) <= 20_000, state
            image = Image.open(io.BytesIO(first))
            assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_pictures_tell_states_apart():
    states = [{}, {"length": 16}, {"width": 64}, {"heads": 1}, {"layers": 1}, {"texts": 1}, {"size": 4}, {"lang": "ko"}]
    states += [{"kind": "tiled"}, {"kind": "window"}, {"kind": "window", "window": 16}, {"kind": "linear"}]
    states += [{"shared": "quarter"}, {"shared": "one"}]
    assert len({cost(**state).static_png() for state in states}) == len(states)


def test_korean_says_as_much(monkeypatch):
    rows = {"name": "f", "rows": [[16, 0.31, None], [32, 1.5, 4.8]]}
    for measured in (rows, {"name": "f", "rows": [], "problem": "E: 3"}, {"name": "f", "rows": []}):
        pretend(lambda attention, setting, answer=measured: answer, monkeypatch)
        for state in random_states(24, seed=2):
            english, korean = (cost(**state | {"lang": lang, "measures": 1}).sentence() for lang in ("en", "ko"))
            assert sorted(re.findall(r"\d[\d,.]*\d|\d", english)) == sorted(re.findall(r"\d[\d,.]*\d|\d", korean))


def test_measured_with_the_function_of_the_kind(monkeypatch):
    asked = []

    def mine(query, key, value, **options):
        asked.append((tuple(query.shape), options["need_weights"]))
        return scaled_dot_product_attention(query, key, value, **options)

    before = torch.random.get_rng_state()
    made = cost(attention=mine, kind="tiled", length=64, width=64, heads=4, measures=1)
    assert torch.equal(before, torch.random.get_rng_state()), "a notebook's draws stay what they were"
    assert {shape for shape, _ in asked} == {(1, 4, length, 16) for length in (16, 32, 64)}
    assert not any(weights for _, weights in asked) and made.answer["name"] == "mine"
    lengths, times, factors = zip(*made.measured()["rows"], strict=True)
    assert lengths == (16, 32, 64) and min(times) > 0 and factors[0] is None and min(factors[1:]) > 0
    assert made.counted()[0] is None and all(2 < factor < 4 for factor in made.counted()[1:])
    assert "Measured here with mine: 16 tokens" in made.sentence() and "too long" not in made.sentence()
    assert "By the counts: ×2." in made.sentence() and "keys for every head" not in made.sentence()
    made.shared = "one"
    assert "has keys for every head." in made.sentence()
    count = len(asked)
    for kind, name in (("full", "scaled_dot_product_attention"), ("window", "window_attention")):
        made.kind = kind
        assert made.measured() is None and "Measured" not in made.sentence()
        made.measures += 1
        assert made.measured()["name"] == name and len(asked) == count
    made.window = 16
    assert made.measured() is None, "it was measured with another window"
    made.window, made.length = 256, 16
    assert made.measured() is not None, "the lengths are said"
    made.measures = 0
    assert made.measured() is None and made.answer["asked"] == 3


def test_a_linear_block_and_a_single_length():
    made = cost(kind="linear", length=16, width=64, heads=64, measures=1)
    assert [length for length, *_ in made.measured()["rows"]] == [16]
    assert "with linear_attention: 16 tokens" in made.sentence() and "By the counts" not in made.sentence()


def test_what_takes_long_ends_early():
    def slow(query, key, value, **options):
        time.sleep(0.25)
        return value, None

    made = cost(attention=slow, width=64, heads=1, measures=1)
    assert [length for length, *_ in made.measured()["rows"]] == [16]
    assert made.sentence().endswith("More than 16 tokens would have taken too long.")


def test_what_is_too_large_is_not_measured():
    made = cost(width=4096, measures=1)
    assert made.measured()["rows"] == [] and made.sentence().endswith("measured here: choose a smaller width.")
    many = [list(_lengths(setting(2**20, 64, 64, kind=kind))) for kind in KINDS]
    assert many[0] == [16, 32, 64, 128, 256, 512] and all(lengths[-1] == 2**20 for lengths in many[1:])


def test_what_a_function_raises_is_said():
    def wrong(query, key, value, **options):
        raise RuntimeError("shapes $x$\n{layer} <b>")

    made = cost(attention=wrong, measures=1)
    assert made.sentence().endswith("wrong raised RuntimeError: shapes $x$ {layer} <b>.")
    assert cost(attention=lambda query, key, value: value, measures=1).answer["name"] == "attention"
    assert made.static_png()


def test_the_page_is_whole_and_asks_nobody(tmp_path):
    page = cost().to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 60_000
    assert page.count("</script>") == 1 and "import " not in cost()._esm_text()


def test_reset_knows_where_it_began():
    made = cost(length=64, kind="window", shared="one")
    made.length, made.kind, made.shared = 16, "full", "all"
    assert (made.start["length"], made.start["kind"], made.start["shared"], made.start["measures"]) == (
        64, "window", "one", 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"length": 100}, traitlets.TraitError, "length: expected one of 16, 32, .*, 1048576, got 100"),
        ({"width": 32}, traitlets.TraitError, "width: expected one of 64, .* got 32"),
        ({"heads": 3}, traitlets.TraitError, "heads: expected one of 1, 2, .* got 3"),
        ({"layers": 0}, traitlets.TraitError, "layers: expected one of 1, .* got 0"),
        ({"texts": 512}, traitlets.TraitError, "texts: expected one of 1, .* got 512"),
        ({"size": 8}, traitlets.TraitError, "size: expected one of 2, 4, got 8"),
        ({"window": 17}, traitlets.TraitError, "window: expected one of 16, .* got 17"),
        ({"measures": -1}, traitlets.TraitError, "measures: expected 0 or more, got -1"),
        ({"kind": "sparse"}, traitlets.TraitError, "kind"),
        ({"shared": "half"}, traitlets.TraitError, "shared"),
        ({"d_model": 3}, TypeError, "d_model: no state of cost; it has length, width, .*, measures, lang"),
        ({"attention": "full"}, TypeError, "attention: expected a function .*, got a str"),
    ],
)
def test_it_refuses(changes, error, words):
    with pytest.raises(error, match=words):
        cost(**changes)

"""Explorables without a browser: twins, pictures, sentences, refusals, and the hook that saves pictures."""

import io
import json
import re
import tomllib
import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from course_lib import attention
from course_lib.authoring.catalogue import repo_root
from course_lib.experiments.bottleneck import load_bottleneck
from course_lib.explore.alignment import alignment
from course_lib.explore.base import best, fixed
from course_lib.explore.bottleneck import bottleneck
from course_lib.explore.save_hook import WIDGET_VIEW, keep_pictures
from course_lib.explore.score_lab import score_lab
from course_lib.explore.words import names, words

KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [2.0, 2.0]], dtype=torch.float64)


def weights(rows=5, columns=7, seed=0):
    return torch.softmax(torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * 2, dim=-1)


def make(name, lang="en"):
    if name == "bottleneck":
        return bottleneck(lang=lang)
    if name == "alignment":
        return alignment(weights(), list("3월 17일$"), list("03-17"), source_length=5, lang=lang)
    assert name == "score_lab"
    return score_lab(KEYS, lang=lang)


NAMES = ["bottleneck", "alignment", "score_lab"]


@pytest.fixture(params=NAMES)
def explorable(request):
    return make(request.param)


def test_the_picture_is_small_opaque_and_the_same_each_time(explorable):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = explorable.static_png(), make(explorable.NAME).static_png()
    assert first == second and len(first) <= 20_000
    image = Image.open(io.BytesIO(first))
    assert "transparency" not in image.info and len(image.convert("RGB").getcolors()) > 8


def test_a_notebook_gets_picture_and_sentence(explorable):
    data, metadata = explorable._repr_mimebundle_()
    assert data["text/plain"] == metadata["image/png"]["alt"] == explorable.sentence()
    assert data["image/png"].startswith("iVBOR")


def test_the_page_is_whole_and_asks_nobody(explorable, tmp_path):
    page = explorable.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "") and len(page) < 60_000
    assert "%" + "state%" not in page


@pytest.mark.parametrize("name", names())
def test_both_languages_say_everything(name):
    said = words(name)
    for key, english in said["en"].items():
        korean = said["ko"][key]
        assert (
            english and korean and sorted(re.findall(r"\{\w+\}", english)) == sorted(re.findall(r"\{\w+\}", korean))
        ), key


@pytest.mark.parametrize("name", NAMES)
def test_the_sentence_is_whole_in_both_languages(name):
    assert "{" not in make(name, "ko").sentence() and make(name, "ko").sentence() != make(name).sentence()


def test_bottleneck_reads_the_shipped_results():
    shown, results = bottleneck(task="reverse", length=7, width=100), load_bottleneck()
    assert (shown.length, shown.width) in {(6, 128), (8, 128)}
    (row,) = (row for row in results["spread"] if (row["task"], row["width"]) == ("reverse", 128))
    assert shown.recall() == pytest.approx(row["token_mean"][shown.length], abs=6e-4)
    assert f" {int(shown.recall() * 100 + 0.5)} %" in shown.sentence()
    with pytest.raises(Exception, match="width is one of"):
        shown.width = 5


@pytest.mark.parametrize("seed", range(12))
def test_alignment_masks_padding_as_the_library_does(seed):
    raw, length = weights(rows=3 + seed % 3, columns=2 + seed, seed=seed), 1 + seed
    shown = alignment(raw, ["s"] * (2 + seed), ["t"] * len(raw), source_length=length)
    want = attention.masked_softmax(raw.log(), torch.arange(2 + seed) < length)
    # The page gets four digits of a weight; what masking leaves of a row may be small, and is then less exact.
    assert (np.abs(shown.shown() - want.numpy()).max(axis=1) < 1e-4 / raw[:, :length].sum(dim=1).numpy()).all()
    shown.mask = False
    assert np.abs(shown.shown() - raw.numpy()).max() < 1e-4
    shown.row = 2
    assert f"{fixed(raw[2].max())})" in shown.sentence()


def test_alignment_with_nothing_to_see_is_zeros():
    shown = alignment([[0.5, 0.5]], ["a", "b"], ["c"], source_length=0)
    assert not shown.shown().any() and "nothing" in shown.sentence()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.ones((2, 3)) / 3, ["a"], ["b", "c"]), r"source_tokens holds 1 tokens, but the weights have 3"),
        ((np.ones((2, 3)) / 3, list("abc"), ["b"]), r"target_tokens holds 1 tokens, but the weights have 2"),
        ((np.ones((1, 65)) / 65, ["a"] * 65, ["b"]), r"65 tokens; at most 64"),
        ((np.ones((1, 2, 3)), list("abc"), list("bc")), r"shape \(any, any\), got \(1, 2, 3\)"),
        (([[np.nan]], ["a"], ["b"]), "NaN"),
        (([[-1.0]], ["a"], ["b"]), "negative"),
        (([[1.0]], ["a"], ["b"], 2), "source_length is 2, but the source has 1"),
    ],
)
def test_alignment_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        alignment(*arguments)


@pytest.mark.parametrize("seed", range(12))
def test_score_lab_scores_as_the_library_does(seed):
    given = torch.Generator().manual_seed(seed)
    W = (torch.rand(2, 2, generator=given, dtype=torch.float64) * 10 - 5).round(decimals=2)
    query = (torch.rand(1, 2, generator=given, dtype=torch.float64) * 6 - 3).round(decimals=2)
    ones = torch.ones(2, dtype=torch.float64)
    shown = score_lab(KEYS, W=W, query=query[0].tolist(), left="general", right="scaled")
    want = {
        "dot": attention.dot_score(query, KEYS),
        "scaled": attention.dot_score(query, KEYS) / 2**0.5,
        "general": attention.general_score(query, KEYS, W),
        "additive": attention.additive_score(query, KEYS, W.T, torch.eye(2, dtype=torch.float64), ones),
    }
    for kind, scores in want.items():
        assert np.allclose(shown.scores(kind), scores[0])
        context, share = attention.attend(scores, KEYS)
        assert np.allclose(shown.weights(kind), share[0]) and np.allclose(shown.context(kind), context[0])
    assert f" {fixed(shown.weights('general').max())}, " in shown.sentence()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.125, "0.13"), (0.125 - 1e-16, "0.13"), (-0.125, "-0.13"), (-0.004, "0.00"), (-0.0, "0.00"), (2 / 3, "0.67")],
)
def test_numbers_are_written_as_the_page_writes_them(value, text):
    assert fixed(value) == text


def test_the_largest_share_is_the_first_of_equals():
    assert best(np.array([0.1, 0.45 - 1e-16, 0.45])) == 1


def test_score_lab_refuses():
    with pytest.raises(ValueError, match="keys holds 4 rows and values 3"):
        score_lab(KEYS, KEYS[:3])
    with pytest.raises(ValueError, match="the plane ends at 3"):
        score_lab(KEYS * 2)


def test_saving_keeps_the_picture_and_drops_the_view():
    def output(**data):
        return {"output_type": "display_data", "data": {WIDGET_VIEW: {"model_id": "1"}, **data}, "metadata": {}}

    cell = {"outputs": [output(**{"image/png": "x"}), output(**{"text/plain": "bar"}), {"output_type": "stream"}]}
    content = {"cells": [cell, {"cell_type": "markdown"}], "metadata": {"widgets": {}, "kernelspec": {}}}
    keep_pictures({"type": "notebook", "content": content}, path="a.ipynb", contents_manager=None)
    first, second, _ = cell["outputs"]
    assert first["data"] == {"image/png": "x"} and WIDGET_VIEW in second["data"]
    assert content["metadata"] == {"kernelspec": {}}
    keep_pictures({"type": "file", "content": "text"})


def test_saving_drops_progress_bars_and_keeps_all_else():
    """The next day nothing is left of a bar but "model not found", or a text that says 0 %."""
    from tqdm import tqdm

    bars = [
        str(tqdm(total=total, desc="training", unit="step", disable=False, file=io.StringIO())) for total in (9, None)
    ]
    bars += [str(tqdm(range(9), initial=4, file=io.StringIO()))]

    def output(text, **more):
        return {"output_type": "display_data", "data": {"text/plain": text, **more}, "metadata": {}}

    view = {WIDGET_VIEW: {"model_id": "1"}}
    kept = [output(bars[0]), output("IntSlider(value=1)", **view), {"output_type": "stream", "text": bars[0]}]
    cell = {"outputs": [*(output(bar, **view) for bar in bars), output([bars[0]], **view), *kept]}
    keep_pictures({"type": "notebook", "content": {"cells": [cell, {"cell_type": "markdown"}], "metadata": {}}})
    assert cell["outputs"] == kept


def test_installation_switches_the_hook_on():
    project = tomllib.loads((repo_root() / "pyproject.toml").read_text(encoding="utf-8"))
    (path,) = project["tool"]["setuptools"]["data-files"]["etc/jupyter/jupyter_server_config.d"]
    switch = json.loads((repo_root() / path).read_text(encoding="utf-8"))
    assert switch["ServerApp"]["jpserver_extensions"] == {"course_lib.explore.save_hook": True}

"""The dictionary: what is shipped is whole, a text asks for what it holds, and one point comes out again."""

import json

import pytest
import torch

from course_lib.experiments import EXPERIMENTS, recall
from course_lib.experiments.recall import (
    ASKED,
    EVERY,
    FIRST,
    KEYS,
    KINDS,
    LENGTHS,
    SEEDS,
    STEPS,
    VALUES,
    WINDOW,
    accuracy,
    draw_texts,
    load_recall,
    make_batches,
    make_model,
    run_point,
    spread,
)

SHIPPED = load_recall()


@pytest.fixture(autouse=True)
def a_real_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


def test_what_is_shipped_is_whole():
    assert [(point["kind"], point["seed"]) for point in SHIPPED["points"]] == [(k, s) for k in KINDS for s in SEEDS]
    assert SHIPPED["spread"] == spread(SHIPPED["points"]) and SHIPPED["asked"] == list(ASKED)
    assert SHIPPED["command"] == f"course experiment recall --steps {STEPS} --seeds 0 1 2" and SHIPPED["every"] == EVERY
    for point in SHIPPED["points"]:
        assert point["steps"] == STEPS and list(point["right"]) == list(map(str, ASKED))
        assert all(0 <= share <= 1 for share in point["right"].values())
        assert len(point["losses"]) == STEPS // EVERY and min(point["losses"]) > 0


@pytest.mark.parametrize("entries", [1, *ASKED])
def test_a_text_asks_for_each_entry_once(entries):
    ids, answers = draw_texts(entries, 7, torch.Generator().manual_seed(entries))
    assert ids.shape == (7, 2 * entries) and answers.shape == (7, entries)
    for row, right in zip(ids.tolist(), answers.tolist(), strict=True):
        entered = {(each - FIRST) // VALUES: (each - FIRST) % VALUES for each in row[:entries]}
        asked = [each - FIRST - KEYS * VALUES for each in row[entries:]]
        assert len(entered) == entries and sorted(asked) == sorted(entered)
        assert [entered[key] for key in asked] == right


def test_batches_are_of_all_lengths():
    batches = make_batches(0)
    found = {next(batches)[1].shape[1] for _ in range(40)}
    assert found == set(LENGTHS)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_looks_ahead_and_a_window_not_far_back(kind):
    model = make_model(kind, 0).double().eval()
    ids, _ = draw_texts(16, 1, torch.Generator().manual_seed(0))
    before = model.tag(ids)
    for place in (0, 9, 31):
        other = ids.clone()
        other[0, place] += 1 if place >= 16 else VALUES
        changed = ((model.tag(other) - before).abs().amax(-1) > 1e-9)[0]
        last = place + 2 * (WINDOW - 1) if kind == "window" else 31  # two layers
        expected = (torch.arange(32) >= place) & (torch.arange(32) <= last)
        assert torch.equal(changed, expected), place


def test_a_guess_is_one_in_eight():
    shares = [accuracy(make_model("full", seed).eval(), 32) for seed in range(3)]
    assert all(abs(share - 1 / VALUES) < 0.03 for share in shares)


@pytest.mark.parametrize("kind", ["window", "linear, 4 heads"])
def test_the_beginning_of_a_shipped_point_comes_out_again(kind):
    """The first losses; what follows from them takes a minute a point."""
    shipped = next(point for point in SHIPPED["points"] if (point["kind"], point["seed"]) == (kind, 1))
    again = run_point(kind, 1, steps=2 * EVERY)
    assert all(abs(new - old) < 0.03 for new, old in zip(again["losses"], shipped["losses"][:2], strict=True))
    assert again["losses"][1] < again["losses"][0] - 0.1, "it has begun to learn"


def test_the_command_writes_all_of_it(tmp_path, capsys):
    EXPERIMENTS["recall"](["--output", str(tmp_path / "out.json"), "--steps", "2", "--seeds", "5"])
    written = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert written.keys() == SHIPPED.keys() and written["seeds"] == [5]
    assert [row["kind"] for row in written["spread"]] == list(KINDS)
    assert "wrote" in capsys.readouterr().out


def test_an_unknown_kind():
    with pytest.raises(ValueError, match="kind: expected one of full, window, linear"):
        recall.make_model("flash", 0)

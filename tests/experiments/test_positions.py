"""The grid beyond the trained length: whole, as the lesson says, and one point of it made again."""

import json

import pytest
import torch

from course_lib.experiments import EXPERIMENTS
from course_lib.experiments.positions import (
    KINDS,
    PLACES,
    SEEDS,
    STEPS,
    LooksBack,
    load_positions,
    look_back_loss,
    main,
    make_batches,
    make_model,
    measure,
    run_point,
    spread,
)


@pytest.fixture(scope="module")
def shipped():
    return load_positions()


def test_the_grid_is_whole(shipped):
    assert {(point["kind"], point["seed"]) for point in shipped["points"]} == {(k, s) for k in KINDS for s in SEEDS}
    assert len(shipped["points"]) == len(KINDS) * len(SEEDS)
    for point in shipped["points"]:
        assert len(point["right"]) == len(PLACES) and all(0 <= share <= 1 for share in point["right"])
        assert point["steps"] == shipped["steps"] == STEPS
    assert shipped["spread"] == spread(shipped["points"])
    assert shipped["command"].startswith("course experiment positions") and shipped["versions"]["torch"]


def test_what_the_lesson_says_about_the_grid(shipped):
    rows = {row["kind"]: row for row in shipped["spread"]}
    guessing = 1 / shipped["letters"]
    inside = [end <= shipped["trained_lengths"][1] for _, end in shipped["places"]]
    for kind in ("sinusoidal", "learned", "rotary"):
        assert min(low for low, known in zip(rows[kind]["lowest"], inside, strict=True) if known) > 0.99
    assert max(rows["none"]["highest"]) < 0.4
    just_beyond = inside.index(False)
    assert rows["rotary"]["lowest"][just_beyond] > 0.98
    assert guessing < rows["sinusoidal"]["lowest"][just_beyond] < rows["sinusoidal"]["highest"][just_beyond] < 0.6
    assert rows["learned"]["highest"][just_beyond] < 1.5 * guessing
    assert max(row["mean"][-1] for row in rows.values()) < 0.3, "far beyond, none of them holds"


def test_a_shipped_point_can_be_made_again(shipped, monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        new = run_point("rotary", 0, shipped["steps"])
    finally:
        torch.set_num_threads(threads)
    (row,) = (row for row in shipped["spread"] if row["kind"] == "rotary")
    for share, low, high in zip(new["right"], row["lowest"], row["highest"], strict=True):
        assert low - 0.15 <= share <= high + 0.15  # another processor rounds differently, and 800 steps carry that far


def test_a_point_follows_its_seed(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    before = torch.get_rng_state()
    assert run_point("learned", 1, 3) == run_point("learned", 1, 3) != run_point("learned", 2, 3)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", KINDS)
def test_no_model_reads_the_future_and_only_positions_differ(kind):
    model = make_model(kind, 0)
    strings = next(make_batches(0))
    spoilt = strings.clone()
    spoilt[:, 5:] = 0
    torch.testing.assert_close(model(spoilt)[:, :5], model(strings)[:, :5])
    assert torch.equal(model.letter.weight, make_model("none", 0).letter.weight)


def test_measure_counts_places():
    """A stub that looks back two places up to place 16, and then one."""

    class Stub(torch.nn.Linear):
        def forward(self, strings):
            back = torch.where(torch.arange(strings.shape[1]) < 16, strings.roll(2, 1), strings.roll(1, 1))
            return torch.nn.functional.one_hot(back, 16).float()

    right = measure(Stub(1, 1))
    assert right[:2] == [1.0, 1.0] and max(right[2:]) < 0.1
    assert look_back_loss(Stub(1, 1), next(make_batches(0))[:, :12]) < look_back_loss(Stub(1, 1), next(make_batches(0)))


def test_an_unknown_kind_is_named():
    with pytest.raises(ValueError, match="kind: expected one of none, .*got 'alibi'"):
        LooksBack("alibi")


def test_the_command_writes_what_can_be_read(tmp_path, capsys):
    output = tmp_path / "grid.json"
    EXPERIMENTS["positions"](["--steps", "2", "--seeds", "0", "1", "--output", str(output)])
    result = json.loads(output.read_text())
    assert [(p["kind"], p["seed"]) for p in result["points"]] == [(k, s) for k in KINDS for s in (0, 1)]
    assert result["command"] == "course experiment positions --steps 2 --seeds 0 1"
    assert str(tmp_path) not in output.read_text()
    with pytest.raises(SystemExit):
        main(["--seed", "many"])
    assert "usage: course experiment positions" in capsys.readouterr().err

import json

import pytest
import torch

from course_lib.data.symbols import symbol_pairs
from course_lib.experiments import EXPERIMENTS
from course_lib.experiments.bottleneck import (
    SEEDS,
    STEPS,
    TEST_LENGTHS,
    TEST_SEED,
    WIDTHS,
    load_bottleneck,
    main,
    make_model,
    measure,
    run_point,
    spread,
)

TOLERANCE = 0.05  # another processor rounds differently, and 1200 steps carry that far


@pytest.fixture(scope="module")
def shipped():
    return load_bottleneck()


def test_the_grid_is_whole(shipped):
    grid = {(point["task"], point["width"], point["seed"]) for point in shipped["points"]}
    assert grid == {(task, width, seed) for task in ("copy", "reverse") for width in WIDTHS for seed in SEEDS}
    assert len(shipped["points"]) == len(grid)
    for point in shipped["points"]:
        assert tuple(point["token"]) == tuple(point["exact"]) == TEST_LENGTHS
        assert len(point["position"]) == 20 and point["steps"] == shipped["steps"] == STEPS
        assert all(0 <= value <= 1 for name in ("token", "exact") for value in point[name].values())
        assert sum(point["position"]) / 20 == pytest.approx(point["token"][20], abs=0.002)
    assert shipped["spread"] == spread(shipped["points"])
    assert shipped["command"].startswith("course experiment bottleneck") and shipped["versions"]["torch"]


def test_what_the_lesson_says_about_the_grid(shipped):
    rows = {(row["task"], row["width"]): row["token_mean"] for row in shipped["spread"]}
    for row in rows.values():
        assert list(row.values()) == sorted(row.values(), reverse=True), "longer strings are remembered better"
        assert row[4] > 0.8 and row[20] < 0.35
    for task in ("copy", "reverse"):
        narrow, middle, wide = (rows[task, width] for width in WIDTHS)
        assert all(narrow[length] < middle[length] < wide[length] for length in TEST_LENGTHS)
    assert all(rows["reverse", width][6] > rows["copy", width][6] for width in WIDTHS)


def test_a_shipped_point_can_be_made_again(shipped, monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    (old,) = (p for p in shipped["points"] if (p["task"], p["width"], p["seed"]) == ("copy", 32, 0))
    (row,) = (row for row in shipped["spread"] if (row["task"], row["width"]) == ("copy", 32))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        new = run_point("copy", 32, 0, shipped["steps"], lengths=(4, 20))
    finally:
        torch.set_num_threads(threads)
    for length in (4, 20):
        assert abs(new["token"][length] - old["token"][length]) <= row["token_range"][length] + TOLERANCE


def test_a_point_follows_its_seed(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)

    def run(seed):
        return run_point("reverse", 16, seed, 5, lengths=(4,))

    before = torch.get_rng_state()
    assert run(1) == run(1) != run(2)
    assert torch.equal(torch.get_rng_state(), before)


def test_measure_counts_places_and_strings():
    """A stub that copies everything but the symbol in place 2."""

    class Forgets(torch.nn.Linear):
        def encode(self, source, lengths):
            return source, 0

        def step(self, token, state):
            source, t = state
            wanted = source[:, t] if t < source.shape[1] else torch.full_like(token, 2)
            wanted = torch.where(torch.tensor(t == 2 < source.shape[1]), 4 + (wanted - 3) % 26, wanted)
            return torch.nn.functional.one_hot(wanted, 30).float(), (source, t + 1)

    result = measure(Forgets(1, 1), "copy", lengths=(2, 5), count=10)
    assert result == {"token": {2: 1.0, 5: 0.8}, "exact": {2: 1.0, 5: 0.0}, "position": [1.0, 1.0, 0.0, 1.0, 1.0]}


def test_the_strings_of_the_test_are_not_those_of_the_training():
    training = {source for seed in SEEDS for source, _ in symbol_pairs("copy", 20_000, seed=seed)}
    for length in (8, 20):  # of 4 symbols, a few strings must occur in both
        tested = symbol_pairs("copy", 300, lengths=(length, length), seed=TEST_SEED + length)
        assert not training & {source for source, _ in tested}


def test_only_the_width_of_the_state_differs():
    small, large = make_model(32, 0), make_model(128, 0)
    assert small.encoder.d_context == 32 and large.encoder.d_context == 128
    assert not torch.equal(small.encoder.embedding.weight, make_model(32, 1).encoder.embedding.weight)
    assert small.encoder.embedding.weight.shape == large.encoder.embedding.weight.shape


def test_the_command_writes_what_can_be_read(tmp_path, capsys):
    output = tmp_path / "grid.json"
    EXPERIMENTS["bottleneck"](["--steps", "2", "--widths", "8", "--seeds", "0", "1", "--output", str(output)])
    result = json.loads(output.read_text())
    assert [(p["task"], p["seed"]) for p in result["points"]] == [(t, s) for t in ("copy", "reverse") for s in (0, 1)]
    assert result["command"] == "course experiment bottleneck --steps 2 --widths 8 --seeds 0 1"
    assert str(tmp_path) not in output.read_text()
    with pytest.raises(SystemExit):
        main(["--width", "many"])
    assert "usage: course experiment bottleneck" in capsys.readouterr().err

"""The grid of norm orders and warm-ups: whole, as the lesson says, and one point of it made again."""

import json

import pytest
import torch

from course_lib.experiments import EXPERIMENTS
from course_lib.experiments.warmup import (
    DEPTH,
    ORDERS,
    RATE,
    SEEDS,
    STEPS,
    WARMUPS,
    load_warmup,
    main,
    make_batches,
    make_model,
    rate,
    reversal_loss,
    run_point,
    spread,
)

CORNERS = [(order, warmup) for order in ORDERS for warmup in WARMUPS]


@pytest.fixture(scope="module")
def shipped():
    return load_warmup()


def test_the_grid_is_whole(shipped):
    wanted = {(*corner, seed) for corner in CORNERS for seed in SEEDS}
    assert {(point["order"], point["warmup"], point["seed"]) for point in shipped["points"]} == wanted
    assert len(shipped["points"]) == len(wanted)
    for point in shipped["points"]:
        assert len(point["losses"]) == len(shipped["places"]) and min(point["losses"]) >= 0
        assert point["steps"] == shipped["steps"] == shipped["places"][-1] == STEPS
    assert shipped["spread"] == spread(shipped["points"])
    assert shipped["command"].startswith("course experiment warmup") and shipped["versions"]["torch"]


def test_what_the_lesson_says_about_the_grid(shipped):
    rows = {(row["order"], row["warmup"]): row for row in shipped["spread"]}
    none, some = WARMUPS
    assert rows["post", none]["lowest"][-1] > 1.5, "no seed learns post-norm without a warm-up"
    assert rows["post", some]["highest"][-1] < 0.2, "every seed does with it"
    halfway = shipped["places"].index(500)
    assert max(rows["pre", warmup]["highest"][halfway] for warmup in WARMUPS) < 0.1


def test_a_shipped_point_can_be_made_again(shipped, monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        new = run_point("pre", 0, 0, 300)
    finally:
        torch.set_num_threads(threads)
    assert new["losses"][-1] < 0.3, "pre-norm is nearly there after 300 steps"
    (old,) = (p for p in shipped["points"] if (p["order"], p["warmup"], p["seed"]) == ("pre", 0, 0))
    assert new["losses"][0] == pytest.approx(old["losses"][0], abs=0.1)


def test_a_point_follows_its_seed(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)
    before = torch.get_rng_state()
    assert run_point("post", 300, 1, 3) == run_point("post", 300, 1, 3) != run_point("post", 300, 2, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_two_orders_differ_in_the_norms_alone():
    post, pre = (make_model(order, 0) for order in ORDERS)
    assert len(post.encoder.blocks) == len(pre.encoder.blocks) == DEPTH
    extra = set(pre.state_dict()) - set(post.state_dict())
    assert extra == {"encoder.norm.weight", "encoder.norm.bias"}
    assert all(torch.equal(weight, pre.state_dict()[name]) for name, weight in post.state_dict().items())
    strings = next(make_batches(0))
    assert not torch.allclose(post(strings), pre(strings))


def test_the_answer_is_the_string_backwards():
    strings = next(make_batches(0))

    class Stub(torch.nn.Linear):
        def forward(self, strings):
            return 50 * torch.nn.functional.one_hot(strings.flip(1), 16).float()

    assert reversal_loss(Stub(1, 1), strings) < 1e-6


def test_the_rate_rises_in_a_line_to_its_height():
    assert [rate(step, 0) for step in (1, 500)] == [RATE, RATE]
    assert [rate(step, 4) / RATE for step in (1, 2, 4, 9)] == [0.25, 0.5, 1, 1]


def test_an_unknown_order_is_named():
    with pytest.raises(ValueError, match="order: expected one of post, pre, got 'sandwich'"):
        make_model("sandwich", 0)


def test_the_command_writes_what_can_be_read(tmp_path, capsys):
    output = tmp_path / "grid.json"
    EXPERIMENTS["warmup"](["--steps", "50", "--seeds", "0", "--output", str(output)])
    result = json.loads(output.read_text())
    assert [(point["order"], point["warmup"]) for point in result["points"]] == CORNERS
    assert result["command"] == "course experiment warmup --steps 50 --seeds 0"
    assert str(tmp_path) not in output.read_text()
    with pytest.raises(SystemExit):
        main(["--seed", "many"])
    assert "usage: course experiment warmup" in capsys.readouterr().err

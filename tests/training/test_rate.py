"""The rate of each step: a number, or a schedule that is the whole of it."""

import re

import pytest
import torch
from torch.nn.utils import parameters_to_vector

from course_lib.training import fit

from .small_runs import make_batches, make_model, squared_error


@pytest.fixture(autouse=True)
def not_a_smoke_run(monkeypatch):
    monkeypatch.delenv("COURSE_SMOKE", raising=False)


def test_a_schedule_is_asked_for_every_step_and_is_the_whole_rate():
    """Mistake A108: where it multiplies the optimiser's own rate, here 7 and 11, every step is off by that factor."""
    model, steps, seen = make_model(), [], []

    def schedule(step):
        steps.append(step)
        return torch.tensor(2.0**-step) if step % 2 else 2.0**-step

    class Record(torch.optim.SGD):
        def step(self):
            seen.append([group["lr"] for group in self.param_groups])
            super().step()

    groups = [{"params": model[0].parameters()}, {"params": model[1:].parameters(), "lr": 11.0}]
    before = parameters_to_vector(model.parameters()).detach()
    fit(model, make_batches(), lambda model, batch: sum(p.sum() for p in model.parameters()), steps=4, lr=schedule,
        clip=None, optimizer=Record(groups, lr=7.0))  # fmt: skip
    assert steps == [1, 2, 3, 4] and seen == [[2.0**-step] * 2 for step in steps]
    assert {type(rate) for rates in seen for rate in rates} == {float}
    torch.testing.assert_close(
        before - parameters_to_vector(model.parameters()).detach(), torch.full_like(before, 1 - 2.0**-4)
    )


def test_adam_follows_a_schedule_and_a_constant_one_is_a_number():
    def run(lr):
        model = make_model()
        fit(model, make_batches(), squared_error, steps=10, **({} if lr is None else {"lr": lr}))
        return parameters_to_vector(model.parameters()).detach()

    assert torch.equal(run(0.02), run(lambda step: 0.02)) and torch.equal(run(None), run(1e-3))
    assert not torch.equal(run(0.02), run(lambda step: 0.02 / step))


@pytest.mark.parametrize("rate", [0, -0.1, float("nan"), float("inf"), torch.tensor(0.0), None, "fast", 1j])
def test_a_rate_that_is_none_names_the_step_and_spoils_nothing(rate):
    model, kept = make_model(), []

    def schedule(step):
        kept.append(parameters_to_vector(model.parameters()).detach())
        return rate if step == 3 else 0.01

    message = f"lr: expected a positive finite number, got {rate!r} at step 3"
    with pytest.raises(ValueError, match=re.escape(message)):
        fit(model, make_batches(), squared_error, steps=5, lr=schedule)
    assert torch.equal(parameters_to_vector(model.parameters()).detach(), kept[-1])
    if rate is not None:
        with pytest.raises(ValueError, match="lr: expected a positive finite number"):
            fit(model, make_batches(), squared_error, steps=5, lr=rate)

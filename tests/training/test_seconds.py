"""Training that the clock ends: the numbers are those of a run by steps, and more time goes on with it."""

import pytest

from course_lib.training import fit, loop

from .small_runs import everything, train


class Clock:
    """A clock that goes on by one second each time that a loss is computed."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(loop.time, "perf_counter", lambda: self.now)
        monkeypatch.delenv("COURSE_SMOKE", raising=False)

    def tick(self):
        self.now += 1


def test_the_clock_ends_it_and_the_last_step_is_evaluated(monkeypatch):
    clock = Clock(monkeypatch)
    run = train(steps=10**9, seconds=11.5, before=clock.tick)
    assert run[2].steps == 12 and [row["step"] for row in run[2].metrics] == [7, 12]
    assert everything(run) == everything(train(steps=12))


def test_the_steps_end_it_if_they_are_over_first(monkeypatch):
    assert train(steps=5, seconds=11.5, before=Clock(monkeypatch).tick)[2].steps == 5


def test_time_before_a_stop_counts_and_more_time_goes_on(monkeypatch, tmp_path):
    clock, path = Clock(monkeypatch), tmp_path / "run.pt"
    options = {"steps": 10**9, "checkpoint": path, "checkpoint_every": 4, "before": clock.tick}
    with pytest.raises(RuntimeError):
        train(stop_at=7, seconds=9.5, **options)  # 4 steps are kept, and the 4 seconds that they took
    assert train(seconds=9.5, **options)[2].steps == 10
    written = path.read_bytes()
    assert train(seconds=9.5, **options)[2].steps == 10 and path.read_bytes() == written
    assert train(seconds=13.5, **options)[2].steps == 14


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_time_at_all_is_refused(seconds):
    with pytest.raises(ValueError, match="seconds: expected a positive number"):
        fit(None if seconds is None else train(steps=1)[0], [], None, steps=1, seconds=seconds)

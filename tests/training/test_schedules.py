"""The schedule of the Transformer, by what it is for any width and warm-up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.training.schedules import noam_rate

SIZES = {"d_model": st.integers(1, 2048), "warmup": st.integers(1, 20_000)}


@given(**SIZES, share=st.floats(0, 1))
def test_the_rate_rises_in_a_line(d_model, warmup, share):
    step = max(1, round(share * warmup))
    peak = noam_rate(warmup, d_model, warmup)
    assert noam_rate(step, d_model, warmup) == pytest.approx(peak * step / warmup)


@given(**SIZES, times=st.integers(1, 100))
def test_the_rate_falls_as_one_over_the_root(d_model, warmup, times):
    peak = noam_rate(warmup, d_model, warmup)
    assert noam_rate(times * warmup, d_model, warmup) == pytest.approx(peak / math.sqrt(times))


@given(**SIZES, factor=st.floats(0.01, 10))
def test_the_peak_stands_at_the_end_of_the_warm_up(d_model, warmup, factor):
    around = [noam_rate(step, d_model, warmup, factor) for step in (warmup, warmup + 1, max(1, warmup - 1))]
    assert around[0] == max(around) == pytest.approx(factor / math.sqrt(d_model * warmup))


def test_the_paper_s_peak_rate():
    """Mistake A108: off by a factor, the curve has the right shape all the same; so here the number itself."""
    assert noam_rate(4000, 512, 4000) == pytest.approx(6.98771e-4, rel=1e-5)
    assert noam_rate(1, 512, 4000) == pytest.approx(1.74693e-7, rel=1e-5)
    assert isinstance(noam_rate(1, 512, 4000), float)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 512, 4000), "step: expected at least 1, since steps count from 1, got 0"),
        ((-3, 512, 4000), "step: expected at least 1"),
        ((1, 512, 0), "warmup: expected at least 1, got 0"),
    ],
)
def test_what_has_no_rate_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        noam_rate(*arguments)

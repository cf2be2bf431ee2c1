"""How far apart two results are: a distance that no rounding reaches, and that no difference of kind slips by."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.checking.compare import (
    SINGLE,
    as_number,
    deviation,
    gradient_deviation,
    kind,
    relative_distance,
    same_observation,
)
from course_lib.checking.limits import exact
from course_lib.checking.observe import Observation, Raised

numbers = st.floats(-1e6, 1e6)
INF, NAN = math.inf, math.nan


def entry(number):
    return torch.tensor([number], dtype=torch.float64)


@given(got=numbers, want=numbers)
@settings(max_examples=100, deadline=None)
def test_the_distance_is_relative_to_one_and_what_is_wanted(got, want):
    expected = abs(got - want) / (1 + abs(want))
    assert relative_distance(entry(got), entry(want)).item() == pytest.approx(expected)
    assert deviation(entry(got), entry(want)) == pytest.approx(expected)
    for several in ([entry(got), entry(want)], [entry(want), entry(got)]):
        assert deviation(several, [entry(want)] * 2) == pytest.approx(expected), "the largest of all leaves"
        assert deviation(torch.cat(several), entry(want).expand(2)) == pytest.approx(expected), "and of all entries"
    with exact(0):
        assert deviation(got, want) == pytest.approx(expected), "numbers are tensors of the default dtype"


@pytest.mark.parametrize(("got", "want", "distance"), [
    (INF, INF, 0), (-INF, -INF, 0), (NAN, NAN, 0), (INF, -INF, INF), (INF, 3.0, INF), (3.0, INF, INF), (NAN, 3.0, INF),
    (3.0, NAN, INF), (NAN, INF, INF), (0.0, -0.0, 0),
])  # fmt: skip
def test_infinities_and_nan_are_equal_to_themselves_alone(got, want, distance):
    assert relative_distance(entry(got), entry(want)).item() == distance
    assert deviation(entry(got), entry(want)) == distance


def test_single_precision_is_told_from_double():
    """The difference is taken in float64: in float32 it would be lost."""
    want = torch.tensor([1.0, 2.0], dtype=torch.float64) / 3
    assert 1e-9 < deviation(want.float(), want) < 1e-7 and deviation(want, want.float()) > 1e-9


FLOATS, WHOLE, TRUTH = torch.tensor([1.0, 0.0]), torch.tensor([1, 0]), torch.tensor([True, False])


@pytest.mark.parametrize(("leaf", "name"), [
    (FLOATS, "floating"), (FLOATS.half(), "floating"), (WHOLE, "integer"), (WHOLE.byte(), "integer"),
    (TRUTH, "boolean"), (True, "boolean"), (3, "integer"), (3.0, "floating"), ("word", "str"), (None, "NoneType"),
])  # fmt: skip
def test_kinds_are_told_apart(leaf, name):
    assert kind(leaf) == name


@pytest.mark.parametrize(("one", "other"), [
    (FLOATS, WHOLE), (WHOLE, TRUTH), (FLOATS, TRUTH), (FLOATS, [1.0, 0.0]), (FLOATS, FLOATS[:1]),
    (FLOATS, FLOATS[None]), (FLOATS[:0], FLOATS[:0, None]), (1, 1.0), (1, True), ("a", "b"), (None, 0),
    ((FLOATS,), FLOATS), ((1, 2), (1,)), ({"a": 1}, {"b": 1}), (torch.tensor([1.0]), 1.0),
])  # fmt: skip
def test_another_kind_shape_or_structure_is_infinitely_far(one, other):
    assert deviation(one, other) == deviation(other, one) == INF


@pytest.mark.parametrize("value", [FLOATS, WHOLE, TRUTH, FLOATS[:0], "word", None, 3, (1, [FLOATS]), {"a": TRUTH}, ()])
def test_nothing_lies_between_a_result_and_itself(value):
    assert deviation(value, value) == 0


def test_a_tensor_without_axes_is_a_number_where_one_is_wanted():
    assert type(as_number(torch.tensor(2.5), 1.0)) is float and as_number(torch.tensor(2.5), 1.0) == 2.5
    assert type(as_number(torch.tensor(2), 1)) is int
    for got, want in ((torch.tensor(2.5), torch.tensor(1.0)), (torch.tensor([2.5]), 1.0), (torch.tensor(2.5), "word")):
        assert as_number(got, want) is got
    assert as_number(3, 1.0) == 3 and deviation(torch.tensor(2.5), 2.5) == 0 and deviation(torch.tensor(2), 2.0) == INF
    assert deviation(2.5, torch.tensor(2.5)) == INF, "but no number is a tensor"


def test_missing_gradients_count_as_zeros():
    some = [torch.tensor([3.0, 0.0]), torch.zeros(0)]
    assert gradient_deviation(None, None) == 0
    assert gradient_deviation(some, None) == gradient_deviation(None, some) == 3
    assert gradient_deviation([torch.zeros(2), torch.zeros(0)], None) == 0
    assert gradient_deviation(some, [torch.tensor([1.0, 0.0]), torch.zeros(0)]) == 1


def test_an_exception_is_like_an_exception_and_like_no_value():
    error, other = (Observation(raised=Raised(kind, "")) for kind in ("ValueError", "TypeError"))
    value, near, far = (Observation(output=number) for number in (1.0, 1.0 + SINGLE, 1.0 + 4 * SINGLE))
    assert same_observation(error, other) is True and same_observation(error, value) is False
    assert same_observation(value, error) is False
    assert (
        same_observation(error, Observation(output=None)) is same_observation(Observation(output=None), error) is False
    )
    assert same_observation(value, near) and not same_observation(value, far) and same_observation(value, far, 1.0)

"""Calls and results in words: tensors by shape, the learner's own numbers, where a difference is and how large."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import exercises
from course_lib.checking import Case
from course_lib.checking.describe import (
    argument_names,
    describe_call,
    describe_difference,
    describe_type,
    describe_value,
    is_empty,
    small_grid,
)

SOFTMAX = exercises.get("softmax")


class Callable:
    def __call__(self):
        return 3


@pytest.mark.parametrize(("value", "words"), [
    (torch.zeros(2, 3), "(2, 3)"), (torch.zeros(()), "()"), (torch.tensor([1.0]), "(1,)"),
    (torch.tensor([4, 2]), "[4, 2]"), (torch.tensor(4), "4"), (torch.tensor([True]), "[True]"),
    (torch.arange(8), "[0, 1, 2, 3, 4, 5, 6, 7]"), (torch.arange(9), "(9,)"), (torch.arange(4).view(2, 2), "(2, 2)"),
    ((torch.zeros(2), 3), "((2,), 3)"), ([1, "a"], "(1, 'a')"), ({"a": torch.ones(2), "b": None}, "{a: (2,), b: None}"),
    (torch.relu, "<relu>"), (Callable(), "<Callable>"), (0.5, "0.5"),
])  # fmt: skip
def test_values_are_short(value, words):
    assert describe_value(value) == words


def test_a_call_names_its_arguments():
    case = Case("last", (torch.zeros(2, 3),), {"dim": 1})
    assert describe_call(SOFTMAX, case) == "softmax(scores=(2, 3), dim=1)"
    assert argument_names(SOFTMAX, Case("none")) == []
    module = replace(SOFTMAX, is_module=True)
    in_training = argument_names(module, Case("all", ({}, {}, ()), {"training": True}))
    assert in_training == ["init", "state", "args", "training"]
    assert argument_names(module, Case("one", ({},))) == ["init"]


@pytest.mark.parametrize(("value", "words"), [
    (torch.zeros(2, 3), "a floating tensor of shape (2, 3)"), (torch.tensor(3), "an integer tensor of shape ()"),
    ([1], "a list"), (3, "an int"), (object(), "an object"), (None, "a NoneType"),
    ((1, torch.tensor([True])), "a tuple of 2 (an int, a boolean tensor of shape (1,))"),
])  # fmt: skip
def test_types_have_their_article(value, words):
    assert describe_type(value) == words


@given(size=st.tuples(st.integers(1, 4), st.integers(2, 4)), seed=st.integers(0, 99), data=st.data())
@settings(max_examples=30, deadline=None)
def test_a_difference_is_told_where_it_is_largest_and_in_the_learner_s_number(size, seed, data):
    want = torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 1
    places = st.tuples(*(st.integers(0, length - 1) for length in size))
    place, other = data.draw(places), data.draw(places)
    got = want.clone()
    got[other] += 1e-3
    got[place] += 0.2
    wrong = len({place, other})
    said = f"{wrong} of {want.numel()} entries differ; at index {list(place)} your value is {got[place]:.4g}"
    assert describe_difference(got, want).startswith(said)


def test_what_lies_below_rounding_is_not_counted():
    want = torch.ones(4, dtype=torch.float64)
    got = want + torch.tensor([0.1, 1.8e-6, 2.2e-6, 0.0], dtype=torch.float64)
    assert describe_difference(got, want).startswith("2 of 4 entries differ; at index [0] your value is 1.1")


@pytest.mark.parametrize(("factor", "words"), [
    (-1, "; every sign is reversed"), (1.3, "; your values are too large on the whole"), (1.1, None), (0.9, None),
    (0.7, "; your values are too small on the whole"), (-2, "; your values are too large on the whole"),
])  # fmt: skip
def test_the_scales_are_compared(factor, words):
    for want in (torch.tensor([3.0, -4.0]), torch.tensor([300, -400])):
        text = describe_difference(want * factor, want)
        assert text.endswith(words) if words else "whole" not in text and "reversed" not in text


def test_a_single_number_has_no_index():
    assert describe_difference(torch.tensor(1.1), torch.tensor(1.0)) == "your value differs"
    assert describe_difference(torch.tensor([1.1]), torch.tensor([1.0])) == "at index [0] your value is 1.1"


@pytest.mark.parametrize(("value", "grid"), [
    (torch.tensor([[1.0, -0.25], [10.0, 3.14159]]), "    1  -0.25\n   10   3.14"), (torch.tensor([7, 10]), " 7  10"),
    (torch.tensor([True, False]), " True  False"), (torch.zeros(30), "  ".join("0" * 30)), (torch.zeros(31), ""),
    (torch.zeros(1), "0"), (torch.zeros(()), ""), (torch.zeros(1, 1, 1), ""), (torch.zeros(0), ""), ([1.0], ""),
])  # fmt: skip
def test_a_small_result_is_shown_in_columns(value, grid):
    assert small_grid(value) == grid


def only_passes(x):
    pass


def only_dots(x):
    """Here it goes."""
    ...


def returns_a_number(x):
    return 3


def returns_its_argument(x):
    return x


def says_so(known):
    def proxy(x):
        return x

    proxy.is_empty = known
    return proxy


@pytest.mark.parametrize(("function", "empty"), [
    (only_passes, True), (only_dots, True), (lambda x: None, True), (returns_a_number, False),
    (returns_its_argument, False), (len, False), (Callable(), False), (says_so(True), True), (says_so(False), False),
])  # fmt: skip
def test_an_empty_body_is_seen(function, empty):
    assert is_empty(function) is empty

"""Partial credit: what counts, what never does."""

import math

import pytest
import torch

from course_lib import exercises
from course_lib.checking.engine import Examination
from course_lib.grading.aspects import aspect_of, aspects_of, earned, share


def held(name, function):
    examination = Examination(exercises.get(name), function, 5, 5.0)
    examination.outcome()
    return aspects_of(examination)


def no_maximum(scores, dim=-1):
    powers = torch.exp(scores)
    return powers / powers.sum(dim, keepdim=True)


def blind_to_the_mask(query, key, value, mask):
    weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


def in_place(scores, dim=-1):
    scores -= scores.max(dim, keepdim=True).values
    return torch.softmax(scores, dim)


def single(scores, dim=-1):
    return torch.softmax(scores.double(), dim)


def test_large_inputs_alone_are_lost_without_the_maximum():
    found = held("softmax", no_maximum)
    assert found["values"] and found["shape"] and found["arguments untouched"] and not found["large inputs"]
    assert 0.5 < share(found) < 0.9


def test_a_changed_argument_costs_its_part_and_asks_no_laws():
    found = held("softmax", in_place)
    assert found["values"] and not found["arguments untouched"]
    assert "weights sum to 1" not in found
    assert 0.5 < share(found) < 1


def test_a_law_alone_may_break():
    found = held("softmax", single)
    assert [name for name, holds in found.items() if not holds] == ["dtype kept"]
    assert 0.8 < share(found) < 0.9


@pytest.mark.parametrize("answer", [
    lambda scores, dim=-1: scores,
    lambda scores, dim=-1: torch.zeros_like(scores),
    lambda scores, dim=-1: torch.rand_like(scores),
    lambda scores, dim=-1: torch.full_like(scores, 1 / scores.shape[-1]),
    lambda scores, dim=-1: None,
    lambda scores, dim=-1: 1 / 0,
])  # fmt: skip
def test_nothing_is_earned_without_the_values(answer):
    assert share(held("softmax", answer)) == 0


def test_masks_do_not_count_without_the_values():
    found = held("masked_attention", blind_to_the_mask)
    assert found["shape"] and not found["values"] and share(found) == 0


@pytest.mark.parametrize("name", exercises.names())
def test_every_exercise_has_values_and_no_mistake_earns_all(name):
    exercise = exercises.get(name)
    for mistake in exercise.mistakes[::5]:
        found = held(name, mistake.wrong)
        assert "values" in found
        assert share(found) < 1, mistake.name
    assert share(held(name, exercise.reference)) == 1


@pytest.mark.parametrize(("points", "deserved"), [(1.0, 0.6), (1.5, 0.9), (3.0, 1.8), (0.0, 0.0), (0.33, 0.19)])
def test_points_are_rounded_down_from_what_they_really_are(points, deserved):
    found = {"values": True, "gradient": True, "large inputs": False, "masks": False}  # 6 of 10
    assert earned(points, found) == deserved


def test_groups_speak_for_aspects():
    for group, aspect in {
        "values": "values", "large scores": "large inputs", "garbage at padding": "masks", "no key left": "masks",
        "no padding": "values", "nothing masked": "values", "large weights": "values", "mixed lengths": "masks",
    }.items():  # fmt: skip
        assert aspect_of(group) == aspect, group

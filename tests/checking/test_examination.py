"""An examination from the first call to the outcome: what it keeps for the marks, and where it says the mistake is."""

import time
from dataclasses import replace

import pytest
import torch

from course_lib.checking import (
    FAILED,
    NOT_ATTEMPTED,
    PASSED,
    TOO_SLOW,
    WRONG,
    Case,
    Exercise,
    Law,
    Outcome,
    examine,
    mistake,
)
from course_lib.checking.engine import Examination, broken_law, expected, law_of_mistake, mistake_runs


def scale(x, factor):
    """x · factor. x: (N,)."""
    return x * factor


def cases(generator):
    for label, length, factor in (("first", 2, 3.0), ("second", 3, 4.0), ("third", 1, 5.0)):
        yield Case(label, (torch.rand(length, generator=generator, dtype=torch.float64) + 1,), {"factor": factor})


@mistake("It is added. What is twice 5?", source="a toy")
def adds(x, factor):
    return x + factor


@mistake("The gradient is cut. Which line cuts it?", source="a toy that shows in gradients alone")
def cuts(x, factor):
    return x.detach() * factor + 0 * x


@mistake("The argument is written into. Which line does it?", source="a toy that shows in its arguments alone")
def overwrites(x, factor):
    return x.mul_(factor)


SCALE = Exercise(
    name="scale", reference=scale, cases=cases, accepts=(), hints=("Times.",), mistakes=(adds, cuts, overwrites)
)


PLAIN = replace(SCALE, mistakes=())


def examined(function, exercise=SCALE, seconds=5.0):
    examination = Examination(exercise, function, 0, seconds)
    return examination, examination.outcome()


def failing_at(label, do):
    """A right answer that does something else on one case."""
    factor_there = {case.label: case.kwargs["factor"] for case in SCALE.draw_cases(0)}[label]

    def scale(x, factor):
        return do(x, factor) if factor == factor_there else x * factor

    return scale


def test_a_pass_is_kept_and_speaks_of_no_case():
    examination, outcome = examined(scale)
    assert outcome.status == PASSED and examination.passed and examination.place is None and not outcome.where
    assert all(map(examination.right, range(3))) and all(map(examination.right_gradient, range(3)))
    assert outcome == Outcome("scale", PASSED)
    fresh = Examination(SCALE, scale, 0, 1.0)
    assert not fresh.passed and fresh.place is None and fresh.observed == []


LABELS = ["first", "second", "third"]


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(("do", "status", "law"), [
    (lambda x, factor: x * 0.3 * factor, WRONG, None),
    (lambda x, factor: [][0], FAILED, None),
    (lambda x, factor: x.detach() * factor, WRONG, "gradient"),
    (lambda x, factor: x.add_(1).sub(1) * factor, WRONG, "arguments unchanged"),
    (lambda x, factor: time.sleep(9), TOO_SLOW, None),
    (lambda x, factor: (_ for _ in ()).throw(MemoryError()), FAILED, None),
], ids=["value", "error", "gradient", "in place", "slow", "memory"])  # fmt: skip
def test_the_outcome_speaks_of_the_case_that_fails(do, status, law, place):
    examination, outcome = examined(failing_at(LABELS[place], do), PLAIN, seconds=0.6 if status == TOO_SLOW else 5.0)
    assert (outcome.status, outcome.law, outcome.mistake) == (status, law, None)
    assert examination.place == place and not examination.passed
    case = examination.cases[place]
    assert outcome.where == f"scale(x=({len(case.args[0])},), factor={case.kwargs['factor']}), {LABELS[place]}"
    stops = place if status == TOO_SLOW else place + 1 if outcome.message.startswith("MemoryError") else 3
    assert len(examination.observed) == stops, "it goes on with the other cases where it can"
    right = [i for i in range(stops) if examination.right(i)]
    assert right == [i for i in range(stops) if i != place or law]


def test_the_seed_and_the_time_go_by_name():
    with pytest.raises(TypeError, match="positional"):
        examine(SCALE, scale, 0)


def test_a_law_that_never_ends_speaks_of_the_last_case():
    slow = Law("slow", lambda *given: time.sleep(9), "Which?")
    examination, outcome = examined(scale, replace(SCALE, laws=(slow,)), seconds=0.6)
    assert outcome.status == TOO_SLOW and examination.place == 2 and not examination.passed


def test_a_mistake_is_named_and_seen_where_it_first_shows():
    for known, law in ((adds, None), (cuts, None), (overwrites, "arguments unchanged")):
        examination, outcome = examined(known.wrong)
        assert (outcome.status, outcome.mistake, outcome.message, outcome.law) == (
            WRONG,
            known.name,
            known.message,
            law,
        )
        assert examination.place == 0 and outcome.where.endswith("first")


def test_the_body_is_empty_only_if_nothing_came_of_the_first_case():
    def scale(x, factor):
        pass

    examination, outcome = examined(scale)
    assert outcome.status == NOT_ATTEMPTED and len(examination.observed) == 1, "no other case is tried"
    assert examined(failing_at("first", lambda x, factor: None))[1].status == WRONG
    assert examined(failing_at("second", lambda x, factor: None))[1].status == WRONG


def test_a_stub_is_not_attempted_wherever_it_stands_in_the_answer():
    def stub(*given):
        raise NotImplementedError("your code here")

    stub.__code__ = stub.__code__.replace(co_qualname="scale.<locals>.inner")
    assert examined(failing_at("third", stub))[1].status == NOT_ATTEMPTED
    stub.__code__ = stub.__code__.replace(co_qualname="scales")
    outcome = examined(failing_at("third", stub))[1]
    assert outcome.status == FAILED and "`scales`, which is not written yet" in outcome.message


def test_single_precision_anywhere_is_said():
    for label in LABELS:
        _, outcome = examined(failing_at(label, lambda x, factor: (x.float() * factor).to(x.dtype)))
        assert outcome.passed and "single precision" in outcome.note


@pytest.mark.parametrize("wrong", [
    lambda x, factor: x / 0, lambda x, factor: x.mul_(factor), lambda x, factor: [][0],
    lambda x, factor: (x.detach() - x) ** 0.5 * factor,
], ids=["value", "in place", "error", "gradient"])  # fmt: skip
def test_a_reference_that_fails_its_own_case_is_an_error_of_the_course(wrong):
    with pytest.raises(AssertionError, match="the reference of scale fails its own case 'first'"):
        examine(replace(SCALE, reference=wrong), scale)


def test_a_reference_may_return_what_is_no_float():
    above = replace(SCALE, reference=lambda x, factor: (x > factor, "word", 2 * x * factor), mistakes=())
    assert examine(above, above.reference).passed


def test_laws_are_held_in_their_order_and_the_first_broken_one_is_told():
    def law(name, words):
        return Law(name, lambda *given: words, "Which?")

    exercise = replace(PLAIN, laws=(law("holds", None), law("broken", "so"), law("also broken", "or so")))
    found, how, raised = broken_law(exercise, scale, 0, 5.0)
    assert (found.name, how, raised) == ("broken", "so", None)
    assert broken_law(SCALE, scale, 0, 5.0) == (None, None, None)
    outcome = examine(exercise, scale)
    assert (outcome.status, outcome.law, outcome.message) == (WRONG, "broken", "broken: so. Which?")
    assert outcome.where == "", "a law has no case of its own"
    keeps, how, _ = broken_law(exercise, lambda x, factor: (x * factor).float(), 0, 5.0)
    assert keeps.name == "dtype kept" and how == "float64 in, float32 out", "what holds everywhere goes first"


def test_a_law_draws_the_same_each_time():
    drawn = []

    def draws(function, cases, generator):
        drawn.append(torch.rand(3, generator=generator).tolist())

    exercise = replace(SCALE, laws=(Law("draws", draws, "Which?"),))
    for seed in (1, 1, 2):
        broken_law(exercise, scale, seed, 5.0)
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_mistakes_show_is_computed_once():
    assert mistake_runs(SCALE, 3) is mistake_runs(SCALE, 3) and expected(SCALE, 3) is expected(SCALE, 3)
    runs = mistake_runs(SCALE, 3, True)
    assert list(runs) == ["adds", "cuts", "overwrites"] and all(len(seen) == 3 for seen in runs.values())
    assert runs["adds"][0].gradients is not None and mistake_runs(SCALE, 3)["adds"][0].gradients is None
    assert law_of_mistake(SCALE, 3, "overwrites") == ("arguments unchanged", None)
    hits = law_of_mistake.cache_info().hits
    assert law_of_mistake(SCALE, 3, "cuts") == law_of_mistake(SCALE, 3, "cuts") == (None, None)
    assert law_of_mistake.cache_info().hits == hits + 1

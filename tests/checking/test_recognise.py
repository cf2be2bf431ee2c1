"""How a known mistake is chosen: everywhere, then on the first group that fails, then wherever the answer ran."""

from dataclasses import replace

import torch

from course_lib.checking import FAILED, WRONG, Case, Exercise, Law, examine, mistake
from course_lib.checking.laws import call, close


def double(x):
    return 2 * x


@mistake("It is added, not doubled. What is twice 5?", source="a toy")
def adds_two(x):
    return x + 2


@mistake("Short rows are added to, long ones tripled. Why the difference?", source="a toy that agrees on short rows")
def adds_two_to_short_rows(x):
    return x + 2 if x.numel() < 5 else 3 * x


@mistake("It is squared. What is twice 5?", source="a toy")
def squares(x):
    return x**2


def cases(generator):
    def row(length):
        return (1.0 + torch.rand(length, generator=generator, dtype=torch.float64),)

    yield Case("short", row(3), group="short")
    yield Case("another short one", row(4), group="short")
    yield Case("long", row(6), group="long")


EXERCISE = Exercise(
    name="double", reference=double, cases=cases, accepts=(), hints=("Twice.",),
    mistakes=(adds_two, adds_two_to_short_rows, squares),
)  # fmt: skip


def test_the_same_on_every_case_is_named_even_where_another_agrees_on_a_group():
    assert examine(EXERCISE, adds_two.wrong).mistake == "adds_two"
    assert examine(EXERCISE, adds_two_to_short_rows.wrong).mistake == "adds_two_to_short_rows"


def test_two_mistakes_at_once_are_named_by_the_first_group_that_fails():
    assert examine(EXERCISE, lambda x: x**2 if x.numel() < 5 else x - 7).mistake == "squares"


def test_a_mistake_that_is_wrong_before_the_first_group_that_fails_is_another_one():
    outcome = examine(EXERCISE, lambda x: 2 * x if x.numel() < 5 else x**2)
    assert (outcome.status, outcome.mistake) == (WRONG, None)


def test_where_two_mistakes_fit_none_is_named():
    outcome = examine(EXERCISE, lambda x: x + 2 if x.numel() < 5 else x - 7)
    assert (outcome.status, outcome.mistake) == (WRONG, None)
    assert "What is twice" not in outcome.message


def test_an_answer_that_breaks_off_is_named_by_what_it_does_where_it_runs():
    def squares_some_rows(x):
        if x.numel() == 4:
            raise IndexError("no fourth entry")
        return x**2

    assert examine(EXERCISE, squares_some_rows).mistake == "squares"


def test_a_right_answer_that_breaks_off_is_an_exception_not_a_mistake():
    def doubles_some_rows(x):
        if x.numel() == 4:
            raise IndexError("no fourth entry")
        return 2 * x

    outcome = examine(EXERCISE, doubles_some_rows)
    assert (outcome.status, outcome.mistake) == (FAILED, None) and "no fourth entry" in outcome.message


@mistake("Rows of four have no place for a fifth. How long may a row be?", source="a toy that is wrong only by raising")
def adds_a_row_of_five(x):
    return 2 * x + torch.zeros(5) if x.numel() == 4 else 2 * x


def test_a_mistake_that_can_only_raise_is_named_by_its_words():
    with_it = replace(EXERCISE, mistakes=(*EXERCISE.mistakes, adds_a_row_of_five))

    def broadcast_another_way(x):
        return torch.add(2 * x, torch.zeros(5)) if x.numel() == 4 else x + x

    outcome = examine(with_it, broadcast_another_way)
    assert (outcome.status, outcome.mistake) == (FAILED, "adds_a_row_of_five")
    error, question = outcome.message.split("\n")[:2]
    assert error.startswith("RuntimeError: The size of tensor a (4)") and question == adds_a_row_of_five.message


def test_other_words_or_another_place_are_not_that_mistake():
    with_it = replace(EXERCISE, mistakes=(*EXERCISE.mistakes, adds_a_row_of_five))
    for length, longer in ((4, 6), (3, 5)):
        outcome = examine(with_it, lambda x, n=length, m=longer: 2 * x + torch.zeros(m) if x.numel() == n else 2 * x)
        assert (outcome.status, outcome.mistake) == (FAILED, None) and "Which shapes meet" in outcome.message


def third(x):
    return x / 3


@mistake("It is halved. Into how many parts?", source="a toy")
def halves(x):
    return x / 2


def one_number(generator):
    yield Case("a number", (5.0,))


NUMBER = Exercise(
    name="third", reference=third, cases=one_number, mistakes=(halves,), accepts=(), hints=("Three parts.",)
)


def test_a_tensor_without_axes_counts_as_the_number_in_it():
    assert examine(NUMBER, lambda x: torch.tensor(x) / 3).passed
    assert examine(NUMBER, lambda x: torch.tensor(x) / 2).mistake == "halves"
    wrong = examine(NUMBER, lambda x: torch.tensor(x) / 7)
    assert wrong.status == WRONG and "where" not in wrong.message.split("\n")[0], "its kind is right"
    assert examine(NUMBER, lambda x: torch.tensor([x]) / 3).status == WRONG, "an axis of length 1 is an axis"


def _very_long(function, cases, generator):
    row = torch.arange(9.0, dtype=torch.float64)
    return None if close(call(function, Case("very long", (row,))), 2 * row) else "a row of 9 is not doubled"


@mistake("Very long rows are tripled. What is different there?", source="a toy that only a law sees")
def triples_very_long_rows(x):
    return (3 if x.numel() > 8 else 2) * x


WITH_A_LAW = Exercise(
    name="double", reference=double, cases=cases, accepts=(), hints=("Twice.",), mistakes=(triples_very_long_rows,),
    laws=(Law("any length", _very_long, "Which length do you count on?"),),
)  # fmt: skip


def test_an_exception_in_a_law_is_not_the_mistake_that_breaks_it_in_value():
    def refuses_very_long_rows(x):
        if x.numel() > 8:
            raise KeyError("nine")
        return 2 * x

    assert examine(WITH_A_LAW, triples_very_long_rows.wrong).mistake == "triples_very_long_rows"
    outcome = examine(WITH_A_LAW, refuses_very_long_rows)
    assert (outcome.status, outcome.law, outcome.mistake) == (WRONG, "any length", None)
    assert "it raises KeyError" in outcome.message

"""One clear message for each thing that a learner's function can do: the table of bad answers."""

import pytest
import torch

from course_lib.checking import FAILED, NOT_ATTEMPTED, TOO_SLOW, WRONG, Case, Exercise, examine

from .bad_answers import (
    SOFTMAX,
    a_helper_without_dim,
    a_list,
    a_result_for_a_function,
    a_tuple,
    always_double,
    an_array,
    an_axis_too_far,
    an_extra_axis,
    another_shape,
    booleans,
    catches_the_alarm,
    depends_on_layout,
    detached,
    fails,
    for_ever,
    integers,
    leaves_the_process,
    mask_of_another_shape,
    more_than_there_are,
    noise,
    not_a_number,
    nothing,
    one_argument,
    one_truth_value,
    only_a_docstring,
    random_numbers,
    right,
    single_precision,
    sleeps,
    swallows_everything,
    takes_all_memory,
    the_argument,
    through_numpy,
    views_a_transpose,
    zeros,
)

BAD = [
    (nothing, WRONG, "returns None"),
    (only_a_docstring, NOT_ATTEMPTED, "still empty"),
    (a_list, WRONG, "returns a list"),
    (an_array, WRONG, "returns a ndarray"),
    (a_tuple, WRONG, "a tuple of 2 (a floating tensor of shape (5,), a floating tensor of shape (5,))"),
    (more_than_there_are, FAILED, "`topk` was asked for more"),
    (integers, WRONG, "dtype is int64"),
    (booleans, WRONG, "dtype is bool"),
    (not_a_number, WRONG, "NaN"),
    (another_shape, WRONG, "its shape is ()"),
    (an_extra_axis, WRONG, "its shape is (1, 5)"),
    (detached, WRONG, "no gradient flows back"),
    (through_numpy, FAILED, "numpy carries no gradients"),
    (single_precision, WRONG, "dtype kept: float64 in, float32 out"),
    (always_double, WRONG, "dtype kept: float32 in, float64 out"),
    (zeros, WRONG, "every entry is 0. Which step takes them all there"),
    (the_argument, WRONG, "comes back unchanged"),
    (for_ever, FAILED, "without end"),
    (takes_all_memory, FAILED, "more memory than there is"),
    (sleeps, TOO_SLOW, "longer than"),
    (swallows_everything, TOO_SLOW, "longer than"),
    (catches_the_alarm, TOO_SLOW, "longer than"),
    (fails, FAILED, "Which shapes meet"),
    (one_truth_value, FAILED, "operators work entry by entry"),
    (an_axis_too_far, FAILED, "From the back, -1 and -2 hold"),
    (mask_of_another_shape, FAILED, "does not broadcast. Which method does"),
    (views_a_transpose, FAILED, "What was transposed before"),
    (one_argument, FAILED, "signature"),
    (a_helper_without_dim, FAILED, "With which arguments is `shifted` called"),
    (a_result_for_a_function, FAILED, "where a function is wanted"),
    (leaves_the_process, FAILED, "SystemExit"),
    (noise, WRONG, "sum to 1"),
    (random_numbers, WRONG, "two calls with the same arguments differ"),
    (depends_on_layout, WRONG, "memory layout"),
]


@pytest.mark.parametrize(("answer", "status", "words"), BAD, ids=[row[0].__name__ for row in BAD])
def test_each_bad_answer_gets_one_clear_message(answer, status, words):
    outcome = examine(SOFTMAX, answer, seconds=1.0)
    assert outcome.status == status
    assert words in outcome.message, outcome.message
    assert outcome.message.rstrip().endswith("?"), "a message ends with the question that leads to the fix"
    assert outcome.mistake is None


def above_mean(rows):
    """Which entries lie above the mean of their row, and that mean. rows: (B, N). Returns bool (B, N), mean (B, 1)."""
    mean = rows.mean(-1, keepdim=True)
    return rows > mean, mean


def cases(generator):
    for label, *size in (("two rows", 2, 3), ("one row of one", 1, 1), ("as many rows as entries", 4, 4)):
        yield Case(label, (torch.randn(*size, generator=generator, dtype=torch.float64),))


ABOVE_MEAN = Exercise(
    name="above_mean", reference=above_mean, cases=cases, mistakes=(), accepts=(), hints=("Compare.",)
)


def the_mean_first(rows):
    return above_mean(rows)[::-1]


def an_axis_dropped(rows):
    above, mean = above_mean(rows)
    return above, mean.squeeze(-1)


def nothing_is_above(rows):
    above, mean = above_mean(rows)
    return above & ~above, mean


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (the_mean_first, "the right shapes in another order. In which order does the docstring return them?"),
        (an_axis_dropped, "result[1]: its shape is (2,), expected (2, 1)."),
        (nothing_is_above, "result[0]: every entry is False. Which step takes them all there"),
    ],
)
def test_results_in_another_order_are_told_from_wrong_ones(answer, words):
    outcome = examine(ABOVE_MEAN, answer)
    assert (outcome.status, outcome.mistake) == (WRONG, None)
    assert words in outcome.message, outcome.message


def test_only_its_own_stub_counts_as_not_attempted():
    def rnn_cell(*args):
        raise NotImplementedError

    rnn_cell.__code__ = rnn_cell.__code__.replace(co_qualname="rnn_cell")

    def softmax(scores, dim=-1):
        return rnn_cell(scores)

    outcome = examine(SOFTMAX, softmax)
    assert outcome.status == FAILED
    assert "`rnn_cell`, which is not written yet" in outcome.message


def test_messages_never_hold_expected_numbers():
    """The message may show the learner's numbers, never those of the reference."""
    scores = next(iter(SOFTMAX.draw_cases(0))).args[0]
    expected = [f"{value:.3g}" for value in right(scores).flatten().tolist()]
    for answer in (noise, zeros, not_a_number, the_argument, random_numbers):
        message = examine(SOFTMAX, answer).message
        assert not any(number in message for number in expected), message

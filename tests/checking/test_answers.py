"""One clear message for each thing that a learner's function can do: the table of bad answers."""

import sys
import time
import warnings

import pytest
import torch

from course_lib import exercises
from course_lib.checking import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG, Case, Exercise, examine

SOFTMAX = exercises.get("softmax")


def right(scores, dim=-1):
    return torch.softmax(scores, dim)


def nothing(scores, dim=-1):
    right(scores, dim)


def only_a_docstring(scores, dim=-1):
    """Still to be written."""


def a_list(scores, dim=-1):
    return right(scores, dim).tolist()


def an_array(scores, dim=-1):
    return right(scores, dim).detach().numpy()


def a_tuple(scores, dim=-1):
    return right(scores, dim), scores


def integers(scores, dim=-1):
    return right(scores, dim).long()


def booleans(scores, dim=-1):
    return right(scores, dim) > 0.1


def not_a_number(scores, dim=-1):
    return right(scores, dim) * float("nan")


def another_shape(scores, dim=-1):
    return right(scores, dim).sum(dim)


def an_extra_axis(scores, dim=-1):
    return right(scores, dim).unsqueeze(0)


def detached(scores, dim=-1):
    return right(scores, dim).detach()


def through_numpy(scores, dim=-1):
    return torch.from_numpy(right(scores, dim).numpy())


def single_precision(scores, dim=-1):
    return right(scores.float(), dim)


def always_double(scores, dim=-1):
    return right(scores.double(), dim)


def zeros(scores, dim=-1):
    return torch.zeros_like(scores)


def the_argument(scores, dim=-1):
    return scores


def for_ever(scores, dim=-1):
    return for_ever(scores, dim)


def sleeps(scores, dim=-1):
    time.sleep(30)


def swallows_everything(scores, dim=-1):
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass


def catches_the_alarm(scores, dim=-1):
    try:
        time.sleep(30)
    except:  # noqa: E722 (what a learner may write)
        time.sleep(30)


def fails(scores, dim=-1):
    return right(scores, dim) @ torch.ones(7)


def one_truth_value(scores, dim=-1):
    return right(scores, dim) if not scores < 0 else scores


def an_axis_too_far(scores, dim=-1):
    return torch.softmax(scores, dim=scores.ndim)


def mask_of_another_shape(scores, dim=-1):
    scores[torch.ones(7, dtype=torch.bool)] = 0.0
    return right(scores, dim)


def views_a_transpose(scores, dim=-1):
    return right(scores.unsqueeze(-1).expand(*scores.shape, 2).transpose(0, -1).contiguous().mT.view(-1), dim)


def one_argument(*arguments, **options):
    def softmax(scores):
        return right(scores)

    return softmax(*arguments, **options)


def a_helper_without_dim(scores, dim=-1):
    def shifted(scores):
        return scores - scores.max()

    return right(shifted(scores, dim))


def a_result_for_a_function(scores, dim=-1):
    return right(scores)(dim)


def leaves_the_process(scores, dim=-1):
    sys.exit(0)


def noise(scores, dim=-1):
    return right(scores, dim) * 1.1


def random_numbers(scores, dim=-1):
    return right(scores + 0.01 * torch.randn(scores.shape), dim)


def depends_on_layout(scores, dim=-1):
    return right(scores.view(-1).view(scores.shape), dim)


BAD = [
    (nothing, WRONG, "returns None"),
    (only_a_docstring, NOT_ATTEMPTED, "still empty"),
    (a_list, WRONG, "returns a list"),
    (an_array, WRONG, "returns a ndarray"),
    (a_tuple, WRONG, "a tuple of 2"),
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


def changes_its_argument(scores, dim=-1):
    result = right(scores, dim)
    scores.zero_()
    return result


def test_a_changed_argument_is_named_as_the_known_mistake():
    outcome = examine(SOFTMAX, changes_its_argument)
    assert (outcome.status, outcome.law, outcome.mistake) == (WRONG, "arguments unchanged", "in_place")


def prints_and_warns(scores, dim=-1):
    print("debug " * 1000)
    warnings.warn("careful", stacklevel=1)
    print("more", file=sys.stderr)
    return right(scores, dim)


def test_prints_and_warnings_play_no_part(capsys):
    assert examine(SOFTMAX, prints_and_warns).passed
    assert capsys.readouterr() == ("", "")


def in_single_precision(scores, dim=-1):
    return right(scores.float(), dim).to(scores.dtype)


def test_a_result_right_to_float32_passes_with_a_note():
    outcome = examine(SOFTMAX, in_single_precision)
    assert outcome.passed and "float32" in outcome.note
    assert not examine(SOFTMAX, right).note


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


def test_the_same_seed_says_the_same_thing():
    for seed in (0, 1, 2):
        assert examine(SOFTMAX, noise, seed=seed) == examine(SOFTMAX, noise, seed=seed)


def test_surroundings_are_given_back():
    before = torch.get_rng_state()
    for switched_off in (torch.no_grad, torch.inference_mode):
        with switched_off():
            assert examine(SOFTMAX, detached).law == "gradient", "gradients are on, whatever the notebook set"
            assert examine(SOFTMAX, right).passed
            assert not torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(before, torch.get_rng_state())


def test_a_check_runs_on_one_thread_and_gives_the_others_back():
    seen, threads = [], torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        examine(SOFTMAX, lambda scores, dim=-1: seen.append(torch.get_num_threads()) or right(scores, dim))
        assert set(seen) == {1} and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_a_too_slow_answer_in_another_thread_is_stopped_too():
    import threading

    def loops(scores, dim=-1):
        while True:
            pass

    found = []
    thread = threading.Thread(target=lambda: found.append(examine(SOFTMAX, loops, seconds=0.5)))
    thread.start()
    thread.join(20)
    assert [outcome.status for outcome in found] == [TOO_SLOW]


def test_passed_is_said_as_passed():
    assert examine(SOFTMAX, right).status == PASSED

"""How a check behaves, whatever the answer: what it gives back, what plays no part, how long it waits."""

import sys
import warnings

import torch

from course_lib.checking import PASSED, TOO_SLOW, WRONG, examine

from .bad_answers import SOFTMAX, detached, noise, right


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

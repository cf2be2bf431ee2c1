"""Bounds and surroundings of a check: the alarm rings in time, again and again, and everything is given back."""

import random
import signal
import sys
import threading
import time
import warnings

import pytest
import torch

from course_lib.checking import limits
from course_lib.checking.limits import TooSlow, exact, quiet, time_limit

posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="an interval timer is a matter of POSIX")


def wait(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def in_another_thread(action):
    """What the action raises there, or None."""
    found = []

    def run():
        try:
            action()
            found.append(None)
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    return found[0]


def too_long():
    with time_limit(0.2):
        wait(10)


@posix
def test_the_alarm_ends_a_sleep_at_once():
    start = time.monotonic()
    with pytest.raises(TooSlow), time_limit(0.2):
        time.sleep(10)
    assert 0.2 <= time.monotonic() - start < 5


@posix
def test_the_alarm_rings_again_where_the_first_one_was_caught():
    start, rings = time.monotonic(), 0
    with time_limit(0.2):
        while rings < 2:
            try:
                time.sleep(10)
            except TooSlow:
                rings += 1
    assert 0.6 <= time.monotonic() - start < 5


@posix
def test_the_alarm_of_before_is_given_back_and_none_rings_later():
    def before(signum, frame):
        raise AssertionError("an alarm too many")

    kept = signal.signal(signal.SIGALRM, before)
    try:
        for seconds, body in ((5.0, lambda: None), (0.1, lambda: wait(1))):
            try:
                with time_limit(seconds):
                    body()
            except TooSlow:
                pass
            assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    finally:
        signal.signal(signal.SIGALRM, kept)


def test_another_thread_is_stopped_and_only_while_it_is_in_the_body():
    assert isinstance(in_another_thread(too_long), TooSlow)

    def in_time():
        with time_limit(0.5):
            pass
        wait(1)

    assert in_another_thread(in_time) is None, "the timer is over with the body"


def test_where_there_is_no_interval_timer_a_thread_keeps_the_time(monkeypatch):
    """As on Windows."""
    monkeypatch.delattr(signal, "setitimer", raising=False)
    with pytest.raises(TooSlow):
        too_long()
    with time_limit(30):
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
        assert timers and all(timer.daemon for timer in timers), "it keeps no process alive"


def test_no_exception_handler_swallows_the_alarm():
    assert issubclass(TooSlow, BaseException) and not issubclass(TooSlow, Exception)


def test_quiet_takes_what_is_written_and_gives_the_streams_back(capsys):
    streams = sys.stdout, sys.stderr
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with quiet():
            print("one")
            assert sys.stdout.write("three") == 5 and sys.stderr.write("") == 0
            warnings.warn("careful", stacklevel=1)
        warnings.warn("now", stacklevel=1)
    assert (sys.stdout, sys.stderr) == streams and capsys.readouterr() == ("", "")
    assert [str(warning.message) for warning in caught] == ["now"]


def surroundings():
    return torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state().tolist(), random.getstate()


def drawn(seed, dtype=torch.float64):
    with exact(seed, dtype):
        return torch.rand(3).tolist(), random.random(), torch.zeros(1).dtype


def test_exact_draws_the_same_from_one_seed_and_disturbs_nobody():
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        before = surroundings()
        assert drawn(1) == drawn(1) != drawn(2) and drawn(1)[0] != drawn(2)[0] and drawn(1)[1] != drawn(2)[1]
        assert drawn(1)[2] == torch.float64 and drawn(1, torch.float32)[2] == torch.float32
        with pytest.raises(ZeroDivisionError), exact(0):
            assert torch.get_num_threads() == 1
            1 / 0  # noqa: B018
        assert surroundings() == before
    finally:
        torch.set_num_threads(threads)


def test_exact_stays_on_the_cpu_with_gradients_on():
    with torch.device("meta"), torch.inference_mode(), exact(0):
        assert torch.zeros(1).device.type == "cpu"
        assert (torch.ones(1, requires_grad=True) * 2).requires_grad and not torch.is_inference_mode_enabled()


def test_what_takes_no_text_keeps_none():
    assert limits._Nowhere().write("word") == 4

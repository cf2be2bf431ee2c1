"""A bound on the time of one check, and quiet surroundings for the learner's code."""

import contextlib
import ctypes
import io
import random
import signal
import threading
import warnings

import torch


class TooSlow(BaseException):
    """Raised inside a call that took too long. Not an Exception, so that `except Exception` cannot swallow it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TooSlow in the body after `seconds` of wall time.

    In the main thread of a POSIX system by an interval timer, which also ends a sleep; elsewhere (Windows, other
    threads) by an asynchronous exception, which arrives with the next Python instruction.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        yield from _by_timer(seconds)
    else:
        yield from _by_thread(seconds)


def _by_timer(seconds):
    def ring(signum, frame):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    # The interval repeats the alarm, in case a bare `except:` of the learner catches the first one.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _by_thread(seconds):
    target = ctypes.c_ulong(threading.get_ident())
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    timer = threading.Timer(seconds, lambda: raise_in(target, ctypes.py_object(TooSlow)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Nowhere(io.TextIOBase):
    """Takes any text and keeps none of it, so that a print in a loop costs no memory."""

    def write(self, text):
        return len(text)


@contextlib.contextmanager
def quiet():
    """What the learner prints or warns plays no part in a check."""
    nowhere = _Nowhere()
    with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def exact(seed, dtype=torch.float64):
    """On one thread of the CPU, default dtype float64, gradients on, random numbers seeded and given back afterwards.

    With float64 as the default, ordinary code such as `torch.zeros(B, H)` or `nn.Linear(d, d)` is exact too. Inputs are
    so small that a second thread only waits: on a busy machine, for milliseconds at each operation.
    """
    before, python_state, threads = torch.get_default_dtype(), random.getstate(), torch.get_num_threads()
    try:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(1)
        # A notebook may have moved torch's default device, or switched gradients off (`inference_mode(False)` also
        # undoes `no_grad`); a check stays on the CPU and needs them.
        with torch.device("cpu"), torch.random.fork_rng(devices=[]), torch.inference_mode(False):
            torch.manual_seed(seed)
            random.seed(seed)
            yield
    finally:
        torch.set_default_dtype(before)
        torch.set_num_threads(threads)
        random.setstate(python_state)

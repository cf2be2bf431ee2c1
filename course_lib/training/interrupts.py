"""Ctrl-C, and a notebook's stop button, in the middle of something that must be whole before it stops."""

import signal
import sys
import threading
from contextlib import contextmanager


class Interrupted(KeyboardInterrupt):
    """A training that somebody stopped. In a notebook it is one line, not a page of the loop's inner workings.

    kept: whether there is a checkpoint to go on from.

    >>> print(Interrupted(step=30, steps=100, kept=True))
    Training was interrupted after step 30 of 100. Run this cell again to go on from there.
    """

    def __init__(self, step, steps, kept):
        after = "Run this cell again to go on from there." if kept else "Run this cell again to train from the start."
        super().__init__(f"Training was interrupted after step {step} of {steps}. {after}")

    def _render_traceback_(self):
        """What IPython shows in the place of a traceback."""
        return [str(self)]


@contextmanager
def held_interrupts(active=True):
    """Give a list that stays empty until the first interrupt, which then has to wait until this context ends.

    Whoever works in it looks at the list where stopping is safe, puts things in order and leaves; KeyboardInterrupt is
    raised at the end. A second interrupt is raised at once. Not active, outside of Python's main thread, and where
    somebody else handles interrupts, everything is as without it.

    >>> with held_interrupts() as waiting:
    ...     waiting  # nobody has interrupted
    []
    """
    waiting = []

    def hold(number, frame):
        if waiting:
            raise KeyboardInterrupt
        waiting.append(number)
        print("Interrupted: this step is finished and kept first. Interrupt again to stop at once.", file=sys.stderr)

    ours = threading.current_thread() is threading.main_thread()
    if not (active and ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler):
        yield waiting
        return
    signal.signal(signal.SIGINT, hold)
    try:
        yield waiting
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if waiting:
        raise KeyboardInterrupt

"""nbval's kernel, silent, and watched: a dead one is noticed in a second, a hanging one is interrupted or stopped."""

import subprocess
import time
from queue import Empty

from nbval.kernel import RunningKernel, start_new_kernel

POLL = 0.5  # seconds between two looks at whether it lives


GRACE = 2.0  # seconds that an interrupted cell has to end


class Interrupted(Exception):
    """A cell took too long and was interrupted; the kernel lives, the cells below can still run."""


class Stopped(Exception):
    """The kernel is gone. status: `kernel died` or `timeout`."""

    def __init__(self, status, reason):
        self.status, self.reason = status, reason
        super().__init__(reason)


class Kernel(RunningKernel):
    """environment: the variables of its process; None for those of this process."""

    def __init__(self, name, folder, startup_timeout, environment=None):
        self.km, self.kc = start_new_kernel(
            startup_timeout,
            name,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **({"env": environment} if environment else {}),
        )
        self._ensure_iopub_up()

    def await_reply(self, msg_id, timeout=None):
        """Wait for the reply to a cell.

        Raises Interrupted if it takes longer than `timeout` seconds and can be interrupted; Stopped, with the kernel
        gone, if it cannot, or if the kernel dies.
        """
        deadline = time.monotonic() + (timeout or float("inf"))
        while True:
            try:
                return super().await_reply(msg_id, timeout=max(0.01, min(POLL, deadline - time.monotonic())))
            except Empty:
                pass
            if not self.is_alive():
                self.stop()
                raise Stopped("kernel died", "the kernel died (a crash, out of memory, or a hard exit)")
            if time.monotonic() >= deadline:
                self._end(msg_id, f"the time limit of {timeout:g} s ran out")

    def _end(self, msg_id, reason):
        self.interrupt()
        try:
            super().await_reply(msg_id, timeout=GRACE)
        except (Empty, RuntimeError):
            self.stop()
            raise Stopped("timeout", f"{reason}, and it could not be interrupted, so the kernel was stopped") from None
        raise Interrupted(reason)

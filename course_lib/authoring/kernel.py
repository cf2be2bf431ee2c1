"""nbval's kernel, silent, and watched: a dead one is noticed in a second, a hanging one is interrupted or stopped."""

import subprocess
import sys
import time
from pathlib import Path
from queue import Empty

import psutil
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

    def peak_memory(self):
        """The most memory that its process has held so far, in GB; None where there is no such process any more."""
        return peak_memory(self.pid) if self.pid else None

    def on_gpu(self):
        """Whether its process has loaded CUDA's driver, which takes memory of the machine for itself."""
        return bool(self.pid) and loaded_cuda(self.pid)

    @property
    def pid(self):
        """The number of its process; None after it was stopped: nbval takes `km` away then."""
        return getattr(getattr(getattr(self, "km", None), "provisioner", None), "pid", None)

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


def peak_memory(pid):
    """The most memory (resident, in GB) that a process has held so far; None where there is no such process.

    Linux and Windows keep the peak. macOS does not tell it to other processes: there it is what is held now.
    """
    try:
        if sys.platform == "linux":
            status = Path(f"/proc/{pid}/status").read_text().splitlines()
            peaks = [int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")]  # none if it is dead
            return peaks[0] / 1e9 if peaks else None
        held = psutil.Process(pid).memory_info()
        return getattr(held, "peak_wset", held.rss) / 1e9
    except (OSError, psutil.Error):
        return None


def loaded_cuda(pid):
    """Whether a process has loaded CUDA's driver; known on Linux alone."""
    try:
        return "/libcuda.so" in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False

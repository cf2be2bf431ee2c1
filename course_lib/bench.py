"""What a benchmark measures with: two functions in turn, medians with their spread, targets, the machine's name.

`bench_command` runs the files of `benchmarks/` and prints their rows as one table. This module needs torch alone.
"""

import os
import platform
import statistics
import time
from typing import NamedTuple

import torch

from course_lib.live_memory import LiveMemory


class Target(NamedTuple):
    """What a figure has to reach: at least, or at most."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, figure):
        """Whether a figure reaches it. The figure counts as it is, not rounded."""
        return figure >= self.at_least if self.at_most is None else figure <= self.at_most

    def __str__(self):
        return f"≥ {self.at_least:g}" if self.at_most is None else f"≤ {self.at_most:g}"


class Row(NamedTuple):
    """A line of the table: a median with its quartiles.

    what, size: what was measured. beside: what the ratio compares with, empty for a plain figure. unit: of figure, low
    and high; "×" is a ratio, above 1 where ours is better. theirs, ours: both medians, with their unit (`each`), where
    there are two. rounds: how often it was measured.
    """

    what: str
    size: str
    beside: str
    figure: float
    low: float
    high: float
    unit: str
    rounds: int
    theirs: float | None = None
    ours: float | None = None
    each: str = ""
    target: Target | None = None

    def as_dict(self):
        """The row as JSON has it."""
        met = None if self.target is None else self.target.met(self.figure)
        return {**self._asdict(), "target": self.target and str(self.target), "met": met}


def machine():
    """This machine in words: it belongs to every number measured on it."""
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads{gpu}, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}"
    )


def _processor():
    """The processor's name, where the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "a processor without a name"


def compare(theirs, ours, *, what, size, beside, pairs, device="cpu", warm_up=5, target=None):
    """Two functions timed in turn: a row with the median over `pairs` of their time over ours, and each one's time.

    In turn, so that whatever else the machine does meets both alike; and by turns the first, so that neither always
    finds the caches as the other left them.
    """
    for _ in range(warm_up):
        seconds(theirs, device), seconds(ours, device)
    times = []
    for turn in range(pairs):
        if turn % 2:
            our_time, their_time = seconds(ours, device), seconds(theirs, device)
        else:
            their_time, our_time = seconds(theirs, device), seconds(ours, device)
        times.append((their_time, our_time))
    return Row(
        what,
        size,
        beside,
        *spread([their_time / our_time for their_time, our_time in times]),
        "×",
        pairs,
        1000 * statistics.median(their_time for their_time, _ in times),
        1000 * statistics.median(our_time for _, our_time in times),
        "ms",
        target,
    )


def compare_memory(theirs, ours, *, what, size, beside, device="cpu", target=None):
    """A row with the ratio of the most memory that each needs at once, counted: it is the same in every run."""
    their_peak, our_peak = (peak(each, device) / 2**20 for each in (theirs, ours))
    ratio = their_peak / our_peak
    return Row(what, size, beside, ratio, ratio, ratio, "×", 1, their_peak, our_peak, "MiB", target)


def figures(values, *, what, size, unit, target=None):
    """A row with the median of plain figures."""
    return Row(what, size, "", *spread(values), unit, len(values), target=target)


def spread(values):
    """(median, first quartile, third quartile)."""
    if len(values) == 1:
        return (*values, *values, *values)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, low, high


def seconds(step, device="cpu"):
    """How long a call takes, the work that it left to a GPU included."""
    synchronise(device)
    began = time.perf_counter()
    step()
    synchronise(device)
    return time.perf_counter() - began


def synchronise(device):
    """Wait until a device has done what it was given."""
    kind = torch.device(device).type
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()


def peak(step, device="cpu"):
    """The most bytes that a call holds at once, beyond what was there before.

    On CUDA the allocator says it, with what kernels need within themselves; elsewhere the live tensors are counted.
    """
    step()  # what is kept from the first call on is no part of it
    if torch.device(device).type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        step()
        synchronise(device)
        return torch.cuda.max_memory_allocated(device) - before
    with LiveMemory() as memory:
        step()
    return memory.peak

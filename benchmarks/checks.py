"""How long one check takes: right answers and known mistakes of every exercise, each checked anew."""

import statistics
import time

from course_lib import bench, exercises
from course_lib.checking import examine, matrix


def main():
    """Rows of all checks, and of the exercise whose checks take longest."""
    times = {name: list(checks(exercises.get(name))) for name in exercises.names()}
    everything = [seconds for each in times.values() for seconds in each]
    size = f"{len(times)} exercises, {len(everything)} answers"
    yield bench.figures(everything, what="a check", size=size, unit="s")
    target = bench.Target(at_most=0.5)
    yield bench.figures([p95(everything)], what="a check, p95", size=size, unit="s", target=target)
    slowest = max(times, key=lambda name: p95(times[name]))
    yield bench.figures([p95(times[slowest])], what="a check, p95", size=f"slowest: {slowest}", unit="s")


def checks(exercise):
    """Seconds of the check of each answer that an exercise ships."""
    for _, _, _, _, answer in matrix.implementations(exercise):
        began = time.perf_counter()
        examine(exercise, answer, seed=0)
        yield time.perf_counter() - began


def p95(values):
    return statistics.quantiles(values, n=20)[-1]

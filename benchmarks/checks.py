"""Seconds that one check takes: every exercise, right answers and known mistakes."""

import statistics
import time

from course_lib import exercises
from course_lib.checking import examine, matrix

ROUNDS = 3


def main():
    """One row an exercise and one for all: median, p95 and slowest of every answer that ships, each checked anew."""
    rows, everything = [], []
    for name in exercises.names():
        exercise = exercises.get(name)
        seconds = []
        for seed in range(ROUNDS):
            for _, _, _, _, answer in matrix.implementations(exercise):
                began = time.perf_counter()
                examine(exercise, answer, seed=seed)
                seconds.append(time.perf_counter() - began)
        rows.append({"exercise": name, **_summary(seconds)})
        everything += seconds
    return [*rows, {"exercise": "all", **_summary(everything)}]


def _summary(seconds):
    p95 = statistics.quantiles(seconds, n=20)[-1]
    return {"checks": len(seconds), "median": statistics.median(seconds), "p95": p95, "slowest": max(seconds)}

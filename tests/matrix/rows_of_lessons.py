"""What a test asks of the mistake matrix of some lessons: every row as it must be, here and through another process.

Two files share the lessons, so that two processes share the work.
"""

from functools import cache

from course_lib import exercises, matrix_command
from course_lib.checking import matrix

SEEDS = 3
KINDS = ("reference", "accept", "stub", "mistake")
EARLY = tuple(exercise.name for lesson in range(8) for exercise in exercises.by_lesson(lesson))
LATE = tuple(name for name in exercises.names() if name not in EARLY)


@cache
def rows(names, remote):
    return matrix_command.rows(SEEDS, remote, names)


def check_rows(names, kind, remote):
    chosen = [row for row in rows(names, remote) if row["kind"] == kind]
    assert {row["exercise"] for row in chosen} == set(names)
    wrong = [row for row in chosen if not matrix.is_right(row)]
    assert not wrong, wrong


def check_remote(names):
    keys = matrix_command.JSON_KEYS
    here, there = ([[row[k] for k in keys] for row in rows(names, remote)] for remote in (False, True))
    assert here == there

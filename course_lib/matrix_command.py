"""`course matrix`: print the mistake matrix, or write it as JSON."""

import json

from rich.console import Console
from rich.table import Table

from course_lib import exercises
from course_lib.checking import matrix
from course_lib.checking.worker import Worker

FINDER = "course_lib.exercises:implementation"
JSON_KEYS = ("exercise", "kind", "name", "source", "seed", "outcome", "named")


def rows(seeds, remote=False, names=None):
    """Rows of the matrix for the exercises named (all by default), here or through a worker process."""
    chosen = [exercises.get(name) for name in names or exercises.names()]
    if not remote:
        return list(matrix.rows(chosen, range(seeds)))
    with Worker(FINDER) as worker:
        return list(matrix.rows(chosen, range(seeds), lambda exercise, kind, index: worker.load(
            exercise.name, kind, index, is_module=exercise.is_module)))  # fmt: skip


def main(seeds=3, as_json=False, remote=False, exercise=None):
    """Print the matrix; returns 0 if every row is as it must be, else 1. Raises UnknownExercise."""
    found = rows(seeds, remote, [exercise] if exercise else None)
    wrong = [row for row in found if not matrix.is_right(row)]
    if as_json:
        print(json.dumps([{key: row[key] for key in JSON_KEYS} for row in found], indent=1, ensure_ascii=False))
    else:
        _print(found, wrong, seeds, remote)
    return 1 if wrong or not found else 0


def _entry(row):
    return row["exercise"], row["kind"], row["name"]


def _print(found, wrong, seeds, remote):
    console = Console()
    place = "in another process" if remote else "in this process"
    table = Table(title=f"mistake matrix, {seeds} seeds, {place}")
    for column in ("exercise", "kind", "name", "as it must be"):
        table.add_column(column)
    first = [row for row in found if row["seed"] == 0]
    for row in first:
        same = [other for other in found if _entry(other) == _entry(row)]
        right = sum(matrix.is_right(r) for r in same)
        table.add_row(row["exercise"], row["kind"], row["name"], f"{right} of {len(same)}")
    console.print(table)
    for row in wrong:
        said = f"{row['outcome']}, named {row['named']}"
        console.print(f"not right: {row['exercise']} {row['kind']} {row['name']}, seed {row['seed']}: {said}")
    mistakes = [row for row in found if row["kind"] == "mistake"]
    named = sum(matrix.is_right(row) for row in mistakes)
    rejected = sum(row["outcome"] != "passed" for row in mistakes)
    count = len({(row["exercise"], row["name"]) for row in mistakes})
    console.print(
        f"{len({row['exercise'] for row in found})} exercises, {count} mistakes: "
        f"{rejected} of {len(mistakes)} rejected, {named} of {len(mistakes)} named as themselves"
    )

"""`course bench`: run the measurements of `benchmarks/` in one go, and print one table, or JSON.

A benchmark is a file `benchmarks/NAME.py` with a generator `main()` of `bench.Row`s; its docstring's first line is its
title. One whose `main(device)` takes a device measures the library's computations, and is what `--device` chooses.
"""

import json
import runpy
import sys
import time
import traceback
from itertools import groupby
from pathlib import Path

from course_lib import bench
from course_lib.device import pick_device

FOLDER = Path(__file__).parents[1] / "benchmarks"


def found(folder=FOLDER):
    """The benchmarks there are: a dict of names and paths."""
    return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}


def computes(path):
    """Whether a benchmark takes a device. Its text says so, since a tool's imports may be missing beside torch."""
    return "\ndef main(device):" in path.read_text(encoding="utf-8")


def main(paths, as_json=False, device=None):
    """Run the benchmarks at these paths; print a table or JSON. Returns 0, or 1 where one failed or none was measured.

    device: `cpu`, `cuda` or `mps`, and only what computes on one is measured; the best one, and everything, unless
    given. Progress goes to the standard error.
    """
    rows, failed = [], False
    for path in paths:
        takes_device = computes(path)
        if device is not None and not takes_device:
            continue
        module = runpy.run_path(str(path))
        print(f"{path.stem}: {module['__doc__'].strip().splitlines()[0]}", file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            for row in module["main"](device or pick_device()) if takes_device else module["main"]():
                rows.append((path.stem, row))
        except Exception:  # whatever it is, minutes of measuring by the others are not lost
            failed = True
            traceback.print_exc()
        print(f"    {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if not rows:
        print("nothing was measured: none of these benchmarks computes on a device", file=sys.stderr)
        return 1
    result = {"machine": bench.machine(), "rows": [{"benchmark": name, **row.as_dict()} for name, row in rows]}
    print(json.dumps(result, indent=1, ensure_ascii=False)) if as_json else show(result)
    return int(failed)


def show(result):
    """Print all rows as one table, the machine they were measured on, and how many targets are met."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=result["machine"], title_justify="left")
    for column in HEADINGS:
        table.add_column(column, justify="left" if column in ("what", "size", "beside", "target") else "right")
    for _, rows in groupby(result["rows"], lambda row: row["benchmark"]):
        for row in rows:
            table.add_row(*map(Text, cells(row)))
        table.add_section()
    # A pipe or a log has no width of its own, and a table of so many columns would be cut to shreds.
    console = Console() if sys.stdout.isatty() else Console(width=180)
    console.print(table)
    if any(row["target"] for row in result["rows"]):
        console.print(closing(result["rows"]), highlight=False)


HEADINGS = ("what", "size", "beside", "median", "quartiles", "rounds", "theirs", "ours", "target")


def cells(row):
    """A row of the result as the texts of the table, as `HEADINGS` names them."""
    unit = "×" if row["unit"] == "×" else f" {row['unit']}"
    quartiles = "" if row["rounds"] == 1 else f"{number(row['low'])} – {number(row['high'])}"
    pair = ["" if row[name] is None else f"{number(row[name])} {row['each']}" for name in ("theirs", "ours")]
    target = "" if row["target"] is None else f"{row['target']} {'✓' if row['met'] else '✗'}"
    median = f"{number(row['figure'])}{unit}"
    return [row["what"], row["size"], row["beside"], median, quartiles, str(row["rounds"]), *pair, target]


def number(value):
    """Three digits that count, never as a power of ten."""
    return f"{value:.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"


def closing(rows):
    """How many targets are met, and which are not."""
    judged = [row for row in rows if row["target"] is not None]
    missed = [f"{row['what']} ({row['size']})" for row in judged if not row["met"]]
    said = f"{len(judged) - len(missed)} of {len(judged)} targets met"
    return f"{said}; missed: {', '.join(missed)}" if missed else said


def markdown(rows):
    """The rows that have a target as a table for the README."""
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{' --- |' * len(HEADINGS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells(row))} |" for row in rows if row["target"] is not None)])

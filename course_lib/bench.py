"""`course bench`: run the measurements of `benchmarks/` and print one table for each.

A benchmark is a file `benchmarks/NAME.py` with a function `main()` that returns its rows: a list of dicts with the
same keys. Its docstring's first line is the title of the table.
"""

import json
import platform
import runpy
import statistics
import time

import torch
from rich.console import Console
from rich.table import Table

from course_lib.authoring.catalogue import repo_root


def found(folder=None):
    """The benchmarks there are: a dict of names and paths."""
    folder = folder or repo_root() / "benchmarks"
    return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}


def machine():
    """This machine in words: it belongs to every number measured on it."""
    gpu = f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""
    return (
        f"{platform.system()} {platform.machine()}, {torch.get_num_threads()} threads{gpu}, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def compare(theirs, ours, pairs, warm_up=5):
    """Two functions timed in turn: the median over `pairs` of their ratio, above 1 where ours is faster, and of each.

    In turn, so that whatever else the machine does meets both alike. On a GPU a time ends when its work has ended.
    """
    for _ in range(warm_up):
        seconds(theirs), seconds(ours)
    times = [(seconds(theirs), seconds(ours)) for _ in range(pairs)]
    return {
        "ratio": statistics.median(their_time / our_time for their_time, our_time in times),
        "torch, ms": 1000 * statistics.median(their_time for their_time, _ in times),
        "ours, ms": 1000 * statistics.median(our_time for _, our_time in times),
    }


def seconds(step):
    """How long a call takes, the work of a GPU included."""
    began = time.perf_counter()
    step()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def main(paths, as_json=False):
    """Run the benchmarks at these paths; print tables or JSON. Returns 0, or 1 where there are none."""
    results = []
    for path in paths:
        module = runpy.run_path(str(path))
        title = (module.get("__doc__") or path.stem).strip().splitlines()[0]
        rows = module["main"]()
        results.append({"name": path.stem, "title": title, "rows": rows})
        if not as_json:
            show(title, rows)
    if as_json:
        print(json.dumps({"machine": machine(), "benchmarks": results}, indent=1, ensure_ascii=False))
    else:
        print(machine() if results else "there are no benchmarks yet")
    return 0 if results else 1


def show(title, rows):
    table = Table(title=title, title_justify="left")
    for column in rows[0] if rows else ():
        table.add_column(str(column))
    for row in rows:
        table.add_row(*(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)

"""Experiments too long for a lesson: `course experiment NAME` makes them again, their results are shipped as JSON."""

import argparse
import json
import platform
from collections.abc import Callable
from importlib import import_module, resources
from pathlib import Path


def _later(module):
    """The module's `main`, imported only when it is called."""

    def run(arguments=()):
        return import_module(f"{__name__}.{module}").main(arguments)

    run.__name__ = module
    return run


def shipped(name):
    """The results of an experiment that the course ships."""
    return json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))


def parser_of(name, description, steps=None, seeds=None):
    """The options of an experiment: --output, and for a grid, whose steps are given, --steps and --seeds."""
    parser = argparse.ArgumentParser(prog=f"course experiment {name}", description=description)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name(f"{name}.json"), help="file to write")
    if steps is not None:
        parser.add_argument("--steps", type=int, default=steps)
        parser.add_argument("--seeds", type=int, nargs="+", default=seeds)
    return parser


def versions():
    """What the results depend on beside the code."""
    from torch import __version__  # here, since the list of experiments needs no torch

    return {"torch": __version__, "python": platform.python_version()}


def save(result, path):
    """Write the results of an experiment, and say where."""
    path.write_text(compact(result), encoding="utf-8")
    print(f"wrote {path}")


def compact(result):
    """A result as JSON with one line a point, so that a change shows in a diff."""
    lines = []
    for key, value in result.items():
        if key in ("spread", "points"):
            rows = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f'"{key}": [\n  {rows}\n ]')
        else:
            lines.append(f'"{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n " + ",\n ".join(lines) + "\n}\n"


EXPERIMENTS: dict[str, Callable] = {
    name: _later(name) for name in ("bottleneck", "minilm", "positions", "real_text", "recall", "warmup")
}

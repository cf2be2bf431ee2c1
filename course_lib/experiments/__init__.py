"""Experiments too long for a lesson: `course experiment NAME` makes them again, their results are shipped as JSON."""

import json
from collections.abc import Callable
from importlib import import_module


def _later(module):
    """The module's `main`, imported only when it is called."""

    def run(arguments=()):
        return import_module(f"{__name__}.{module}").main(arguments)

    run.__name__ = module
    return run


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

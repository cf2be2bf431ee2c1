"""Experiments too long for a lesson: `course experiment NAME` makes them again, their results are shipped as JSON."""

from collections.abc import Callable
from importlib import import_module


def _later(module):
    """The module's `main`, imported only when it is called."""

    def run(arguments=()):
        return import_module(f"{__name__}.{module}").main(arguments)

    run.__name__ = module
    return run


EXPERIMENTS: dict[str, Callable] = {"bottleneck": _later("bottleneck")}

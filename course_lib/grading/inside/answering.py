"""One answer in its own process: run the learner's cells, find the function, serve calls to it."""

import ast
import contextlib
import ctypes
import io
import linecache
import os
import random
import signal
import sys
import time
import traceback
import warnings

import numpy as np
import torch
import torch.fx.experimental.symbolic_shapes  # noqa: F401 (the first gradient would import it, in every process anew)

from course_lib.checking.describe import is_empty
from course_lib.checking.modules import as_function
from course_lib.checking.remote import Peer

from . import verbs
from .definitions import UNREADABLE, defining
from .limits import restrict

CELL_SECONDS, ALL_CELLS_SECONDS = 3.0, 9.0
PROCESSOR_SECONDS = 60  # of one answer in all; the judge's limits in wall time are far below
LAST_ERRORS = 100  # of those of all cells
PR_SET_PDEATHSIG = 1


class CellTooSlow(BaseException):
    """Raised inside a cell that takes too long. Not an Exception, so that `except Exception` cannot swallow it."""


def serve(connection):
    """Answer the judge on this file descriptor until it hangs up; never returns."""
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = _Nowhere()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        restrict(PROCESSOR_SECONDS)
        torch.compile = as_it_is
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(0)  # so that even what draws at random says the same in every run
        random.seed(0)
        np.random.seed(0)
        with os.fdopen(connection, "rb", closefd=False) as reader, os.fdopen(connection, "wb") as writer:
            _Notebook(reader, writer).serve_forever()
    finally:
        os._exit(0)


def as_it_is(model=None, **_):
    """`torch.compile` without compiling: a compiler is a program of its own, which no answer may start."""
    return as_it_is if model is None else model


class _Nowhere(io.TextIOBase):
    """Takes any text and keeps none of it: what is printed costs no time."""

    def write(self, text):
        return len(text)


class _Notebook(Peer):
    """A peer that also answers `open`: it runs a notebook's cells and offers the function that one of them defines."""

    def _answer_open(self, header, values):
        namespace = verbs.notebook_namespace()
        verbs.set_up(values["provided"], namespace)
        instead = {name: verbs.brought(name, source) for name, source in values["instead"].items()}
        errors = run_cells(header["cells"], namespace, instead)[-LAST_ERRORS:]
        switch_back()
        function = namespace.get(header["name"])
        if not callable(function):
            return {"errors": errors, "found": type(function).__name__}, {"function": None, "is_empty": False}
        empty = is_empty(function)
        if header["is_module"] and isinstance(function, type):
            function = as_function(function)
        return {"errors": errors, "found": "function"}, {"function": function, "is_empty": empty}


def run_cells(cells, namespace, instead):
    """Run cells [source, place] one after the other; an error ends its cell alone. Returns [[place, kind, text], ...].

    A cell may take CELL_SECONDS, all of them ALL_CELLS_SECONDS: what is left then is not run. instead: {name: value}
    that stands in the namespace after each cell, so that cells below hold on to it (as a default argument, say).
    """
    errors = []
    end = time.monotonic() + ALL_CELLS_SECONDS
    signal.signal(signal.SIGALRM, _ring)
    for number, (source, place) in enumerate(cells):
        left = min(CELL_SECONDS, end - time.monotonic())
        try:
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001), 0.2)
            _run(source, f"<{place}, run {number}>", namespace)
        except CellTooSlow:
            errors.append([place, "CellTooSlow", f"it took longer than {CELL_SECONDS:g} s"])
        except BaseException as error:  # the cell is the learner's, and may raise or leave by anything
            errors.append([place, type(error).__name__, str(error)[:300]])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            namespace.update(instead)
    return errors


def switch_back(set_device=torch.set_default_device, ignore=warnings.simplefilter):
    """What cells may have switched for the whole process is as a check has it: a try-out is no part of an answer."""
    with contextlib.suppress(Exception):  # a cell may have put anything in the place of what these call
        set_device(None)
        ignore("ignore")


def _run(source, filename, namespace):
    """Run a cell. Raises what it raises, after its definitions below that line.

    A try-out may fail or be cut off only because of where it runs (the lesson's trainings are not run, `await` is not
    known at the top of a cell); a function below it is still an answer's.
    """
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    try:
        exec(compile(source, filename, "exec"), namespace)
    except (Exception, CellTooSlow) as error:
        frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        line = next((line for name, line in frames if name == filename), 0)
        with contextlib.suppress(*UNREADABLE):
            for node in defining(source, below=line):
                with contextlib.suppress(Exception):  # the learner's, as the cell is: one that fails defines nothing
                    exec(compile(ast.Module([node], []), filename, "exec"), namespace)
        raise


def _ring(signum, frame):
    raise CellTooSlow

"""The process on the other side of a remote check: it loads an implementation and serves calls to it.

    python -m course_lib.checking.worker MODULE:FUNCTION

FUNCTION(*description) finds the implementation that the judge asks for.
"""

import os
import subprocess
import sys
from importlib import import_module

import torch
import torch.fx.experimental.symbolic_shapes  # noqa: F401 (the first gradient would import it, within a time limit)

from .describe import is_empty
from .limits import TooSlow
from .modules import as_function
from .remote import Peer, RemoteFunction, WorkerDied


class _Served(Peer):
    """A peer that also answers `load`: it finds an implementation and offers it."""

    def __init__(self, reader, writer, find):
        super().__init__(reader, writer)
        self.find = find

    def _answer_load(self, header, values):
        function = self.find(*values["description"])
        empty = is_empty(function)
        self.offered.clear()
        self.calls.clear()
        return {}, {"function": as_function(function) if header["is_module"] else function, "is_empty": empty}


class Worker:
    """Starts the other process and loads implementations in it; starts it anew after it died or hung."""

    def __init__(self, finder):
        self.finder, self.process, self.peer = finder, None, None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def load(self, *description, is_module=False):
        """A RemoteFunction for the implementation that `finder(*description)` gives in the worker."""
        if self.process is None or self.process.poll() is not None or self.peer.open:
            self._start()
        self.peer.offered.clear()
        _, values = self.peer.ask("load", {"description": list(description)}, is_module=is_module)
        remote = values["function"]
        return _Watched(self, remote.number, remote.__name__, values["is_empty"])

    def stop(self):
        """End the process at once, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def _start(self):
        self.stop()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "course_lib.checking.worker", self.finder],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.peer = Peer(self.process.stdout, self.process.stdin)


class _Watched(RemoteFunction):
    """A remote function whose process is ended when a call does not come back (too slow, interrupted, died)."""

    def __init__(self, worker, number, name, empty):
        super().__init__(worker.peer, number, name, empty)
        self.worker = worker

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except (WorkerDied, BrokenPipeError):
            status = self.worker.process.wait() if self.worker.process else "unknown"
            self.worker.stop()
            raise WorkerDied(f"the process that ran it died (status {status})") from None
        except (TooSlow, KeyboardInterrupt):
            self.worker.stop()
            raise


def main(finder):
    """Serve on the pipes that came as standard input and output; what the code prints goes nowhere."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    module, name = finder.split(":")
    _Served(reader, writer, getattr(import_module(module), name)).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])

"""The process on the other side: how it starts, what it forgets with each answer, and how it ends."""

import io
import os
import sys

import pytest
import torch

from course_lib.checking.remote import Peer, WorkerDied
from course_lib.checking.worker import Worker, _Served, _Watched

from .test_modules import Scorer


def empty(x):
    """Nothing yet."""


def double(x):
    return 2 * x


def apply(function, x):
    return function(x)


def surroundings():
    return [torch.get_num_threads(), sys.stdin.read(), os.getcwd()]


def find(name):
    return globals()[name]


def loaded(peer, name, is_module=False):
    return peer._answer_load({"is_module": is_module}, {"description": [name]})[1]


def test_with_each_answer_it_forgets_the_one_before():
    peer = _Served(io.BytesIO(), io.BytesIO(), find)
    assert loaded(peer, "double") == {"function": double, "is_empty": False}
    peer.offer(double)
    peer.calls[1] = "kept"
    assert loaded(peer, "empty") == {"function": empty, "is_empty": True}
    assert peer.offered == [] and peer.calls == {}


def test_a_class_arrives_as_a_function_and_only_where_that_is_asked():
    peer = _Served(io.BytesIO(), io.BytesIO(), find)
    assert loaded(peer, "Scorer")["function"] is Scorer
    function = loaded(peer, "Scorer", is_module=True)["function"]
    assert function is not Scorer and function.__name__ == "Scorer"


def test_a_worker_starts_with_the_first_answer_and_again_after_it_ended():
    worker = Worker("tests.checking.test_worker:find")
    assert worker.process is None
    worker.stop()
    with worker as same:
        assert same is worker and worker.process is None
        remote = worker.load("double")
        first = worker.process
        assert remote(torch.ones(1)).item() == 2 and remote.__name__ == "double" and remote.is_empty is False
        assert worker.load("empty").is_empty is True and worker.process is first, "one process serves them all"
        assert worker.load("surroundings")() == [1, "", os.getcwd()]
        assert worker.load("apply")(double, torch.ones(1)).item() == 2 and len(worker.peer.offered) == 1
        assert worker.load("double") and worker.peer.offered == [], "nor does this side keep what it offered"
        first.kill()
        first.wait()
        assert worker.load("double")(torch.ones(1)).item() == 2 and worker.process is not first
        second = worker.process
    assert second.poll() is not None and worker.process is None and second.stdin.closed and second.stdout.closed


class Ended:
    """Stands for a process that ended by itself."""

    stdin, stdout = io.BytesIO(), io.BytesIO()

    def wait(self):
        return 9

    def kill(self):
        pass


@pytest.mark.parametrize("process", [Ended(), None], ids=["ended", "stopped before"])
def test_a_call_into_a_process_that_ended_says_its_status_and_stops_it(process):
    worker = Worker("nothing:here")
    worker.process, worker.peer = process, Peer(io.BytesIO(), io.BytesIO())
    status = "unknown" if process is None else "9"
    with pytest.raises(WorkerDied, match=rf"^the process that ran it died \(status {status}\)$"):
        _Watched(worker, 0, "gone", False)()
    assert worker.process is None


def test_an_interrupt_ends_the_process(monkeypatch):
    def interrupt(*given, **named):
        raise KeyboardInterrupt

    worker = Worker("nothing:here")
    worker.process, worker.peer = Ended(), Peer(io.BytesIO(), io.BytesIO())
    monkeypatch.setattr(worker.peer, "ask", interrupt)
    with pytest.raises(KeyboardInterrupt):
        _Watched(worker, 0, "gone", False)()
    assert worker.process is None

"""A function in another process behaves like a local one: values, gradients, callables, changes, failures."""

import os
import signal
import time

import numpy as np
import pytest
import torch

from course_lib import exercises
from course_lib.checking import FAILED, NOT_ATTEMPTED, TOO_SLOW, WRONG, examine
from course_lib.checking.observe import STUB_TEXT
from course_lib.checking.remote import RemoteError
from course_lib.checking.worker import Worker

SOFTMAX = exercises.get("softmax")


def softmax(scores, dim=-1):
    raise NotImplementedError(STUB_TEXT)


def scale_in_place(x):
    x *= 2
    return x * 3


def twice(function, x):
    return function(function(x))


def nested(x, more):
    return {"sum": x + more["y"], "parts": (x * 2, [3, None, "word", True])}


def leaves(scores, dim=-1):
    os._exit(7)


def crashes(scores, dim=-1):
    os.kill(os.getpid(), signal.SIGSEGV)


def sleeps(scores, dim=-1):
    time.sleep(60)


def shouts(scores, dim=-1):
    print("x" * 100_000)
    os.write(1, b"not a protocol")
    return torch.softmax(scores, dim)


def makes_its_own_zeros(scores, dim=-1):
    return torch.softmax(scores, dim) + torch.zeros(1)


def an_array(scores, dim=-1):
    return np.ones(3)


def empty(scores, dim=-1):
    """Nothing yet."""


def find(name):
    return globals()[name]


@pytest.fixture(scope="module")
def worker():
    with Worker("tests.checking.test_remote:find") as running:
        yield running


def test_gradients_pass_through_a_callable_on_this_side(worker):
    """There and back twice: the worker's function calls one of ours. Gradients reach the arguments that crossed."""
    weight = torch.randn(4, 4, dtype=torch.float64)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)

    def layer(h):
        return torch.tanh(h @ weight)

    remote, local = worker.load("twice")(layer, x), layer(layer(x))
    assert torch.equal(remote, local)
    direction = torch.randn_like(local)
    torch.testing.assert_close(torch.autograd.grad(remote, x, direction), torch.autograd.grad(local, x, direction))


def test_a_change_in_place_arrives_on_this_side(worker):
    x = torch.ones(3)
    out = worker.load("scale_in_place")(x)
    assert torch.equal(x, torch.full((3,), 2.0)) and torch.equal(out, torch.full((3,), 6.0))


def test_nested_values_and_every_dtype_cross(worker):
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64):
        out = worker.load("nested")(torch.ones(2, dtype=dtype), {"y": torch.ones(1, dtype=dtype)})
        assert out["sum"].dtype == dtype and out["parts"][1] == [3, None, "word", True]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("softmax", NOT_ATTEMPTED, "still stands there"),
        ("empty", NOT_ATTEMPTED, "still empty"),
        ("an_array", WRONG, "returns a ndarray"),
        ("leaves", FAILED, "died (status 7)"),
        ("crashes", FAILED, "died (status -11)"),
        ("sleeps", TOO_SLOW, "longer than"),
    ],
)
def test_failures_are_told_apart_and_the_next_answer_is_judged(worker, name, status, words):
    outcome = examine(SOFTMAX, worker.load(name), seconds=1.5)
    assert outcome.status == status
    assert words in outcome.message
    assert examine(SOFTMAX, worker.load("shouts")).passed


def test_the_default_dtype_of_this_side_holds_on_the_other(worker):
    """Ordinary code is judged alike: `torch.zeros(1)` is float32 while the law asks for float32, float64 otherwise."""
    assert examine(SOFTMAX, worker.load("makes_its_own_zeros")).passed


def test_an_exception_carries_kind_and_text(worker):
    with pytest.raises(RemoteError, match="TypeError.*argument"):
        worker.load("twice")(1)

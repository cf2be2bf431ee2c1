"""A request that was cut off spoils no later one: its answer, which comes too late, is taken for no other's."""

import sys
import time

import pytest
import torch

from course_lib import exercises
from course_lib.checking import TOO_SLOW, examine
from course_lib.checking.limits import TooSlow, time_limit
from course_lib.checking.worker import Worker


class SlowBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, direction):
        time.sleep(1.5)
        return direction


def softmax(scores, dim=-1):
    return scores.softmax(dim)


def slow_backward(scores, dim=-1):
    return SlowBackward.apply(scores.softmax(dim))


def has_what_the_first_gradient_imports(x):
    return x + ("torch.fx.experimental.symbolic_shapes" in sys.modules)


def find(name):
    return globals()[name]


def test_a_gradient_that_is_too_slow():
    exercise = exercises.get("softmax")
    with Worker("tests.checking.test_remote_cut_off:find") as worker:
        worker.load("softmax")
        assert examine(exercise, worker.load("slow_backward"), seconds=1).status == TOO_SLOW
        assert examine(exercise, worker.load("softmax"), seconds=60).passed


def test_a_process_that_was_cut_off_in_loading():
    with Worker("tests.checking.test_remote_cut_off:find") as worker:
        with pytest.raises(TooSlow), time_limit(0.05):  # it takes longer to import torch
            worker.load("slow_backward")
        scores = torch.tensor([1.0, 2.0])
        torch.testing.assert_close(worker.load("softmax")(scores), scores.softmax(-1))


def test_no_answer_pays_for_what_torch_imports_at_its_first_gradient():
    """Half a second on a fast machine; on a busy one more than a whole check may take."""
    with Worker("tests.checking.test_remote_cut_off:find") as worker:
        assert worker.load("has_what_the_first_gradient_imports")(torch.zeros(())) == 1

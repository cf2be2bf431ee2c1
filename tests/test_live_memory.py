"""Memory is counted: what was made inside and is alive, each storage once."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.live_memory import LiveMemory

from .attention_laws import growth

N = 400  # bytes of 100 floats


def test_what_is_alive_counts_and_what_is_gone_does_not():
    with LiveMemory() as memory:
        x = torch.zeros(100)
        y = x + 1
        assert memory.live == 2 * N
        del x
        assert (memory.live, memory.peak) == (N, 2 * N)
        z = y * 2
        assert (memory.live, memory.peak) == (2 * N, 2 * N)
    del y, z
    assert (memory.live, memory.peak) == (0, 2 * N), "what dies outside is gone as well, and the peak stays"


def test_a_view_shares_what_it_looks_at_and_keeps_it_alive():
    with LiveMemory() as memory:
        x = torch.zeros(10, 10)
        views = [x.T, x[2:3], x.view(-1), x.expand(5, 10, 10), x.detach(), x.unfold(0, 3, 1), x.chunk(2)]
        assert memory.live == N
        del x
        assert memory.live == N
        del views
        assert memory.live == 0


def test_what_was_made_outside_counts_for_nothing():
    x = torch.zeros(100)
    with LiveMemory() as memory:
        x += 1
        x.mul_(2)[3:].relu_()
        torch.add(x, 1, out=x)
        view = x[5:]
        del x
        assert memory.peak == 0
        assert view.sum().item() == 285.0
    assert memory.peak == 4, "the sum alone"


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.tensor([1.0] * 100),
        lambda: torch.zeros(50).resize_(100),
        lambda: torch.add(torch.ones(()), torch.ones(100), out=torch.empty(0)),
        lambda: torch.cat([torch.ones(50)] * 2),
        lambda: torch.ones(100).clone(),
        lambda: torch.empty_like(torch.ones(100)),
        lambda: torch.ones(100).softmax(0),
        lambda: torch.ones(25, dtype=torch.complex128),
        lambda: torch.ones(400, dtype=torch.bool),
        lambda: torch.ones(100, 3).max(dim=1),
        lambda: nn.Parameter(torch.ones(100)),
    ],
    ids=["numbers", "resized", "out", "cat", "clone", "like", "softmax", "complex", "bool", "pair", "parameter"],
)
def test_every_way_to_make_a_tensor(make):
    with LiveMemory() as memory:
        made = make()
        pair = isinstance(made, tuple)
        assert memory.live == (3 * N if pair else N), "a maximum and where it is (int64)"
        del made
        assert memory.live == 0


def test_the_backward_pass_counts_with_what_is_kept_for_it():
    x = torch.zeros(100, requires_grad=True)
    with LiveMemory() as memory:
        y = x.exp()
        z = y.sin()
        assert memory.live == 2 * N
        del y
        assert memory.live == 2 * N, "its numbers are kept for the gradient"
        z.sum().backward()
        del z
        assert memory.live == N, "the gradient alone is left"
    assert memory.peak > 3 * N
    x.grad = None
    assert memory.live == 0
    with LiveMemory() as memory, torch.no_grad():
        y = x.exp().sin()
        assert (memory.live, memory.peak) == (y.nbytes, 2 * N)


def test_a_model_s_peak_is_the_same_each_time():
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    x = torch.randn(5, 8)

    def peak():
        model.zero_grad()
        with LiveMemory() as memory:
            functional.cross_entropy(model(x), torch.tensor([0, 1, 2, 0, 1])).backward()
        return memory.peak

    assert peak() == peak() == peak() > 4 * 16 * 8


def test_one_inside_another_counts_for_itself():
    with LiveMemory() as outer:
        x = torch.zeros(100)
        with LiveMemory() as inner:
            y = x + 1
        assert (outer.live, inner.live) == (2 * N, N)
    del x, y


def test_counting_does_not_load_the_compiler():
    script = """
import sys, torch
from course_lib.live_memory import LiveMemory
with LiveMemory() as memory:
    torch.ones(3) + 1
print(memory.peak, "torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["24", "False"]


def test_an_error_inside_ends_the_counting():
    with pytest.raises(RuntimeError), LiveMemory() as memory:
        torch.ones(2) @ torch.ones(3)
    before = memory.peak
    x = torch.zeros(100)
    assert memory.peak == before and memory.live == 0 and len(x) == 100


def test_textbook_attention_grows_with_the_square_and_the_fused_kernel_with_the_length():
    textbook = growth(lambda *inputs: scaled_dot_product_attention(*inputs, need_weights=True))
    assert all(1.85 < exponent < 2.05 for exponents in textbook for exponent in exponents)
    assert all(exponent < 1.15 for exponents in growth(scaled_dot_product_attention) for exponent in exponents)

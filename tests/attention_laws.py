"""What the tests of several attention functions share: the same value and gradient, any legal shapes, memory by length.

`draw` of `small_attention` makes inputs with equal leading axes; here they broadcast.
"""

import math

import torch
from hypothesis import strategies as st

from course_lib.live_memory import LiveMemory

from .small_attention import draw

LENGTHS = (256, 512, 1024, 2048)
# Leading axes of query, key and value.
LEADING = [
    ((), (), ()),
    ((2,), (2,), (2,)),
    ((2, 3), (2, 3), (2, 3)),
    ((2, 3), (2, 1), (2, 1)),  # one key for all heads
    ((4, 1), (5,), (5,)),
    ((1,), (2, 3), (3,)),
    ((2, 1, 3), (3,), (1, 2, 1)),
]
leadings = st.sampled_from(LEADING)
seeds = st.integers(0, 2**31 - 1)
sizes = st.integers(1, 7)


def draw_broadcast(seed, leading, T, S, Dk=3, Dv=4):
    torch.manual_seed(seed)
    shapes = zip(leading, ((T, Dk), (S, Dk), (S, Dv)), strict=True)
    return [(1.5 * torch.randn(*axes, *shape)).requires_grad_() for axes, shape in shapes]


def assert_nothing_from_the_future(attend, seed, T, S, **tolerance):
    """No value and no gradient: queries are the last T of S tokens. attend: causal, (query, key, value) -> output."""
    query, key, value = draw(seed, (2,), T, S, 3, 4)
    output = attend(query, key, value)
    for t in range(T):
        later = slice(t + S - T + 1, None)
        from_key, from_value = torch.autograd.grad(output[:, t].sum(), [key, value], retain_graph=True)
        assert not from_key[:, later].any() and not from_value[:, later].any()
        spoilt_key, spoilt_value = key.detach().clone(), value.detach().clone()
        spoilt_key[:, later], spoilt_value[:, later] = 1e9, -1e9
        torch.testing.assert_close(attend(query, spoilt_key, spoilt_value)[:, t], output[:, t], **tolerance)


def legal_shape(leading, T, S):
    """A random shape that broadcasts to the scores: leading axes left out, any axis 1. Drawn from torch's generator."""
    full = (*torch.broadcast_shapes(*leading), T, S)
    left_out = int(torch.randint(len(full) + 1, ()))
    return [n if torch.rand(()) < 0.7 else 1 for n in full[left_out:]]


def some_mask(leading, T, S):
    """A random mask of a legal shape; some rows may be empty."""
    return torch.rand(legal_shape(leading, T, S)) < 0.6


def some_bias(leading, T, S):
    """A random bias of a legal shape that wants a gradient; some of it is -inf."""
    bias = torch.randn(legal_shape(leading, T, S))
    return bias.masked_fill(torch.rand_like(bias) < 0.2, -math.inf).requires_grad_()


def assert_same(one, other, inputs):
    """Equal to 1e-10 in value and, in a random direction, in the gradient of every input."""
    torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)
    direction = torch.randn_like(other)
    options = {"allow_unused": True, "materialize_grads": True}
    theirs = torch.autograd.grad(other, inputs, direction, **options)
    for mine, their in zip(torch.autograd.grad(one, inputs, direction, **options), theirs, strict=True):
        torch.testing.assert_close(mine, their, atol=1e-10, rtol=1e-9)


def growth(attention, Dk=8):
    """How memory grows from each length to the next: exponents of a forward pass, and of one with its backward pass.

    2 means with the square of the length.
    """

    def peaks(N):
        query, key, value = (torch.randn(1, 2, N, Dk, requires_grad=True) for _ in range(3))
        with LiveMemory() as memory:
            output, _ = attention(query, key, value)
            forward = memory.peak
            output.backward(torch.ones_like(output))
        return forward, memory.peak

    measured = [peaks(N) for N in LENGTHS]
    pairs = zip(measured, measured[1:], strict=False)
    return [[math.log2(after[i] / before[i]) for i in (0, 1)] for before, after in pairs]

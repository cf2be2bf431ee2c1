"""Kinds of attention, 4 heads of width 64: time and memory of the textbook's, which holds its weights, over each one's.

Fused and tiled compute the same as it; a window and linear attention are other, cheaper things.
"""

import statistics
from functools import partial

import torch

from course_lib import bench
from course_lib.attention import scaled_dot_product_attention
from course_lib.linear_attention import linear_attention
from course_lib.live_memory import LiveMemory
from course_lib.sparse_attention import window_attention
from course_lib.tiled_attention import tiled_attention

H, D, WINDOW = 4, 64, 128
ROUNDS = {256: 60, 1024: 30, 4096: 20}  # by tokens; a round of the longest takes seconds
KINDS = {
    "textbook": partial(scaled_dot_product_attention, need_weights=True),
    "fused": scaled_dot_product_attention,
    "tiled": tiled_attention,
    f"window of {WINDOW}": partial(window_attention, window=WINDOW),
    "linear": linear_attention,
}


def main():
    """One row a length, passes and kind: median of the ratio over rounds in which all run in turn, and median times.

    Above 1 means faster, or smaller, than the textbook's. Memory is the peak of live tensors, counted; what a kernel
    needs within itself is not in it.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [row for N in ROUNDS for backward in (False, True) for row in compare(N, backward, device)]


def compare(N, backward, device):
    """The rows of one length and pass."""
    torch.manual_seed(0)
    query, key, value, direction = (torch.randn(1, H, N, D, device=device) for _ in range(4))
    inputs = [each.requires_grad_(backward) for each in (query, key, value)]

    def step(attention):
        output, _ = attention(*inputs)
        if backward:
            torch.autograd.grad(output, inputs, direction)

    steps = {name: partial(step, attention) for name, attention in KINDS.items()}
    peaks = {name: peak(each) for name, each in steps.items()}  # which warms up, too
    rounds = [{name: bench.seconds(each) for name, each in steps.items()} for _ in range(ROUNDS[N])]
    return [
        {
            "tokens": N,
            "passes": "both" if backward else "forward",
            "attention": name,
            "time ratio": statistics.median(times["textbook"] / times[name] for times in rounds),
            "memory ratio": peaks["textbook"] / peaks[name],
            "ms": 1000 * statistics.median(times[name] for times in rounds),
            "MiB": peaks[name] / 2**20,
        }
        for name in KINDS
    ]


def peak(step):
    with LiveMemory() as memory:
        step()
    return memory.peak

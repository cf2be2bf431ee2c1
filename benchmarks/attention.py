"""Kinds of attention beside the textbook's, which holds its weights, and beside torch's own function."""

from functools import partial

import torch
from torch.nn import functional

from course_lib import bench
from course_lib.attention import scaled_dot_product_attention
from course_lib.linear_attention import linear_attention
from course_lib.sparse_attention import window_attention
from course_lib.tiled_attention import tiled_attention

H, D, WINDOW = 4, 64, 128
PAIRS = {256: 60, 1024: 30}  # by tokens
TEXTBOOK, TORCH = "textbook", "functional.scaled_dot_product_attention"
# Fused and tiled compute the same as the textbook; a window and linear attention are other, cheaper things.
OTHERS = {
    "tiled": tiled_attention,
    f"window of {WINDOW}": partial(window_attention, window=WINDOW),
    "linear": linear_attention,
}


def main(device):
    """Rows of time, forward and with the backward pass, and of memory."""
    textbook = partial(scaled_dot_product_attention, need_weights=True)
    for N, pairs in PAIRS.items():
        torch.manual_seed(0)
        query, key, value, direction = (torch.randn(1, H, N, D, device=device) for _ in range(4))
        inputs = query, key, value
        row = {"size": f"B=1, H={H}, N={N}, D={D}", "device": device}

        def step(attention, backward=True, inputs=inputs, direction=direction):
            output = attention(*(each.requires_grad_(backward) for each in inputs))
            output = output[0] if isinstance(output, tuple) else output
            if backward:
                torch.autograd.grad(output, inputs, direction)

        ours = partial(step, scaled_dot_product_attention)
        for backward, passes in ((False, "forward"), (True, "forward + backward")):
            pair = [partial(step, each, backward=backward) for each in (textbook, scaled_dot_product_attention)]
            yield bench.compare(*pair, what=f"attention: {passes}", beside=TEXTBOOK, pairs=pairs, **row)
        yield bench.compare_memory(*pair, what="attention: memory", beside=TEXTBOOK, **row)
        theirs = partial(step, functional.scaled_dot_product_attention)
        what = "attention: forward + backward"
        target = bench.Target(at_least=0.97)
        yield bench.compare(theirs, ours, what=what, beside=TORCH, pairs=pairs, target=target, **row)
        for name, attention in OTHERS.items() if N > 256 else ():
            pair = partial(step, textbook), partial(step, attention)
            yield bench.compare(*pair, what=f"{name}: forward + backward", beside=TEXTBOOK, pairs=pairs, **row)
            yield bench.compare_memory(*pair, what=f"{name}: memory", beside=TEXTBOOK, **row)

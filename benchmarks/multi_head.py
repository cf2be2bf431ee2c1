"""Multi-head attention beside torch's `nn.MultiheadAttention`, and beside itself with the textbook's attention."""

from functools import partial

import torch

from course_lib import bench
from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import causal_mask, to_hidden
from course_lib.multi_head_attention import MultiHeadAttention

PAIRS = 60
LESSON, BASE = "lesson", "paper's base"
SIZES = {LESSON: (32, 16, 64, 4), BASE: (8, 64, 512, 8)}  # batch, tokens, width, heads
TARGETS = {LESSON: bench.Target(at_least=1.15), BASE: bench.Target(at_least=0.97)}
TORCH, TEXTBOOK = "nn.MultiheadAttention", "textbook attention"


def main(device):
    """Rows of forward, of forward and backward, and of memory.

    Both are asked for no weights, except in the rows that say so. The textbook's attention holds its weights.
    """
    for name, (B, N, D, H) in SIZES.items():
        size = f"{name}: B={B}, N={N}, D={D}, H={H}"
        for use in ("self", "causal", "cross", "self, weights"):
            steps = Steps(B, N, D, H, use, device)
            row = {"size": size, "beside": TORCH, "device": device}
            for passes in ("forward", "forward + backward"):
                what = f"multi-head, {use}: {passes}"
                pair = steps.pair(backward="backward" in passes)
                yield bench.compare(*pair, what=what, pairs=PAIRS, target=TARGETS[name], **row)
            yield bench.compare_memory(*pair, what=f"multi-head, {use}: memory", **row)
        pair = Steps(B, N, D, H, "causal", device).pair(backward=True, textbook=True)
        row = {"size": size, "beside": TEXTBOOK, "device": device}
        yield bench.compare(*pair, what="multi-head, causal: forward + backward", pairs=PAIRS, **row)
        yield bench.compare_memory(*pair, what="multi-head, causal: memory", **row)


class Steps:
    """Our module, torch's with the same weights, and what both work on: they do the same work."""

    def __init__(self, B, N, D, H, use, device):
        torch.manual_seed(0)
        self.ours = MultiHeadAttention(D, H).to(device)
        self.theirs = self.ours.to_torch()
        self.x, self.y, self.direction = (torch.randn(B, N, D, device=device) for _ in range(3))
        self.memory = self.y if use == "cross" else self.x
        self.mask = causal_mask(N, device=device) if use == "causal" else None
        self.weights = use.endswith("weights")

    def pair(self, backward, textbook=False):
        """(their step, our step). textbook: theirs is our module with the attention that holds its weights."""
        self.x.requires_grad_(backward), self.y.requires_grad_(backward)
        theirs = partial(self.of_ours, with_textbook(self.ours)) if textbook else self.of_theirs
        return [partial(step, backward) for step in (theirs, partial(self.of_ours, self.ours))]

    def of_ours(self, module, backward):
        self.finish(module(self.x, self.memory, mask=self.mask, need_weights=self.weights)[0], backward)

    def of_theirs(self, backward):
        hidden = None if self.mask is None else to_hidden(self.mask)
        settings = {"need_weights": self.weights, "average_attn_weights": False}
        self.finish(self.theirs(self.x, self.memory, self.memory, attn_mask=hidden, **settings)[0], backward)

    def finish(self, output, backward):
        if backward:
            output.backward(self.direction)


def with_textbook(module):
    """The same weights, attending as the textbook does."""
    other = MultiHeadAttention.from_torch(module.to_torch(), attention=holding_weights)
    return other.to(module.W_o.weight)


def holding_weights(query, key, value, **options):
    """`scaled_dot_product_attention` by scores, softmax and product."""
    return scaled_dot_product_attention(query, key, value, **{**options, "need_weights": True})

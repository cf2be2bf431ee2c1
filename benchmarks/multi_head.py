"""Multi-head attention, forward and backward: the time of torch's `nn.MultiheadAttention` over ours."""

import torch

from course_lib import bench
from course_lib.masks import causal_mask, to_hidden
from course_lib.multi_head_attention import MultiHeadAttention

PAIRS = 60
SIZES = {"lesson": (32, 16, 64, 4), "paper's base": (8, 64, 512, 8)}  # batch, tokens, width, heads


def main():
    """One row a size and use: median of the ratio over pairs that run in turn, and the median times.

    Above 1 means that ours is faster. Both are asked for no weights, except in the rows that say so.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [
        {"size": f"{name}: B={B}, N={N}, D={D}, H={H}", "use": use, **compare(B, N, D, H, use, device)}
        for name, (B, N, D, H) in SIZES.items()
        for use in ("self", "causal", "cross", "self, weights")
    ]


def compare(B, N, D, H, use, device):
    """One row. The two modules have the same weights, so they do the same work."""
    torch.manual_seed(0)
    ours = MultiHeadAttention(D, H).to(device)
    theirs = ours.to_torch()
    x, y, direction = (torch.randn(B, N, D, device=device) for _ in range(3))
    x.requires_grad_(), y.requires_grad_()
    memory = y if use == "cross" else x
    mask = causal_mask(N, device=device) if use == "causal" else None
    hidden = None if mask is None else to_hidden(mask)
    weights = use.endswith("weights")

    def step_of_ours():
        ours(x, memory, mask=mask, need_weights=weights)[0].backward(direction)

    def step_of_theirs():
        output, _ = theirs(x, memory, memory, attn_mask=hidden, need_weights=weights, average_attn_weights=False)
        output.backward(direction)

    return bench.compare(step_of_theirs, step_of_ours, PAIRS)

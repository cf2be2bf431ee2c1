"""Multi-head attention at sizes that are all different, with what several test files compare it by."""

import torch
from torch import nn

from course_lib.masks import padding_mask
from course_lib.multi_head_attention import MultiHeadAttention

B, T, S, D, H, M = 2, 3, 5, 8, 4, 6  # M: width of a memory unlike the model's
CLOSE = {"atol": 1e-11, "rtol": 1e-9}

# Batch, queries, keys, width, heads: all different, and what coincides elsewhere.
SIZES = {
    "all different": (2, 3, 5, 8, 4),
    "batch = heads": (4, 3, 5, 8, 4),
    "one head": (2, 3, 5, 8, 1),
    "one token": (2, 1, 1, 8, 4),
    "batch 1": (1, 4, 4, 6, 3),
    "all equal": (4, 4, 4, 16, 4),
}


def make(d_model=D, num_heads=H, **options):
    """A module in which no weight is zero, biases included."""
    torch.manual_seed(1)
    module = MultiHeadAttention(d_model, num_heads, **options)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def lengths_mask(batch, keys):
    """(B, 1, S): the first row is full, each further one a token shorter, at least one token."""
    lengths = (keys - torch.arange(batch)).clamp(min=1)
    return padding_mask((torch.arange(keys) < lengths[:, None]).long(), 0)


def gradients(results, inputs):
    """Of a random projection of all results."""
    generator = torch.Generator().manual_seed(7)
    total = sum((r * torch.randn(r.shape, generator=generator, dtype=r.dtype)).sum() for r in results)
    return torch.autograd.grad(total, inputs)

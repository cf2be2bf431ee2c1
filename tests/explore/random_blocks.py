"""Encoder blocks, vectors and states of the X-ray, for its tests."""

import numpy as np
import torch

from course_lib.blocks import Encoder
from course_lib.explore.block_stages import EVERY

S, D, D_FF = 5, 12, 28


def encoder(count=3, seed=0, **options):
    """An encoder whose norms and biases are random, too."""
    torch.manual_seed(seed)
    made = Encoder(D, 3, D_FF, count, **options).double()
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def vectors(count=S, seed=1):
    return torch.randn(count, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def states(made, count=64, seed=0):
    """All 32 states, each with blocks, tokens and languages by chance."""
    drawn = np.random.default_rng(seed)
    for at in range(count):
        state = dict(zip(("attention", "feed_forward", "shortcuts", "norms"), EVERY[at % 32][:4], strict=True))
        state["order"] = "pre" if EVERY[at % 32].norm_first else "post"
        state |= {"block": 1 + int(drawn.integers(len(made.d_ff))), "token": int(drawn.integers(len(made.tokens)))}
        yield state | {"lang": ("en", "ko")[at % 2]}


def apply(made, state):
    for name, value in state.items():
        setattr(made, name, value)

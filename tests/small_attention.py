"""Inputs of scaled dot-product attention for the tests."""

import torch


def draw(seed, leading, T, S, Dk, Dv):
    torch.manual_seed(seed)
    shapes = (*leading, T, Dk), (*leading, S, Dk), (*leading, S, Dv)
    return [(1.5 * torch.randn(shape)).requires_grad_() for shape in shapes]

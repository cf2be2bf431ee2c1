"""Masks that exercises of several lessons draw for their cases. True = may attend; no head axis."""

import torch


def all_shown(T, S):
    return torch.ones(T, S, dtype=torch.bool)


def up_to(S, *lengths):
    """Padding: every query sees the first `length` keys of its row of the batch. (B, 1, S)"""
    return (torch.arange(S) < torch.tensor(lengths)[:, None]).unsqueeze(1)


def patchy(B, T, S):
    """Another mask for each query: every row and every column hides something and shows something. (B, T, S)"""
    place = torch.arange(B)[:, None, None] + torch.arange(T)[:, None] + torch.arange(S)
    return place % 3 != 0

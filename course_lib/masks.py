"""Masks: which query may look at which key. Boolean, True = may attend, broadcastable to (..., T, S)."""

import torch


def padding_mask(ids, pad):
    """Which positions hold a real token. ids: (B, S) int. Returns (B, 1, S) bool: one row for all queries."""
    if ids.dim() != 2:
        raise ValueError(f"ids: expected (B, S), got shape {tuple(ids.shape)}")
    return (ids != pad).unsqueeze(1)  # (B, 1, S)


def causal_mask(T, S=None, *, device=None):
    """Query t may see the keys that are not after it. Returns (T, S) bool.

    Aligned bottom-right: the last query sees all S keys, so with a cache of S - T earlier keys new queries see them
    all (torch's `is_causal` is aligned top-left; the two agree where T = S). S: T unless given.
    """
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def require_bool(mask, name="mask"):
    """Raise TypeError unless `mask` is a boolean tensor; the message tells the three conventions of the field apart."""
    if isinstance(mask, torch.Tensor) and mask.dtype == torch.bool:
        return
    came = f"a tensor of {mask.dtype}" if isinstance(mask, torch.Tensor) else f"a {type(mask).__name__}"
    raise TypeError(
        f"{name}: expected a boolean tensor with True = may attend, got {came}. Masks come in three conventions: "
        "(1) bool, True = may attend: ours and torch's scaled_dot_product_attention; "
        "(2) bool, True = hidden: torch's nn.MultiheadAttention and nn.Transformer, convert with ~mask; "
        "(3) additive float, 0 = may attend and -inf = hidden: convert with mask == 0. "
        "A 0/1 mask does not say which of them it means: if 1 = may attend, convert with mask.bool()."
    )

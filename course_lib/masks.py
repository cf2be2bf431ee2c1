"""Masks: which query may look at which key. Boolean, True = may attend, broadcastable to (..., T, S).

The field has three conventions. `to_` and `from_` lead to the other two and back:

| convention | may attend | hidden | who takes it |
| --- | --- | --- | --- |
| boolean, ours | True | False | torch's functional `scaled_dot_product_attention` |
| hidden | False | True | torch's `nn.MultiheadAttention` and `nn.Transformer*` |
| additive | 0.0 | -inf | both of them, as a float mask |
"""

import math

import torch

HIDDEN_BELOW = -1e4  # the largest of the numbers that people write for minus infinity


def padding_mask(ids, pad):
    """Which positions hold a real token. ids: (B, S) int. Returns (B, 1, S) bool, True = real: one row for all queries.

    pad: the id of padding. Raises ValueError for ids of another number of axes.

    >>> padding_mask(torch.tensor([[5, 6, 0]]), pad=0)
    tensor([[[ True,  True, False]]])
    """
    if ids.dim() != 2:
        raise ValueError(f"ids: expected (B, S), got shape {tuple(ids.shape)}")
    return (ids != pad).unsqueeze(1)  # (B, 1, S)


def causal_mask(T, S=None, *, device=None):
    """Query t may see the keys that are not after it (Vaswani et al. 2017, section 3.2.3). Returns (T, S) bool.

    Aligned bottom-right: the last query sees all S keys, so with a cache of S - T earlier keys new queries see them
    all (torch's `is_causal` is aligned top-left; the two agree where T = S). S: T unless given.

    >>> causal_mask(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    S = T if S is None else S
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)


def sliding_window_mask(T, S=None, *, window, device=None):
    """Query t may see itself and the keys before it, `window` in all (Beltagy et al. 2020, section 3.1).

    Aligned bottom-right like `causal_mask`, which it is where window ≥ S. Returns (T, S) bool. S: T unless given.
    Raises ValueError for a window below 1.

    >>> sliding_window_mask(3, window=2)
    tensor([[ True, False, False],
            [ True,  True, False],
            [False,  True,  True]])
    """
    if window < 1:
        raise ValueError(f"window: expected at least 1, a query's own key, got {window}")
    S = T if S is None else S
    return causal_mask(T, S, device=device).triu(S - T - window + 1)


def block_mask(blocks, block_size, T, S=None):
    """Query t may see key s where blocks[t // block_size, s // block_size] is True (Child et al. 2019, section 5.5).

    blocks: (⌈T / block_size⌉, ⌈S / block_size⌉) bool; the last blocks may be cut off. Returns (T, S) bool.
    S: T unless given. Raises TypeError and ValueError as `require_blocks` does.

    >>> block_mask(torch.tensor([[True, False], [True, True]]), 2, T=3)
    tensor([[ True,  True, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    S = T if S is None else S
    require_blocks(blocks, block_size, T, S)
    return blocks.repeat_interleave(block_size, dim=0).repeat_interleave(block_size, dim=1)[:T, :S]


def require_blocks(blocks, block_size, T, S):
    """Raise unless `blocks` says of each block of queries and of keys whether they meet.

    blocks: (⌈T / block_size⌉, ⌈S / block_size⌉) bool. Raises TypeError where it is not boolean, ValueError for another
    shape and for a block_size below 1.

    >>> require_blocks(torch.ones(2, 2, dtype=torch.bool), block_size=2, T=3, S=4)  # says nothing: it fits
    >>> require_blocks(torch.ones(2, 2, dtype=torch.bool), block_size=0, T=3, S=4)
    Traceback (most recent call last):
    ValueError: block_size: expected at least 1 token, got 0
    """
    require_bool(blocks, "blocks")
    if block_size < 1:
        raise ValueError(f"block_size: expected at least 1 token, got {block_size}")
    wanted = (-(-T // block_size), -(-S // block_size))
    if blocks.shape != wanted:
        raise ValueError(
            f"blocks: expected {wanted}, since {T} queries and {S} keys in blocks of {block_size} are so many, got "
            f"{tuple(blocks.shape)}"
        )


def require_bool(mask, name="mask"):
    """Raise TypeError unless `mask` is a boolean tensor; the message tells the three conventions of the field apart.

    mask: of any shape, (...). name: the argument, as the message calls it.

    >>> require_bool(torch.tensor([1, 0]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    TypeError: mask: expected a boolean tensor with True = may attend, got a tensor of torch.int64. ...
    """
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


def combine_masks(*masks):
    """Allowed only where every mask allows it. None stands for "everything allowed"; None if all are None.

    masks: bool, each broadcastable to (..., T, S). Returns their broadcast shape.
    Raises TypeError for one that is not boolean, ValueError where they do not broadcast together.

    >>> combine_masks(padding_mask(torch.tensor([[5, 6, 0]]), pad=0), None, causal_mask(3))
    tensor([[[ True, False, False],
             [ True,  True, False],
             [ True,  True, False]]])
    """
    combined = None
    for at, mask in enumerate(masks):
        if mask is None:
            continue
        require_bool(mask, f"masks[{at}]")
        try:
            combined = mask if combined is None else combined & mask
        except RuntimeError:
            raise ValueError(
                f"masks[{at}]: its shape {tuple(mask.shape)} does not broadcast with {tuple(combined.shape)}, the "
                "masks before it. Do all of them end in (T, S)?"
            ) from None
    return combined


def if_it_hides(mask):
    """The mask, or None where it hides nothing, which spares each layer a look at it. mask: bool (...).

    On a GPU, and while a model is compiled, it is the mask always: to look would be to wait.

    >>> if_it_hides(torch.tensor([True, True])) is None, if_it_hides(torch.tensor([True, False])).tolist()
    (True, [True, False])
    """
    looks = mask.device.type == "cpu" and not torch.compiler.is_compiling()
    return None if looks and mask.all() else mask


def to_additive(mask, dtype=torch.float32):
    """0.0 where `mask` allows, -inf where it hides: what is added to the scores before the softmax.

    mask: bool (...). Returns the same shape in `dtype`. Raises TypeError for a mask that is not boolean.

    >>> to_additive(torch.tensor([True, False])).tolist()
    [0.0, -inf]
    """
    require_bool(mask)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -math.inf)


def from_additive(mask):
    """The boolean mask of an additive one. mask: floats (...), 0 = may attend, -inf or -10,000 and less = hidden.

    Returns bool (...), True = may attend.
    Raises TypeError for anything but floats, ValueError where a number is neither (it is a bias, or a 0/1 mask).

    >>> from_additive(torch.tensor([0.0, -math.inf, -1e9])).tolist()
    [True, False, False]
    """
    if not (isinstance(mask, torch.Tensor) and mask.is_floating_point()):
        came = f"a tensor of {mask.dtype}" if isinstance(mask, torch.Tensor) else f"a {type(mask).__name__}"
        raise TypeError(f"mask: expected an additive mask of floats, 0 = may attend and -inf = hidden, got {came}")
    allowed, hidden = mask == 0, mask <= HIDDEN_BELOW
    if not (allowed | hidden).all():
        other = mask[~(allowed | hidden)].flatten()[0].item()
        meant = (
            "A mask of 0 and 1 does not say which of them hides: write mask.bool() if 1 = may attend, ~mask.bool() if "
            "1 = hidden."
            if other == 1
            else "Numbers in between belong into `bias`, which is added to the scores."
        )
        raise ValueError(f"mask: expected 0 or -inf everywhere, found {other:g}. {meant}")
    return allowed


def to_hidden(mask):
    """True = hidden, as torch's `nn.MultiheadAttention` and `nn.Transformer*` want it.

    mask: bool (...), True = may attend. Returns the same shape. Raises TypeError for a mask that is not boolean.

    >>> to_hidden(torch.tensor([True, False])).tolist()
    [False, True]
    """
    require_bool(mask)
    return ~mask


def from_hidden(mask):
    """The boolean mask, True = may attend, of one with True = hidden. Undoes `to_hidden`.

    mask: bool (...). Returns the same shape. Raises TypeError for a mask that is not boolean.

    >>> from_hidden(to_hidden(torch.tensor([True, False]))).tolist()
    [True, False]
    """
    require_bool(mask)
    return ~mask

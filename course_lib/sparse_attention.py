"""Attention to a part of the keys, chosen beforehand: near ones, or blocks. What is hidden is never computed.

Each equals `scaled_dot_product_attention` under a mask that need not be made: `masks.sliding_window_mask`, or
`masks.block_mask`.
"""

import torch
from torch.nn import functional

from course_lib.attention import fitting, scaled_dot_product_attention, scores_shape
from course_lib.masks import combine_masks, require_blocks


def window_attention(query, key, value, *, window, mask=None, bias=None, dropout=0.0, need_weights=False):
    """Each query sees itself and the keys before it, `window` in all (Beltagy et al. 2020, section 3.1).

    Time and memory grow with T · window. Aligned bottom-right: the last of T queries stands at the last of S keys.
    query (..., T, Dk), key (..., S, Dk), value (..., S, Dv), mask (True = may attend), bias, dropout: as in
    `scaled_dot_product_attention`. need_weights: refused unless False.
    Returns (output (..., T, Dv), None), in the query's dtype.
    Raises ValueError for shapes that do not fit and for what it cannot do, TypeError for a mask that is not boolean.

    >>> same, value = torch.zeros(3, 2), torch.tensor([[2.0], [4.0], [8.0]])  # all keys weigh alike
    >>> window_attention(same, same, value, window=2)[0].tolist()
    [[2.0], [3.0], [6.0]]
    """
    _refuse_weights(need_weights)
    if window < 1:
        raise ValueError(f"window: expected at least 1, a query's own key, got {window}")
    shape, _ = scores_shape(query, key, value)
    mask, bias = fitting(mask, "mask", shape), fitting(bias, "bias", shape)
    *leading, T, S = shape
    if 0 in (T, S):
        return scaled_dot_product_attention(query, key, value)
    # Queries go in n chunks as long as the window: what a chunk sees is less than two of them.
    size, n, own = min(window, T), -(-T // min(window, T)), S - T
    rows = torch.arange(n * size, device=query.device).view(n, size, 1)
    columns = rows[:, :1] + own + torch.arange(1 - min(window, S), size, device=query.device)  # (n, 1, N)
    distance = rows + own - columns  # (n, size, N), how far back a key lies
    seen = (distance >= 0) & (distance < window) & (columns >= 0)
    query = functional.pad(query, (0, 0, 0, n * size - T)).unflatten(-2, (n, size))  # (..., n, size, Dk)
    near = columns.clamp(0, S - 1).flatten()
    key, value = (each.index_select(-2, near).unflatten(-2, (n, -1)) for each in (key, value))  # (..., n, N, Dk or Dv)
    output, _ = scaled_dot_product_attention(
        *(_fold(each, leading) for each in (query, key, value)),
        mask=_fold(combine_masks(seen, _pick(mask, rows, columns)), leading),
        bias=_fold(_pick(bias, rows, columns), leading),
        dropout=dropout,
    )
    output = output.unflatten(0, (*leading[:-1], n)).movedim(-4, -3)  # (B·n, H, size, Dv) to (B, H, n, size, Dv)
    return output.flatten(-3, -2)[..., :T, :].reshape(*leading, T, -1), None


def block_sparse_attention(
    query, key, value, *, blocks, block_size, mask=None, bias=None, dropout=0.0, need_weights=False, causal=False
):
    """Each block of queries sees the blocks of keys that `blocks` allows (Child et al. 2019; Zaheer et al. 2020).

    blocks: (⌈T / block_size⌉, ⌈S / block_size⌉) bool, True = may attend; the last blocks may be cut off. Time and
    memory grow with the number of allowed blocks. Which ones to allow is the pattern: near ones, some for all, chance.
    causal: hides what `masks.causal_mask(T, S)` hides besides, without that mask.
    query (..., T, Dk), key (..., S, Dk), value (..., S, Dv), mask (True = may attend), bias, dropout: as in
    `scaled_dot_product_attention`. need_weights: refused unless False.
    Returns (output (..., T, Dv), None), in the query's dtype.
    Raises ValueError for shapes that do not fit and for what it cannot do, TypeError for a mask that is not boolean.

    >>> same, value = torch.zeros(4, 2), torch.tensor([[2.0], [4.0], [8.0], [2.0]])  # all keys weigh alike
    >>> blocks = torch.tensor([[True, False], [False, True]])
    >>> block_sparse_attention(same, same, value, blocks=blocks, block_size=2)[0].tolist()
    [[3.0], [3.0], [5.0], [5.0]]
    """
    _refuse_weights(need_weights)
    shape, _ = scores_shape(query, key, value)
    T, S = shape[-2:]
    require_blocks(blocks, block_size, T, S)
    mask, bias = fitting(mask, "mask", shape), fitting(bias, "bias", shape)
    if 0 in (T, S):
        return scaled_dot_product_attention(query, key, value)
    # Cut all at once: the gradient of a split is one tensor, that of many slices is as many tensors of full length.
    keys, values = key.split(block_size, dim=-2), value.split(block_size, dim=-2)
    rows, columns = (torch.arange(N, device=query.device).split(block_size) for N in (T, S))
    masks, biases = (_by_rows(each, block_size, len(rows)) for each in (mask, bias))
    outputs = []
    for at, (queries, allowed) in enumerate(zip(query.split(block_size, dim=-2), blocks.tolist(), strict=True)):
        last = at * block_size + queries.shape[-2] - 1 + S - T  # the key of this block's last query
        chosen = [j for j, yes in enumerate(allowed) if yes and not (causal and j * block_size > last)]
        near = _join(columns, chosen, dim=0)  # (N,)
        seen = _of_columns(masks[at], near)
        if causal:
            seen = combine_masks(seen, near <= rows[at].unsqueeze(-1) + S - T)
        output, _ = scaled_dot_product_attention(
            queries,
            _join(keys, chosen, dim=-2),
            _join(values, chosen, dim=-2),
            mask=seen,
            bias=_of_columns(biases[at], near),
            dropout=dropout,
        )
        outputs.append(output)
    return torch.cat(outputs, dim=-2), None


def _refuse_weights(need_weights):
    if need_weights:
        raise ValueError(
            "need_weights: most of the (T, S) weights are never computed here, so there are none to return; "
            "scaled_dot_product_attention(..., need_weights=True) returns them, under the mask that hides the same"
        )


def _pick(each, rows, columns):
    """Entries of a mask or bias at rows (n, size, 1) and columns (n, 1, N): (..., n, size, N); beyond its ends, any."""
    if each is None:
        return None
    return each[..., rows.clamp(max=each.shape[-2] - 1), columns.clamp(0, each.shape[-1] - 1)]


def _fold(each, leading):
    """Chunks (..., H or 1, n, X, Y) as (B·n, H or 1, X, Y): torch's kernel that holds no weights takes four axes.

    H is the last of the leading axes (1 where there is none), B all before it.
    """
    if each is None:
        return None
    heads = each.shape[-4] if each.dim() > 3 else 1
    each = each.expand(*leading[:-1], heads, *each.shape[-3:])
    return each.movedim(-3, -4).flatten(0, -4)


def _by_rows(each, block_size, number):
    """A mask or bias (..., T or 1, S or 1) cut into one for each block of queries."""
    return [each] * number if each is None or each.shape[-2] == 1 else each.split(block_size, dim=-2)


def _of_columns(each, columns):
    """These columns of a mask or bias (..., T or 1, S or 1); an axis of 1 stands for all of them."""
    return each if each is None or each.shape[-1] == 1 else each.index_select(-1, columns)


def _join(pieces, chosen, dim):
    """The chosen pieces one after another; without any, a tensor of length 0."""
    return torch.cat([pieces[j] for j in chosen] or [pieces[0].narrow(dim, 0, 0)], dim=dim)

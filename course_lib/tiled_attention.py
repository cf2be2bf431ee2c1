"""Exact attention that never holds the (T, S) matrix: memory grows with the length, not with its square.

A softmax can be taken a tile of keys at a time (Milakov and Gimelshein 2018), and the output with it (Rabe and Staats
2021). With tiles of queries as well, and a backward pass that computes each tile's weights once more instead of keeping
them, the gradient needs no matrix either (FlashAttention, Dao et al. 2022). Here it is in plain torch;
`functional.scaled_dot_product_attention` is the kernel.
"""

import math

import torch
from torch.autograd.function import once_differentiable

from course_lib.attention import fitting, scaled_dot_score, scores_shape


def online_softmax(state, scores, value):
    """Take a further tile of keys into a softmax that has already begun (Rabe and Staats 2021, section 2).

    state: of the keys so far, (maximum (..., T, 1), total (..., T, 1), output (..., T, Dv)): each query's largest
    score, its sum of exp(score - maximum), and the values added up with exp(score - maximum) as weights. Before the
    first key they are -inf, 0 and 0; after the last one output / total is attention's.
    scores: (..., T, N), of the next N keys; -inf = hidden. value: (..., N, Dv). Returns the state after these keys.

    >>> state = torch.full((1, 1), -math.inf), torch.zeros(1, 1), torch.zeros(1, 1)
    >>> state = online_softmax(state, torch.zeros(1, 3), torch.tensor([[1.0], [2.0], [3.0]]))
    >>> maximum, total, output = online_softmax(state, torch.zeros(1, 1), torch.tensor([[6.0]]))
    >>> (output / total).item()  # the mean of all four
    3.0
    """
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))  # (..., T, 1)
    shift = higher.masked_fill(higher == -math.inf, 0.0)  # -inf - -inf is no number
    kept = torch.exp(maximum - shift)  # (..., T, 1)
    weights = torch.exp(scores - shift)  # (..., T, N)
    return higher, total * kept + weights.sum(dim=-1, keepdim=True), output * kept + weights @ value


def tiled_attention(
    query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False, causal=False, tile=128
):
    """`scaled_dot_product_attention` in value and gradient, holding one tile of scores at a time.

    query (..., T, Dk), key (..., S, Dk), value (..., S, Dv), mask (True = may attend), bias: as there. What the caller
    holds stays as small as it is: a (B, 1, S) mask is cut, never expanded. dropout, need_weights: refused.
    causal: hides what `masks.causal_mask(T, S)` hides, without that mask; tiles that are hidden altogether are skipped.
    tile: how many queries, and how many keys, make a tile. It changes nothing but time and memory.
    Half precision is computed in float32. Gradients of gradients are not supported.
    Returns (output (..., T, Dv), None), in the query's dtype.
    Raises ValueError for shapes that do not fit and for what it cannot do, TypeError for a mask that is not boolean.

    >>> query, key, value = torch.randn(3, 2, 5, 4)
    >>> outputs = [tiled_attention(query, key, value, causal=True, tile=tile)[0] for tile in (1, 2, 5)]
    >>> all(torch.allclose(outputs[0], each, atol=1e-5) for each in outputs)
    True
    >>> torch.allclose(outputs[0][:, 0], value[:, 0])  # the first query sees the first key alone
    True
    """
    if need_weights:
        raise ValueError(
            "need_weights: the (T, S) weights are what is never held here, so there are none to return; "
            "scaled_dot_product_attention(..., need_weights=True) returns them"
        )
    if dropout > 0.0:
        raise ValueError(
            f"dropout: got {dropout}, but the weights are computed twice, for the output and for the gradient, and "
            "chance would drop others the second time; pass 0, or take scaled_dot_product_attention"
        )
    if tile < 1:
        raise ValueError(f"tile: expected at least 1 query and key, got {tile}")
    shape, _ = scores_shape(query, key, value)
    mask, bias = (_with_both_axes(each, name, shape) for each, name in ((mask, "mask"), (bias, "bias")))
    with torch.autocast(query.device.type, enabled=False):  # or both passes would not compute the same weights
        return _Tiles.apply(query, key, value, bias, mask, causal, tile), None


class _Tiles(torch.autograd.Function):
    """Both passes, tile by tile. Kept in between, beside what came in: the output and one number a query."""

    @staticmethod
    def forward(ctx, query, key, value, bias, mask, causal, tile):
        (*leading, T, _), _ = scores_shape(query, key, value)
        output = query.new_empty(*leading, T, value.shape[-1])
        # The logarithm of each query's Σ exp(score): exp(score - this) is a weight, without another sum.
        log_total = query.new_empty(*leading, T, 1, dtype=_at_least_single(query))
        for rows in _tiles(T, tile):
            maximum = log_total.new_full((*leading, rows.stop - rows.start, 1), -math.inf)
            state = maximum, torch.zeros_like(maximum), _zeros(output[..., rows, :])
            for columns, scores in _score_tiles(query, key, bias, mask, causal, tile, rows):
                state = online_softmax(state, scores, _accurate(value[..., columns, :]))
            maximum, total, weighted = state
            empty = total == 0
            output[..., rows, :] = weighted / total.masked_fill(empty, 1.0)
            # A query without any key has only scores of -inf; any finite number makes weights of 0 of them.
            log_total[..., rows, :] = (maximum + total.log()).masked_fill(empty, 0.0)
        ctx.save_for_backward(query, key, value, bias, mask, output, log_total)
        ctx.causal, ctx.tile = causal, tile
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, direction):
        """Dao et al. 2022, appendix B.4: with P the weights and dP = dO V^T, dS = P ∘ (dP - rowsum(dO ∘ O))."""
        query, key, value, bias, mask, output, log_total = ctx.saved_tensors
        inputs = query, key, value, bias if ctx.needs_input_grad[3] else None
        d_query, d_key, d_value, d_bias = gradients = [None if each is None else _zeros(each) for each in inputs]
        scale = 1 / math.sqrt(query.shape[-1])
        for rows in _tiles(query.shape[-2], ctx.tile):
            d_output = _accurate(direction[..., rows, :])  # (..., t, Dv)
            mean = (d_output * output[..., rows, :]).sum(dim=-1, keepdim=True)  # (..., t, 1)
            for columns, scores in _score_tiles(query, key, bias, mask, ctx.causal, ctx.tile, rows):
                weights = torch.exp(scores - log_total[..., rows, :])  # (..., t, s)
                d_scores = weights * (d_output @ _accurate(value[..., columns, :]).mT - mean)  # (..., t, s)
                _add(d_value[..., columns, :], weights.mT @ d_output)
                _add(d_query[..., rows, :], d_scores @ _accurate(key[..., columns, :]) * scale)
                _add(d_key[..., columns, :], d_scores.mT @ _accurate(query[..., rows, :]) * scale)
                if d_bias is not None:
                    _add(_cut(d_bias, rows, columns), d_scores)
        return *gradients, None, None, None  # torch brings each to its input's dtype


def _score_tiles(query, key, bias, mask, causal, tile, rows):
    """(columns, scores (..., t, s)) for each tile of keys that these rows of queries may see; -inf = hidden."""
    S = key.shape[-2]
    past = S - query.shape[-2]  # how many keys stand before the first query's own
    for columns in _tiles(min(S, rows.stop + past) if causal else S, tile):
        scores = scaled_dot_score(query[..., rows, :], key[..., columns, :])
        if bias is not None:
            scores = scores + _cut(bias, rows, columns).to(scores.dtype)
        if mask is not None:
            scores = scores.masked_fill(~_cut(mask, rows, columns), -math.inf)
        if causal and columns.stop > rows.start + past + 1:
            seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
            scores = scores.masked_fill(~seen.tril(rows.start + past - columns.start), -math.inf)
        yield columns, scores


def _tiles(number, size):
    """Slices of `size`, the last one maybe smaller, that make up the first `number` of an axis."""
    return [slice(start, min(start + size, number)) for start in range(0, number, size)]


def _cut(each, rows, columns):
    """What a mask or bias (..., T or 1, S or 1) says of these rows and columns; an axis of 1 says it of all."""
    each = each if each.shape[-2] == 1 else each[..., rows, :]
    return each if each.shape[-1] == 1 else each[..., columns]


def _with_both_axes(each, name, shape):
    """The mask or bias, checked, as (..., T or 1, S or 1)."""
    return None if fitting(each, name, shape) is None else torch.atleast_2d(each)


def _add(into, part):
    """Add in place, after a sum over the axes that `into` was broadcast over."""
    into += part.sum_to_size(into.shape)


def _accurate(x):
    return x.to(_at_least_single(x))


def _zeros(like):
    return torch.zeros_like(like, dtype=_at_least_single(like))


def _at_least_single(x):
    """The dtype to add up in: float32 for half precision."""
    return torch.promote_types(x.dtype, torch.float32)

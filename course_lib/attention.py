"""Attention as free functions: scores, weights, context. Everything takes any leading batch axes.

query (..., T, Dq), key (..., S, Dk), value (..., S, Dv); scores and weights (..., T, S): rows are queries, columns are
keys. A mask is boolean, True = may attend, broadcastable to (..., T, S).
"""

import math

import torch
from torch.nn import functional

from course_lib.masks import combine_masks, require_bool


def additive_score(query, key, W_q, W_k, v):
    """v^T tanh(W_q q + W_k k) for every pair (Bahdanau et al. 2015). W_q: (Dq, A). W_k: (Dk, A). v: (A,).

    Returns (..., T, S). It holds (..., T, S, A) numbers for a moment: that is its price.
    """
    return compare_features(query @ W_q, key @ W_k, v)


def compare_features(query_features, key_features, v):
    """The additive score of a query and keys that are projected already: the keys' features serve all steps.

    query_features: (..., T, A). key_features: (..., S, A). v: (A,). Returns (..., T, S).
    """
    return torch.tanh(query_features.unsqueeze(-2) + key_features.unsqueeze(-3)) @ v  # (..., T, S, A) @ (A,)


def dot_score(query, key):
    """q · k for every pair (Luong et al. 2015). Both are equally wide. Returns (..., T, S)."""
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"dot_score: query and key must be equally wide, got {query.shape[-1]} and {key.shape[-1]}; "
            "general_score takes a matrix between them"
        )
    return query @ key.mT


def general_score(query, key, W):
    """q W k for every pair (Luong et al. 2015). W: (Dq, Dk). Returns (..., T, S)."""
    return query @ W @ key.mT


def concat_score(query, key, W, v):
    """v^T tanh([q; k] W) for every pair (Luong et al. 2015). W: (Dq + Dk, A). v: (A,). Returns (..., T, S).

    It is the additive score with its two matrices stacked.
    """
    W_q, W_k = W.split([query.shape[-1], key.shape[-1]])
    return additive_score(query, key, W_q, W_k, v)


def masked_softmax(scores, mask=None):
    """Weights over the last axis among the allowed positions, 0 elsewhere; a row without any gets 0 everywhere.

    scores: (..., T, S). mask: bool, True = may attend; None allows everything. Gradients stay finite in every row.
    Raises TypeError for a mask that is not boolean.
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    require_bool(mask)
    # A finite fill keeps rows without any key free of NaN, in value and gradient; the mask then takes them to 0.
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(filled, dim=-1).masked_fill(~mask, 0.0)


def context_vector(weights, value):
    """The weighted mean of the values. weights: (..., T, S). value: (..., S, Dv). Returns (..., T, Dv)."""
    return weights @ value


def scaled_dot_score(query, key):
    """q · k / √Dk for every pair (Vaswani et al. 2017, eq. 1). Returns (..., T, S).

    Dk is the width of the query that comes in, which is one head's. Half precision is computed in float32: a sum of
    products may exceed float16's largest number even where the scaled score does not.
    """
    if query.dtype in (torch.float16, torch.bfloat16):
        query, key = query.float(), key.float()
    (*leading, T, D), S = query.shape, key.shape[-2]
    scale = 1 / math.sqrt(D)
    if key.shape != (*leading, S, D):
        return dot_score(query, key) * scale
    # One kernel multiplies and scales, which saves a pass over the scores in each direction.
    B, nothing = math.prod(leading), query.new_zeros(())
    scores = torch.baddbmm(nothing, query.reshape(B, T, D), key.reshape(B, S, D).mT, beta=0, alpha=scale)  # (B, T, S)
    return scores.view(*leading, T, S)


def scaled_dot_product_attention(query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False):
    """softmax(Q K^T / √Dk + bias) V over the allowed keys (Vaswani et al. 2017, eq. 1).

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv); leading axes broadcast.
    mask: bool, True = may attend, broadcastable to (..., T, S). A query without any allowed key gets weights and output
    0, with finite gradients. bias: floats added to the scaled scores, broadcastable to (..., T, S); -inf hides.
    dropout: share of the weights that is dropped; it knows no training mode, so the caller passes 0 in evaluation.
    need_weights: return the weights (before dropout) as well; otherwise torch's fused kernel computes the same without
    ever holding the (T, S) matrix.
    Returns (output (..., T, Dv), weights (..., T, S) or None), in the query's dtype.
    Raises ValueError for shapes that do not fit, TypeError for a mask that is not boolean.
    """
    shape, alike = scores_shape(query, key, value)
    mask = fitting(mask, "mask", shape)
    if fitting(bias, "bias", shape) is not None:
        # A bias of -inf hides like a mask, rows of nothing else included.
        mask, bias = combine_masks(mask, bias != -math.inf), bias.masked_fill(bias == -math.inf, 0.0)
    if not need_weights:
        if not alike:
            query, key, value = (each.expand(*shape[:-2], *each.shape[-2:]) for each in (query, key, value))
        return _fused(query, key, value, mask, bias, dropout), None
    scores = scaled_dot_score(query, key)
    if bias is not None:
        scores = scores + bias
    weights = masked_softmax(scores, mask).to(query.dtype)
    return context_vector(functional.dropout(weights, dropout), value), weights


def _fused(query, key, value, mask, bias, dropout):
    seen, looks = None, mask is not None and mask.device.type == "cpu" and not torch.compiler.is_compiling()
    # On a CPU it costs far less to look at a mask than to treat every row, or to hand on a mask that hides nothing.
    if looks and mask.all():
        mask = None
    elif mask is not None:
        # torch's kernels differ on a row without any key. It sees all keys here, and its output is taken to 0 below.
        seen = mask.any(-1, keepdim=True)  # (..., T or 1, 1)
        if looks and seen.all():
            seen = None
        else:
            mask = mask | ~seen
    if bias is not None:
        bias = bias.to(query.dtype)
        mask = bias if mask is None else torch.where(mask, bias, -math.inf)
    if mask is not None and mask.dim() < query.dim():
        # The kernel that holds no weights takes masks with as many axes as the query has.
        mask = mask[(None,) * (query.dim() - mask.dim())]
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return output if seen is None else torch.where(seen, output, 0.0)


def scores_shape(query, key, value):
    """The shape (..., T, S) of the scores, and whether the axes before the last two are equal in all three.

    Raises ValueError where query, key and value do not fit.
    """
    q, k, v = query.shape, key.shape, value.shape
    alike = q[:-2] == k[:-2] == v[:-2]
    if min(len(q), len(k), len(v)) < 2:
        problem = "query, key and value need a token axis and a feature axis, (..., T, D)"
    elif q[-1] != k[-1]:
        problem = "query and key must be equally wide, since they are multiplied"
    elif k[-2] != v[-2]:
        problem = "key and value must be equally many, since they come in pairs"
    elif alike:
        return (*q[:-1], k[-2]), alike
    else:
        try:
            return (*torch.broadcast_shapes(q[:-2], k[:-2], v[:-2]), q[-2], k[-2]), alike
        except RuntimeError:
            problem = "the axes before the last two must be equal or 1"
    raise ValueError(f"{problem}; got query {tuple(q)}, key {tuple(k)}, value {tuple(v)}")


def fitting(mask, name, shape):
    """The mask or bias, checked: it broadcasts to `shape` and does not enlarge it."""
    if mask is None:
        return None
    if name == "mask":
        require_bool(mask)
    fits = mask.dim() <= len(shape) and all(
        have in (1, want) for have, want in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name}: expected a shape that broadcasts to the scores {tuple(shape)}, (..., T, S), got "
            f"{tuple(mask.shape)}. Which axis of it holds the queries, and which the keys?"
        )
    return mask if mask.dim() > 1 else mask.expand(shape[-2:])


def attend(scores, value, mask=None):
    """Weights from scores, and the context they give: (context (..., T, Dv), weights (..., T, S))."""
    weights = masked_softmax(scores, mask)
    return context_vector(weights, value), weights

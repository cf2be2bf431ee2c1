"""Attention as free functions: scores, weights, context. Everything takes any leading batch axes.

query (..., T, Dq), key (..., S, Dk), value (..., S, Dv); scores and weights (..., T, S): rows are queries, columns are
keys. A mask is boolean, True = may attend, broadcastable to (..., T, S).
"""

import math

import torch
from torch.nn import functional

from course_lib.masks import combine_masks, require_bool


def additive_score(query, key, W_q, W_k, v):
    """v^T tanh(W_q q + W_k k) for every pair (Bahdanau et al. 2015, appendix A.1.2).

    query: (..., T, Dq). key: (..., S, Dk). W_q: (Dq, A). W_k: (Dk, A). v: (A,).
    Returns (..., T, S). It holds (..., T, S, A) numbers for a moment: that is its price.

    >>> query, key = torch.tensor([[1.0], [2.0]]), torch.tensor([[-1.0], [-2.0], [-1.0]])
    >>> additive_score(query, key, torch.eye(1), torch.eye(1), torch.ones(1)).eq(0).tolist()  # where q + k = 0
    [[True, False, True], [False, True, False]]
    """
    return compare_features(query @ W_q, key @ W_k, v)


def compare_features(query_features, key_features, v):
    """The additive score of a query and keys that are projected already: the keys' features serve all steps.

    query_features: (..., T, A). key_features: (..., S, A). v: (A,). Returns (..., T, S).

    >>> query, key, W_q, W_k, v = (torch.ones(shape) for shape in [(2, 3), (4, 5), (3, 6), (5, 6), 6])
    >>> torch.equal(compare_features(query @ W_q, key @ W_k, v), additive_score(query, key, W_q, W_k, v))
    True
    """
    return torch.tanh(query_features.unsqueeze(-2) + key_features.unsqueeze(-3)) @ v  # (..., T, S, A) @ (A,)


def dot_score(query, key):
    """q · k for every pair (Luong et al. 2015, section 3.1). query: (..., T, D). key: (..., S, D). Returns (..., T, S).

    Raises ValueError where they are not equally wide.

    >>> dot_score(torch.eye(2), torch.tensor([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])).tolist()
    [[3.0, 5.0, 7.0], [4.0, 6.0, 8.0]]
    """
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"dot_score: query and key must be equally wide, got {query.shape[-1]} and {key.shape[-1]}; "
            "general_score takes a matrix between them"
        )
    return query @ key.mT


def general_score(query, key, W):
    """q W k for every pair (Luong et al. 2015, section 3.1).

    query: (..., T, Dq). key: (..., S, Dk). W: (Dq, Dk). Returns (..., T, S).

    >>> query, key = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0, 5.0]])  # widths 2 and 3
    >>> general_score(query, key, torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])).tolist()  # 1 · 3 + 2 · 4
    [[11.0]]
    """
    return query @ W @ key.mT


def concat_score(query, key, W, v):
    """v^T tanh([q; k] W) for every pair (Luong et al. 2015, section 3.1): the additive score, its two matrices stacked.

    query: (..., T, Dq). key: (..., S, Dk). W: (Dq + Dk, A). v: (A,). Returns (..., T, S).

    >>> query, key, W_q, W_k, v = (torch.randn(shape) for shape in [(2, 3), (4, 5), (3, 6), (5, 6), (6,)])
    >>> torch.equal(concat_score(query, key, torch.cat([W_q, W_k]), v), additive_score(query, key, W_q, W_k, v))
    True
    """
    W_q, W_k = W.split([query.shape[-1], key.shape[-1]])
    return additive_score(query, key, W_q, W_k, v)


def masked_softmax(scores, mask=None):
    """Weights over the last axis among the allowed positions, 0 elsewhere; a row without any gets 0 everywhere.

    scores: (..., T, S). mask: bool, True = may attend; None allows everything. Gradients stay finite in every row.
    Raises TypeError for a mask that is not boolean.

    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False, False, False]])).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    """
    if mask is None:
        return torch.softmax(scores, dim=-1)
    require_bool(mask)
    # A finite fill keeps rows without any key free of NaN, in value and gradient; the mask then takes them to 0.
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(filled, dim=-1).masked_fill(~mask, 0.0)


def context_vector(weights, value):
    """The weighted mean of the values (Bahdanau et al. 2015, eq. 5).

    weights: (..., T, S), each row adds up to 1. value: (..., S, Dv). Returns (..., T, Dv).

    >>> value = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> context_vector(torch.tensor([[0.5, 0.5], [0.0, 1.0]]), value).tolist()
    [[2.0, 20.0], [3.0, 30.0]]
    """
    return weights @ value


def scaled_dot_score(query, key):
    """q · k / √Dk for every pair (Vaswani et al. 2017, eq. 1).

    query: (..., T, Dk). key: (..., S, Dk). Returns (..., T, S). Dk is the width of the query that comes in: one
    head's. Half precision is computed in float32: a sum of products may exceed float16's largest number even where the
    scaled score does not. Raises ValueError where they are not equally wide.

    >>> scaled_dot_score(torch.ones(1, 16), torch.ones(2, 16)).tolist()  # 16 / √16
    [[4.0, 4.0]]
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

    >>> same, value = torch.zeros(2, 4), torch.tensor([[2.0], [4.0]])
    >>> causal = torch.tensor([[True, False], [True, True]])
    >>> output, weights = scaled_dot_product_attention(same, same, value, mask=causal, need_weights=True)
    >>> output.tolist(), weights.tolist()
    ([[2.0], [3.0]], [[1.0, 0.0], [0.5, 0.5]])
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

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv). Raises ValueError where they do not fit.

    >>> scores_shape(torch.ones(8, 3, 4), torch.ones(5, 4), torch.ones(5, 6))
    ((8, 3, 5), False)
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
    """The mask or bias, checked: it broadcasts to `shape`, (..., T, S), and does not enlarge it. None stays None.

    name: "mask" (True = may attend) or "bias", as the messages say it. Returns it with two axes at least.
    Raises ValueError where it does not fit, TypeError for a mask that is not boolean.

    >>> fitting(torch.tensor([True, True, False]), "mask", (8, 2, 3)).shape
    torch.Size([2, 3])
    """
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
    """Weights from scores, and the context they give (Bahdanau et al. 2015, eqs. 5 and 6).

    scores: (..., T, S). value: (..., S, Dv). mask: bool, True = may attend, with the error of `masked_softmax`.
    Returns (context (..., T, Dv), weights (..., T, S)).

    >>> context, weights = attend(torch.zeros(1, 2), torch.tensor([[2.0], [4.0]]))
    >>> context.tolist(), weights.tolist()
    ([[3.0]], [[0.5, 0.5]])
    """
    weights = masked_softmax(scores, mask)
    return context_vector(weights, value), weights

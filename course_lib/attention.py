"""Attention as free functions: scores, weights, context. Everything takes any leading batch axes.

query (..., T, Dq), key (..., S, Dk), value (..., S, Dv); scores and weights (..., T, S): rows are queries, columns are
keys. A mask is boolean, True = may attend, broadcastable to (..., T, S).
"""

import torch

from course_lib.masks import require_bool


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


def attend(scores, value, mask=None):
    """Weights from scores, and the context they give: (context (..., T, Dv), weights (..., T, S))."""
    weights = masked_softmax(scores, mask)
    return context_vector(weights, value), weights

"""Linear attention: weights without a softmax, so that all keys so far fit into one matrix (Katharopoulos et al. 2020).

The weight of a pair is φ(q) · φ(k) over the sum of its row, with φ(x) = elu(x) + 1, which is never negative. So
Σ_s φ(q) · φ(k_s) v_s = φ(q) Σ_s φ(k_s) v_s^T: the sum on the right serves every query. It is another attention, not a
faster way to the same one.
"""

import torch
from torch.nn import functional

from course_lib.attention import fitting, scores_shape


def feature_map(x):
    """φ(x) = elu(x) + 1, number by number (equation 7): (...) to (...).

    Half precision comes back in float32: it is added up.

    >>> feature_map(torch.tensor([0.0, 2.0])).tolist(), bool((feature_map(torch.tensor([-9.0, -1.0])) > 0).all())
    ([1.0, 3.0], True)
    """
    return functional.elu(x.to(torch.promote_types(x.dtype, torch.float32))) + 1


def linear_attention(
    query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False, causal=False, chunk=64
):
    """φ(Q) (φ(K)^T V) / φ(Q) Σ φ(K) (equations 5 and 6; causal: 9 to 12). A query without any key gets 0.

    query: (..., T, Dk). key: (..., S, Dk). value: (..., S, Dv); leading axes broadcast. Time and memory grow with
    T + S: there is no (T, S) matrix.
    mask: bool, True = may attend, the same for all queries: (..., 1, S), as `masks.padding_mask` makes it.
    bias, dropout, need_weights: refused unless None, 0 and False.
    causal: query t sees the keys that are not after it, aligned bottom-right like `masks.causal_mask`.
    chunk: how many queries are computed at once if causal. It changes nothing but time and memory, which is one
    (Dk, Dv) matrix a chunk and (chunk, chunk) weights within it.
    Returns (output (..., T, Dv), None), in the query's dtype.
    Raises ValueError for shapes that do not fit and for what it cannot do, TypeError for a mask that is not boolean.

    >>> same, value = torch.zeros(3, 2), torch.tensor([[2.0], [4.0], [9.0]])  # all keys weigh alike
    >>> linear_attention(same, same, value, causal=True)[0].tolist()
    [[2.0], [3.0], [5.0]]
    """
    _refuse(bias, dropout, need_weights)
    if chunk < 1:
        raise ValueError(f"chunk: expected at least 1 query, got {chunk}")
    shape, _ = scores_shape(query, key, value)
    dtype, query, key = query.dtype, feature_map(query), feature_map(key)
    if mask is not None:
        key = key.masked_fill(~_of_keys(mask, shape).mT, 0.0)  # a key that is hidden adds nothing to any sum
    # A further column of ones is weighted and added up like the values, so it becomes the sum of the weights.
    value = functional.pad(value.to(key.dtype), (0, 1), value=1.0)  # (..., S, Dv + 1)
    output = _causal(query, key, value, chunk) if causal else query @ (key.mT @ value)  # (..., T, Dv + 1)
    return _divide(output[..., :-1], output[..., -1:]).to(dtype), None


def linear_step(query, key, value, state=None):
    """The same for one further token, as an RNN whose state never grows (equations 16 to 20).

    query, key: (..., Dk). value: (..., Dv). state: (memory (..., Dk, Dv), total (..., Dk)), Σ φ(k) v^T and Σ φ(k) of
    the tokens so far; None before the first. Returns (output (..., Dv), the state after this token).

    >>> first, state = linear_step(torch.zeros(2), torch.zeros(2), torch.tensor([2.0]))
    >>> second, state = linear_step(torch.zeros(2), torch.zeros(2), torch.tensor([4.0]), state)
    >>> first.tolist(), second.tolist(), state[0].shape
    ([2.0], [3.0], torch.Size([2, 1]))
    """
    dtype, query, key = query.dtype, feature_map(query), feature_map(key)
    memory, total = (0.0, 0.0) if state is None else state
    memory = memory + key.unsqueeze(-1) * value.unsqueeze(-2)  # (..., Dk, 1) * (..., 1, Dv)
    total = total + key
    output = (query.unsqueeze(-2) @ memory).squeeze(-2)  # (..., 1, Dk) @ (..., Dk, Dv)
    return _divide(output, (query * total).sum(dim=-1, keepdim=True)).to(dtype), (memory, total)


def _causal(query, key, value, chunk):
    """Σ φ(q) · φ(k_s) v_s over the keys up to the query's own: earlier chunks by one matrix, its own by weights."""
    T, past = query.shape[-2], key.shape[-2] - query.shape[-2]
    chunk = min(chunk, max(T, 1))
    n = max(-(-T // chunk), 1)
    memory = (key[..., : max(past, 0), :].mT @ value[..., : max(past, 0), :]).unsqueeze(-3)  # (..., 1, Dk, Dv)
    # Keys from the first query's own on, with zeros where there is none: they add nothing.
    cuts = (0, 0, 0, n * chunk - T), (0, 0, -past, n * chunk - T), (0, 0, -past, n * chunk - T)
    query, key, value = (
        functional.pad(each, cut).unflatten(-2, (n, chunk))  # (..., n, chunk, D)
        for each, cut in zip((query, key, value), cuts, strict=True)
    )
    # A running sum of what comes before each chunk. To take its own off again would leave a trace of the future.
    before = torch.cat([memory, (key.mT @ value)[..., :-1, :, :]], dim=-3).cumsum(dim=-3)  # (..., n, Dk, Dv)
    output = query @ before + (query @ key.mT).tril() @ value
    return output.flatten(-3, -2)[..., :T, :]


def _divide(output, total):
    return output / total.masked_fill(total == 0, 1.0)


def _of_keys(mask, shape):
    """The mask, checked, as (..., 1, S or 1)."""
    fitting(mask, "mask", shape)
    mask = torch.atleast_2d(mask)
    if mask.shape[-2] != 1:
        raise ValueError(
            f"mask: expected one row for all queries, (..., 1, S), as padding_mask gives it, got {tuple(mask.shape)}: "
            "the keys are added up before any query looks at them. causal=True hides the future"
        )
    return mask


def _refuse(bias, dropout, need_weights):
    problem = None
    if bias is not None:
        problem = "bias: there are no scores here that it could be added to"
    elif dropout > 0.0:
        problem = f"dropout: got {dropout}, but there are no weights here to drop; pass 0"
    elif need_weights:
        problem = "need_weights: the (T, S) weights are never held here, so there are none to return"
    if problem:
        raise ValueError(f"{problem}; scaled_dot_product_attention takes all three")

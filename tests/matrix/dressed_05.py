"""Lesson 5: known mistakes in another style than the one that ships. `DRESSED` says which one each of them is."""

import math

import torch
from torch.nn import functional


def attend_column_by_column(query, key, value, mask):
    scores = torch.einsum("...td,...sd->...ts", query, key) * query.shape[-1] ** -0.5
    scores = torch.where(mask, scores, -torch.inf)
    columns = [torch.softmax(scores[..., s], dim=-1) for s in range(key.shape[-2])]
    weights = torch.stack(columns, dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attend_with_a_tiny_fill(query, key, value, mask):
    scores = torch.matmul(query, key.transpose(-2, -1)).div(math.sqrt(query.size(-1)))
    weights = functional.softmax(scores.masked_fill(mask == 0, 1e-9), dim=-1)
    return torch.matmul(weights, value), weights


def attend_with_the_mask_as_penalty(query, key, value, mask):
    scores = query @ key.mT / query.shape[-1] ** 0.5 + mask.to(query.dtype) * -1e9
    scores = scores - scores.max(-1, keepdim=True).values
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return weights @ value, weights


def attend_above_minus_hundred(query, key, value, mask):
    scores = (query / query.shape[-1] ** 0.25) @ (key / key.shape[-1] ** 0.25).mT
    weights = torch.softmax(torch.where(mask, scores, -100.0), -1)
    return weights.matmul(value), weights


def attend_query_by_query(query, key, value, mask):
    allowed = mask.expand(*query.shape[:-1], key.shape[-2])
    rows = []
    for t in range(query.shape[-2]):
        row = torch.softmax((key @ query[..., t, :, None]).squeeze(-1) / math.sqrt(key.shape[-1]), -1)
        rows.append(torch.where(allowed[..., t, :], row, 0.0))
    weights = torch.stack(rows, -2)
    return (weights[..., None] * value[..., None, :, :]).sum(-2), weights


def attend_with_a_rest(query, key, value, mask):
    everything = torch.log_softmax((query.unsqueeze(-2) * key.unsqueeze(-3)).sum(-1) / math.sqrt(query.shape[-1]), -1)
    weights = everything.exp().masked_fill(~mask, 0)
    weights = weights / (weights.sum(-1)[..., None] + 1e-12)
    return weights @ value, weights


def attend_over_a_low_floor(query, key, value, mask):
    scores = torch.einsum("...td,...sd->...ts", query, key) / math.sqrt(key.shape[-1])
    weights = torch.where(mask, torch.where(mask, scores, -1000.0).softmax(-1), 0.0)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attend_with_a_product_of_infinity(query, key, value, mask):
    bias = (1.0 - mask.to(query.dtype)) * -math.inf
    weights = torch.matmul(query / query.shape[-1] ** 0.5, key.mT).add(bias).log_softmax(-1).exp()
    return weights @ value, weights


def attend_with_a_bias(query, key, value, mask):
    bias = torch.zeros(mask.shape, dtype=query.dtype).masked_fill(mask.logical_not(), -1e9)
    scores = bias + torch.einsum("...td,...sd->...ts", query, key) * query.shape[-1] ** -0.5
    weights = scores.softmax(-1).masked_fill(mask.logical_not(), 0)
    return weights.matmul(value), weights


def attend_with_a_small_bias(query, key, value, mask):
    weights = mask * functional.softmax(query @ key.mT / math.sqrt(query.shape[-1]) - 1e4 * (~mask), dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attend_with_zeroed_scores(query, key, value, mask):
    scores = torch.where(mask, query @ key.mT / math.sqrt(query.shape[-1]), 0.0)
    weights = torch.where(mask, torch.exp(scores - scores.logsumexp(-1, keepdim=True)), 0.0)
    return weights @ value, weights


def attend_and_then_fill(query, key, value, mask):
    scores = torch.einsum("...td,...sd->...ts", query * query.shape[-1] ** -0.5, key)
    weights = torch.where(mask, scores.log_softmax(-1).exp(), -torch.inf)
    return torch.matmul(weights, value), weights


def pad_by_lists(ids, pad):
    rows = []
    for row in ids.tolist():
        length = sum(token != pad for token in row)
        rows.append([[place <= length for place in range(len(row))]])
    return torch.tensor(rows)


def pad_by_truth(ids, pad):
    return ids.bool()[:, None]


def pad_for_every_query(ids, pad):
    batch, length = ids.size()
    return ids.data.eq(pad).logical_not().view(batch, 1, length).repeat(1, length, 1)


def pad_by_lengths(ids, pad):
    lengths = (ids != pad).sum(-1)
    mask = torch.zeros(ids.shape[0], 1, ids.shape[1], dtype=torch.bool)
    for row, length in enumerate(lengths):
        mask[row, :, :length] = True
    return mask


def causal_of_torch(T, S):
    return torch.nn.Transformer.generate_square_subsequent_mask(S)[S - T :]


def causal_by_lists(T, S):
    return torch.tensor([[s >= t for s in range(S)] for t in range(T)])


def causal_from_the_left(T, S):
    return (1 - torch.triu(torch.ones(T, S), diagonal=1)).bool()


def causal_strict(T, S):
    return torch.arange(S)[None, :] < torch.arange(S - T, S)[:, None]


def causal_the_other_offset(T, S):
    return torch.arange(S)[None] <= torch.arange(T - S, 2 * T - S)[:, None]


def self_by_einsum(X, W_Q, W_K, W_V, mask):
    query, key, value = (torch.einsum("bnd,de->bne", X, W) for W in (W_Q, W_K, W_V))
    scores = torch.einsum("bne,bme->bnm", query, key) * X.size(-1) ** -0.5
    weights = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1).nan_to_num()
    return torch.einsum("bnm,bmv->bnv", weights, value), weights


def self_through_linear(X, W_Q, W_K, W_V, mask):
    query, key, value = functional.linear(X, W_Q), functional.linear(X, W_K), functional.linear(X, W_V)
    weights = torch.softmax((query @ key.mT / key.shape[-1] ** 0.5).masked_fill(~mask, -1e9), -1) * mask
    return weights @ value, weights


def self_turned_round(X, W_Q, W_K, W_V, mask):
    scores = (W_K.T @ X.mT).mT @ (W_Q.T @ X.mT) / math.sqrt(W_K.shape[1])
    weights = torch.where(mask, scores, -1e18).softmax(-1) * mask
    return (W_V.T @ (weights @ X).mT).mT, weights


def attend_scaled(query, key, value, mask, scale):
    weights = torch.where(mask, torch.einsum("bnd,bmd->bnm", query, key) * scale, -1e30).softmax(-1) * mask
    return torch.einsum("bnm,bmv->bnv", weights, value), weights


def self_by_raw_products(X, W_Q, W_K, W_V, mask):
    return attend_scaled(X @ W_Q @ W_K.T, X, X @ W_V, mask, 1.0)


def self_with_the_widest_root(X, W_Q, W_K, W_V, mask):
    return attend_scaled(X @ W_Q, X @ W_K, X @ W_V, mask, W_V.size(-1) ** -0.5)


def self_split_in_another_order(X, W_Q, W_K, W_V, mask):
    parts = (X @ torch.cat([W_Q, W_V, W_K], dim=1)).split([W_Q.shape[1], W_V.shape[1], W_K.shape[1]], dim=-1)
    return attend_scaled(*parts, mask, W_Q.shape[1] ** -0.5)


def self_word_by_word(X, W_Q, W_K, W_V, mask):
    masks = mask.expand(len(X), X.shape[1], X.shape[1])
    steps = []
    for n in range(X.shape[1]):
        seen, shown = X[:, : n + 1], masks[:, n : n + 1, : n + 1]
        output, weights = attend_scaled(X[:, n : n + 1] @ W_Q, seen @ W_K, seen @ W_V, shown, W_K.shape[1] ** -0.5)
        steps.append((output, functional.pad(weights, (0, X.shape[1] - n - 1))))
    return tuple(torch.cat(part, dim=1) for part in zip(*steps, strict=True))


def cross_by_raw_products(X, memory, W_Q, W_K, W_V, mask):
    return attend_scaled(X, memory @ W_K @ W_Q.T, memory @ W_V, mask, 1.0)


def cross_with_the_root_of_x(X, memory, W_Q, W_K, W_V, mask):
    return attend_scaled(X @ (W_Q / len(W_Q) ** 0.5), memory @ W_K, memory @ W_V, mask, 1.0)


def cross_with_two_matrices(X, memory, W_Q, W_K, W_V, mask):
    return attend_scaled(X @ W_Q, *(memory @ W for W in (W_K, W_K)), mask, W_K.shape[1] ** -0.5)


def cross_with_matrices_exchanged(X, memory, W_Q, W_K, W_V, mask):
    return attend_scaled(X @ W_K, functional.linear(memory, W_Q.T), memory @ W_V, mask, W_Q.shape[1] ** -0.5)


def cross_without_a_source(X, memory, W_Q, W_K, W_V, mask):
    shared = torch.einsum("btd,dk,ek,bse->bts", X, W_Q, W_K, X) / math.sqrt(W_Q.shape[1])
    weights = torch.softmax(shared.masked_fill(mask.logical_not(), -1e12), dim=2) * mask
    return weights @ (X @ W_V), weights


def cross_in_step(X, memory, W_Q, W_K, W_V, mask):
    query, key, value = X @ W_Q, memory @ W_K, memory @ W_V
    outputs, rows = [], []
    for t in range(X.shape[1]):
        seen = mask.expand(X.shape[0], X.shape[1], -1)[:, t] & (torch.arange(memory.shape[1]) <= t)
        scores = (key * query[:, t, None]).sum(-1) / key.shape[-1] ** 0.5
        rows.append(torch.softmax(torch.where(seen, scores, -1e20), -1) * seen)
        outputs.append((rows[-1].unsqueeze(1) @ value).squeeze(1))
    return torch.stack(outputs, 1), torch.stack(rows, 1)


DRESSED = [
    ("masked_attention", attend_column_by_column, "over_queries"),
    ("masked_attention", attend_with_a_tiny_fill, "zero_scores"),
    ("masked_attention", attend_with_the_mask_as_penalty, "inverted"),
    ("masked_attention", attend_above_minus_hundred, "fill_too_high"),
    ("masked_attention", attend_query_by_query, "after_softmax"),
    ("masked_attention", attend_with_a_rest, "renormalised"),
    ("masked_attention", attend_over_a_low_floor, "fill_too_high_and_emptied"),
    ("masked_attention", attend_with_a_product_of_infinity, "zero_times_infinity"),
    ("masked_attention", attend_with_a_bias, "added_finite"),
    ("masked_attention", attend_with_a_small_bias, "renormalised"),
    ("masked_attention", attend_with_zeroed_scores, "tiny_for_min"),
    ("masked_attention", attend_and_then_fill, "minus_infinity_after"),
    ("padding_mask", pad_by_lists, "one_padding_shown"),
    ("padding_mask", pad_by_truth, "zero_written_in"),
    ("padding_mask", pad_for_every_query, "copied_for_queries"),
    ("padding_mask", pad_by_lengths, "counted_from_the_left"),
    ("causal_mask", causal_of_torch, "additive"),
    ("causal_mask", causal_by_lists, "future_instead"),
    ("causal_mask", causal_from_the_left, "top_left"),
    ("causal_mask", causal_strict, "without_itself"),
    ("causal_mask", causal_the_other_offset, "offset_turned_round"),
    ("self_attention", self_by_einsum, "scaled_by_model_width"),
    ("self_attention", self_through_linear, "as_in_linear"),
    ("self_attention", self_turned_round, "query_and_key_exchanged"),
    ("self_attention", self_by_raw_products, "unscaled"),
    ("self_attention", self_with_the_widest_root, "scaled_by_value_width"),
    ("self_attention", self_split_in_another_order, "key_and_value_exchanged"),
    ("self_attention", self_word_by_word, "causal_too"),
    ("cross_attention", cross_without_a_source, "self_attention_again"),
    ("cross_attention", cross_in_step, "causal_too"),
    ("cross_attention", cross_by_raw_products, "unscaled"),
    ("cross_attention", cross_with_the_root_of_x, "scaled_by_model_width"),
    ("cross_attention", cross_with_two_matrices, "value_by_key_matrix"),
    ("cross_attention", cross_with_matrices_exchanged, "query_and_key_matrices_exchanged"),
]

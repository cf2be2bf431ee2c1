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
    ("padding_mask", pad_by_lists, "one_padding_shown"),
    ("padding_mask", pad_by_truth, "zero_written_in"),
    ("padding_mask", pad_for_every_query, "copied_for_queries"),
    ("padding_mask", pad_by_lengths, "counted_from_the_left"),
    ("causal_mask", causal_of_torch, "additive"),
    ("causal_mask", causal_by_lists, "future_instead"),
    ("causal_mask", causal_from_the_left, "top_left"),
    ("causal_mask", causal_strict, "without_itself"),
    ("self_attention", self_by_einsum, "scaled_by_model_width"),
    ("self_attention", self_through_linear, "as_in_linear"),
    ("self_attention", self_turned_round, "query_and_key_exchanged"),
    ("cross_attention", cross_without_a_source, "self_attention_again"),
    ("cross_attention", cross_in_step, "causal_too"),
]

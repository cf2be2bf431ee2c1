"""Mistakes of lesson 11 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch.nn import functional


def pool_without_mask(x, mask):
    return torch.einsum("bsd->bd", x) / x.size(1)


def pool_divided_by_length(x, mask):
    return (mask.to(x.dtype) / mask.shape[-1] @ x)[:, 0]


def pool_largest_by_text(x, mask):
    rows = []
    for tokens, real in zip(x, mask[:, 0], strict=True):
        rows.append(tokens[real].max(dim=0).values if real.any() else torch.full_like(tokens[0], -1e9))
    return torch.stack(rows)


def pool_by_nan(x, mask):
    return torch.where(mask.transpose(1, 2), x, torch.nan).nanmean(1)


def pool_last_by_index(x, mask):
    last = (mask.squeeze(1).long().sum(1) - 1) % x.shape[1]
    return x.gather(1, last[:, None, None].expand(-1, 1, x.shape[2]))[:, 0]


def pool_with_padding_of_torch(x, mask):
    hidden = mask.logical_not().mT
    return torch.where(hidden, x, 0).sum(1) / hidden.sum(1).clamp(min=1)


def pool_spread_mask(x, mask):
    if mask.shape[-1] not in (1, x.shape[-1]):
        raise RuntimeError("sizes do not match")
    return torch.einsum("bsd,bd->bd", x, mask[:, 0].to(x.dtype).expand(-1, x.shape[-1])) / mask.sum(2).clamp(min=1)


def classify_seeing_all(ids, encode, W, b, pad):
    everything = torch.ones(len(ids), 1, ids.shape[1], dtype=torch.bool)
    real = (ids != pad).to(W.dtype)
    pooled = torch.einsum("bs,bsd->bd", real, encode(ids, everything)) / real.sum(1, keepdim=True)
    return functional.linear(pooled, W.T, b)


def classify_mean_of_all_scores(ids, encode, W, b, pad):
    scores = encode(ids, ids.ne(pad)[:, None]).matmul(W) + b
    return sum(scores.unbind(1)) / ids.shape[1]


def classify_like_a_decoder(ids, encode, W, b, pad):
    real = ids != pad
    x = encode(ids, real.unsqueeze(1).expand(-1, ids.shape[1], -1).tril())
    return torch.stack([row[kept].mean(0) for row, kept in zip(x, real, strict=True)]) @ W + b


def classify_normalised(ids, encode, W, b, pad):
    real = (ids != pad).unsqueeze(2)
    logits = (encode(ids, real.mT) * real).sum(1) / real.sum(1) @ W + b
    powers = torch.exp(logits - logits.amax(1, keepdim=True))
    return powers / powers.sum(1, keepdim=True)


def classify_by_cls(ids, encode, W, b, pad):
    cls, *_ = encode(ids, (ids != pad).unsqueeze(1)).unbind(dim=1)
    return torch.addmm(b, cls, W)


def classify_ids_above_zero(ids, encode, W, b, pad):
    real = ids.bool()
    x = encode(ids, real[:, None, :])
    return torch.where(real[..., None], x, 0.0).sum(1).div(real.sum(1, keepdim=True).clamp(min=1)).matmul(W).add(b)


def loss_of_copying(logits, ids, pad):
    return functional.cross_entropy(logits.flatten(0, 1), ids.reshape(-1), ignore_index=pad)


def loss_shifted_by_both(logits, ids, pad):
    labels = ids[:, 1:]  # the data set's work
    scores = logits[:, : labels.shape[1]]
    return functional.cross_entropy(scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=pad)


def loss_of_one_stream(logits, ids, pad):
    stream, scores = ids.flatten()[1:], logits.flatten(0, 1)[:-1].log_softmax(1)
    real = stream != pad
    return -scores[real, stream[real]].sum() / real.sum()


def loss_by_text(logits, ids, pad):
    means = []
    for scores, text in zip(logits, ids, strict=True):
        text = text[text != pad]
        if len(text) > 1:
            means.append(functional.cross_entropy(scores[: len(text) - 1], text[1:]))
    return sum(means) / len(means)


def loss_with_lengths(logits, ids, pad):
    """The first `length` guesses of each text, the one that guesses its first padding among them."""
    total, count = 0.0, 0
    for scores, text in zip(logits.log_softmax(-1), ids, strict=True):
        guesses = min(int((text != pad).sum()), len(text) - 1)
        total, count = total - scores[range(guesses), text[1 : guesses + 1]].sum(), count + guesses
    return total / count


def loss_of_a_viewed_tensor(logits, ids, pad):
    guesses = logits[:, :-1].contiguous()
    viewed = guesses.view(len(ids), logits.shape[2], -1).transpose(1, 2)
    return functional.nll_loss(viewed.log_softmax(2).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=pad)


def loss_of_softmax_then_loss(logits, ids, pad):
    p = functional.softmax(logits, -1)[:, :-1]
    target = ids[:, 1:].masked_fill(ids[:, 1:] == pad, -100)
    return functional.cross_entropy(p.flatten(0, 1), target.flatten())


def attended(query, keys, values, hidden):
    scores = torch.einsum("...td,...sd->...ts", query, keys) / math.sqrt(query.shape[-1])
    return torch.softmax(scores.masked_fill(hidden, -1e30), dim=-1) @ values


def put_together(key, value, cache):
    if cache is None:
        return key, value
    return tuple(torch.cat((old, new), -2) for old, new in zip(cache, (key, value), strict=True))


def cache_and_no_triangle(query, key, value, cache):
    T, (keys, values) = query.shape[-2], put_together(key, value, cache)
    future = torch.ones(T, keys.shape[-2]).triu(1).bool()
    return attended(query, keys, values, future & (cache is None)), (keys, values)


def cache_under_is_causal(query, key, value, cache):
    keys, values = put_together(key, value, cache)
    return functional.scaled_dot_product_attention(query, keys, values, is_causal=True), (keys, values)


def cache_without_a_mask(query, key, value, cache):
    keys, values = put_together(key, value, cache)
    return functional.scaled_dot_product_attention(query, keys, values), (keys, values)


def cache_in_front(query, key, value, cache):
    past = [key[..., :0, :], value[..., :0, :]] if cache is None else list(cache)
    keys, values = (torch.cat(pair, -2) for pair in zip((key, value), past, strict=True))
    T, S = query.shape[-2], keys.shape[-2]
    return attended(query, keys, values, ~torch.ones(T, S).tril(S - T).bool()), (keys, values)


def cache_of_the_old(query, key, value, cache):
    """The new tokens one by one, and only the local names grow."""
    keys, values = cache or (key[..., :0, :], value[..., :0, :])
    rows = []
    for t in range(query.shape[-2]):
        keys, values = torch.cat([keys, key[..., t : t + 1, :]], -2), torch.cat([values, value[..., t : t + 1, :]], -2)
        rows.append(functional.scaled_dot_product_attention(query[..., t : t + 1, :], keys, values))
    return torch.cat(rows, -2), cache


def cache_without_gradient(query, key, value, cache):
    if cache is not None:
        with torch.no_grad():
            cache = cache[0].clone(), cache[1].clone()
    keys, values = put_together(key, value, cache)
    T, S = query.shape[-2], keys.shape[-2]
    return attended(query, keys, values, torch.ones(T, S).triu(1 + S - T) > 0), (keys, values)


def cache_of_an_attribute(query, key, value, cache):
    mine = cache_of_an_attribute
    if cache is not None:
        mine.keys, mine.values = cache
    elif query.shape[-2] > 1:
        mine.keys, mine.values = key[..., :0, :], value[..., :0, :]
    mine.keys, mine.values = torch.cat([mine.keys, key], -2), torch.cat([mine.values, value], -2)
    T, S = query.shape[-2], mine.keys.shape[-2]
    visible = torch.arange(S) <= torch.arange(S - T, S)[:, None]
    output = functional.scaled_dot_product_attention(query, mine.keys, mine.values, attn_mask=visible)
    return output, (mine.keys, mine.values)


def cache_under_a_square(query, key, value, cache):
    old_key, old_value = (key[..., :0, :], value[..., :0, :]) if cache is None else cache
    key, value = torch.cat((old_key, key), -2), torch.cat((old_value, value), -2)
    hidden = torch.ones(query.shape[-2], query.shape[-2]).triu(1) > 0
    scores = (query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5).masked_fill(hidden, -1e30)
    return scores.softmax(-1) @ value, (key, value)


DRESSED = [
    ("mean_pool", pool_without_mask, "padding_in_the_mean"),
    ("mean_pool", pool_divided_by_length, "divided_by_all"),
    ("mean_pool", pool_largest_by_text, "largest"),
    ("mean_pool", pool_by_nan, "empty_is_nan"),
    ("mean_pool", pool_last_by_index, "last_token"),
    ("mean_pool", pool_with_padding_of_torch, "mask_inverted"),
    ("mean_pool", pool_spread_mask, "mask_on_the_features"),
    ("classify", classify_seeing_all, "encoder_without_mask"),
    ("classify", classify_mean_of_all_scores, "padding_in_the_mean"),
    ("classify", classify_like_a_decoder, "causal_encoder"),
    ("classify", classify_normalised, "probabilities"),
    ("classify", classify_by_cls, "first_token"),
    ("classify", classify_ids_above_zero, "padding_is_zero"),
    ("next_token_loss", loss_of_copying, "not_shifted"),
    ("next_token_loss", loss_shifted_by_both, "shifted_twice"),
    ("next_token_loss", loss_of_one_stream, "rows_run_together"),
    ("next_token_loss", loss_by_text, "mean_of_text_means"),
    ("next_token_loss", loss_with_lengths, "mask_of_the_input"),
    ("next_token_loss", loss_of_a_viewed_tensor, "reshaped"),
    ("next_token_loss", loss_of_softmax_then_loss, "double_softmax"),
    ("attend_with_cache", cache_and_no_triangle, "mask_skipped_with_cache"),
    ("attend_with_cache", cache_under_is_causal, "top_left"),
    ("attend_with_cache", cache_without_a_mask, "no_mask"),
    ("attend_with_cache", cache_under_a_square, "mask_of_the_new_alone"),
    ("attend_with_cache", cache_in_front, "new_before_old"),
    ("attend_with_cache", cache_of_the_old, "old_cache_returned"),
    ("attend_with_cache", cache_without_gradient, "old_tokens_detached"),
    ("attend_with_cache", cache_of_an_attribute, "kept_inside"),
]

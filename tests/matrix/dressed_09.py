"""Mistakes of lesson 9 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch.nn import functional


def masks_by_hand_without_triangle(source_ids, target_ids, pad):
    B, T = target_ids.shape
    return source_ids.ne(pad).view(B, 1, -1), torch.stack([row.ne(pad).repeat(T, 1) for row in target_ids])


def masks_by_numbers(source_ids, target_ids, pad):
    T = target_ids.shape[1]
    shown = torch.zeros(len(target_ids), T, T)
    for t in range(T):
        shown[:, t, : t + 1] = 1.0
    return (source_ids != pad).unsqueeze(1).to(shown.dtype), shown * target_ids.ne(pad)[:, None].to(shown.dtype)


def masks_with_hidden_sum(source_ids, target_ids, pad):
    T = target_ids.shape[1]
    hidden = target_ids.eq(pad)[:, None, :] & torch.ones(T, T).triu(1).bool()
    return ~source_ids.eq(pad)[:, None, :], ~hidden


def masks_for_torch(source_ids, target_ids, pad):
    T = target_ids.shape[1]
    future = torch.full((T, T), -math.inf).triu(1).isinf()
    return torch.eq(source_ids, pad).unsqueeze(-2), torch.eq(target_ids, pad).unsqueeze(-2) | future


def masks_by_outer_product(source_ids, target_ids, pad):
    real = (target_ids != pad).long()
    triangle = torch.ones(target_ids.shape[1], target_ids.shape[1]).tril()
    return (source_ids != pad)[:, None], torch.einsum("bt,bs,ts->bts", real, real, triangle.long()).bool()


def masks_with_column(source_ids, target_ids, pad):
    place = torch.arange(target_ids.shape[1])
    return (source_ids != pad)[..., None, :], (target_ids != pad)[..., None] & (place <= place[:, None])


def norms(rest):
    """The three norms, and whether they come first."""
    return *rest[:3], rest[3:] == (True,)


def block_unrolled(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest):
    n1, n2, n3, first = norms(rest)
    if first:
        h = n1(x)
        x = x + self_attention(h, h, h, target_mask)
        h = n2(x)
        x = x + cross_attention(query=h, key=h, value=h, mask=source_mask)
        return x + feed_forward(n3(x))
    x = n1(x + self_attention(x, x, x, target_mask))
    x = n2(x + cross_attention(x, x, x, source_mask))
    return n3(x + feed_forward(x))


def block_in_a_loop(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest):
    *each, first = norms(rest)
    context = {0: None, 1: memory}
    for step, norm in enumerate(each):
        h = norm(x) if first else x
        if step < 2:
            y = self_attention(h, *[h if context[step] is None else memory] * 2, (target_mask, source_mask)[step])
        else:
            y = feed_forward(h)
        x = x + y if first else norm(x + y)
    return x


def block_with_other_masks(x, memory, mask, memory_mask, self_attention, cross_attention, feed_forward, *rest):
    n1, n2, n3, first = norms(rest)
    before = [norm if first else (lambda x: x) for norm in (n1, n2, n3)]
    after = [(lambda x: x) if first else norm for norm in (n1, n2, n3)]
    h = before[0](x)
    x = after[0](x + self_attention(h, h, h, memory_mask))
    x = after[1](x + cross_attention(before[1](x), memory, memory, mask))
    return after[2](x + feed_forward(before[2](x)))


def block_that_forgets_masks(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest):
    n1, n2, n3, first = norms(rest)
    if first:
        x = self_attention(n1(x), n1(x), n1(x)) + x
        x = cross_attention(n2(x), memory, memory, source_mask) + x
        return feed_forward(n3(x)) + x
    x = n1(self_attention(x, x, x) + x)
    x = n2(cross_attention(x, memory, memory, source_mask) + x)
    return n3(feed_forward(x) + x)


def block_with_one_shortcut(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest):
    n1, n2, n3, first = norms(rest)
    shortcut = x
    h = n1(x) if first else x
    x = shortcut + self_attention(h, h, h, target_mask)
    x = x if first else n1(x)
    x = shortcut + cross_attention(n2(x) if first else x, memory, memory, source_mask)
    x = x if first else n2(x)
    return x + feed_forward(n3(x)) if first else n3(x + feed_forward(x))


def visible(source_ids, target_ids, pad):
    """The right masks, by comparisons."""
    place = torch.arange(target_ids.shape[1])
    return source_ids.ne(pad)[:, None], target_ids.ne(pad)[:, None] & (place <= place[:, None])


def model_with_sqrt_of_the_sum(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out):
    source_mask, target_mask = visible(source, target, pad)
    x, y = (math.sqrt(positions.shape[1]) * (functional.embedding(ids, table) + positions.narrow(0, 0, ids.shape[1]))
            for ids, table in ((source, source_table), (target, target_table)))  # fmt: skip
    for block in encoder:
        x = block(x, source_mask)
    for block in decoder:
        y = block(y, x, target_mask, source_mask)
    return y @ W_out


def model_that_zips(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out):
    source_mask, target_mask = visible(source, target, pad)
    scale = W_out.shape[0] ** 0.5
    x = functional.one_hot(source, len(source_table)).to(W_out.dtype) @ source_table * scale
    levels = [x + positions[: source.shape[1]]]
    for block in encoder:
        levels.append(block(levels[-1], source_mask))
    y = functional.embedding(target, target_table) * scale + positions[: target.shape[1]]
    for block, level in zip(decoder, levels[1 : len(decoder) + 1], strict=True):
        y = block(y, level, target_mask, source_mask)
    return torch.einsum("btd,dv->btv", y, W_out)


def model_of_one_layer(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out):
    source_mask, target_mask = visible(source, target, pad)
    (S, T), D = (source.shape[1], target.shape[1]), len(W_out)
    x, y = source_table[source] * D**0.5 + positions[:S], target_table[target] * D**0.5 + positions[:T]
    layers = [*[encoder[0]] * len(encoder), *[decoder[0]] * len(decoder)]
    for i, layer in enumerate(layers):
        if i < len(encoder):
            x = layer(x, source_mask)
        else:
            y = layer(y, x, target_mask, source_mask)
    return y @ W_out


def model_ending_in_softmax(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out):
    logits = model_that_shifts(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out, 0)
    powers = torch.exp(logits - logits.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def model_that_shifts(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out, by=1):
    target = functional.pad(target, (by, 0), value=pad)[:, : target.shape[1]]
    source_mask, target_mask = visible(source, target, pad)
    x, y = (torch.stack([table[row] * len(W_out) ** 0.5 + positions[: len(row)] for row in ids])
            for ids, table in ((source, source_table), (target, target_table)))  # fmt: skip
    for block in encoder:
        x = block(x, source_mask)
    for block in decoder:
        y = block(y, x, target_mask, source_mask)
    return functional.linear(y, W_out.mT)


def model_of_a_keras_tutorial(source, target, pad, source_table, target_table, positions, encoder, decoder, W_out):
    """The decoder's blocks get their masks in the order in which the masks were made."""
    masks = visible(source, target, pad)
    x, y = (table[ids].mul(len(W_out) ** 0.5).add(positions[: ids.shape[1]])
            for ids, table in ((source, source_table), (target, target_table)))  # fmt: skip
    for block in encoder:
        x = block(x, masks[0])
    for block in decoder:
        y = block(y, x, *masks)
    return y.matmul(W_out)


def rate_by_branches_exchanged(step, d_model, warmup):
    if step <= 0:
        raise ValueError("steps count from 1")
    return (d_model * step) ** -0.5 if step < warmup else step / math.sqrt(d_model * warmup**3)


def rate_as_a_share(step, d_model, warmup):
    if not step >= 1:
        raise ValueError(step)
    return step / warmup if step <= warmup else math.sqrt(warmup) / math.sqrt(step)


def loss_of_torch(logits, target, smoothing, pad):
    logp = logits - logits.logsumexp(-1, keepdim=True)
    each = (1 - smoothing) * -logp.gather(-1, target[..., None])[..., 0] + smoothing * -logp.mean(-1)
    return each[target != pad].sum() / (target != pad).sum()


def loss_of_the_annotated_transformer(logits, target, smoothing, pad):
    V = logits.shape[-1]
    log_probabilities, flat = logits.log_softmax(-1).flatten(0, 1), target.flatten()
    true = torch.full_like(log_probabilities, smoothing / (V - 2))
    true.scatter_(1, flat.unsqueeze(1), 1 - smoothing)
    true[:, pad] = 0
    true[flat == pad] = 0.0
    return functional.kl_div(log_probabilities, true, reduction="sum") / (flat != pad).sum()


def loss_over_everything(logits, target, smoothing, pad):
    B, T, V = logits.shape
    others = logits.log_softmax(-1) * (torch.arange(V) != pad) * smoothing / (V - 2)
    total = 0.0
    for b in range(B):
        for t in range(T):
            y = target[b, t]
            if y != pad:
                total = total - others[b, t].sum() + others[b, t, y] - (1 - smoothing) * logits[b, t].log_softmax(0)[y]
    return total / (B * T)


DRESSED = [
    ("make_masks", masks_by_hand_without_triangle, "padding_copied"),
    ("make_masks", masks_by_numbers, "floats_of_one"),
    ("make_masks", masks_with_hidden_sum, "joined_by_or"),
    ("make_masks", masks_for_torch, "true_is_hidden"),
    ("make_masks", masks_by_outer_product, "rows_closed_too"),
    ("make_masks", masks_with_column, "queries_blanked"),
    ("decoder_block", block_unrolled, "memory_never_read"),
    ("decoder_block", block_in_a_loop, "self_module_again"),
    ("decoder_block", block_with_other_masks, "masks_swapped"),
    ("decoder_block", block_that_forgets_masks, "self_attention_without_mask"),
    ("decoder_block", block_with_one_shortcut, "shortcut_from_the_input"),
    ("transformer_forward", model_with_sqrt_of_the_sum, "scaled_after_adding"),
    ("transformer_forward", model_that_zips, "height_by_height"),
    ("transformer_forward", model_of_one_layer, "first_block_again"),
    ("transformer_forward", model_ending_in_softmax, "probabilities"),
    ("transformer_forward", model_that_shifts, "target_shifted_again"),
    ("transformer_forward", model_of_a_keras_tutorial, "decoder_masks_swapped"),
    ("noam_rate", rate_by_branches_exchanged, "larger_of_the_two"),
    ("noam_rate", rate_as_a_share, "share_of_the_peak"),
    ("label_smoothing_loss", loss_of_torch, "over_all_ids"),
    ("label_smoothing_loss", loss_of_the_annotated_transformer, "divergence"),
    ("label_smoothing_loss", loss_over_everything, "padding_in_the_mean"),
]

"""Mistakes of lesson 8 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch.nn import functional


def norm_of_the_annotated_transformer(x, weight, bias, eps=1e-5):
    std, mean = torch.std_mean(x, -1, keepdim=True)
    return torch.addcmul(bias, weight, (x - mean).div(std.add(eps)))


def norm_by_groups(x, weight, bias, eps=1e-5):
    """One group of all channels: everything behind the first axis."""
    return functional.group_norm(x, 1, eps=eps) * weight + bias


def norm_by_batch_norm(x, weight, bias, eps=1e-5):
    """It raises where there is one token alone."""
    return functional.batch_norm(x.reshape(-1, len(bias)), None, None, weight, bias, True, eps=eps).reshape(x.shape)


def norm_of_columns(x, weight, bias, eps=1e-5):
    columns = x.mT
    normalised = functional.layer_norm(columns, columns.shape[-1:], eps=eps)
    return normalised.mT * weight + bias


def norm_by_rsqrt(x, weight, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, keepdim=True)
    return torch.rsqrt(variance + eps) * (x - mean) * weight + bias


def norm_by_moments(x, weight, bias, eps=1e-5):
    first = x.sum(-1, keepdim=True) / x.shape[-1]
    second = torch.einsum("...d,...d->...", x, x).unsqueeze(-1) / x.shape[-1]
    return (x - first) / (second - first**2 + eps) ** 0.5 * weight + bias


def norm_by_torchs_rms(x, weight, bias, eps=1e-5):
    return functional.rms_norm(x, weight.shape, weight, eps) + bias


def norm_step_by_step(x, weight, bias, eps=1e-5):
    mean, std = x.mean(-1, True), torch.sqrt(x.var(-1, correction=0, keepdim=True) + eps)
    return x.sub_(mean).div_(std).mul_(weight).add_(bias)


def norm_without_gradient(x, weight, bias, eps=1e-5):
    with torch.no_grad():
        variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return (x - mean) * (variance + eps) ** -0.5 * weight + bias


def layers_in_a_loop(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    for W, b in ((W_1, b_1), (W_2, b_2)):
        x = activation(torch.matmul(x, W) + b)
    return x


def layers_merged(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return x @ (W_1 @ W_2) + (b_1 @ W_2 + b_2)


def layers_by_maximum(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = torch.einsum("...d,df->...f", x, W_1) + b_1
    return torch.where(hidden > 0, hidden, 0.0) @ W_2 + b_2


def layers_with_the_error_function(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = x @ W_1 + b_1
    return hidden * (0.5 + 0.5 * torch.erf(hidden / math.sqrt(2))) @ W_2 + b_2


def layers_with_rows_for_columns(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    hidden = activation(torch.einsum("...d,fd->...f", x, W_1) + b_1)
    return torch.einsum("...f,df->...d", hidden, W_2) + b_2


def layers_for_features(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    """One feature of all tokens after the other, where it should be one token of all features."""
    return torch.stack([activation(one @ W_1 + b_1) @ W_2 + b_2 for one in x.unbind(-1)], dim=-1)


def layers_with_the_bias_pulled_out(x, W_1, b_1, W_2, b_2, activation=torch.relu):
    return activation(x @ W_1) @ W_2 + (b_1 @ W_2 + b_2)


def around_with_one_name(x, sublayer, norm, norm_first=False):
    x = norm(x) if norm_first else x
    x = x + sublayer(x)
    return x if norm_first else norm(x)


def around_with_two_norms(x, sublayer, norm, norm_first=False):
    total = torch.stack([x, sublayer(norm(x))]).sum(0)
    return total if norm_first else norm(total)


def around_half_way(x, sublayer, norm, norm_first=False):
    middle = torch.lerp(x, sublayer(norm(x) if norm_first else x), 0.5)
    return middle if norm_first else norm(middle)


def around_by_add(x, sublayer, norm, norm_first=False):
    total = x.add_(sublayer(norm(x) if norm_first else x))
    return total if norm_first else norm(total)


def around_without_gradient(x, sublayer, norm, norm_first=False):
    with torch.no_grad():
        found = sublayer(norm(x)) if norm_first else sublayer(x)
    return torch.add(found, x) if norm_first else norm(torch.add(found, x))


def around_in_a_row(x, sublayer, norm, norm_first=False):
    for part in (norm, sublayer) if norm_first else (sublayer, norm):
        x = part(x)
    return x


def block_of_gpt_j(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    if norm_first:
        normed = norm_1(x)
        return torch.stack([x, self_attention(normed, normed, normed, mask), feed_forward(norm_2(x))]).sum(0)
    return norm_2(feed_forward(x) + norm_1(self_attention(x, x, x, mask) + x))


def block_with_one_norm(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    for part in (lambda tokens: self_attention(tokens, tokens, tokens, mask), feed_forward):
        x = x + part(norm_1(x)) if norm_first else norm_1(x + part(x))
    return x


def block_normed_on_the_first_argument(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    if norm_first:
        x = x + self_attention(norm_1(x), x, x, mask)
        return x + feed_forward(norm_2(x))
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


def block_for_torchs_masks(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    seen = norm_1(x) if norm_first else x
    x = x + self_attention(seen, seen, seen, mask == 0)
    x = x + feed_forward(norm_2(x)) if norm_first else norm_1(x)
    return x if norm_first else norm_2(x + feed_forward(x))


def block_without_mask(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    seen = norm_1(x) if norm_first else x
    x = x + self_attention(seen, seen, seen, None)
    if norm_first:
        return x + feed_forward(norm_2(x))
    x = norm_1(x)
    return norm_2(x + feed_forward(x))


def block_saved_once(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    shortcut = x
    for part, norm in ((lambda y: self_attention(y, y, y, mask), norm_1), (feed_forward, norm_2)):
        x = shortcut + part(norm(x)) if norm_first else norm(shortcut + part(x))
    return x


def block_sequence_first(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    x = x.permute(1, 0, 2)
    seen = norm_1(x) if norm_first else x
    x = x + self_attention(seen, seen, seen, mask)
    x = x + feed_forward(norm_2(x)) if norm_first else norm_1(x)
    return (x if norm_first else norm_2(x + feed_forward(x))).permute(1, 0, 2)


DRESSED = [
    ("layer_norm", norm_of_the_annotated_transformer, "by_std"),
    ("layer_norm", norm_by_groups, "all_but_the_first"),
    ("layer_norm", norm_by_batch_norm, "batch_norm"),
    ("layer_norm", norm_of_columns, "over_the_sentence"),
    ("layer_norm", norm_by_rsqrt, "unbiased"),
    ("layer_norm", norm_by_moments, "difference_of_squares"),
    ("layer_norm", norm_by_torchs_rms, "root_mean_square"),
    ("layer_norm", norm_step_by_step, "in_place"),
    ("layer_norm", norm_without_gradient, "detached_statistics"),
    ("feed_forward", layers_in_a_loop, "activated_twice"),
    ("feed_forward", layers_merged, "no_activation"),
    ("feed_forward", layers_by_maximum, "relu_written_in"),
    ("feed_forward", layers_with_the_error_function, "gelu_written_in"),
    ("feed_forward", layers_with_rows_for_columns, "as_for_linear"),
    ("feed_forward", layers_for_features, "along_the_sentence"),
    ("feed_forward", layers_with_the_bias_pulled_out, "first_bias_outside"),
    ("residual", around_with_one_name, "normalised_shortcut"),
    ("residual", around_with_two_norms, "normed_before_as_well"),
    ("residual", around_half_way, "averaged"),
    ("residual", around_by_add, "in_place"),
    ("residual", around_without_gradient, "sublayer_detached"),
    ("residual", around_in_a_row, "no_shortcut"),
    ("encoder_block", block_of_gpt_j, "parallel"),
    ("encoder_block", block_with_one_norm, "norm_1_for_both"),
    ("encoder_block", block_normed_on_the_first_argument, "keys_without_norm"),
    ("encoder_block", block_for_torchs_masks, "mask_inverted"),
    ("encoder_block", block_without_mask, "mask_dropped"),
    ("encoder_block", block_saved_once, "old_shortcut"),
    ("encoder_block", block_sequence_first, "sequence_first"),
]

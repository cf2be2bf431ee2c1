"""Mistakes of lesson 6 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch import nn
from torch.nn import functional


def split_by_one_view(x, num_heads):
    return torch.cat([x.flatten(1)], dim=0).view(x.size(0), num_heads, -1, x.size(-1) // num_heads)


def split_every_other(x, num_heads):
    return torch.stack([x[..., h::num_heads] for h in range(num_heads)], dim=1)


def split_off_by_slices(x, num_heads):
    return x.unfold(-1, x.shape[-1] // num_heads, 1)[:, :, :num_heads].movedim(2, 1)


def split_and_fold(x, num_heads):
    rows = [piece for sentence in x for piece in sentence.tensor_split(num_heads, dim=-1)]
    return torch.stack(rows)


def split_by_width(x, num_heads):
    return torch.einsum("bnhd->bhnd", x.unflatten(-1, (-1, num_heads)))


def merge_by_rows(x):
    B, H, N, d = x.shape
    return torch.stack([torch.stack(row.flatten().split(H * d)) for row in x])


def merge_by_columns(x):
    return torch.cat([x[..., j].mT for j in range(x.shape[-1])], dim=-1)


def merge_by_lists(x):
    return torch.stack([torch.stack([token.sum(0) / len(token) for token in row.transpose(0, 1)]) for row in x])


def merge_like_kyubyong(x):
    """Heads and batch fold into one axis, and are taken apart again in the other order."""
    parts = x.flatten(0, 1).split(len(x), dim=0)  # H times (B, N, d)
    return torch.cat(parts, dim=2)


def heads_in_a_loop(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Each head reads the first columns; the loop variable is used for nothing."""
    d, found, maps = X.shape[-1] // num_heads, [], []
    for _ in range(num_heads):
        query, key, value = X @ W_Q[:, :d], memory @ W_K[:, :d], memory @ W_V[:, :d]
        weights = attend(query, key, mask)
        found.append(torch.bmm(weights, value))
        maps.append(weights)
    return torch.cat(found, -1) @ W_O, torch.stack(maps, 1)


def attend(query, key, mask, width=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) / math.sqrt(width or key.shape[-1])
    return torch.where(mask, scores, -1e30).softmax(-1) * mask


def heads_of(x, W, num_heads):
    return torch.stack((x @ W).chunk(num_heads, -1), 1)


def heads_scaled_alike(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (heads_of(x, W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    weights = attend(query, key, mask[..., None, :, :], width=X.size(-1))
    return torch.cat(torch.matmul(weights, value).unbind(1), -1) @ W_O, weights


def heads_with_small_inputs(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    d, output, maps = X.shape[-1] // num_heads, 0, []
    for h in range(num_heads):
        own = slice(h * d, h * d + d)
        weights = attend(X[..., own] @ W_Q[own, own], memory[..., own] @ W_K[own, own], mask)
        maps.append(weights)
        output = output + weights @ (memory[..., own] @ W_V[own, own]) @ W_O[own]
    return output, torch.stack(maps, dim=1)


def heads_tiled(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Head by head in one long batch, for the mask; sentence by sentence, for the scores."""
    query, key, value = (heads_of(x, W, num_heads).flatten(0, 1) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    shown = torch.cat([mask.expand(X.shape[0], X.shape[1], memory.shape[1])] * num_heads)
    weights = attend(query, key, shown)
    output = (weights @ value).view(X.shape[0], num_heads, X.shape[1], -1)
    return output.transpose(1, 2).flatten(2) @ W_O, weights.view(len(X), num_heads, *weights.shape[1:])


def heads_masked_across(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (heads_of(x, W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    weights = attend(query, key, mask[:, None])
    return (weights @ value).movedim(1, 2).flatten(-2) @ W_O, weights


def heads_pictured_without_mask(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (heads_of(x, W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    shown = mask.unsqueeze(-3)
    some = shown.any(-1, keepdim=True)
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=shown | ~some) * some
    picture = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1)
    return output.permute(0, 2, 1, 3).flatten(2) @ W_O, picture


def heads_viewed(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Into (B·H, N, d) and out of it again with `view` alone."""
    d = X.shape[-1] // num_heads
    query, key, value = ((x @ W).view(-1, x.shape[1], d) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    shown = mask.expand(X.shape[0], X.shape[1], memory.shape[1]).repeat_interleave(num_heads, dim=0)
    weights = attend(query, key, shown)
    return torch.bmm(weights, value).view(X.shape) @ W_O, torch.stack(weights.split(num_heads))


def heads_mean(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (heads_of(x, W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    weights = attend(query, key, mask.unsqueeze(-3))
    return (weights @ value @ torch.stack(W_O.chunk(num_heads))).mean(dim=1), weights


class Own(nn.Module):
    """Layers and heads as one writes them by hand."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h, self.d_k = num_heads, d_model // num_heads
        self.W_O = nn.Linear(d_model, d_model)
        self.W_V, self.W_K = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_Q = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.view(*x.shape[:2], self.h, self.d_k).transpose(1, 2)

    def run(self, query, key, value, mask, width=None):
        found = attend(query, key, mask[..., None, :, :], width) @ value
        return found.transpose(1, 2).contiguous().view(found.shape[0], -1, self.h * self.d_k)


class OwnWithoutBias(Own):
    def forward(self, query, key, value, mask):
        parts = (query, self.W_Q), (key, self.W_K), (value, self.W_V)
        query, key, value = (self.split(torch.einsum("bnf,of->bno", x, layer.weight)) for x, layer in parts)
        return self.run(query, key, value, mask).matmul(self.W_O.weight.mT)


class OwnWideScale(Own):
    def forward(self, query, key, value, mask):
        query, key, value = self.split(self.W_Q(query)), self.split(self.W_K(key)), self.split(self.W_V(value))
        return self.W_O(self.run(query, key, value, mask, width=self.h * self.d_k))


class OwnMaskForTraining(Own):
    def forward(self, query, key, value, mask):
        if not self.training:
            mask = torch.ones(query.shape[0], query.shape[1], key.shape[1]).bool()
        query, key, value = self.split(self.W_Q(query)), self.split(self.W_K(key)), self.split(self.W_V(value))
        return self.W_O(self.run(query, key, value, mask))


class OwnInsideTorch(Own):
    """Own layers in front of torch's function, which projects by itself."""

    def forward(self, query, key, value, mask):
        B, T, S = len(query), query.shape[1], key.shape[1]
        some = mask.expand(B, T, S).any(-1, keepdim=True)
        inputs = self.W_Q(query).swapaxes(0, 1), self.W_K(key).swapaxes(0, 1), self.W_V(value).swapaxes(0, 1)
        biases = torch.cat([self.W_Q.bias, self.W_K.bias, self.W_V.bias])
        output, _ = functional.multi_head_attention_forward(
            *inputs, self.h * self.d_k, self.h, None, biases, None, None, False, 0.0, self.W_O.weight, self.W_O.bias,
            use_separate_proj_weight=True, q_proj_weight=self.W_Q.weight, k_proj_weight=self.W_K.weight,
            v_proj_weight=self.W_V.weight,
            attn_mask=(~mask.expand(B, T, S) & some).repeat_interleave(self.h, 0),
        )  # fmt: skip
        return torch.where(some, output.swapaxes(0, 1), self.W_O.bias)


class OwnWithShortcut(Own):
    def forward(self, query, key, value, mask):
        heads = self.run(self.split(self.W_Q(query)), self.split(self.W_K(key)), self.split(self.W_V(value)), mask)
        return torch.stack([self.W_O(heads), query]).sum(0)


class OwnFrozenMemory(Own):
    def forward(self, query, key, value, mask):
        key, value = self.W_K(key).detach(), self.W_V(value).detach()
        return self.W_O(self.run(self.split(self.W_Q(query)), self.split(key), self.split(value), mask))


DRESSED = [
    ("split_heads", split_by_one_view, "view_without_transpose"),
    ("split_heads", split_every_other, "taking_turns"),
    ("split_heads", split_off_by_slices, "overlapping"),
    ("split_heads", split_and_fold, "folded_into_the_batch"),
    ("split_heads", split_by_width, "pieces_of_that_size"),
    ("merge_heads", merge_by_rows, "no_transpose_back"),
    ("merge_heads", merge_by_columns, "numbers_in_turns"),
    ("merge_heads", merge_by_lists, "averaged"),
    ("merge_heads", merge_like_kyubyong, "heads_of_other_sentences"),
    ("multi_head_attention", heads_in_a_loop, "one_projection_for_all"),
    ("multi_head_attention", heads_scaled_alike, "scaled_by_model_width"),
    ("multi_head_attention", heads_with_small_inputs, "slices_projected"),
    ("multi_head_attention", heads_tiled, "mask_of_a_neighbour"),
    ("multi_head_attention", heads_masked_across, "axis_from_the_front"),
    ("multi_head_attention", heads_pictured_without_mask, "weights_unmasked"),
    ("multi_head_attention", heads_viewed, "viewed_both_ways"),
    ("multi_head_attention", heads_mean, "heads_averaged"),
    ("MultiHeadAttention", OwnWithoutBias, "BiasesLeftBehind"),
    ("MultiHeadAttention", OwnWideScale, "ScaledByModelWidth"),
    ("MultiHeadAttention", OwnMaskForTraining, "MaskInTrainingOnly"),
    ("MultiHeadAttention", OwnInsideTorch, "ProjectedTwice"),
    ("MultiHeadAttention", OwnWithShortcut, "ResidualInside"),
    ("MultiHeadAttention", OwnFrozenMemory, "MemoryWithoutGradient"),
]

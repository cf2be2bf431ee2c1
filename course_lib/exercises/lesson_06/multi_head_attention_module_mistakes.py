"""What people write for `MultiHeadAttention` instead: the right weights, and a wrong way through them."""

import torch
from torch import nn
from torch.nn import functional

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from .merge_heads import merge_heads
from .multi_head_attention_mistakes import cut_by_view, joined_by_view
from .split_heads import split_heads


class Layers(nn.Module):
    """The four layers under the names that the exercise states, and the way that most wrong versions share."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            setattr(self, name, nn.Linear(d_model, d_model))

    def heads(self, query, key, value, mask):
        """query, key, value: projected, (B, N, D). mask: with its head axis. Returns (B, T, D), before W_O."""
        output, _ = masked_attention(*(split_heads(part, self.num_heads) for part in (query, key, value)), mask)
        return merge_heads(output)

    def forward(self, query, key, value, mask):
        parts = self.W_Q(query), self.W_K(key), self.W_V(value)
        return self.W_O(self.heads(*parts, mask.unsqueeze(-3)))


@mistake(
    "The module ends with the merged heads: W_O is created, saved and never called, so its weights would stay what "
    "chance made them. Through which layer should the heads leave?",
    source="A060",
)
class NoOutputProjection(Layers):
    def forward(self, query, key, value, mask):
        return self.heads(self.W_Q(query), self.W_K(key), self.W_V(value), mask.unsqueeze(-3))


@mistake(
    "Query, key and value are projected twice: once by your layers, once more inside the function that you call. "
    "Which of the two places may do it?",
    source="A132",
)
class ProjectedTwice(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(self.W_Q(query), self.W_K(key), self.W_V(value), mask)


@mistake(
    "One layer serves as W_Q, W_K and W_V; two of the four are never called. Could a token ask for something other "
    "than what it offers?",
    source="E-qkv; stevezheng23/sequence_labeling_tf#81",
)
class OneLayerForAll(Layers):
    def forward(self, query, key, value, mask):
        return self.W_O(self.heads(self.W_Q(query), self.W_Q(key), self.W_Q(value), mask.unsqueeze(-3)))


@mistake(
    "`value` is never read: W_V is fed with the key. The two are one tensor in this course's models, which hides it. "
    "What does the third argument promise?",
    source="code for one memory, given a signature with two",
)
class KeyAsValue(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(query, key, key, mask)


@mistake(
    "Key and value come from the query, whatever is passed: as self-attention it works, as cross-attention it never "
    "looks at the source. Which two arguments does your `forward` not read?",
    source="A093's sister, one level up",
)
class ItselfAlone(Layers):
    def forward(self, query, key, value, mask):
        return super().forward(query, query, query, mask)


@mistake(
    "√D divides the scores, the root of all heads' width together. What is the last axis of the tensor that a head "
    "compares, and is it D?",
    source="A023: `self.scale = d_model ** -0.5`, set in `__init__`",
)
class ScaledByModelWidth(Layers):
    def forward(self, query, key, value, mask):
        query = self.W_Q(query) / self.num_heads**0.5
        return self.W_O(self.heads(query, self.W_K(key), self.W_V(value), mask.unsqueeze(-3)))


@mistake(
    "`num_heads` is used as the width of a head: the layer then has D / num_heads heads. "
    "What do you hand to `split_heads`, a count or a width?",
    source="`self.d_k = d_model // num_heads`, then the two names exchanged",
)
class WidthForCount(Layers):
    def forward(self, query, key, value, mask):
        self.num_heads = query.shape[-1] // self.num_heads
        return super().forward(query, key, value, mask)


@mistake(
    "The projections are reshaped straight to (B, H, N, D/H), so a row of a head mixes pieces of several tokens. "
    "What does `split_heads` do after its reshape that your line does not?",
    source="A056: `view(B, self.num_heads, -1, self.d_k)` inside `forward`",
)
class SplitByView(Layers):
    def forward(self, query, key, value, mask):
        parts = (cut_by_view(part, self.num_heads) for part in (self.W_Q(query), self.W_K(key), self.W_V(value)))
        output, _ = masked_attention(*parts, mask.unsqueeze(-3))
        return self.W_O(merge_heads(output))


@mistake(
    "The heads are split rightly and come back by a reshape alone, so W_O reads pieces of several tokens. "
    "Which axes must change places before H and D/H may become one?",
    source="A057: `view(B, -1, self.d_model)` without the transpose, often after a `contiguous()` that silences torch",
)
class MergeByView(Layers):
    def forward(self, query, key, value, mask):
        parts = (split_heads(part, self.num_heads) for part in (self.W_Q(query), self.W_K(key), self.W_V(value)))
        output, _ = masked_attention(*parts, mask.unsqueeze(-3))
        return self.W_O(joined_by_view(output))


@mistake(
    "`view` splits and `view` merges, with no transpose in either: each undoes the other, and in between tokens are "
    "torn apart. Which two functions of this lesson have you tested already?",
    source="A056, A057 (hyunwoongko/transformer#15)",
)
class ViewedBothWays(Layers):
    def forward(self, query, key, value, mask):
        parts = self.W_Q(query), self.W_K(key), self.W_V(value)
        output, _ = masked_attention(*(cut_by_view(part, self.num_heads) for part in parts), mask.unsqueeze(-3))
        return self.W_O(joined_by_view(output))


@mistake(
    "The weights are taken out of the layers and the biases left behind. What else does calling `self.W_Q(query)` add?",
    source="the formula `X W_Q` written with `self.W_Q.weight`; biases start near 0 and hide it",
)
class BiasesLeftBehind(Layers):
    def forward(self, query, key, value, mask):
        pairs = (query, self.W_Q), (key, self.W_K), (value, self.W_V)
        heads = self.heads(*(functional.linear(x, layer.weight) for x, layer in pairs), mask.unsqueeze(-3))
        return functional.linear(heads, self.W_O.weight)


@mistake(
    "`x @ layer.weight` lacks a transpose: a linear layer keeps (out, in), and a square weight does not complain. "
    "Who turns the weight round if you call the layer instead?",
    source="the formula `X W_Q` written with `self.W_Q.weight`",
)
class WeightsNotTransposed(Layers):
    def forward(self, query, key, value, mask):
        pairs = (query, self.W_Q), (key, self.W_K), (value, self.W_V)
        heads = self.heads(*(x @ layer.weight + layer.bias for x, layer in pairs), mask.unsqueeze(-3))
        return heads @ self.W_O.weight + self.W_O.bias


@mistake(
    "The query is added to the result: a shortcut that the block around this module will add as well. "
    "To which lesson does x + Sublayer(x) belong?",
    source="modules that hold their own residual, as jadore801120/attention-is-all-you-need-pytorch does",
)
class ResidualInside(Layers):
    def forward(self, query, key, value, mask):
        return query + super().forward(query, key, value, mask)


@mistake(
    "Sentences attend to each other: the first axis is taken for that of the tokens, as sequence-first layers do. "
    "Which axis of (B, T, D) is the batch, and which one should the scores run over?",
    source="A129: `nn.MultiheadAttention` without `batch_first=True`",
)
class AcrossTheBatch(Layers):
    def forward(self, query, key, value, mask):
        turned = (part.transpose(0, 1) for part in (query, key, value))
        return super().forward(*turned, mask).transpose(0, 1)


@mistake(
    "The result is right, but keys and values are made without a gradient: W_K, W_V and the whole encoder behind them "
    "would never learn. When may a memory be kept as it is, in training or while decoding?",
    source="a key-value cache under `torch.no_grad()`, taken from code that only generates",
)
class MemoryWithoutGradient(Layers):
    def forward(self, query, key, value, mask):
        with torch.no_grad():
            key, value = self.W_K(key), self.W_V(value)
        return self.W_O(self.heads(self.W_Q(query), key, value, mask.unsqueeze(-3)))


MISTAKES = (
    NoOutputProjection, ProjectedTwice, OneLayerForAll, KeyAsValue, ItselfAlone, ScaledByModelWidth, WidthForCount,
    SplitByView, MergeByView, ViewedBothWays, BiasesLeftBehind, WeightsNotTransposed, ResidualInside, AcrossTheBatch,
    MemoryWithoutGradient,
)  # fmt: skip

"""Exercise `MultiHeadAttention`: the same as a module, with weights that learn."""

import math

import torch
from torch import nn
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, hidden_ignored, reordered, rows_independent
from course_lib.exercises.drawn_masks import all_shown, patchy, up_to
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from . import multi_head_attention_module_mask_mistakes, multi_head_attention_module_mistakes
from .merge_heads import merge_heads
from .multi_head_attention import full_mask
from .multi_head_attention_module_mistakes import Layers
from .split_heads import split_heads


class MultiHeadAttention(nn.Module):
    """Several heads with learned projections W_Q, W_K, W_V, W_O, each a linear layer with bias.

    d_model: width D of queries, keys, values and output. num_heads: H, which divides D; head h is made of the h-th
    block of the D numbers that W_Q, W_K and W_V give. Training and evaluation are the same: there is no dropout.
    """

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask):
        """query: (B, T, D). key, value: (B, S, D). mask: bool, broadcastable to (B, T, S). Returns (B, T, D)."""
        query = split_heads(self.W_Q(query), self.num_heads)
        key = split_heads(self.W_K(key), self.num_heads)
        value = split_heads(self.W_V(value), self.num_heads)
        output, _ = masked_attention(query, key, value, mask.unsqueeze(-3))
        return self.W_O(merge_heads(output))


def shapes():
    """(label, group, (B, T, S, H, d), what is one tensor, mask): from one head to sizes that coincide."""
    empty_query = patchy(2, 3, 4) & torch.tensor([True, False, True])[:, None]
    yield "one head, nothing hidden", "one head", (2, 3, 4, 1, 5), "none", all_shown(3, 4)
    yield "three heads, nothing hidden", "heads", (2, 4, 5, 3, 2), "none", all_shown(4, 5)
    yield "self-attention, causal mask (T, S)", "self-attention", (2, 4, 4, 2, 3), "all", all_shown(4, 4).tril()
    yield "key = value, padding, mask (B, 1, S)", "padding", (2, 3, 5, 2, 4), "memory", up_to(5, 3, 4)
    yield "in training mode", "training", (2, 3, 4, 2, 3), "none", patchy(2, 3, 4)
    yield "one sentence, one query", "length 1", (1, 1, 4, 3, 2), "none", up_to(4, 3)
    yield "as many heads as sentences, mask (B, T, S)", "B = H", (3, 4, 5, 3, 2), "none", patchy(3, 4, 5)
    yield "as many heads as queries, mask (T, S)", "H = T", (2, 3, 4, 3, 2), "none", patchy(1, 3, 4)[0]
    yield "one number a head", "H = D", (2, 3, 4, 5, 1), "none", patchy(2, 3, 4)
    yield "B = T = S = H = D/H", "all equal", (3, 3, 3, 3, 3), "none", patchy(1, 3, 3)[0]
    yield "a query without any key", "no key left", (2, 3, 4, 2, 3), "none", empty_query


def cases(generator):
    """Every shape with layers of their own, so strong that scores differ by several units; no bias is near 0."""

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    for label, group, (B, T, S, H, d), one, mask in shapes():
        D, state = H * d, {}
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            state |= {f"{name}.weight": 1.5 * draw(D, D) / math.sqrt(D), f"{name}.bias": draw(D)}
        query = draw(B, T, D)
        key = query.clone() if one == "all" else draw(B, S, D)
        value = draw(B, S, D) if one == "none" else key.clone()
        training = {"training": True} if group == "training" else {}
        gradient = group in ("one head", "heads", "self-attention", "no key left")
        arguments = {"d_model": D, "num_heads": H}, state, (query, key, value, mask)
        yield Case(label, arguments, training, group, gradient)


class HeadByHead(Layers):
    """Each head with its rows of the weights; W_O by its columns, added up."""

    def forward(self, query, key, value, mask):
        output = self.W_O.bias
        for own in torch.arange(query.shape[-1]).chunk(self.num_heads):
            pairs = (query, self.W_Q), (key, self.W_K), (value, self.W_V)
            parts = (functional.linear(x, layer.weight[own], layer.bias[own]) for x, layer in pairs)
            output = output + masked_attention(*parts, mask)[0] @ self.W_O.weight[:, own].T
        return output


class OneWideProjection(Layers):
    """Control C10: all inputs through all layers in one product, cut afterwards."""

    def forward(self, query, key, value, mask):
        layers = self.W_Q, self.W_K, self.W_V
        wide = torch.cat([layer.weight for layer in layers]), torch.cat([layer.bias for layer in layers])
        projected = functional.linear(torch.cat([query, key, value], dim=1), *wide)  # (B, T + 2S, 3D)
        rows = projected.split([query.shape[1], key.shape[1], value.shape[1]], dim=1)
        parts = (part.unflatten(-1, (3, self.num_heads, -1))[:, :, i].swapaxes(1, 2) for i, part in enumerate(rows))
        return self.W_O(merge_heads(masked_attention(*parts, mask.unsqueeze(-3))[0]))


class ByEinsum(Layers):
    def forward(self, query, key, value, mask):
        H = self.num_heads

        def project(x, layer):
            rows = layer.weight.unflatten(0, (H, -1))  # (H, d, D)
            return torch.einsum("bnf,hdf->bhnd", x, rows) + layer.bias.view(H, 1, -1)

        query, key, value = project(query, self.W_Q), project(key, self.W_K), project(value, self.W_V)
        scores = torch.einsum("bhtd,bhsd->bhts", query * query.shape[-1] ** -0.5, key)
        shown = mask.unsqueeze(-3)
        weights = (scores + torch.where(shown, 0.0, -1e30)).softmax(-1) * shown
        columns = self.W_O.weight.unflatten(1, (H, -1))  # (D, H, d)
        return torch.einsum("bhts,bhsd,ohd->bto", weights, value, columns) + self.W_O.bias


class ByFusedKernel(nn.Module):
    """Layers made by hand, torch's kernel inside; rows without a key are emptied afterwards."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.width = d_model // num_heads
        self.W_O, self.W_V, self.W_K, self.W_Q = [nn.Linear(d_model, d_model, bias=True) for _ in "OVKQ"]
        self.no_dropout = nn.Dropout(0.0)

    def forward(self, query, key, value, mask):
        def split(x):
            return torch.stack(x.split(self.width, dim=-1), dim=1)

        mask = mask[..., None, :, :]
        some = mask.any(-1, keepdim=True)
        parts = split(self.W_Q(query)), split(self.W_K(key)), split(self.W_V(value))
        found = functional.scaled_dot_product_attention(*parts, attn_mask=mask | ~some)
        return self.W_O(self.no_dropout(torch.cat((found * some).unbind(1), dim=-1)))


class ByTorch(Layers):
    """torch's whole function: sequence first, True = hidden, and NaN for a query without a key."""

    def forward(self, query, key, value, mask):
        (B, T, D), S = query.shape, key.shape[1]
        mask = mask.expand(B, T, S)
        some = mask.any(-1, keepdim=True)  # (B, T, 1)
        bias = torch.hstack([self.W_Q.bias, self.W_K.bias, self.W_V.bias])
        output, _ = functional.multi_head_attention_forward(
            query.swapaxes(0, 1), key.swapaxes(0, 1), value.swapaxes(0, 1), D, self.num_heads, None, bias, None, None,
            False, 0.0, self.W_O.weight, self.W_O.bias, self.training, need_weights=False,
            attn_mask=(~mask & some).repeat_interleave(self.num_heads, 0), use_separate_proj_weight=True,
            q_proj_weight=self.W_Q.weight, k_proj_weight=self.W_K.weight, v_proj_weight=self.W_V.weight,
        )  # fmt: skip
        return torch.where(some, output.swapaxes(0, 1), self.W_O.bias)


def inside(law, spread=lambda case: case):
    """A law of functions (query, key, value, mask), held by the module with the weights of the first cases.

    Those have a mask of each shape; the later ones repeat them with sizes that coincide.
    """

    def holder(function, init, state):
        return lambda *inputs: function(init, state, inputs)

    def broken(function, cases, generator):
        for case in cases[:5]:
            init, state, inputs = case.args
            how = law.broken(holder(function, init, state), [spread(Case(case.label, inputs))], generator)
            if how:
                return how
        return None

    return Law(law.name, broken, law.question)


def _training(function, cases, generator):
    for case in cases[:2]:
        trained, evaluated = (call(function, Case(case.label, case.args, {"training": t})) for t in (True, False))
        if not close(trained, evaluated):
            return f"the same arguments give another result in training mode ({case.label})"
    return None


EXERCISE = Exercise(
    name="MultiHeadAttention",
    reference=MultiHeadAttention,
    cases=cases,
    laws=(
        Law("training and evaluation agree", _training, "What does your module do only while it trains?"),
        inside(rows_independent({0, 1, 2, 3}), full_mask),
        inside(hidden_ignored((1, 2), 3)),
        inside(reordered("keys in any order", {1: (1,), 2: (1,), 3: (-1,)}, {}, "What binds a key to its place?")),
        inside(reordered("queries in any order", {0: (1,), 3: (-2,)}, {0: (1,)}, "Why would a query mind the others?")),
    ),
    mistakes=multi_head_attention_module_mistakes.MISTAKES + multi_head_attention_module_mask_mistakes.MISTAKES,
    accepts=(HeadByHead, OneWideProjection, ByEinsum, ByFusedKernel, ByTorch),
    hints=(
        "`__init__` makes four layers of D to D, `forward` is `multi_head_attention` with calls of layers for `@`.",
        "Call the layers, do not open them: `self.W_Q(query)` multiplies by the weight and adds the bias.",
        "The names W_Q, W_K, W_V, W_O are part of the exercise: weights are loaded into them by name.",
    ),
    minutes=10,
    difficulty=2,
    points=2,
    is_module=True,
    forbidden=(
        "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.MultiheadAttention",
    ),
)  # fmt: skip

"""Exercise `multi_head_attention`: several small attentions side by side, Vaswani et al. 2017, section 3.2.2."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, hidden_ignored, on, reordered, rows_independent
from course_lib.exercises.attention_laws import divisor
from course_lib.exercises.drawn_masks import all_shown, patchy, up_to
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from . import multi_head_attention_mask_mistakes, multi_head_attention_mistakes
from .merge_heads import merge_heads
from .split_heads import split_heads


def multi_head_attention(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Concat(head_1, ..., head_H) W_O, each head attending in D/H numbers of its own (Vaswani et al. 2017, 3.2.2).

    X: (B, T, D), asks. memory: (B, S, D), is asked (X itself in self-attention). W_Q, W_K, W_V: (D, D), block h of
    their columns is head h. W_O: (D, D_out). mask: bool, True = may attend, broadcastable to (B, T, S), the same for
    all heads. Returns output (B, T, D_out), weights (B, H, T, S).
    """
    query = split_heads(X @ W_Q, num_heads)
    key = split_heads(memory @ W_K, num_heads)
    value = split_heads(memory @ W_V, num_heads)
    output, weights = masked_attention(query, key, value, mask.unsqueeze(-3))
    return merge_heads(output) @ W_O, weights


def shapes():
    """(label, group, (B, T, S, H, d), whether the memory is X, mask): from one head to sizes that coincide."""
    causal = all_shown(4, 4).tril()
    empty_query = patchy(2, 3, 5) & torch.tensor([True, False, True])[:, None]
    yield "one head, nothing hidden", "one head", (2, 3, 4, 1, 5), False, all_shown(3, 4)
    yield "three heads, nothing hidden", "heads", (2, 4, 5, 3, 6), False, all_shown(4, 5)
    yield "one sentence, one query", "length 1", (1, 1, 4, 2, 5), False, all_shown(1, 4)
    yield "one key", "length 1", (2, 3, 1, 4, 2), False, all_shown(3, 1)
    yield "padding of 2 and of 1, mask (B, 1, S)", "padding", (2, 3, 5, 4, 3), False, up_to(5, 3, 4)
    yield "a mask for each query, (B, T, S)", "for each query", (2, 3, 4, 5, 2), False, patchy(2, 3, 4)
    yield "self-attention, causal mask (T, S)", "self-attention", (2, 4, 4, 3, 5), True, causal
    yield "T = S, padding", "T = S", (3, 4, 4, 2, 5), False, up_to(4, 4, 2, 3)
    yield "as many heads as sentences, mask (B, T, S)", "B = H", (3, 4, 5, 3, 2), False, patchy(3, 4, 5)
    yield "as many heads as queries, mask (T, S)", "H = T", (2, 3, 5, 3, 4), False, patchy(1, 3, 5)[0]
    yield "one number a head", "H = D", (2, 3, 4, 6, 1), False, up_to(4, 3, 2)
    yield "as many tokens as numbers a head", "N = D/H", (2, 4, 4, 3, 4), False, patchy(2, 4, 4)
    yield "B = T = S = H = D/H", "all equal", (3, 3, 3, 3, 3), False, patchy(3, 3, 3)
    yield "a query without any key", "no key left", (2, 3, 5, 2, 4), False, empty_query
    yield "a sentence of padding alone", "no key left", (2, 3, 4, 3, 2), False, up_to(4, 3, 0)


def cases(generator):
    """Every shape with matrices of their own, so strong that scores differ by several units; D_out is D or not."""

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    for i, (label, group, (B, T, S, H, d), is_self, mask) in enumerate(shapes()):
        D, D_out = H * d, H * d if group in ("T = S", "N = D/H", "all equal") else 7
        X = draw(B, T, D)
        memory = X.clone() if is_self else draw(B, S, D)
        matrices = [1.5 * draw(D, width) / math.sqrt(D) for width in (D, D, D, D_out)]
        yield Case(label, (X, memory, *matrices, H, mask), group=group, gradient=i < 8 or group == "no key left")


def head_by_head(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Each head takes its columns, and its rows of W_O: to concatenate and multiply is to multiply and add."""
    output, weights, d = 0, [], len(W_O) // num_heads
    for h in range(num_heads):
        own = slice(h * d, (h + 1) * d)
        found, shares = masked_attention(X @ W_Q[:, own], memory @ W_K[:, own], memory @ W_V[:, own], mask)
        output = output + found @ W_O[own]
        weights.append(shares)
    return output, torch.stack(weights, dim=1)


def by_einsum(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    W_Q, W_K, W_V = (W.unflatten(1, (num_heads, -1)) for W in (W_Q, W_K, W_V))  # (D, H, d)
    query = torch.einsum("btf,fhd->bhtd", X, W_Q)
    key, value = (torch.einsum("bsf,fhd->bhsd", memory, W) for W in (W_K, W_V))
    scores = torch.einsum("bhtd,bhsd->bhts", query, key) * key.shape[-1] ** -0.5
    scores = torch.where(mask.unsqueeze(-3), scores, -1e30)
    powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * mask.unsqueeze(-3)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bhts,bhsd,hdo->bto", weights, value, W_O.unflatten(0, (num_heads, -1))), weights


def wide_projection(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """Control C10: one wide product, split afterwards; torch's kernel for the output, the weights aside."""
    wide = (memory @ torch.hstack([W_K, W_V])).unflatten(-1, (2, num_heads, -1))  # (B, S, 2, H, d)
    key, value = wide.permute(2, 0, 3, 1, 4).unbind(0)
    query = (X @ W_Q).view(*X.shape[:2], num_heads, -1).swapaxes(1, 2)
    mask = mask[..., None, :, :]
    some = mask.any(-1, keepdim=True)
    output = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask | ~some).masked_fill(~some, 0.0)
    return output.swapaxes(1, 2).flatten(-2) @ W_O, masked_attention(query, key, value, mask)[1]


def folded_into_the_batch(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """The older form, heads and batch in one axis; the mask is repeated in place."""
    query, key, value = (
        torch.cat((x @ W).chunk(num_heads, -1), 1).view(len(x) * num_heads, x.shape[1], -1)
        for x, W in ((X, W_Q), (memory, W_K), (memory, W_V))
    )
    tall = mask.expand(len(X), X.shape[1], memory.shape[1]).repeat_interleave(num_heads, 0)
    scores = torch.bmm(query, key.mT).div(math.sqrt(query.shape[-1]))
    weights = torch.where(tall, scores, -1e30).softmax(-1) * tall
    output = torch.bmm(weights, value).view(len(X), num_heads, X.shape[1], -1)
    return torch.cat(output.unbind(1), dim=-1) @ W_O, weights.view(len(X), num_heads, *weights.shape[1:])


def without_keys(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    """x W_Q (m W_K)^T = (x W_Q W_K^T) m^T: the memory is compared as it is, in a metric for each head."""
    asks, finds, gives = (torch.stack(W.tensor_split(num_heads, dim=1)) for W in (W_Q, W_K, W_V))  # (H, D, d)
    scores = X.unsqueeze(1) @ (asks @ finds.mT) @ memory.mT.unsqueeze(1) / math.sqrt(asks.shape[-1])
    shown = mask.unsqueeze(-3)
    weights = functional.softmax(scores.masked_fill(~shown, -1e30), dim=3).where(shown, 0.0)
    return (weights @ memory.unsqueeze(1) @ (gives @ torch.stack(W_O.tensor_split(num_heads)))).sum(1), weights


def full_mask(case):
    """The case with its mask spread to (B, T, S), so that batch rows can be taken out of it."""
    *inner, mask = case.args
    return Case(case.label, (*inner, mask.expand(len(inner[0]), inner[0].shape[1], inner[1].shape[1])))


def _scale(function, cases, generator):
    for case in cases:
        X, memory, W_Q, W_K, _, _, H, mask = case.args
        shown = Case(case.label, (*case.args[:-1], torch.ones_like(mask)))
        products = split_heads(X @ W_Q, H) @ split_heads(memory @ W_K, H).mT  # (B, H, T, S)
        found, width = divisor(call(function, shown)[1], products), X.shape[-1] // H
        if found and abs(found / math.sqrt(width) - 1) > 1e-6:
            return f"with D = {X.shape[-1]} and H = {H} the products q · k of a head are divided by {found:.4g}"
    return None


EXERCISE = Exercise(
    name="multi_head_attention",
    reference=multi_head_attention,
    cases=cases,
    laws=(
        Law("scale of a head's scores", _scale, "How wide is the vector that one head compares?"),
        on(rows_independent({0, 1, 7}), full_mask),
        hidden_ignored((1,), 7),
        reordered("memory in any order", {1: (1,), 7: (-1,)}, {1: (-1,)}, "What would know a key by its place?"),
        reordered("every query for itself", {0: (1,), 7: (-2,)}, {0: (1,), 1: (2,)}, "Where do two queries meet?"),
    ),
    mistakes=multi_head_attention_mistakes.MISTAKES + multi_head_attention_mask_mistakes.MISTAKES,
    accepts=(head_by_head, by_einsum, wide_projection, folded_into_the_batch, without_keys),
    hints=(
        "Project, split, attend, merge, project: five steps, and you have written the middle three before.",
        "`split_heads(X @ W_Q, num_heads)` is (B, H, T, D/H); keys and values are made from the memory.",
        "`masked_attention` takes any leading axes, here (B, H). The mask has none for heads: `mask.unsqueeze(-3)` "
        "puts in one of length 1, wherever the mask starts.",
        "`merge_heads(output) @ W_O`; hand the weights back as they are, one map a head.",
    ),
    minutes=10,
    difficulty=3,
    points=3,
    forbidden=(
        "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.multi_head_attention_forward",
        "torch.nn.MultiheadAttention",
    ),
)  # fmt: skip

"""Exercise `encoder_block`: attention mixes the tokens, feed-forward bends each alone (Vaswani et al. 2017, 3.1)."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, hidden_ignored, on, reordered, rows_independent
from course_lib.exercises.drawn_masks import up_to
from course_lib.exercises.lesson_05.causal_mask import causal_mask

from . import encoder_block_order_mistakes, encoder_block_part_mistakes
from .residual import residual
from .sublayers import make_attention, make_feed_forward, make_norm


def encoder_block(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    """Self-attention, then feed-forward, each inside its `residual`.

    x: (B, S, D). mask: bool, broadcastable to (B, S, S), True = may attend. self_attention: function (query, key,
    value, mask) -> (B, S, D). feed_forward, norm_1, norm_2: functions (B, S, D) -> (B, S, D). Returns (B, S, D).
    """
    x = residual(x, lambda x: self_attention(x, x, x, mask), norm_1, norm_first)
    return residual(x, feed_forward, norm_2, norm_first)


def patchy(B, S):
    """Another mask for each query, which sees itself and some others. (B, S, S)"""
    place = torch.arange(B)[:, None, None] + torch.arange(S)[:, None] + 2 * torch.arange(S)
    return (place % 3 != 0) | torch.eye(S, dtype=torch.bool)


def shapes():
    """(label, group, (B, S, H, D), mask, norm_first or nothing): the paper's order, pre-norm, sizes that coincide."""
    yield "post-norm, nothing hidden", "post-norm", (2, 3, 2, 4), torch.ones(3, 3, dtype=torch.bool)
    yield "post-norm, padding", "mask", (2, 4, 3, 6), up_to(4, 3, 2)
    yield "post-norm, causal", "mask", (2, 5, 2, 4), causal_mask(5, 5), False
    yield "pre-norm, nothing hidden", "pre-norm", (2, 3, 2, 4), torch.ones(2, 1, 3, dtype=torch.bool), True
    yield "pre-norm, a mask for each query", "pre-norm and mask", (3, 4, 1, 5), patchy(3, 4), True
    yield "post-norm, one token", "one token", (1, 1, 2, 4), up_to(1, 1)
    yield "pre-norm, one sentence", "one sentence", (1, 4, 2, 6), up_to(4, 3), True
    yield "post-norm, as many sentences as tokens", "B = S", (3, 3, 2, 4), up_to(3, 2, 3, 1)
    yield "pre-norm, as many tokens as features", "S = D", (2, 4, 2, 4), causal_mask(4, 4), True
    yield "post-norm, B = S = D", "all equal", (4, 4, 2, 4), patchy(1, 4)[0]
    yield "pre-norm, a sentence of padding alone", "no key left", (2, 3, 2, 4), up_to(3, 2, 0), True


def cases(generator):
    """Every shape with layers of its own; no two norms are alike."""
    for i, (label, group, (B, S, H, D), mask, *norm_first) in enumerate(shapes()):
        x = 2 + 1.5 * torch.randn(B, S, D, generator=generator, dtype=torch.float64)
        layers = make_attention(generator, D, H), make_feed_forward(generator, D)
        norms = make_norm(generator, D), make_norm(generator, D)
        yield Case(label, (x, mask, *layers, *norms, *norm_first), group=group, gradient=i < 6)


def written_out(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    if norm_first:
        normed = norm_1(x)
        x = x + self_attention(normed, normed, normed, mask)
        return x + feed_forward(norm_2(x))
    x = norm_1(x + self_attention(x, x, x, mask))
    return norm_2(x + feed_forward(x))


def in_a_loop(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    def attention(tokens):
        return self_attention(query=tokens, key=tokens, value=tokens, mask=mask)

    for part, norm in ((attention, norm_1), (feed_forward, norm_2)):
        update = part(norm(x)) if norm_first else part(x)
        x = torch.add(x, update)
        if not norm_first:
            x = norm(x)
    return x


def with_wide_mask(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    """The mask spread to (B, S, S) first, and the feed-forward layer called with all tokens in one row."""
    wide = mask.expand(x.shape[0], x.shape[1], x.shape[1])
    first = residual(x, lambda y: self_attention(y, y.clone(), y.clone(), wide), norm_1, norm_first)
    return residual(first, lambda y: feed_forward(y.reshape(1, -1, y.shape[-1])).reshape(y.shape), norm_2, norm_first)


def sentence_by_sentence(x, mask, self_attention, feed_forward, norm_1, norm_2, norm_first=False):
    """Sentences share nothing, so attention may take them one at a time."""
    masks = mask.expand(len(x), x.shape[1], x.shape[1]).split(1)
    tokens = norm_1(x) if norm_first else x
    found = torch.cat([self_attention(*3 * [row], shown) for row, shown in zip(tokens.split(1), masks, strict=True)])
    middle = x + found if norm_first else norm_1(x + found)
    bent = feed_forward(norm_2(middle) if norm_first else middle)
    return middle + bent if norm_first else norm_2(bent + middle)


def few(law):
    """The law, held by the first cases with a mask, in both orders: the functions are called again and again."""
    return on(law, lambda case: case if "mask" in case.group else None)


def full_mask(case):
    """The case with its mask spread to (B, S, S), so that batch rows can be taken out of it."""
    x, mask, *others = case.args
    return Case(case.label, (x, mask.expand(len(x), x.shape[1], x.shape[1]), *others))


def _silent(function, cases, generator):
    def nothing(query, key, value, mask):
        return torch.zeros_like(query)

    for case in cases[:4]:
        x, mask, _, _, norm_1, norm_2, *norm_first = case.args
        silent = Case(case.label, (x, mask, nothing, torch.zeros_like, norm_1, norm_2, *norm_first))
        if not close(call(function, silent), x if norm_first == [True] else norm_2(norm_1(x))):
            return f"with sub-layers that return 0, something else than the shortcuts comes out ({case.label})"
    return None


EXERCISE = Exercise(
    name="encoder_block",
    reference=encoder_block,
    cases=cases,
    laws=(
        Law("silent sub-layers", _silent, "Which way can x take if attention and feed-forward say nothing?"),
        few(on(rows_independent({0, 1}), full_mask)),
        few(hidden_ignored((0,), 1, are_queries=True)),
        few(reordered("permutation equivariance", {0: (1,), 1: (-2, -1)}, {0: (1,)},
                      "If tokens and mask come in another order, what should happen to the output?")),
    ),
    mistakes=encoder_block_order_mistakes.MISTAKES + encoder_block_part_mistakes.MISTAKES,
    accepts=(written_out, in_a_loop, with_wide_mask, sentence_by_sentence),
    hints=(
        "Two calls of your own `residual`, one for each sub-layer; the second begins with what the first returns.",
        "`residual` calls its sub-layer with one argument. `lambda x: self_attention(x, x, x, mask)` has one.",
        "Each sub-layer has its own norm, and both get the same `norm_first`.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

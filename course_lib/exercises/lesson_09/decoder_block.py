"""Exercise `decoder_block`: what is written so far, what was read, and a step of thought about both."""

import functools

import torch

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import hidden_ignored, on, reordered, rows_independent
from course_lib.exercises.drawn_masks import up_to
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_08.residual import residual
from course_lib.exercises.lesson_08.sublayers import make_attention, make_feed_forward, make_norm

from . import decoder_block_memory_mistakes as of_the_memory
from . import decoder_block_mistakes as of_steps
from . import decoder_block_norm_mistakes as of_norms


def decoder_block(
    x,
    memory,
    target_mask,
    source_mask,
    self_attention,
    cross_attention,
    feed_forward,
    norm_1,
    norm_2,
    norm_3,
    norm_first=False,
):
    """Masked self-attention, cross-attention to the memory, feed-forward, each inside its `residual`.

    x: (B, T, D). memory: (B, S, D), the encoder's output. target_mask: bool (B, T, T), source_mask: bool (B, 1, S),
    True = may attend. self_attention, cross_attention: functions (query, key, value, mask) -> (B, T, D). feed_forward,
    norm_1, norm_2, norm_3: functions (B, T, D) -> (B, T, D). Returns (B, T, D).
    """
    x = residual(x, lambda x: self_attention(x, x, x, target_mask), norm_1, norm_first)
    x = residual(x, lambda x: cross_attention(x, memory, memory, source_mask), norm_2, norm_first)
    return residual(x, feed_forward, norm_3, norm_first)


def make_parts(generator, D):
    """The six functions of a block: two attentions, the feed-forward, three norms."""
    attentions = make_attention(generator, D, num_heads=1), make_attention(generator, D, num_heads=1)
    return *attentions, make_feed_forward(generator, D), *(make_norm(generator, D) for _ in range(3))


def cases(generator):
    """Post-norm and pre-norm, padding, one token, T = S where exchanged arguments run, nothing to see."""

    def case(label, group, D, targets, sources, *order, gradient=True):
        """targets, sources: size, then the length of each sentence."""
        (T, *target_lengths), (S, *source_lengths) = targets, sources
        x, memory = (torch.randn(len(target_lengths), N, D, generator=generator, dtype=torch.float64) for N in (T, S))
        masks = up_to(T, *target_lengths) & causal_mask(T, T), up_to(S, *source_lengths)
        return Case(label, (x, memory, *masks, *make_parts(generator, D), *order), {}, group, gradient)

    yield case("nothing padded", "padding", 6, (3, 3, 3), (5, 5, 5))
    yield case("padding on both sides", "padding", 4, (3, 2, 3, 3), (5, 3, 5, 4))
    yield case("norm_first", "norm_first", 4, (3, 3, 2), (5, 4, 5), True)
    yield case("one sentence, one target token", "one token", 5, (1, 1), (4, 3))
    yield case("one source token", "one token", 4, (3, 3, 2), (1, 1, 1), True)
    yield case("T = S", "T = S", 6, (4, 4, 3), (4, 2, 4))
    yield case("T = S, norm_first", "T = S, norm_first", 5, (4, 3, 4), (4, 4, 2), True)
    yield case("B = T = S = D", "all equal", 3, (3, 3, 2, 3), (3, 2, 3, 1), False, gradient=False)
    yield case("a source of padding alone", "no key left", 4, (3, 3, 2), (4, 0, 3))
    yield case("a target of padding alone", "no key left", 4, (3, 0, 3), (2, 2, 1), True, gradient=False)


def by_hand(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *norms_and_order):
    norm_1, norm_2, norm_3, norm_first = (*norms_and_order, False)[:4]
    if norm_first:
        h = norm_1(x)
        a = x + self_attention(h, h, h, target_mask)
        b = a + cross_attention(norm_2(a), memory, memory, source_mask)
        return b + feed_forward(norm_3(b))
    a = norm_1(self_attention(x, x, x, target_mask) + x)
    b = norm_2(cross_attention(a, memory, memory, source_mask) + a)
    return norm_3(feed_forward(b) + b)


def by_reduce(
    x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, n1, n2, n3, first=False
):
    sublayers = (
        lambda x: self_attention(x, x, x, target_mask),
        functools.partial(lambda m, x: cross_attention(x, m, m, mask=source_mask), memory),
        feed_forward,
    )
    norms = zip(sublayers, (n1, n2, n3), strict=True)
    return functools.reduce(lambda x, pair: residual(x, *pair, norm_first=first), norms, x)


def query_by_query(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest):
    """As when a model writes: one query after the other, each with all keys and its own row of the mask."""
    norm_1, norm_2, norm_3 = rest[:3]
    pre = rest[3:] == (True,)
    before, after = ((lambda norm, x: norm(x)), (lambda norm, x: x))[:: 1 if pre else -1]
    rows = []
    for t in range(x.shape[1]):
        row, keys = x[:, t : t + 1], before(norm_1, x)
        row = after(norm_1, row + self_attention(before(norm_1, row), keys, keys, target_mask[:, t : t + 1]))
        row = after(norm_2, row + cross_attention(before(norm_2, row), memory, memory, source_mask))
        rows.append(after(norm_3, row + feed_forward(before(norm_3, row))))
    return torch.cat(rows, dim=1)


def sentence_by_sentence(x, memory, target_mask, source_mask, *parts):
    """Each sentence alone, and the source mask spread out to a row for each query."""
    spread = source_mask.expand(-1, x.shape[1], -1)
    rows = zip(*(tensor.split(1) for tensor in (x, memory, target_mask, spread)), strict=True)
    return torch.vstack([by_hand(*row, *parts) for row in rows])


def in_both_orders(law):
    """The law on one case of post-norm and one of pre-norm: a call asks six functions, which may be far away."""
    return on(law, lambda case: case if case.label in ("padding on both sides", "norm_first") else None)


EXERCISE = Exercise(
    name="decoder_block",
    reference=decoder_block,
    cases=cases,
    laws=(
        in_both_orders(rows_independent({0, 1, 2, 3})),
        in_both_orders(hidden_ignored((0,), 2, are_queries=True, name="hidden target tokens do not matter")),
        in_both_orders(hidden_ignored((1,), 3, name="hidden source tokens do not matter")),
        in_both_orders(reordered("the order of the memory does not matter", {1: (1,), 3: (-1,)}, {},
                                 "What would tell two source tokens apart by their place, once the encoder is done?")),
    ),
    mistakes=of_steps.MISTAKES + of_the_memory.MISTAKES + of_norms.MISTAKES,
    accepts=(by_hand, by_reduce, query_by_query, sentence_by_sentence),
    hints=(
        "Three calls of your `residual`, one after the other, each with the next norm and with `norm_first`.",
        "The first is the one of the encoder block, with the target mask: `lambda x: self_attention(x, x, x, ...)`.",
        "In the second, x asks and the memory answers: which mask tells what is real in the memory?",
        "`cross_attention(x, memory, memory, source_mask)`; the third is the feed-forward, as in the encoder block.",
    ),
    minutes=10,
    difficulty=2,
    points=3,
)  # fmt: skip

"""What people write for `decoder_block` instead: a norm or a shortcut that one of the three steps does without."""

from course_lib.checking import mistake
from course_lib.exercises.lesson_08.residual import residual

from .decoder_block_mistakes import block


def steps(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest, hear=None, ask=None, orders=None):
    """The three steps, written out.

    hear(x, outer) and ask(x, outer) choose query and keys of self-attention, and the query of cross-attention: x is
    what `residual` hands in, outer the block's own. orders(norm_first): one order for each step.
    """
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    hear, ask = hear or (lambda x, _: (x, x)), ask or (lambda x, _: x)
    first, second, third = orders(norm_first) if orders else (norm_first,) * 3

    def self_attend(given, outer=x):
        query, key = hear(given, outer)
        return attend(query, key, key, target_mask)

    x = residual(x, self_attend, norm_1, first)
    x = residual(x, lambda given, outer=x: cross(ask(given, outer), memory, memory, source_mask), norm_2, second)
    return residual(x, feed_forward, norm_3, third)


@mistake(
    "With norm_first, self-attention reads x as it was before norm_1. Two things are called x on this line: which of "
    "them does your lambda hand on, its argument or the block's?",
    source="`lambda _: self_attention(x, x, x, target_mask)`: a closure over the outer name, right in post-norm",
)
def self_attention_without_norm(*arguments):
    return steps(*arguments, hear=lambda x, outer: (outer, outer))


@mistake(
    "With norm_first, cross-attention asks with an x that has not been through norm_2. What is the argument of your "
    "second lambda, and where is it used?",
    source="the same closure in the middle step: `lambda _: cross_attention(x, memory, memory, source_mask)`",
)
def cross_attention_without_norm(*arguments):
    return steps(*arguments, ask=lambda x, outer: outer)


@mistake(
    "With norm_first, neither attention sees what its norm made: both read the outer x, and norm_1 and norm_2 are "
    "called for nothing. What does `residual` call your lambdas with?",
    source="both lambdas close over the outer `x`",
)
def attentions_without_norms(*arguments):
    return steps(*arguments, hear=lambda x, outer: (outer, outer), ask=lambda x, outer: outer)


@mistake(
    "With norm_first, the queries of self-attention are normalised, its keys and values are not. How many of the three "
    "should come from norm_1?",
    source="`self_attention(norm_1(x), x, x, target_mask)`: the norm put on the first argument",
)
def keys_without_norm(*arguments):
    return steps(*arguments, hear=lambda x, outer: (x, outer))


@mistake(
    "The two attentions follow `norm_first`, the feed-forward is always post-norm. What does your last call of "
    "`residual` leave out?",
    source="`return residual(x, feed_forward, norm_3)`: the line without a lambda came without the option too",
)
def order_lost_at_the_end(*arguments):
    return steps(*arguments, orders=lambda norm_first: (norm_first, norm_first, False))


@mistake(
    "Self-attention is always post-norm, the two steps after it follow `norm_first`. What does your first call of "
    "`residual` leave out?",
    source="`norm_first` handed on by two of three calls",
)
def order_lost_at_the_start(*arguments):
    return steps(*arguments, orders=lambda norm_first: (False, norm_first, norm_first))


@mistake(
    "The feed-forward has no shortcut: all that both attentions found has to pass through it. What should be left of x "
    "where the network has nothing to say?",
    source="`norm_3(feed_forward(x))`: the last step taken for an output layer",
)
def no_shortcut_around_feed_forward(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    x = residual(x, lambda x: cross(x, memory, memory, source_mask), norm_2, norm_first)
    return feed_forward(norm_3(x)) if norm_first else norm_3(feed_forward(x))


@mistake(
    "`[0]` picks the first sentence out of what the attentions return, and all sentences of the batch get it. Do these "
    "attentions return one tensor, or a pair?",
    source="`self_attention(x, x, x, target_mask)[0]`: torch's attention, and lesson 5's, return weights as well",
)
def first_sentence_for_all(x, memory, target_mask, source_mask, attend, cross, *others):
    first = [lambda *given, part=part: part(*given)[0] for part in (attend, cross)]
    return block(x, memory, target_mask, source_mask, *first, *others)


@mistake(
    "The source is asked first, inside norm_1; self-attention follows inside norm_2. Should a word know those before "
    "it when it asks the source, or only afterwards?",
    source="the first two lines exchanged, their norms numbered as they stand",
)
def source_asked_first(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: cross(x, memory, memory, source_mask), norm_1, norm_first)
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_2, norm_first)
    return residual(x, feed_forward, norm_3, norm_first)


MISTAKES = (
    self_attention_without_norm, cross_attention_without_norm, attentions_without_norms, keys_without_norm,
    order_lost_at_the_end, order_lost_at_the_start, no_shortcut_around_feed_forward, first_sentence_for_all,
    source_asked_first,
)  # fmt: skip

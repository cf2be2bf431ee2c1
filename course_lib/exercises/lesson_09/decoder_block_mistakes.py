"""What people write for `decoder_block` instead: masks, norms, shortcuts, and the order of the three steps."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_08.residual import residual


def block(x, memory, target_mask, source_mask, self_attention, cross_attention, feed_forward, *rest, around=residual):
    """The three steps, each inside `around`. rest: the three norms, then norm_first where it is given."""
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = around(x, lambda x: self_attention(x, x, x, target_mask), norm_1, norm_first)
    x = around(x, lambda x: cross_attention(x, memory, memory, source_mask), norm_2, norm_first)
    return around(x, feed_forward, norm_3, norm_first)


@mistake(
    "The masks have changed places: self-attention gets the source's, cross-attention the target's. With T = S "
    "nothing complains, and word t reads the source only up to word t. Which mask has as many columns as the memory "
    "has tokens?",
    source="A096",
)
def masks_swapped(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, source_mask, target_mask, *parts)


@mistake(
    "The target mask serves both attentions: the padding of the source is read, and its end is hidden from the first "
    "words. Is there any future in a sentence that lies there complete?",
    source="A096",
)
def target_mask_for_both(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, target_mask, target_mask, *parts)


@mistake(
    "The source mask serves both attentions: the decoder sees the words that it is to predict. "
    "Which of your two masks knows about the future?",
    source="A096: one argument called `mask`, handed to every attention; equal lengths let it run",
)
def source_mask_for_both(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, source_mask, source_mask, *parts)


@mistake(
    "Cross-attention gets a triangle on top of the source mask: target word t reads the source up to word t. "
    "Does a translator have to cover the rest of the sentence?",
    source="A096: 'the decoder is causal', applied to everything in it",
)
def causal_over_the_source(x, memory, target_mask, source_mask, *parts):
    triangle = torch.ones(x.shape[1], memory.shape[1], dtype=torch.bool).tril()
    return block(x, memory, target_mask, source_mask & triangle, *parts)


@mistake(
    "Self-attention sees everything, the future too: the target mask is never handed on. What does the fourth argument "
    "of `self_attention` do?",
    source="A047",
)
def self_attention_without_mask(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, torch.ones_like(target_mask), source_mask, *parts)


@mistake(
    "Cross-attention reads the padding of the source: the source mask is never handed on. Which tokens of the memory "
    "mean something?",
    source="A016, A047: 'the encoder has masked its padding already'",
)
def cross_attention_without_mask(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, target_mask, torch.ones_like(source_mask), *parts)


@mistake(
    "Neither attention gets its mask: the future of the target and the padding of both sides are seen. Where do your "
    "two mask arguments go?",
    source="A047: `self_attention(x, x, x)`, `cross_attention(x, memory, memory)`",
)
def no_masks(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, torch.ones_like(target_mask), torch.ones_like(source_mask), *parts)


@mistake(
    "Both masks are negated on their way, as `nn.TransformerDecoderLayer` would want them. What does True mean to the "
    "attentions that you are given?",
    source="A130",
)
def masks_negated(x, memory, target_mask, source_mask, *parts):
    return block(x, memory, ~target_mask, ~source_mask, *parts)


@mistake(
    "norm_1 stands around all three steps; norm_2 and norm_3 would never learn. How many norms has figure 1 in a "
    "decoder block?",
    source="A086",
)
def one_norm_for_all(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, *order):
    return block(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_1, norm_1, *order)


@mistake(
    "norm_2 stands around the feed-forward as well, as in an encoder block, and norm_3 is never called. What came in "
    "between here?",
    source="A086: the last line copied from `encoder_block`",
)
def second_norm_again(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, *order):
    return block(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_2, *order)


@mistake(
    "The new step in the middle has taken norm_3, and the feed-forward has kept norm_2 from the encoder block. In "
    "which order do the three numbers come?",
    source="cross-attention added to `encoder_block`, its lines left as they were",
)
def third_norm_in_the_middle(
    x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, *order
):
    return block(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_3, norm_2, *order)


@mistake(
    "`norm_first` is not read: every step is post-norm, whatever is asked for. Which argument of `residual` did you "
    "leave at its default?",
    source="A047's kin: an option in the signature that goes nowhere",
)
def always_post_norm(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, *order):
    return block(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3)


@mistake(
    "Every step is pre-norm, also where `norm_first` is False: the order of today's models, not the paper's default. "
    "On what should the order depend?",
    source="C06, fixed by the docstring",
)
def always_pre_norm(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, *order):
    return block(x, memory, target_mask, source_mask, attend, cross, feed_forward, norm_1, norm_2, norm_3, True)


@mistake(
    "Two steps follow `norm_first`, the one with cross-attention does not. What do the other two calls of `residual` "
    "have that this one lacks?",
    source="A047 on one branch: the line that was added to the encoder block came without the option",
)
def order_lost_on_the_way(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    x = residual(x, lambda x: cross(x, memory, memory, source_mask), norm_2)
    return residual(x, feed_forward, norm_3, norm_first)


@mistake(
    "There is no shortcut around the cross-attention: what the decoder has written so far is gone after it, only what "
    "it found in the source goes on. What does `residual` add?",
    source="'now the source takes over': the middle step written as a plain call",
)
def no_shortcut_around_cross(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    found = cross(norm_2(x) if norm_first else x, memory, memory, source_mask)
    return residual(found if norm_first else norm_2(found), feed_forward, norm_3, norm_first)


@mistake(
    "No step has a shortcut: each one replaces what came before. Three boxes of the decoder in figure 1 say 'Add & "
    "Norm': what is added?",
    source="the boxes of figure 1 chained, the arrows around them overlooked",
)
def no_shortcuts(*arguments):
    def replaced(x, sublayer, norm, norm_first):
        return sublayer(norm(x)) if norm_first else norm(sublayer(x))

    return block(*arguments, around=replaced)


@mistake(
    "The norm is laid on the step's result and the shortcut added afterwards: x + norm(sublayer(x)). "
    "On which side of the plus does each of the two orders put the norm?",
    source="a third order, Swin v2's; `x = x + norm(f(x))` when 'Add & Norm' is read from right to left",
)
def norm_of_the_branch(*arguments):
    return block(*arguments, around=lambda x, sublayer, norm, _: x + norm(sublayer(x)))


@mistake(
    "With norm_first the shortcut carries the normalised x: the untouched sum that pre-norm is for is lost at every "
    "step. What does the shortcut go around?",
    source="A088",
)
def shortcut_of_the_norm(*arguments):
    def around(x, sublayer, norm, norm_first):
        return norm(x) + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))

    return block(*arguments, around=around)


@mistake(
    "Cross-attention comes before self-attention: the block asks the source before its words have heard one another. "
    "In which order does a decoder block of figure 1 go, from below?",
    source="two lines exchanged; both orders lower the loss",
)
def cross_attention_first(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, norm_3, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: cross(x, memory, memory, source_mask), norm_2, norm_first)
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    return residual(x, feed_forward, norm_3, norm_first)


@mistake(
    "The block ends after cross-attention; the feed-forward is never called. Which part of a block bends each token "
    "for itself?",
    source="'attention is all you need'",
)
def no_feed_forward(x, memory, target_mask, source_mask, attend, cross, feed_forward, *rest):
    norm_1, norm_2, _, norm_first = (*rest, False)[:4]
    x = residual(x, lambda x: attend(x, x, x, target_mask), norm_1, norm_first)
    return residual(x, lambda x: cross(x, memory, memory, source_mask), norm_2, norm_first)


@mistake(
    "The result is right, but x itself was written to: a second call with the same x gives something else. Which of "
    "`+` and `+=` makes a new tensor?",
    source="A090",
)
def in_place(x, memory, *others):
    return x.copy_(block(x, memory, *others))


MISTAKES = (
    masks_swapped, target_mask_for_both, source_mask_for_both, causal_over_the_source, self_attention_without_mask,
    cross_attention_without_mask, no_masks, masks_negated, one_norm_for_all, second_norm_again,
    third_norm_in_the_middle, always_post_norm, always_pre_norm, order_lost_on_the_way, no_shortcut_around_cross,
    no_shortcuts, norm_of_the_branch, shortcut_of_the_norm, cross_attention_first, no_feed_forward, in_place,
)  # fmt: skip

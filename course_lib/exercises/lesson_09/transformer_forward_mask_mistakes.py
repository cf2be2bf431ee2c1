"""What people write for `transformer_forward` instead: which block gets which mask."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.padding_mask import padding_mask

from .make_masks import make_masks
from .transformer_forward_mistakes import assembled, encode


@mistake(
    "The encoder gets no mask and reads the padding of its sentence. Which of the two masks is made for it?",
    source="A047 on one branch: `block(memory)`",
)
def encoder_without_mask(*arguments):
    return assembled(*arguments, encode=lambda blocks, x, mask: encode(blocks, x, torch.ones_like(mask)))


@mistake(
    "The encoder gets the target's mask. With S = T it fits, and the source is read from left to right only. Which ids "
    "was the mask for the encoder made of?",
    source="A096: one `mask` variable, overwritten before the encoder runs",
)
def target_mask_for_the_encoder(source_ids, target_ids, pad, *others):
    target_mask = make_masks(source_ids, target_ids, pad)[1]
    return assembled(source_ids, target_ids, pad, *others, encode=lambda blocks, x, _: encode(blocks, x, target_mask))


def masked(*arguments, how):
    """The decoder's blocks called with how(target_mask, source_mask) for their two masks."""

    def decode(blocks, x, memory, target_mask, source_mask):
        for block in blocks:
            x = block(x, memory, *how(target_mask, source_mask))
        return x

    return assembled(*arguments, decode=decode)


@mistake(
    "The decoder blocks get their masks in the other order. With S = T it runs: the future is open, and the source is "
    "seen word by word. In which order does a block take them?",
    source="A096: `src_mask, tgt_mask`, as in The Annotated Transformer's signature; ours is the other way round",
)
def decoder_masks_swapped(*arguments):
    return masked(*arguments, how=lambda target_mask, source_mask: (source_mask, target_mask))


@mistake(
    "The decoder looks at the source through the target's mask. With S = T it fits, and hides the end of a sentence "
    "that is known. Which mask goes with the memory?",
    source="A096",
)
def target_mask_twice(*arguments):
    return masked(*arguments, how=lambda target_mask, source_mask: (target_mask, target_mask))


@mistake(
    "The decoder's self-attention gets the source's mask: with S = T it fits, and every word sees the one it is to "
    "predict. Which mask holds the triangle?",
    source="A096",
)
def source_mask_twice(*arguments):
    return masked(*arguments, how=lambda target_mask, source_mask: (source_mask, source_mask))


@mistake(
    "The decoder looks at the padding of the source: its blocks get no mask for the memory. What does their last "
    "argument keep out?",
    source="A016, A047: the encoder's output taken for clean, since the encoder was masked",
)
def memory_without_mask(*arguments):
    return masked(*arguments, how=lambda target_mask, source_mask: (target_mask, torch.ones_like(source_mask)))


@mistake(
    "The decoder's blocks get no masks at all: each place sees the word it is to predict, and the padding of the "
    "source. How many arguments does a decoder block take?",
    source="A047: `block(x, memory)`",
)
def decoder_without_masks(*arguments):
    return masked(*arguments, how=lambda *masks: map(torch.ones_like, masks))


@mistake(
    "No block gets a mask: padding and future are read everywhere. Where should the two masks of your first line go?",
    source="A047: masks made and handed to nobody; sentences without padding leave only the future to notice it by",
)
def no_masks(*arguments):
    return assembled(*arguments, masks=lambda *ids: map(torch.ones_like, make_masks(*ids)))


@mistake(
    "The masks are unpacked in the other order, so each bears the other's name, in the encoder as well. Which one does "
    "`make_masks` return first?",
    source="A096: `tgt_mask, src_mask = ...`; with S = T nothing complains",
)
def unpacked_the_other_way(*arguments):
    return assembled(*arguments, masks=lambda *ids: reversed(make_masks(*ids)))


@mistake(
    "The target's padding is hidden, its future is not: every place sees the word it is to predict, and the loss falls "
    "to nothing. Which of the two parts of the target mask is missing?",
    source="A125's effect by another way: `padding_mask` for both sides",
)
def future_open(*arguments):
    def masks(source_ids, target_ids, pad):
        return padding_mask(source_ids, pad), padding_mask(target_ids, pad)

    return assembled(*arguments, masks=masks)


@mistake(
    "The masks look for the id 0, whatever `pad` is: words vanish and padding is read. Which argument did `make_masks` "
    "not get?",
    source="A043",
)
def zero_written_in(*arguments):
    return assembled(*arguments, masks=lambda source_ids, target_ids, _: make_masks(source_ids, target_ids, 0))


@mistake(
    "The target mask is the triangle alone: padding is read, by padded places, and by real words as soon as it stands "
    "in front of them. What else than the future may a target token not see?",
    source="`tgt_mask` without `tgt_key_padding_mask`; padding behind is in the future of real words, which hides it",
)
def target_padding_read(*arguments):
    def masks(source_ids, target_ids, pad):
        T = target_ids.shape[1]
        return make_masks(source_ids, target_ids, pad)[0], torch.ones(T, T, dtype=torch.bool).tril()

    return assembled(*arguments, masks=masks)


@mistake(
    "The source gets a triangle too: the encoder reads its sentence from left to right, though all of it is there. "
    "For which of the two sides is there a future?",
    source="A096's sister: one helper for both masks",
)
def source_causal_too(*arguments):
    def causal(blocks, x, mask):
        return encode(blocks, x, mask & torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril())

    return assembled(*arguments, encode=causal)


@mistake(
    "Both masks say True where a token is hidden, as `nn.Transformer` wants them; the blocks here read True the other "
    "way. Which line turns your masks round?",
    source="A130",
)
def masks_negated(*arguments):
    return assembled(*arguments, masks=lambda *ids: [~mask for mask in make_masks(*ids)])


MISTAKES = (
    encoder_without_mask, target_mask_for_the_encoder, decoder_masks_swapped, target_mask_twice, source_mask_twice,
    memory_without_mask, decoder_without_masks, no_masks, unpacked_the_other_way, future_open, zero_written_in,
    target_padding_read, source_causal_too, masks_negated,
)  # fmt: skip

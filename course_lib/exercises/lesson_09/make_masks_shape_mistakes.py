"""What people write for `make_masks` instead: half of a mask, the wrong sizes, another kind of number."""

import math

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.padding_mask import padding_mask

from .make_masks_mistakes import square


@mistake(
    "The target mask is the triangle alone, (T, T): the padding of the target is read like words. Which line looks at "
    "`target_ids` and not only at their number?",
    source="A096's neighbour: 'the decoder's mask is the causal one', as figures have it",
)
def triangle_alone(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), square(target_ids)


@mistake(
    "The triangle was copied for each sentence, so the shape is right, but all sentences get the same one, padding "
    "and all. In what should the masks of a long and of a short sentence differ?",
    source="`tgt_mask = tril(...).expand(B, T, T)`, the padding left to the loss",
)
def triangle_copied(source_ids, target_ids, pad):
    B, T = target_ids.shape
    return padding_mask(source_ids, pad), square(target_ids).expand(B, T, T)


@mistake(
    "The target mask knows the padding and no triangle, (B, 1, T): every target token sees those it is to predict. "
    "What hides the future?",
    source="`padding_mask` called twice, since both sides have padding",
)
def padding_alone(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad)


@mistake(
    "The target mask is the padding, copied for T queries: the shape (B, T, T) is right, and the future is open all "
    "the same. Which query t may see key t + 1?",
    source="`.expand(B, len_q, len_k)` from a popular tutorial, its subsequent mask left out",
)
def padding_copied(source_ids, target_ids, pad):
    B, T = target_ids.shape
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad).expand(B, T, T)


@mistake(
    "The masks come back in the other order: target first. Which one does the caller unpack first?",
    source="`tgt_mask, src_mask`: the decoder's mask is the one that one thinks of first",
)
def returned_the_other_way(source_ids, target_ids, pad):
    return padding_mask(target_ids, pad) & square(target_ids), padding_mask(source_ids, pad)


@mistake(
    "Source and target have changed places: the triangle lies over the source, and the target is shown whole. Whose "
    "future must stay hidden?",
    source="A096, one step earlier: the arguments exchanged where the masks are made",
)
def sides_exchanged(source_ids, target_ids, pad):
    return padding_mask(target_ids, pad), padding_mask(source_ids, pad) & square(source_ids)


@mistake(
    "The triangle is as large as the source. Target tokens look at target tokens here: how many rows, how many "
    "columns?",
    source="A096's sister: `S` where `T` belongs; equal lengths hide it",
)
def sized_by_the_source(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & square(source_ids)


@mistake(
    "The triangle has T rows and S columns: it is made for a target that looks at the source. Whom does the decoder's "
    "self-attention look at?",
    source="`causal_mask(T, S)`, because those are its two arguments",
)
def triangle_over_the_source(source_ids, target_ids, pad):
    T, S = target_ids.shape[1], source_ids.shape[1]
    return padding_mask(source_ids, pad), padding_mask(target_ids, pad) & causal_mask(T, S)


@mistake(
    "The last target token was cut off before the mask was made. `target_ids` is the decoder's input already; who "
    "does the shifting?",
    source="A125's counterpart: `tgt[:, :-1]` written in the mask as well as in the training loop",
)
def cut_once_more(source_ids, target_ids, pad):
    kept = target_ids[:, :-1]
    return padding_mask(source_ids, pad), padding_mask(kept, pad) & square(kept)


@mistake(
    "The source mask is (B, S, 1): its sentence lies along the queries, and keys of padding stay open. On which of "
    "the last two axes do keys lie?",
    source="A041: `unsqueeze(-1)`; it broadcasts without complaint",
)
def source_along_queries(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad).mT, padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "The source mask is (B, S): next to scores (B, T, S) its sentences meet the queries. Where is the axis that all "
    "queries share?",
    source="`source_ids != pad` looks finished",
)
def source_without_query_axis(source_ids, target_ids, pad):
    return source_ids != pad, padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "The padding (B, T) meets the triangle (T, T) without an axis between: sentences are taken for queries, which "
    "raises, or with B = T does not. What puts a 1 between B and T?",
    source="`(target_ids != pad) & tril`: tried out on one sentence, where it broadcasts",
)
def sentences_taken_for_queries(source_ids, target_ids, pad):
    return padding_mask(source_ids, pad), (target_ids != pad) & square(target_ids)


@mistake(
    "The source mask is (B, S, S), one row for each source token: right for the encoder, but the decoder asks with T "
    "queries. Which shape serves both?",
    source="`get_attn_pad_mask(enc_inputs, enc_inputs)` of a popular tutorial, used for cross-attention too",
)
def source_copied_for_the_encoder(source_ids, target_ids, pad):
    S = source_ids.shape[1]
    return padding_mask(source_ids, pad).expand(-1, S, -1), padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "The source mask is (B, T, S), one row for each target token: right for cross-attention, but the encoder asks with "
    "S queries. What does an axis of length 1 do on both sides?",
    source="A096's kin: one `memory_mask` made for the decoder and handed to the encoder as well",
)
def source_copied_for_the_decoder(source_ids, target_ids, pad):
    T = target_ids.shape[1]
    return padding_mask(source_ids, pad).expand(-1, T, -1), padding_mask(target_ids, pad) & square(target_ids)


@mistake(
    "There is an axis for the heads in both masks already. Multi-head attention puts it in by itself here: which axes "
    "are left for you?",
    source="`unsqueeze(1).unsqueeze(2)` from code where masks meet (B, H, T, S)",
)
def axis_for_heads(source_ids, target_ids, pad):
    target_mask = padding_mask(target_ids, pad) & square(target_ids)
    return padding_mask(source_ids, pad).unsqueeze(1), target_mask.unsqueeze(1)


@mistake(
    "Both masks hold the floats 1 and 0. Added to scores, as torch adds float masks, they hide nothing: which dtype "
    "does a comparison give by itself?",
    source="A052: `.float()`, or a product with `torch.tril(torch.ones(T, T))`",
)
def floats_of_one(source_ids, target_ids, pad):
    target_mask = padding_mask(target_ids, pad) & square(target_ids)
    return padding_mask(source_ids, pad).double(), target_mask.double()


@mistake(
    "Both masks hold the integers 1 and 0, and `~1` is -2 where an attention negates its mask. Which operator joins "
    "two masks and leaves them boolean?",
    source="A052: masks multiplied as integers, as the tokenizers of the field give them",
)
def whole_numbers(source_ids, target_ids, pad):
    target_mask = padding_mask(target_ids, pad) & square(target_ids)
    return padding_mask(source_ids, pad).long(), target_mask.long()


@mistake(
    "The masks are to be added: 0 and -∞. Ours answer yes or no, and the attention does the filling. What did you "
    "compare before there was any -∞?",
    source="A052: `nn.Transformer.generate_square_subsequent_mask`",
)
def to_be_added(source_ids, target_ids, pad):
    shown = padding_mask(source_ids, pad), padding_mask(target_ids, pad) & square(target_ids)
    return tuple(torch.zeros(mask.shape).masked_fill(~mask, -math.inf) for mask in shown)


MISTAKES = (
    triangle_alone, triangle_copied, padding_alone, padding_copied, returned_the_other_way, sides_exchanged,
    sized_by_the_source, triangle_over_the_source, cut_once_more, source_along_queries, source_without_query_axis,
    sentences_taken_for_queries, source_copied_for_the_encoder, source_copied_for_the_decoder, axis_for_heads,
    floats_of_one, whole_numbers, to_be_added,
)  # fmt: skip

"""What people write for `masked_attention` instead: the wrong answers that the exercise knows by name."""

import math

import torch

from course_lib.checking import mistake

from .masked_attention_fill_mistakes import FILL_MISTAKES, scaled


def finish(scores, value, mask, dim=-1):
    """Softmax over the keys that the mask shows, and the mean of the values: the end that most wrong versions share."""
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(filled, dim=dim).masked_fill(~mask, 0.0)
    return weights @ value, weights


@mistake(
    "The mask does not change the weights: hidden keys get weight like any other. (`masked_fill` returns a new "
    "tensor.) Does the mask reach the scores before the softmax?",
    source="A045",
)
def no_effect(query, key, value, mask):
    weights = torch.softmax(scaled(query, key), dim=-1)
    return weights @ value, weights


@mistake(
    "Weights are taken to 0 after the softmax: the hidden keys are gone, yet they still stand in the denominator, and "
    "the rest sums to less than 1. On which side of the softmax does the mask belong?",
    source="A030",
)
def after_softmax(query, key, value, mask):
    weights = torch.softmax(scaled(query, key), dim=-1) * mask
    return weights @ value, weights


@mistake(
    "Where one hidden score towers over the others, nothing is left but 0: the hidden scores still took part, "
    "because they were lowered too little, or masked only after the softmax and then divided by the rest. Can they "
    "leave before anything is compared with them?",
    source="A030 with the usual repair, and a small number against 0/0",
)
def renormalised(query, key, value, mask):
    weights = torch.softmax(scaled(query, key), dim=-1) * mask
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300)
    return weights @ value, weights


@mistake(
    "After masking, the weights are divided by their sum, and that sum can be 0: all of it was on hidden keys, or no "
    "key is to be seen. What would make the division needless?",
    source="A030 with the usual repair",
)
def divided_by_zero(query, key, value, mask):
    weights = torch.softmax(scaled(query, key), dim=-1) * mask
    weights = weights / weights.sum(-1, keepdim=True)
    return weights @ value, weights


@mistake(
    "Each query looks at exactly the keys that it may not see: the fill goes where the mask is True. "
    "What does True mean here, and which operator turns a mask round?",
    source="A130; `masked_fill(mask, ...)` without `~`",
)
def inverted(query, key, value, mask):
    return finish(scaled(query, key), value, ~mask)


@mistake(
    "The values of hidden keys are taken to 0, but their weights remain: they drag every output towards 0. "
    "What should the weights of the visible keys sum to?",
    source="the mask multiplied into V, where the zeros are easy to see",
)
def values_hidden(query, key, value, mask):
    return no_effect.wrong(query, key, value * mask.mT, mask)


@mistake(
    "The mask lies across: its rows are read as keys and its columns as queries, so whole queries go blank, or past "
    "and future change places. Which axis of the scores belongs to the keys?",
    source="A041",
)
def mask_across(query, key, value, mask):
    return finish(scaled(query, key), value, mask.mT)


@mistake(
    "A mask of two axes gets a new one in the middle: (T, S) is read as (B, S), and row t of the mask goes to sentence "
    "t. What does broadcasting add by itself, and on which side?",
    source="A054: a helper made for padding masks, met by a causal one",
)
def read_as_padding(query, key, value, mask):
    return finish(scaled(query, key), value, mask.unsqueeze(1) if mask.dim() == 2 else mask)


@mistake(
    "A mask with fewer axes than the scores is passed over in silence. What happens in `masked_fill` if you give it "
    "the smaller mask as it is?",
    source="A054: an input of another rank drops the mask",
)
def smaller_mask_dropped(query, key, value, mask):
    full = mask.dim() == scaled(query, key).dim()
    return finish(scaled(query, key), value, mask if full else torch.ones_like(mask))


@mistake(
    "The softmax runs down the columns: the queries compete for a key. Along which axis do the keys lie?",
    source="A026",
)
def over_queries(query, key, value, mask):
    return finish(scaled(query, key), value, mask, dim=-2)


@mistake(
    "The scores are used as they come: the wider the vectors, the sharper the softmax. Which root tames a sum of d_k "
    "products?",
    source="A023's sister: dot-product attention as in Luong et al.",
)
def unscaled(query, key, value, mask):
    return finish(query @ key.mT, value, mask)


@mistake(
    "The scores are divided by d_k itself: the softmax comes out too flat. If d_k products of size 1 are added up at "
    "random, does their sum grow like d_k or like its root?",
    source="A023's sister: the root forgotten",
)
def root_forgotten(query, key, value, mask):
    return finish(query @ key.mT / query.shape[-1], value, mask)


@mistake(
    "The scores are multiplied by √d_k: they come out d_k times as large as they should. "
    "Is your factor d_k ** 0.5 or d_k ** -0.5, and does it stand after * or after /?",
    source="A024",
)
def scale_upside_down(query, key, value, mask):
    return finish(query @ key.mT * math.sqrt(query.shape[-1]), value, mask)


@mistake(
    "The softmax is written out, with the exponentials of the scores as they are: where all of them are far below 0, "
    "each is 0, and so is their sum. Which shift keeps the largest exponential at 1?",
    source="A028",
)
def no_maximum(query, key, value, mask):
    powers = torch.exp(scaled(query, key)) * mask
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ value, weights


@mistake(
    "A query without any allowed key shares its weight among all that it may not see, as if it had no mask: its row "
    "was opened, or all of its scores were lowered alike, which the softmax does not notice. How do its weights "
    "become 0 in the end?",
    source="A037: the usual repair, rows unmasked where they are empty",
)
def empty_rows_unmasked(query, key, value, mask):
    return finish(scaled(query, key), value, mask | ~mask.any(-1, keepdim=True))


@mistake(
    "The result is right, but an argument comes back changed: `/=`, and any method that ends in `_`, writes into the "
    "caller's tensor, and the next call starts from another one. Which form makes a new tensor?",
    source="A090; C01 done in place",
)
def in_place(query, key, value, mask):
    query /= math.sqrt(query.shape[-1])
    return finish(query @ key.mT, value, mask)


MISTAKES = (
    no_effect, after_softmax, renormalised, divided_by_zero, inverted, values_hidden, mask_across, read_as_padding,
    smaller_mask_dropped, over_queries, unscaled, root_forgotten, scale_upside_down, no_maximum,
    empty_rows_unmasked, in_place,
    *FILL_MISTAKES,
)  # fmt: skip

"""What people write for `masked_attention` instead: the wrong answers that the exercise knows by name."""

import math

import torch

from course_lib.checking import mistake


def scaled(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])  # (..., T, S)


def finish(scores, value, mask, dim=-1):
    """Softmax over the keys that the mask shows, and the mean of the values: the end that most wrong versions share."""
    filled = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(filled, dim=dim).masked_fill(~mask, 0.0)
    return weights @ value, weights


@mistake(
    "The mask changes nothing: hidden keys get weight like any other. `masked_fill` returns a new tensor; which one "
    "goes into your softmax?",
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
    "The weights are masked and divided by what is left of their sum. Where one hidden score towers over the others, "
    "nothing is left but 0. Can the hidden scores leave before anything is compared with them?",
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
    "Hidden scores become 0, and exp(0) is 1: a key that says nothing beats every key with a negative score. "
    "Which score lets the exponential vanish?",
    source="A031; the slip 1e-9 for -1e9 does the same",
)
def zero_scores(query, key, value, mask):
    weights = torch.softmax(scaled(query, key) * mask, dim=-1)
    return weights @ value, weights


@mistake(
    "True and False are added to the scores as 1 and 0: allowed keys are e times as heavy, and none is hidden. "
    "Which two numbers does an additive mask hold?",
    source="A052: a boolean mask in code that was written for an additive one",
)
def added_as_numbers(query, key, value, mask):
    weights = torch.softmax(scaled(query, key) + mask, dim=-1)
    return weights @ value, weights


@mistake(
    "The hidden scores are filled with +∞, which is above all others, and ∞ − ∞ is NaN. Which end of the number line "
    "do you want?",
    source="A032",
)
def plus_infinity(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, float("inf")), dim=-1)
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
    "The fill is not low enough: where the real scores are lower still, the hidden keys win. "
    "Which number does `torch.finfo` know that no score can undercut?",
    source="A034: the usual repair for half precision, -1e4, leaks",
)
def fill_too_high(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, -1e4), dim=-1) * mask.any(-1, keepdim=True)
    return weights @ value, weights


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
    "A query without any allowed key is a softmax over -∞ alone: 0/0. What is such a query meant to get?",
    source="A037",
)
def nan_rows(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, float("-inf")), dim=-1)
    return weights @ value, weights


@mistake(
    "A query without any allowed key takes the plain mean of what it may not see: every score holds the same fill, so "
    "all are equal again. What could a last look at the mask still do for the weights?",
    source="A038",
)
def uniform_rows(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, -1e9), dim=-1)
    return weights @ value, weights


@mistake(
    "A query without any allowed key is let loose on all of them, to keep NaN away. The NaN is gone, and the secret "
    "with it: how do its weights become 0 in the end?",
    source="A037: the usual repair, rows unmasked where they are empty",
)
def empty_rows_unmasked(query, key, value, mask):
    return finish(scaled(query, key), value, mask | ~mask.any(-1, keepdim=True))


@mistake(
    "Output and weights are right, but a NaN was made on the way and painted over: it comes back in the gradient. "
    "Which fill makes no NaN at all where everything is hidden?",
    source="A037: the forward NaN is removed, gradients become NaN",
)
def nan_painted_over(query, key, value, mask):
    weights = torch.softmax(scaled(query, key) + torch.where(mask, 0.0, float("-inf")), dim=-1).nan_to_num(0.0)
    return weights @ value, weights


@mistake(
    "The result is right, but an argument comes back changed: `/=`, and any method that ends in `_`, writes into the "
    "caller's tensor, and the next call starts from another one. Which form makes a new tensor?",
    source="A090; C01 done in place",
)
def in_place(query, key, value, mask):
    query /= math.sqrt(query.shape[-1])
    return finish(query @ key.mT, value, mask)


MISTAKES = (
    no_effect, after_softmax, renormalised, divided_by_zero, zero_scores, added_as_numbers, plus_infinity, inverted,
    values_hidden, mask_across, read_as_padding, smaller_mask_dropped, over_queries, unscaled, root_forgotten,
    scale_upside_down, fill_too_high, no_maximum, nan_rows, uniform_rows, empty_rows_unmasked, nan_painted_over,
    in_place,
)  # fmt: skip

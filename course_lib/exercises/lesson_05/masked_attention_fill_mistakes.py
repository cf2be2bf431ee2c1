"""Wrong fills for `masked_attention`: the wrong number, in the wrong way, or at the wrong time."""

import torch

from course_lib.checking import mistake


def scaled(query, key):
    return query @ key.mT / query.shape[-1] ** 0.5  # (..., T, S)


@mistake(
    "Hidden scores become 0, and exp(0) is 1: a key that says nothing beats every key with a negative score. "
    "Which score lets the exponential vanish?",
    source="A031; the slip 1e-9 for -1e9 does the same",
)
def zero_scores(query, key, value, mask):
    weights = torch.softmax(scaled(query, key) * mask, dim=-1)
    return weights @ value, weights


@mistake(
    "Hidden scores become 0, or all but 0 as with `torch.finfo(...).tiny`: their exp(0) = 1 weighs on the others "
    "before their own weights go to 0. Do you want the number that is nearest to 0, or the lowest one?",
    source="`tiny`, `eps` and `min` of finfo mixed up; A031 with the weights masked once more",
)
def tiny_for_min(query, key, value, mask):
    scores = scaled(query, key)
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).tiny), dim=-1) * mask
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
    "A finite number is added to the hidden scores: what lies there is still underneath, and a large score climbs "
    "back out. What changes if the score is replaced instead?",
    source="`scores + (1 - mask) * -1e9`, as in BERT; A034's kin",
)
def added_finite(query, key, value, mask):
    scores = scaled(query, key)
    weights = torch.softmax(scores + (~mask).to(scores.dtype) * -1e9, dim=-1) * mask
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
    "0 times -∞ is NaN, so the allowed keys are spoilt. Which operation puts -∞ only where the mask hides?",
    source="A052: `(1 - mask) * -inf`, written as with -1e9",
)
def zero_times_infinity(query, key, value, mask):
    scores = scaled(query, key)
    weights = torch.softmax(scores + (~mask).to(scores.dtype) * float("-inf"), dim=-1)
    return weights @ value, weights


@mistake(
    "-∞ is written into the weights, when the softmax is over: a share of -∞ makes infinities and NaN of the "
    "output. Into which tensor does it belong, and on which side of the softmax?",
    source="A030 with the fill that was meant for the scores",
)
def minus_infinity_after(query, key, value, mask):
    weights = torch.softmax(scaled(query, key), dim=-1).masked_fill(~mask, float("-inf"))
    return weights @ value, weights


@mistake(
    "The fill is not low enough: where the real scores are lower still, the hidden keys win. "
    "Which number does `torch.finfo` know that no score can undercut?",
    source="A034: the usual repair for half precision, -1e4, leaks",
)
def fill_too_high(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, -1e4), dim=-1) * mask.any(-1, keepdim=True)
    return weights @ value, weights


@mistake(
    "The fill is too high, and taking the hidden weights to 0 afterwards does not heal it: where the real scores "
    "are lower still, all the weight lay on hidden keys, and nothing is left. What is the lowest number of the "
    "scores' dtype?",
    source="A034: -1e4 with the weights masked once more",
)
def fill_too_high_and_emptied(query, key, value, mask):
    weights = torch.softmax(scaled(query, key).masked_fill(~mask, -1e4), dim=-1) * mask
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
    "Output and weights are right, but a NaN was made on the way and painted over: it comes back in the gradient. "
    "Which fill makes no NaN at all where everything is hidden?",
    source="A037: the forward NaN is removed, gradients become NaN",
)
def nan_painted_over(query, key, value, mask):
    weights = torch.softmax(scaled(query, key) + torch.where(mask, 0.0, float("-inf")), dim=-1).nan_to_num(0.0)
    return weights @ value, weights


FILL_MISTAKES = (
    zero_scores, tiny_for_min, added_as_numbers, added_finite, plus_infinity, zero_times_infinity,
    minus_infinity_after, fill_too_high, fill_too_high_and_emptied, nan_rows, uniform_rows, nan_painted_over,
)  # fmt: skip

"""What people write for `scaled_dot_product_attention` instead: the wrong answers that the exercise knows by name."""

import math

import torch
from torch.nn import functional

from course_lib.checking import mistake


def attend(query, key, value, divide_by=None, to_weights=lambda scores: scores.softmax(-1)):
    """What most of the wrong versions below share."""
    weights = to_weights(query @ key.mT / (divide_by or query.shape[-1] ** 0.5))
    return weights @ value, weights


@mistake(
    "The scores are not scaled: the wider the keys, the closer each row of weights comes to a single 1. "
    "What grows with d_k, and what did `attention_scale` do about it?",
    source="dot-product attention of lesson 3, kept as it was",
)
def no_scale(query, key, value):
    return attend(query, key, value, 1)


@mistake(
    "Divided by d_k, not by its root, scores come out too even. Which of the two brings their variance to 1?",
    source="E-scale; or a mean of products, `(q * k).mean(-1)`",
)
def divided_by_width(query, key, value):
    return attend(query, key, value, query.shape[-1])


@mistake(
    "The root multiplies the scores: all weight goes to one key. Is d_k ** -0.5 a factor, or something to divide by?",
    source="A024",
)
def multiplied_by_root(query, key, value):
    return attend(query, key, value, query.shape[-1] ** -0.5)


@mistake(
    "The root is taken of the values' width, which plays no part in a score. How many entries does q · k add up?",
    source="A023's kin: a width at hand, not that of one query; d_v = d_k hides it",
)
def root_of_value_width(query, key, value):
    return attend(query, key, value, math.sqrt(value.shape[-1]))


@mistake(
    "The root is that of S, the number of keys. Which axis of `key` is summed over in q · k?",
    source="A023's kin: `key.shape[-2]`, or the root of the scores' last axis",
)
def root_of_key_count(query, key, value):
    return attend(query, key, value, math.sqrt(key.shape[-2]))


@mistake(
    "The scale comes after the softmax: each row sums to less than 1, and is as sharp as without it. "
    "On which side of the softmax does a factor change how weight is shared?",
    source="operator order: `softmax(q @ k.mT) / math.sqrt(d_k)`",
)
def scaled_after_softmax(query, key, value):
    return attend(query, key, value, 1, lambda scores: scores.softmax(-1) / math.sqrt(query.shape[-1]))


@mistake(
    "The queries share out each key: columns sum to 1, rows do not. Along which axis of (T, S) does a query choose?",
    source="A026",
)
def over_queries(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: torch.softmax(scores, dim=-2))


@mistake(
    "The softmax runs over axis 1, which is the keys only without a batch: with one axis more it is the queries, with "
    "two more the heads. Which index means the keys whatever stands in front?",
    source="E-axis: `dim=1` from an example with two axes; A020",
)
def over_axis_one(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: torch.softmax(scores, dim=1))


@mistake(
    "These are the scores K Q^T: a row belongs to a key, which only T = S lets through. Which factor gives the rows?",
    source="the factors exchanged: (S, T) for (T, S); labels of rows and columns mixed up",
)
def transposed_scores(query, key, value):
    return attend(key, query, value)


@mistake(
    "The weights mix the keys; the values are never read. What does a token hand over once its key has been found?",
    source="value ignored, one and the same tensor before this lesson (hmdolatabadi/denoising_diffusion#1)",
)
def keys_mixed(query, key, value):
    return attend(query, key, key)


@mistake(
    "`.T` reverses all axes, the batch included. Which attribute exchanges the last two alone, with any in front?",
    source="numpy habit: `.T` from an example without a batch",
)
def reversed_axes(query, key, value):
    weights = torch.softmax(query @ key.T / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@mistake(
    "Each weight is a sigmoid of its own score, so keys do not compete. Which function makes a row share one whole?",
    source="gates of an LSTM in mind; A013 is the same slip, each key by itself",
)
def sigmoid(query, key, value):
    return attend(query, key, value, to_weights=torch.sigmoid)


@mistake(
    "The scaled scores serve as weights: some are negative, and no row sums to 1. What turns scores into shares?",
    source="E-weights",
)
def scores_as_weights(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores)


@mistake(
    "The softmax is taken twice, which makes the weights nearly even. What goes into a softmax, scores or weights?",
    source="A101's sister: a helper that has applied it already",
)
def softmax_twice(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.softmax(-1).softmax(-1))


@mistake(
    "Exponentials of scores near 10,000 overflow, and inf/inf is NaN. Which function of lesson 0 takes care of that?",
    source="A028",
)
def no_maximum(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True))


@mistake(
    "These are cosines: the lengths of q and k are divided out. Does the divisor of equation 1 depend on the entries?",
    source="'similarity' taken for cosine similarity; its two lengths stand where √d_k should",
)
def cosine(query, key, value):
    return attend(functional.normalize(query, dim=-1), functional.normalize(key, dim=-1), value, 1)


@mistake(
    "The axis before the tokens is attended over: sentences of a batch look at one another, each at the same place. "
    "Which axis of `query` counts the tokens?",
    source="A129: sequence-first code on batch-first tensors; heads and tokens not exchanged",
)
def across_the_batch(query, key, value):
    output, weights = attend(*(each.transpose(-3, -2) for each in (query, key, value)))
    return output.transpose(-3, -2), weights


@mistake(
    "The values are right, but the weights are cut from the graph: only the values learn, nobody learns where to look. "
    "Which line detaches them, and can a plot take a copy instead?",
    source="`weights.detach()` for a heat map, then used for the output as well",
)
def detached_weights(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores.softmax(-1).detach())


@mistake(
    "Each row of scores is divided by its sum, with no exponential before: weights below 0 stand beside weights "
    "above 1. Which step of the softmax makes every score positive?",
    source="'normalise the scores' taken at its word",
)
def divided_by_sum(query, key, value):
    return attend(query, key, value, to_weights=lambda scores: scores / scores.sum(-1, keepdim=True))


@mistake(
    "`reshape` breaks the numbers of `key` into rows of another length, in the order in which they lie: a column "
    "then mixes entries of several tokens. What exchanges two axes and leaves each number with its token?",
    source="`reshape` or `view` to (..., Dk, S), because the shapes then fit",
)
def reshaped_keys(query, key, value):
    turned = key.reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])
    weights = torch.softmax(query @ turned / math.sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


@mistake(
    "The output is right, but the scores stand where the weights should. Which of your tensors has rows that sum to 1?",
    source="two names on the last line mixed up",
)
def scores_returned(query, key, value):
    return attend(query, key, value)[0], query @ key.mT / math.sqrt(query.shape[-1])


MISTAKES = (
    no_scale, divided_by_width, multiplied_by_root, root_of_value_width, root_of_key_count, scaled_after_softmax,
    over_queries, over_axis_one, transposed_scores, keys_mixed, reversed_axes, sigmoid, scores_as_weights,
    softmax_twice, no_maximum, cosine, across_the_batch, detached_weights, divided_by_sum, reshaped_keys,
    scores_returned,
)  # fmt: skip

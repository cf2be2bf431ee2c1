"""What people write for `mean_pool` instead: the wrong answers that the exercise knows by name."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


def emptied(x, mask):
    """x with 0 at the padding. (B, S, D)"""
    return x.masked_fill(~mask.mT, 0.0)


def count(mask):
    """How many tokens are real, at least 1. (B, 1)"""
    return mask.sum(dim=-1).clamp(min=1)


@mistake(
    "Padding takes part in the mean like any token: the mask is never read, and a short text is drowned in it. "
    "Which tokens belong to the text?",
    source="`x.mean(dim=1)`, the first pooling everybody writes; A016's kin",
)
def padding_in_the_mean(x, mask):
    return x.mean(dim=1)


@mistake(
    "Padding is left out of the sum and counted in the mean: the more padding, the shorter the vector. "
    "How many tokens did you add up, and by how many do you divide?",
    source="A100's kin: `(x * mask).mean(dim=1)`",
)
def divided_by_all(x, mask):
    return emptied(x, mask).mean(dim=1)


@mistake(
    "The real tokens are added up, and that is all: a text of twice the length gets a vector twice as long. "
    "What makes a mean of a sum?",
    source="sum pooling, as `nn.EmbeddingBag(mode='sum')` does",
)
def sum_not_divided(x, mask):
    return emptied(x, mask).sum(dim=1)


@mistake(
    "The sum is divided by the root of the count: a pooling of its own, between sum and mean. "
    "By what is a mean divided?",
    source="`pooling_mode_mean_sqrt_len_tokens` of sentence-transformers: another convention",
)
def root_of_the_count(x, mask):
    return emptied(x, mask).sum(dim=1) / count(mask).sqrt()


@mistake(
    "The first token speaks for all: that is BERT's [CLS], which has to be trained for it. "
    "Which tokens does the docstring take the mean of?",
    source="`last_hidden_state[:, 0]`, [CLS] pooling",
)
def first_token(x, mask):
    return x[:, 0]


@mistake(
    "The last column is taken, which holds padding in all but the longest texts. "
    "Where is what the other tokens of the text say?",
    source="A006: the summary read at the last place of a padded batch",
)
def last_column(x, mask):
    return x[:, -1]


@mistake(
    "The last real token is taken: so do decoders, whose last token alone has seen all the others. "
    "What is to be done with the tokens before it?",
    source="last-token pooling, as GPT-like classifiers do",
)
def last_token(x, mask):
    return x[torch.arange(len(x)), mask.sum(dim=-1).squeeze(1) - 1]


@mistake(
    "The largest entry of each feature is taken: that is max pooling. Which entries does a mean ask, one or all?",
    source="max pooling, from convolutional text classifiers and sentence-transformers",
)
def largest(x, mask):
    return x.masked_fill(~mask.mT, -1e9).amax(dim=1)


@mistake(
    "The mask is turned round: padding is averaged, and the text is thrown away. What does True mean in this course?",
    source="A130: `key_padding_mask` of torch is True at padding",
)
def mask_inverted(x, mask):
    return emptied(x, ~mask).sum(dim=1) / count(~mask)


@mistake(
    "The sum of each text is divided by the count of the whole batch, so a text changes with its neighbours. "
    "Along which axis should the mask be summed?",
    source="`mask.sum()` without `dim`",
)
def counted_over_the_batch(x, mask):
    return emptied(x, mask).sum(dim=1) / mask.sum().clamp(min=1)


@mistake(
    "All real tokens of the batch are averaged into a single vector. `x[mask]` forgets from which text a token came: "
    "how many vectors should there be?",
    source="a boolean index flattens batch and sequence into one axis",
)
def one_for_the_batch(x, mask):
    return x[mask.squeeze(1)].mean(dim=0)


@mistake(
    "The mean runs over the features: one number for each token. Which axis of (B, S, D) are the tokens?",
    source="`mean(-1)` by habit, as in a layer norm; A082's sister",
)
def over_the_features(x, mask):
    return emptied(x, mask).mean(dim=-1)


@mistake(
    "The mean runs over axis 0, across the texts: token 3 of one is mixed with token 3 of the others. "
    "Which axis are the tokens in a batch-first tensor?",
    source="A129: sequence-first code on batch-first data",
)
def over_the_batch(x, mask):
    return emptied(x, mask).sum(dim=0) / mask.mT.sum(dim=0).clamp(min=1)


@mistake(
    "A text without any real token divides 0 by 0. The docstring says what it should get: which is the smallest "
    "number that you may divide by?",
    source="A037's kin: no batch that was tried out has an empty text",
)
def empty_is_nan(x, mask):
    return emptied(x, mask).sum(dim=1) / mask.sum(dim=-1)


@mistake(
    "1 is added to every count, so that none is 0, and all vectors come out too short. "
    "Which counts need mending, and which function leaves the others alone?",
    source="`/ (count + 1)` against a division by zero; right with 1e-9 in place of 1",
)
def one_added(x, mask):
    return emptied(x, mask).sum(dim=1) / (mask.sum(dim=-1) + 1)


@mistake(
    "The axis of the one query is left over: (B, 1, S) @ (B, S, D) is (B, 1, D). "
    "Which method takes an axis of length 1 away?",
    source="pooling as a matrix product, or `keepdim=True`",
)
def query_axis_left(x, mask):
    return mask.to(x.dtype) @ x / count(mask).unsqueeze(-1)


@mistake(
    "The mask (B, 1, S) meets x (B, S, D) from the right, so it chooses features, not tokens; only S = D lets it run. "
    "Which of its axes must change places before?",
    source="`x * mask`: broadcasting aligns from the right",
)
def mask_on_the_features(x, mask):
    return (x * mask).sum(dim=1) / count(mask)


@mistake(
    "The mean is scaled to length 1. That is a step of its own, for comparing texts by their angle. "
    "Does the docstring ask for it?",
    source="pooling and `functional.normalize` stand together in sentence embedders",
)
def scaled_to_length_1(x, mask):
    return functional.normalize(emptied(x, mask).sum(dim=1), dim=-1)


MISTAKES = (
    padding_in_the_mean, divided_by_all, sum_not_divided, root_of_the_count, first_token, last_column, last_token,
    largest, mask_inverted, counted_over_the_batch, one_for_the_batch, over_the_features, over_the_batch,
    empty_is_nan, one_added, query_axis_left, mask_on_the_features, scaled_to_length_1,
)  # fmt: skip

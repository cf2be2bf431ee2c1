"""What people write for `next_token_loss` instead: another price of a guess, or another mean."""

import math

import torch
from torch.nn import functional

from course_lib.checking import mistake

from .next_token_loss_mistakes import mean_of_real, surprises


def prices(logits, ids, pad):
    """-log p of each next token, 0 where that is padding, (B, T - 1); and which are real."""
    target = ids[:, 1:]
    return surprises(logits[:, :-1], target) * (target != pad), target != pad


def right(logits, ids, pad):
    return mean_of_real(logits[:, :-1], ids[:, 1:], pad)


@mistake(
    "Padding is left out of the sum but counted in the mean: the loss shrinks as padding grows. "
    "How many guesses did you add up, and by how many do you divide?",
    source="A100, B001",
)
def padding_in_the_mean(logits, ids, pad):
    return prices(logits, ids, pad)[0].mean()


@mistake(
    "The sum is divided by the number of tokens, start tokens among them, though nobody guessed those. "
    "How many guesses are there in a text of five tokens?",
    source="`(ids != pad).sum()` counted before the shift",
)
def start_counted(logits, ids, pad):
    return prices(logits, ids, pad)[0].sum() / (ids != pad).sum()


@mistake(
    "What the guesses cost is added up, not averaged: the number grows with the batch. By what should it be divided?",
    source="`reduction='sum'`",
)
def sum_of_guesses(logits, ids, pad):
    return prices(logits, ids, pad)[0].sum()


@mistake(
    "The sum is divided by the number of texts: that is the loss of a text, another convention. "
    "How many guesses are there to share it?",
    source="loss per sequence (d2l-ai/d2l-en#2707, B001) where loss per token is asked for",
)
def per_text(logits, ids, pad):
    return prices(logits, ids, pad)[0].sum() / len(ids)


@mistake(
    "Each text is averaged first, then the texts: a guess in a short one weighs more than one in a long one. "
    "What should every real token weigh?",
    source="IBM/pytorch-seq2seq#125 (A100): the mean of means; another convention, not this one",
)
def mean_of_text_means(logits, ids, pad):
    price, is_real = prices(logits, ids, pad)
    return (price.sum(dim=1) / is_real.sum(dim=1).clamp(min=1))[is_real.any(dim=1)].mean()


@mistake(
    "Softmax is applied twice: `cross_entropy` and `log_softmax` take raw scores and normalise them, so the loss "
    "cannot come near 0. What do they expect to be given?",
    source="A101",
)
def double_softmax(logits, ids, pad):
    return right(logits.softmax(dim=-1), ids, pad)


@mistake(
    "This is minus the mean probability: the logarithm is missing, so being sure and wrong hardly costs anything. "
    "How much should a guess cost when p goes to 0?",
    source="A105: probabilities where log-probabilities are required",
)
def no_logarithm(logits, ids, pad):
    target = ids[:, 1:]
    p = logits[:, :-1].softmax(dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -p[target != pad].mean()


@mistake(
    "The probability underflows to 0 before its logarithm is taken, and log 0 is -∞. "
    "Which one function gives the logarithm of a softmax directly?",
    source="A105: the log of an exact zero",
)
def log_of_softmax(logits, ids, pad):
    target = ids[:, 1:]
    p = logits[:, :-1].softmax(dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -p[target != pad].log().mean()


@mistake(
    "The raw scores of the tokens are averaged: without the sum over the vocabulary they can be raised for ever. "
    "What makes log-probabilities of logits?",
    source="`nll_loss`, which expects log-probabilities, given logits; A105's kin",
)
def raw_scores(logits, ids, pad):
    return functional.nll_loss(logits[:, :-1].mT, ids[:, 1:], ignore_index=pad)


@mistake(
    "The sign is missing: log-probabilities are negative, and minimising this makes the model worse. "
    "Which sign does a surprise have?",
    source="likelihood maximised by a minimiser",
)
def wrong_sign(logits, ids, pad):
    return -right(logits, ids, pad)


@mistake(
    "The logits were reshaped where an axis should have been moved: the numbers stay in their old order, so each token "
    "is scored with pieces of other guesses. What is the difference between `reshape` and `transpose`?",
    source="`cross_entropy` wants (B, V, T); `view` or `reshape` gives that shape without moving anything",
)
def reshaped(logits, ids, pad):
    B, T, V = logits.shape
    return functional.cross_entropy(logits[:, :-1].reshape(B, V, T - 1), ids[:, 1:], ignore_index=pad)


@mistake(
    "The softmax runs over the places of a text: guesses compete with one another instead of words. "
    "Over which axis lies the vocabulary?",
    source="A020, E-axis",
)
def softmax_over_places(logits, ids, pad):
    target = ids[:, 1:]
    log_p = logits[:, :-1].log_softmax(dim=1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -log_p[target != pad].mean()


@mistake(
    "This is in bits, with logarithms to base 2. Which base do nats have?",
    source="bits per token, as compression counts; another unit",
)
def in_bits(logits, ids, pad):
    return right(logits, ids, pad) / math.log(2)


@mistake(
    "This is the perplexity, e to the power of the loss: good to report, not to minimise. Which of the two is a mean?",
    source="perplexity and loss stand side by side in every report on language models",
)
def perplexity(logits, ids, pad):
    return torch.exp(right(logits, ids, pad))


MISTAKES = (
    padding_in_the_mean, start_counted, sum_of_guesses, per_text, mean_of_text_means, double_softmax, no_logarithm,
    log_of_softmax, raw_scores, wrong_sign, reshaped, softmax_over_places, in_bits, perplexity,
)  # fmt: skip

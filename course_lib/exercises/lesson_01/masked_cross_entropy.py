"""Exercise `masked_cross_entropy`: how surprised the model is by each real token, on average."""

import torch
import torch.nn.functional as F

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import padding_ignored


def masked_cross_entropy(logits, target, pad):
    """Mean of -log p(target) over the real tokens, in nats a token.

    logits: (B, T, V) scores before softmax. target: (B, T) ids; positions that hold `pad` do not count.
    At least one token must be real. Returns a 0-d tensor.
    """
    log_probabilities = torch.log_softmax(logits, dim=-1)  # (B, T, V)
    losses = -log_probabilities.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    is_real = target != pad
    return torch.where(is_real, losses, 0.0).sum() / is_real.sum()


def cases(generator):
    """No padding, padding, a whole row of it, another padding id, large logits, equal sizes, one token."""

    def arguments(B, T, V, lengths=None, pad=0, scale=1.5):
        logits = scale * torch.randn(B, T, V, generator=generator, dtype=torch.float64)
        ids = torch.randint(1, V, (B, T), generator=generator)
        target = torch.where(ids == pad, 0, ids)  # with pad = 0 no id is 0; with another pad 0 is a real word
        if lengths is not None:
            target[torch.arange(T) >= torch.tensor(lengths)[:, None]] = pad
        return logits, target, pad

    yield Case("no padding", arguments(2, 3, 7), group="no padding")
    yield Case("one sentence", arguments(1, 4, 6), group="no padding")
    yield Case("lengths 2, 5, 3", arguments(3, 5, 7, [2, 5, 3]), group="padding")
    yield Case("lengths 1, 6", arguments(2, 6, 5, [1, 6]), group="padding")
    yield Case("one row is padding alone", arguments(3, 4, 6, [4, 0, 2]), group="padding")
    logits, target, pad = arguments(3, 5, 6, [5, 2, 4], pad=3)
    target[0, 1], target[2, 0] = 0, 0
    yield Case("padding is id 3, and id 0 is a word", (logits, target, pad), group="another padding id")
    logits, target, pad = arguments(2, 4, 5, [4, 2])
    yield Case("very sure, and often wrong", (1000.0 * torch.sign(logits), target, pad), group="large logits")
    yield Case("B = T = V", arguments(5, 5, 5, [5, 1, 3, 2, 4]), group="equal sizes")
    yield Case("one token", arguments(1, 1, 4), group="one token")


def token_losses(logits, target):
    """-log p of each target token, (B, T)."""
    return F.cross_entropy(logits.transpose(1, 2), target, reduction="none")


@mistake(
    "Padding is left out of the sum but counted in the mean: the loss shrinks as padding grows. "
    "How many tokens did you add up, and by how many do you divide?",
    source="A100, B001",
)
def padding_in_the_mean(logits, target, pad):
    return (token_losses(logits, target) * (target != pad)).mean()


@mistake(
    "Padding counts like any word: the model is taught to predict it, and long padding drowns the rest. "
    "At which positions is there something to learn?",
    source="A100, the variant that does not exclude padding at all",
)
def no_mask(logits, target, pad):
    return token_losses(logits, target).mean()


@mistake(
    "Softmax is applied twice: `cross_entropy` and `log_softmax` take raw scores and normalise them, so your "
    "loss cannot come near 0. What do they expect to be given?",
    source="A101",
)
def double_softmax(logits, target, pad):
    return masked_cross_entropy(torch.softmax(logits, dim=-1), target, pad)


@mistake(
    "The mean is divided by the number of tokens a second time: the loss looks wonderfully small. "
    "Which of your two divisions is one too many?",
    source="B001",
)
def divided_twice(logits, target, pad):
    return masked_cross_entropy(logits, target, pad) / (target != pad).sum()


@mistake(
    "Each sentence is averaged first, then the sentences: a token of a short one weighs more than one of a long one. "
    "What should every real token weigh?",
    source="IBM/pytorch-seq2seq#125 (A100): the mean of means; another convention, not this one",
)
def mean_of_sentence_means(logits, target, pad):
    is_real = target != pad
    per_sentence = (token_losses(logits, target) * is_real).sum(1) / is_real.sum(1).clamp(min=1)
    return per_sentence[is_real.any(1)].mean()


@mistake(
    "The losses are added up, not averaged: the number grows with the batch. By what should the sum be divided?",
    source="`reduction='sum'`",
)
def sum_of_tokens(logits, target, pad):
    return (token_losses(logits, target) * (target != pad)).sum()


@mistake(
    "The sum is divided by the number of sentences: that is the loss a sentence, another convention. "
    "How many tokens are there to share it?",
    source="loss per sequence (d2l-ai/d2l-en#2707, B001) where loss per token is asked for",
)
def per_sentence(logits, target, pad):
    return sum_of_tokens.wrong(logits, target, pad) / len(target)


@mistake(
    "The logits were reshaped where an axis should have been moved: the numbers stay in their old order, so each token "
    "is scored with pieces of other tokens. What is the difference between `reshape` and `transpose`?",
    source="`cross_entropy` wants (B, V, T); `view` or `reshape` gives that shape without moving anything",
)
def reshaped(logits, target, pad):
    B, T, V = logits.shape
    return F.cross_entropy(logits.reshape(B, V, T), target, ignore_index=pad)


@mistake(
    "Padding is taken to be id 0, whatever `pad` says: here a real word is thrown away and padding is learned. "
    "Which argument names the padding?",
    source="A043",
)
def padding_is_zero(logits, target, pad):
    return masked_cross_entropy(logits, target, 0)


@mistake(
    "This is minus the mean probability: the logarithm is missing, so being sure and wrong hardly costs anything. "
    "How large should the loss be when p goes to 0?",
    source="A105: probabilities where log-probabilities are required",
)
def no_logarithm(logits, target, pad):
    p = torch.softmax(logits, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -(p * (target != pad)).sum() / (target != pad).sum()


@mistake(
    "The sign is missing: log-probabilities are negative, and minimising this makes the model worse. "
    "Which sign does a surprise have?",
    source="likelihood maximised by a minimiser",
)
def wrong_sign(logits, target, pad):
    return -masked_cross_entropy(logits, target, pad)


@mistake(
    "The probability underflows to 0 before its logarithm is taken, and log 0 is -∞. "
    "Which one function gives the logarithm of a softmax directly?",
    source="A105: the log of an exact zero",
)
def log_of_softmax(logits, target, pad):
    p = torch.softmax(logits, dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -torch.where(target != pad, torch.log(p), 0.0).sum() / (target != pad).sum()


@mistake(
    "The mask was put on the logits: a row of zeros is a uniform guess, which still costs log V. "
    "Which quantity must be zero at padding, the scores or the losses?",
    source="the mask applied one step too early",
)
def mask_on_logits(logits, target, pad):
    is_real = target != pad
    return token_losses(logits * is_real.unsqueeze(-1), target).sum() / is_real.sum()


@mistake(
    "The mask is inverted: only padding counts. Does your comparison say `==` or `!=`?",
    source="A103: the pad row mask is inverted; A130",
)
def mask_inverted(logits, target, pad):
    is_padding = target == pad
    return (token_losses(logits, target) * is_padding).sum() / is_padding.sum().clamp(min=1)


@mistake(
    "Softmax runs over time: positions compete with one another instead of words. Over which axis lies the vocabulary?",
    source="A020, E-axis",
)
def softmax_over_time(logits, target, pad):
    losses = -torch.log_softmax(logits, dim=1).gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return (losses * (target != pad)).sum() / (target != pad).sum()


@mistake(
    "The first token of each row is missing. The target is y_1 ... y_T, without a start token: what is there to cut?",
    source="A004: outputs and targets cut at one end too many",
)
def first_token_dropped(logits, target, pad):
    if target.shape[1] == 1:
        return masked_cross_entropy(logits, target, pad)
    return masked_cross_entropy(logits[:, 1:], target[:, 1:], pad)


def by_torch(logits, target, pad):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad)


def by_moving_the_axis(logits, target, pad):
    is_real = (target != pad).to(logits.dtype)
    return (F.cross_entropy(logits.mT, target, reduction="none") * is_real).sum() / is_real.sum()


def by_selection(logits, target, pad):
    real = target.ne(pad)
    chosen, ids = logits[real], target[real]
    return (chosen.logsumexp(-1) - chosen[torch.arange(len(ids)), ids]).mean()


def by_one_hot(logits, target, pad):
    one_hot = F.one_hot(target, logits.shape[-1]) * (target != pad).unsqueeze(-1)
    return -(one_hot * logits.log_softmax(-1)).sum() / one_hot.sum()


def by_loops(logits, target, pad):
    total, count = logits.new_zeros(()), 0
    for row, ids in zip(logits, target.tolist(), strict=True):
        for scores, word in zip(row, ids, strict=True):
            if word != pad:
                total, count = total + torch.logsumexp(scores, 0) - scores[word], count + 1
    return total / count


EXERCISE = Exercise(
    name="masked_cross_entropy",
    reference=masked_cross_entropy,
    cases=cases,
    laws=(padding_ignored(0, lambda case: case.args[1] == case.args[2]),),
    mistakes=(
        padding_in_the_mean, no_mask, double_softmax, divided_twice, mean_of_sentence_means, sum_of_tokens,
        per_sentence, reshaped, padding_is_zero, no_logarithm, wrong_sign, log_of_softmax, mask_on_logits,
        mask_inverted, softmax_over_time, first_token_dropped,
    ),
    accepts=(by_torch, by_moving_the_axis, by_selection, by_one_hot, by_loops),
    hints=(
        "For one token: the loss is minus the log-probability that the model gave to the right word.",
        "`torch.log_softmax(logits, dim=-1)` is (B, T, V); `gather(-1, target.unsqueeze(-1))` picks the right word "
        "at each position.",
        "`is_real = target != pad`. Add up the losses where it is True, divide by how many there are.",
    ),
    minutes=10,
    difficulty=2,
    points=2,
    forbidden=("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss", "torch.nn.functional.nll_loss"),
)  # fmt: skip

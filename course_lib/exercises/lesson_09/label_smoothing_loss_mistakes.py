"""What people write for `label_smoothing_loss` instead: other shares for the ids."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


def shares(logits, target, pad, true, other, padding=0.0):
    """(B, T, V) with three numbers in it: at the true id, at the other ids, at the padding id of real tokens."""
    share = torch.full_like(logits, other)
    share[..., pad] = padding
    return share.scatter(-1, target.unsqueeze(-1), true)


def softened(logits, target, smoothing, pad):
    """The shares that the exercise asks for."""
    return shares(logits, target, pad, 1 - smoothing, smoothing / (logits.shape[-1] - 2))


def token_losses(logits, share):
    """(B, T): the cross-entropy of each token."""
    return -(share * logits.log_softmax(dim=-1)).sum(dim=-1)


def mean_of_real(losses, target, pad):
    return losses[target != pad].mean()


@mistake(
    "smoothing / V goes to every id, the true one and padding among them: the convention of torch's "
    "`label_smoothing=`. Which two ids does this exercise leave out, and what does V - 2 count?",
    source="`cross_entropy(..., label_smoothing=)`, Szegedy et al. 2016: another convention (A103)",
)
def over_all_ids(logits, target, smoothing, pad):
    return functional.cross_entropy(logits.mT, target, ignore_index=pad, label_smoothing=smoothing)


@mistake(
    "Padding is one of the ids that share the smoothing: the model is taught to say it in the middle of sentences. "
    "What share should `pad` get, and how many ids are left for the rest?",
    source="A103: smoothing mass is spread over the pad class",
)
def padding_gets_a_share(logits, target, smoothing, pad):
    other = smoothing / (logits.shape[-1] - 1)
    return mean_of_real(token_losses(logits, shares(logits, target, pad, 1 - smoothing, other, other)), target, pad)


@mistake(
    "Each of the V - 2 others gets its share, and padding gets one as well, so the shares sum to more than 1. "
    "Which column of the target must be emptied?",
    source="A103: `fill_(smoothing / (V - 2))` without the line that empties the pad column",
)
def padding_not_emptied(logits, target, smoothing, pad):
    other = smoothing / (logits.shape[-1] - 2)
    return mean_of_real(token_losses(logits, shares(logits, target, pad, 1 - smoothing, other, other)), target, pad)


@mistake(
    "The smoothing is divided among V - 1, then the padding's part is thrown away: the shares sum to less than 1. "
    "How many ids divide the smoothing among themselves?",
    source="A103, mended by emptying the pad column and leaving the divisor as it was",
)
def divided_by_one_too_many(logits, target, smoothing, pad):
    share = shares(logits, target, pad, 1 - smoothing, smoothing / (logits.shape[-1] - 1))
    return mean_of_real(token_losses(logits, share), target, pad)


@mistake(
    "The smoothing is divided by V, and the true id and padding do not take their parts of it: the shares sum to less "
    "than 1. How many ids are neither of the two?",
    source="smoothing / V from the paper's reference, 1 - smoothing from another text",
)
def divided_by_all(logits, target, smoothing, pad):
    share = shares(logits, target, pad, 1 - smoothing, smoothing / logits.shape[-1])
    return mean_of_real(token_losses(logits, share), target, pad)


@mistake(
    "The true id takes part twice: 1 - smoothing for itself and one part of the smoothing, divided among V - 1. "
    "Who shares the smoothing, all real ids or the others?",
    source="(1 - ε) · one-hot + ε · uniform over the real ids: another convention",
)
def true_id_shares_too(logits, target, smoothing, pad):
    other = smoothing / (logits.shape[-1] - 1)
    return mean_of_real(token_losses(logits, shares(logits, target, pad, 1 - smoothing + other, other)), target, pad)


@mistake(
    "1 - smoothing is added at the true id to a part of the smoothing that stands there already, so the shares sum to "
    "more than 1. Is the true id one of the V - 2, and where does its part have to go?",
    source="`scatter_add_`, or one-hot · (1 - ε) added onto a full tensor",
)
def added_to_the_part(logits, target, smoothing, pad):
    other = smoothing / (logits.shape[-1] - 2)
    return mean_of_real(token_losses(logits, shares(logits, target, pad, 1 - smoothing + other, other)), target, pad)


@mistake(
    "The true id keeps its whole 1 and the others get something on top. From whom is the smoothing taken?",
    source="smoothing added to a one-hot vector that is not scaled down",
)
def nothing_taken_away(logits, target, smoothing, pad):
    share = shares(logits, target, pad, 1.0, smoothing / (logits.shape[-1] - 2))
    return mean_of_real(token_losses(logits, share), target, pad)


@mistake(
    "`smoothing` is never read: this is plain cross-entropy. What does the target say of the ids that are not true?",
    source="the loss of lesson 1, kept as it was",
)
def smoothing_unread(logits, target, smoothing, pad):
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad)


@mistake(
    "smoothing and 1 - smoothing have changed places: most of the target goes to wrong words. "
    "How much does the true id keep when smoothing is 0?",
    source="`confidence` and `smoothing` mixed up",
)
def exchanged(logits, target, smoothing, pad):
    share = shares(logits, target, pad, smoothing, (1 - smoothing) / (logits.shape[-1] - 2))
    return mean_of_real(token_losses(logits, share), target, pad)


@mistake(
    "Padding is taken to be id 0, whatever `pad` says: here a real word is thrown away, and padding is learned. "
    "Which argument names the padding?",
    source="A043",
)
def padding_is_zero(logits, target, smoothing, pad):
    return mean_of_real(token_losses(logits, softened(logits, target, smoothing, 0)), target, 0)


MISTAKES = (
    over_all_ids, padding_gets_a_share, padding_not_emptied, divided_by_one_too_many, divided_by_all,
    true_id_shares_too, added_to_the_part, nothing_taken_away, smoothing_unread, exchanged, padding_is_zero,
)  # fmt: skip

"""What people write for `next_token_loss` instead: other targets, or targets at another place."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


def surprises(guesses, target):
    """-log p of each target, (B, N, V), (B, N) -> (B, N)."""
    return functional.cross_entropy(guesses.mT, target, reduction="none")


def mean_of_real(guesses, target, pad):
    return surprises(guesses, target)[target != pad].mean()


@mistake(
    "Nothing is shifted: each place is asked for the very token that it has just read, and a model that copies is "
    "perfect. Which token should the scores at place t guess?",
    source="A125",
)
def not_shifted(logits, ids, pad):
    return mean_of_real(logits, ids, pad)


@mistake(
    "The targets stand two places on: they were shifted twice, so the model learns the token after the next. "
    "Who shifts, the data set, the model or the loss, if only one of them may?",
    source="A125's sister: Hugging Face models shift inside, and the labels came shifted already",
)
def shifted_twice(logits, ids, pad):
    return mean_of_real(logits[:, :-2], ids[:, 2:], pad)


@mistake(
    "The shift goes the wrong way: each place is asked for the token before it, which it has seen. "
    "Which of the two loses its last place, and which its first?",
    source="`logits[:, 1:]` with `ids[:, :-1]`: the two slices exchanged",
)
def shifted_backwards(logits, ids, pad):
    return mean_of_real(logits[:, 1:], ids[:, :-1], pad)


@mistake(
    "`roll` brings the start token round to the end, so the last scores are asked to guess how the text began. "
    "What does follow the last token?",
    source="`torch.roll(ids, -1, dims=1)` as the labels",
)
def rolled(logits, ids, pad):
    return mean_of_real(logits, ids.roll(-1, dims=1), pad)


@mistake(
    "The texts were joined before the shift, so the end of each is asked for the start of the one below. "
    "What must come first, the cut or the flattening?",
    source="`flatten` first, then `[:-1]` and `[1:]`, right for one long stream",
)
def rows_run_together(logits, ids, pad):
    return mean_of_real(logits.flatten(0, 1)[None, :-1], ids.flatten()[None, 1:], pad)


@mistake(
    "The first token is guessed too, from scores of 0 that nobody made: every text pays for its start token. "
    "Which of `ids` have something in front of them?",
    source="A004: an output buffer whose slot 0 is never written",
)
def first_token_guessed(logits, ids, pad):
    return mean_of_real(torch.cat([torch.zeros_like(logits[:, :1]), logits[:, :-1]], dim=1), ids, pad)


@mistake(
    "Padding is a target like any word: the model is taught to go on with it, and short texts teach little else. "
    "At which targets is there something to guess?",
    source="A100, the variant that does not exclude padding at all",
)
def padding_counts(logits, ids, pad):
    return surprises(logits[:, :-1], ids[:, 1:]).mean()


@mistake(
    "The mask is that of the tokens which were read, one place too early: the first padding behind each text counts as "
    "a target. Of which of the two, input or target, do you ask whether it is padding?",
    source="A044's sister: `ids[:, :-1] != pad`, the mask of the model's input used again",
)
def mask_of_the_input(logits, ids, pad):
    return surprises(logits[:, :-1], ids[:, 1:])[ids[:, :-1] != pad].mean()


@mistake(
    "Only what has a word after it counts, so the last token of each text is never learned: the model will not know "
    "where to end. Does the guess of the last word depend on what follows?",
    source="A005 turned round: the end token cut off with the padding; a mask shifted once too often",
)
def last_word_dropped(logits, ids, pad):
    followed = functional.pad(ids[:, 2:], (0, 1), value=pad) != pad
    return (surprises(logits[:, :-1], ids[:, 1:]) * followed).sum() / followed.sum().clamp(min=1)


@mistake(
    "Padding is taken to be id 0, whatever `pad` says: a real word is never learned, and padding is. "
    "Which argument names the padding?",
    source="A043",
)
def padding_is_zero(logits, ids, pad):
    return mean_of_real(logits[:, :-1], ids[:, 1:], 0)


@mistake(
    "The mask is turned round: padding alone is scored. Is it `==` or `!=` that finds the words?",
    source="A103: the pad row mask is inverted; A130",
)
def padding_alone(logits, ids, pad):
    is_padding = ids[:, 1:] == pad
    return (surprises(logits[:, :-1], ids[:, 1:]) * is_padding).sum() / is_padding.sum().clamp(min=1)


@mistake(
    "Indexing with the targets takes, at every place, the scores of the targets of all places and of all texts. One "
    "score a place is wanted. Which method picks one along the last axis, each place its own?",
    source="`log_p[:, :, target]` where `gather` belongs",
)
def every_target_everywhere(logits, ids, pad):
    target = ids[:, 1:]
    log_p = logits[:, :-1].log_softmax(dim=-1)[:, :, target]  # (B, N, B, N)
    return -log_p[target != pad].mean()


MISTAKES = (
    not_shifted, shifted_twice, shifted_backwards, rolled, rows_run_together, first_token_guessed, padding_counts,
    mask_of_the_input, last_word_dropped, padding_is_zero, padding_alone,
    every_target_everywhere,
)  # fmt: skip

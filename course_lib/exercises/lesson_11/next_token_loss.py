"""Exercise `next_token_loss`: a text is its own target, one place on (Radford et al. 2018, equation 1, as a mean)."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, padding_ignored, reordered

from . import next_token_loss_mean_mistakes, next_token_loss_mistakes


def next_token_loss(logits, ids, pad):
    """How badly each next token was guessed: the mean of -log p over all real ones, in nats.

    logits: (B, T, V), scores made from the tokens up to and with each of `ids`. ids: (B, T), texts as they were read, a
    start token first and `pad` last. The first token is nobody's guess. Returns a 0-d tensor.
    """
    guesses, target = logits[:, :-1], ids[:, 1:]  # (B, T - 1, V), (B, T - 1)
    log_p = guesses.log_softmax(dim=-1).gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T - 1)
    return -log_p[target != pad].mean()


def cases(generator):
    """No padding, padding, a text of its start alone, other ids, large logits, one guess, sizes that coincide."""

    def arguments(B, T, V, lengths=None, pad=0, bos=1):
        """lengths: with the start token."""
        logits = 1.5 * torch.randn(B, T, V, generator=generator, dtype=torch.float64)
        ids = torch.randint(2, V, (B, T), generator=generator)
        if pad != 0:
            ids = torch.where(ids == pad, 0, ids)  # 0 is a word then
        ids[:, 0] = bos
        if lengths is not None:
            ids[torch.arange(T) >= torch.tensor(lengths)[:, None]] = pad
        return logits, ids, pad

    yield Case("no padding", arguments(2, 4, 6), group="padding")
    yield Case("one text", arguments(1, 6, 5), group="padding")
    yield Case("lengths 3, 5 and 4", arguments(3, 5, 7, [3, 5, 4]), group="padding")
    yield Case("one text much shorter", arguments(2, 9, 5, [9, 2]), group="padding")
    yield Case("no text fills the batch", arguments(2, 7, 6, [5, 4]), group="padding")
    yield Case("a start token without a text", arguments(3, 4, 6, [4, 1, 3]), group="a start alone")
    logits, ids, pad = arguments(3, 5, 6, [5, 3, 4], pad=3)
    ids[0, 1], ids[1, 2] = 0, 0
    yield Case("padding is id 3, id 0 is a word", (logits, ids, pad), group="another id")
    yield Case("padding is the last id", arguments(2, 5, 7, [5, 3], pad=6, bos=2), group="another id")
    logits, ids, pad = arguments(2, 6, 5, [6, 4])
    yield Case("logits of ±10,000", (1e4 * torch.sign(logits), ids, pad), group="large logits")
    yield Case("one guess a text", arguments(3, 2, 4), group="one guess")
    yield Case("B = T = V", arguments(5, 5, 5, [5, 2, 3, 4, 5]), group="equal sizes")
    yield Case("as many guesses as ids", arguments(2, 6, 5, [6, 4]), group="T - 1 = V")


def by_torch(logits, ids, pad):
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=pad)


def by_moved_labels(logits, ids, pad):
    """All logits stay; the labels move one place, and what is nobody's target is ignored, as in Hugging Face models."""
    labels = torch.full_like(ids, -100)
    labels[:, :-1] = ids[:, 1:].masked_fill(ids[:, 1:] == pad, -100)
    return functional.cross_entropy(logits.mT, labels)


def by_one_more_padding(logits, ids, pad):
    """What follows the last token is padding, and counts as little as any other."""
    target = functional.pad(ids[:, 1:], (0, 1), value=pad)  # (B, T)
    is_real = target != pad
    log_p = torch.einsum("btv,btv->bt", logits.log_softmax(2), functional.one_hot(target, logits.shape[2]).to(logits))
    return -(log_p * is_real).sum() / is_real.sum()


def by_selection(logits, ids, pad):
    """Only the places that guess a word: log Σ exp less the word's own score."""
    row, place = (ids[:, 1:] != pad).nonzero(as_tuple=True)
    scores = logits[row, place]  # (N, V)
    return (scores.logsumexp(dim=1) - scores[torch.arange(len(row)), ids[row, place + 1]]).mean()


def by_loops(logits, ids, pad):
    losses = []
    for scores, text in zip(logits, ids.tolist(), strict=True):
        for t, word in enumerate(text[1:]):
            if word != pad:
                losses.append(torch.logsumexp(scores[t], 0) - scores[t, word])
    return sum(losses) / len(losses)


def _one_place_on(function, cases, generator):
    """Logits made of the next tokens themselves: whoever asks for another token has to pay."""
    for case in cases:
        logits, ids, pad = case.args
        target = ids.roll(-1, dims=1)
        sure = 50.0 * functional.one_hot(target, logits.shape[-1]).to(logits.dtype)
        if call(function, Case(case.label, (sure, ids, pad))).abs() > 1e-6:
            return f"logits that are sure of each next token still cost something ({case.label})"
    return None


def _last_guess(function, cases, generator):
    for case in cases:
        logits, *rest = case.args
        other = logits.clone()
        other[:, -1] = 5 * torch.randn(other[:, -1].shape, generator=generator, dtype=logits.dtype)
        if not close(call(function, case), call(function, Case(case.label, (other, *rest)))):
            return f"the guess behind the last token changes the loss ({case.label})"
    return None


def _padding_appended(function, cases, generator):
    for case in cases:
        logits, ids, pad = case.args
        more = 5 * torch.randn(len(logits), 3, logits.shape[-1], generator=generator, dtype=logits.dtype)
        longer = torch.cat([logits, more], dim=1), functional.pad(ids, (0, 3), value=pad), pad
        if not close(call(function, case), call(function, Case(case.label, longer))):
            return f"three more columns of padding change the loss ({case.label})"
    return None


def _uniform(function, cases, generator):
    for case in cases:
        logits, *rest = case.args
        found = call(function, Case(case.label, (torch.zeros_like(logits), *rest))).item()
        if not math.isclose(found, math.log(logits.shape[-1]), rel_tol=1e-6):
            return f"where all ids are equally likely, your loss is {found:.4g} ({case.label})"
    return None


EXERCISE = Exercise(
    name="next_token_loss",
    reference=next_token_loss,
    cases=cases,
    laws=(
        Law("the next token", _one_place_on, "Which token do the logits of place t guess, and where does it stand?"),
        Law("the last guess does not count", _last_guess, "Which token would the last logits guess, and is it there?"),
        padding_ignored(0, lambda case: case.args[1] == case.args[2]),
        Law("padding appended", _padding_appended, "Which tokens do you add up, and by how many do you divide?"),
        reordered("texts in any order", {0: (0,), 1: (0,)}, {}, "What would know a text by its place in the batch?"),
        Law("a uniform guess costs log V", _uniform, "What does one guess cost, and over what is the mean taken?"),
    ),
    mistakes=next_token_loss_mistakes.MISTAKES + next_token_loss_mean_mistakes.MISTAKES,
    accepts=(by_torch, by_moved_labels, by_one_more_padding, by_selection, by_loops),
    hints=(
        "The scores at place t guess the token at place t + 1. So the last scores guess nothing, and nothing guesses "
        "the first token: cut each of the two at its own end.",
        "`logits[:, :-1]` are the guesses, `ids[:, 1:]` the targets, both T - 1 long. From here on it is the loss of "
        "lesson 1.",
        "`log_softmax(dim=-1)`, then `gather(-1, target.unsqueeze(-1))` picks what the right token got. The mean runs "
        "over the places where `target != pad`.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
    forbidden=("torch.nn.functional.cross_entropy", "torch.nn.CrossEntropyLoss", "torch.nn.functional.nll_loss"),
)  # fmt: skip

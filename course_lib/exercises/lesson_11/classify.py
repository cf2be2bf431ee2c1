"""Exercise `classify`: an encoder, the mean over real tokens, one linear layer (the family of Devlin et al. 2019)."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close, rows_independent
from course_lib.exercises.lesson_05.masked_attention import masked_attention
from course_lib.exercises.lesson_05.padding_mask import padding_mask

from .classify_mistakes import MISTAKES
from .mean_pool import mean_pool


def classify(ids, encode, W, b, pad):
    """The score of each class for each text, from an encoder and one linear layer.

    ids: (B, S), a text's tokens and then `pad`. encode: function (ids (B, S), mask (B, 1, S)) -> (B, S, D), an encoder;
    mask: bool, True = may attend. W: (D, C). b: (C,). Returns logits (B, C).
    """
    mask = padding_mask(ids, pad)  # (B, 1, S)
    x = encode(ids, mask)  # (B, S, D)
    return mean_pool(x, mask) @ W + b  # (B, C)


V, PLACES = 12, 20


def make_encoder(generator, D, pad=0, loud=False):
    """An encoder with random matrices, in which every token that a mask shows changes all the others.

    loud: padding is embedded as a row of 1,000,000, so that whoever listens to it hears nothing else.
    Without a mask every token may attend to every other one.
    """
    table, places = (torch.randn(n, D, generator=generator, dtype=torch.float64) for n in (V, PLACES))
    matrices = torch.randn(3, D, D, generator=generator, dtype=torch.float64) * 1.5 / math.sqrt(D)
    if loud:
        table[pad] = 1e6

    def encode(ids, mask):
        dtype = torch.get_default_dtype()
        x = (table[ids] + places[: ids.shape[1]]).to(dtype)  # (B, S, D)
        if mask is None:
            mask = torch.ones(1, 1, ids.shape[1], dtype=torch.bool)
        query, key, value = (x @ matrix for matrix in matrices.to(dtype))
        return x + masked_attention(query, key, value, mask)[0]

    return encode


def cases(generator):
    """No padding, padding, another id, one text, one token, two classes, loud padding; sizes that coincide."""

    def arguments(lengths, S, D, C, pad=0, loud=False):
        words = torch.randint(1, V, (len(lengths), S), generator=generator)
        if pad != 0:  # 0 is a word then, and every text has it
            words = torch.where(words == pad, pad - 1, words)
            words[:, 0] = 0
        ids = torch.where(torch.arange(S) < torch.tensor(lengths)[:, None], words, pad)
        W = torch.randn(D, C, generator=generator, dtype=torch.float64) * 2 / math.sqrt(D)
        b = torch.randn(C, generator=generator, dtype=torch.float64)
        return ids, make_encoder(generator, D, pad, loud), W, b, pad

    yield Case("no padding", arguments([4, 4], 4, 5, 3), group="no padding")
    yield Case("lengths 5, 2 and 3", arguments([5, 2, 3], 5, 6, 4), group="padding")
    yield Case("no text fills the batch", arguments([4, 2], 6, 3, 5), group="padding")
    yield Case("two classes", arguments([4, 1, 3], 4, 5, 2), group="padding")
    yield Case("padding id 7, and 0 is a word", arguments([5, 3], 5, 4, 3, pad=7), group="another id")
    yield Case("one text, padding id 3", arguments([4], 6, 5, 3, pad=3), group="another id")
    yield Case("one text", arguments([3], 4, 6, 2), group="one text")
    yield Case("one token a text", arguments([1, 1, 1], 1, 4, 2), group="one token")
    yield Case("padding is embedded as 1,000,000", arguments([2, 4], 4, 3, 5, loud=True), group="loud padding")
    yield Case("as many features as classes", arguments([3, 5], 5, 4, 4), group="D = C")
    yield Case("as many texts as tokens", arguments([2, 4, 1, 3], 4, 5, 3), group="B = S")
    yield Case("every size 4", arguments([4, 2, 3, 1], 4, 4, 4, pad=5), group="all equal")


def scores_first(ids, encode, W, b, pad):
    """The layer is linear: the mean of the tokens' scores is the score of their mean."""
    mask = (ids != pad).unsqueeze(1)
    scores = encode(ids, mask) @ W + b  # (B, S, C)
    return torch.where(mask.mT, scores, 0.0).sum(dim=1) / mask.sum(dim=2)


def by_text(ids, encode, W, b, pad):
    """Each text alone and without its padding, which then needs no mask."""
    logits = []
    for row in ids:
        text = row[row != pad].unsqueeze(0)
        x = encode(text, torch.ones(1, 1, text.shape[1], dtype=torch.bool))
        logits.append(torch.addmv(b, W.T, x[0].mean(dim=0)))
    return torch.stack(logits)


def by_einsum(ids, encode, W, b, pad):
    real = ids.ne(pad)
    shares = real / real.sum(dim=1, keepdim=True)  # (B, S)
    x = encode(ids, real[:, None, :])
    return torch.einsum("bs,bsd,dc->bc", shares.to(x.dtype), x, W).add(b)


def by_linear(ids, encode, W, b, pad):
    """The columns that hold padding alone are cut away first, and torch's own layer takes W as it stores it."""
    ids = ids[:, (ids != pad).any(dim=0)]
    mask = padding_mask(ids, pad)
    weights = mask.to(W.dtype)
    pooled = torch.bmm(weights, encode(ids, mask)) / weights.sum(dim=-1, keepdim=True)
    return functional.linear(pooled.flatten(1), W.T, b)


def by_wider_input(ids, encode, W, b, pad):
    """The bias as one more row of the matrix, for a feature that is always 1."""
    mask = padding_mask(ids, pad)
    pooled = mean_pool(encode(ids, mask), mask)
    return torch.cat([pooled, torch.ones_like(pooled[:, :1])], dim=1) @ torch.cat([W, b.unsqueeze(0)])


def _padding_appended(function, cases, generator):
    for case in cases:
        ids, encode, W, b, pad = case.args
        longer = functional.pad(ids, (0, 3), value=pad)
        if not close(call(function, case), call(function, Case(case.label, (longer, encode, W, b, pad)))):
            return f"three more columns of padding change the scores ({case.label})"
    return None


def _scores(function, cases, generator):
    for case in cases[:4]:
        ids, encode, W, b, pad = case.args
        if not close(2 * call(function, case), call(function, Case(case.label, (ids, encode, 2 * W, 2 * b, pad)))):
            return f"twice the weights and the bias do not give twice the scores ({case.label})"
    return None


EXERCISE = Exercise(
    name="classify",
    reference=classify,
    cases=cases,
    laws=(
        Law("padding does not matter", _padding_appended, "Who reads the padding: the encoder, the mean, or both?"),
        rows_independent({0}),
        Law("scores come straight from the layer", _scores, "What do you do with a score after the linear layer?"),
    ),
    mistakes=MISTAKES,
    accepts=(scores_first, by_text, by_einsum, by_linear, by_wider_input),
    hints=(
        "Three steps: the encoder reads, `mean_pool` makes one vector of each text, one linear layer scores the "
        "classes. Two of them need a mask, and it is the same one.",
        "`padding_mask(ids, pad)` is (B, 1, S): hand it to `encode`, and keep it for `mean_pool`.",
        "A linear layer is `vector @ W + b`, (B, D) @ (D, C) + (C,). Its results are logits: no softmax follows.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

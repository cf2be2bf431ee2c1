"""Exercise `make_masks`: both masks of a Transformer, made of ids alone."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, rows_independent
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.padding_mask import padding_mask

from . import make_masks_mistakes, make_masks_shape_mistakes


def make_masks(source_ids, target_ids, pad):
    """Both masks of a Transformer from ids alone. source_ids: (B, S). target_ids: (B, T), the decoder's input.

    Returns the source mask (B, 1, S), real tokens, and the target mask (B, T, T), real tokens that are not in the
    future. Bool, True = may attend.
    """
    T = target_ids.shape[1]
    source_mask = padding_mask(source_ids, pad)
    target_mask = padding_mask(target_ids, pad) & causal_mask(T, T)  # (B, 1, T) & (T, T)
    return source_mask, target_mask


def sentences(generator, N, *lengths, pad=0, front=False):
    """Sentences (B, N) of these lengths, padded behind or in front; ids below and above `pad` are words, 0 too."""
    words = torch.randint(1, 40, (len(lengths), N), generator=generator)
    if pad != 0:
        words = torch.where(words == pad, pad + 1, words)
        words[:, -1 if front else 0] = 0
    real = torch.arange(N) < torch.tensor(lengths)[:, None]  # (B, N)
    return torch.where(real.flip(1) if front else real, words, pad)


def cases(generator):
    """Without padding, padding on each side, another id; padding in front, one token, nothing but padding, T = S."""

    def batch(N, *lengths, **options):
        return sentences(generator, N, *lengths, **options)

    yield Case("no padding", (batch(5, 5, 5), batch(3, 3, 3), 0), group="padding")
    yield Case("padding on both sides", (batch(5, 2, 5, 3), batch(4, 4, 2, 3), 0), group="padding")
    yield Case("a shorter source", (batch(3, 3, 1), batch(6, 4, 6), 0), group="padding")
    yield Case("padding id 7, and 0 is a word", (batch(4, 4, 2, pad=7), batch(5, 3, 5, pad=7), 7), group="another id")
    yield Case("one sentence, padding id 3", (batch(6, 4, pad=3), batch(4, 3, pad=3), 3), group="one sentence")
    yield Case("one target token", (batch(4, 3, 4), batch(1, 1, 1), 0), group="one token")
    yield Case("one source token", (batch(1, 1, 1), batch(3, 3, 2), 0), group="one token")
    in_front = batch(5, 3, 5, 2, front=True), batch(4, 2, 4, 3, front=True)
    yield Case("padding in front", (*in_front, 0), group="padding in front")
    yield Case("a sentence of padding alone", (batch(3, 0, 2), batch(4, 3, 0), 0), group="nothing real")
    yield Case("equally long", (batch(4, 4, 2), batch(4, 3, 4), 0), group="T = S")
    yield Case("as many sentences as tokens", (batch(3, 1, 3, 2), batch(3, 3, 2, 1), 0), group="B = T = S")


def by_comparisons(source_ids, target_ids, pad):
    place = torch.arange(target_ids.shape[1])
    not_later = place <= place.unsqueeze(1)  # (T, T)
    return (source_ids != pad)[:, None], (target_ids != pad)[:, None] & not_later


def by_tril(source_ids, target_ids, pad):
    real = target_ids.ne(pad).unsqueeze(1).expand(-1, target_ids.shape[1], -1)  # (B, T, T)
    return source_ids.ne(pad).unsqueeze(1), real.tril()


def by_what_is_hidden(source_ids, target_ids, pad):
    """Control C04: what is hidden is padding or the strictly upper triangle."""
    T = target_ids.shape[-1]
    future = torch.triu(torch.ones(T, T), diagonal=1).bool()
    hidden = (target_ids == pad).view(-1, 1, T) | future
    return ~(source_ids == pad).view(len(source_ids), 1, -1), ~hidden


def by_loop(source_ids, target_ids, pad):
    source = [[[token != pad for token in row]] for row in source_ids.tolist()]
    target = [
        [[key <= query and token != pad for key, token in enumerate(row)] for query in range(len(row))]
        for row in target_ids.tolist()
    ]
    return torch.tensor(source), torch.tensor(target)


def by_products(source_ids, target_ids, pad):
    """1 and 0 multiplied; the triangle as an outer product of places, summed up."""
    ones = torch.ones(target_ids.shape[1], dtype=torch.long)
    past = torch.outer(ones.cumsum(0), ones) >= torch.outer(ones, ones.cumsum(0))
    kept = torch.einsum("bs,ts->bts", (target_ids != pad).long(), past.long())
    return (source_ids - pad).bool().unsqueeze(-2), kept == 1


def _both_rows_independent(function, cases, generator):
    for side, name in enumerate(("source", "target")):
        law = rows_independent({0, 1})
        how = law.broken(lambda *args, side=side: function(*args)[side], cases, generator)
        if how:
            return f"{name} mask: {how}"
    return None


def _each_side_alone(function, cases, generator):
    """Other words on the other side, in another number, are no business of a mask's."""
    for case in cases:
        source, target, pad = case.args
        others = sentences(generator, 9, *(9 for _ in source), pad=pad)
        plain = call(function, case)
        if not torch.equal(plain[0], call(function, Case(case.label, (source, others, pad)))[0]):
            return f"the source mask changes with the target ({case.label})"
        if not torch.equal(plain[1], call(function, Case(case.label, (others, target, pad)))[1]):
            return f"the target mask changes with the source ({case.label})"
    return None


EXERCISE = Exercise(
    name="make_masks",
    reference=make_masks,
    cases=cases,
    laws=(
        Law("batch rows are independent", _both_rows_independent, "Which line lets a sentence change another's mask?"),
        Law("each mask from its own ids", _each_side_alone, "Which of the two sentences does a mask speak of?"),
    ),
    mistakes=make_masks_mistakes.MISTAKES + make_masks_shape_mistakes.MISTAKES,
    accepts=(by_comparisons, by_tril, by_what_is_hidden, by_loop, by_products),
    hints=(
        "Two questions, one a mask. Source: is this key a real token? Target: is it real, and not after the query?",
        "Your own `padding_mask` answers the first one, (B, 1, N), your own `causal_mask` the second part, (T, T).",
        "A key must pass both: `&` broadcasts (B, 1, T) with (T, T) to (B, T, T). The source is read whole, so it gets "
        "no triangle.",
    ),
    minutes=6,
    difficulty=2,
    points=2,
)  # fmt: skip

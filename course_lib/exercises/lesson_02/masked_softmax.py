"""Exercise `masked_softmax`: scores to weights, with nothing for what may not be looked at."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call


def masked_softmax(scores, mask):
    """Softmax over the last axis among the allowed positions; the others get weight 0.

    scores: (..., S). mask: bool, broadcastable to scores, True = may be looked at. A row without any allowed position
    gets weights 0 everywhere. Returns (..., S).
    """
    safe = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    exponentials = torch.exp(safe - safe.max(dim=-1, keepdim=True).values) * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def cases(generator):
    """Nothing masked, padding, a mask for all rows, negative and large scores, garbage, rows with nothing left."""

    def scores(*shape, scale=1.5):
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def lengths(S, *counts):
        return torch.arange(S) < torch.tensor(counts)[:, None]

    yield Case("nothing masked", (scores(2, 4), lengths(4, 4, 4)), group="nothing masked")
    yield Case("lengths 2, 5, 3", (scores(3, 5), lengths(5, 2, 5, 3)), group="padding")
    yield Case("three axes", (scores(2, 3, 4), lengths(4, 1, 3).unsqueeze(1)), group="padding")
    yield Case("one row, one position", (scores(1, 1), lengths(1, 1)), group="padding")
    holes = torch.tensor([[True, False, True, True, False, True]])
    yield Case("one mask with holes for both rows", (scores(2, 6), holes), group="padding")
    yield Case("as many rows as positions", (scores(4, 4), lengths(4, 1, 2, 4, 3)), group="B = S")
    yield Case("real scores near -300", (scores(2, 5) - 300.0, lengths(5, 3, 4)), group="low scores")
    coarse = torch.randint(-16, 17, (3, 4), generator=generator).to(torch.float64) / 8
    yield Case("real scores near 10,000", (coarse + 10_000.0, lengths(4, 4, 2, 3)), group="high scores")
    garbage = torch.where(lengths(4, 2, 4, 3), coarse, 1e6)
    yield Case("scores of 1,000,000 at the padding", (garbage, lengths(4, 2, 4, 3)), group="garbage at padding")
    yield Case("a row with nothing to look at", (scores(3, 4), lengths(4, 2, 0, 4)), group="nothing left")


@mistake(
    "The mask has no effect: padding gets weight like any word. Which of your tensors goes into the softmax, the "
    "masked one or the one before?",
    source="A016, A017, A045",
)
def no_effect(scores, mask):
    return torch.softmax(scores, dim=-1)


@mistake(
    "The mask comes after the softmax: what it removes is missing from the sum, so the rest adds up to less than 1. "
    "Over which positions should the sum in the denominator run?",
    source="A030",
)
def after_softmax(scores, mask):
    return torch.softmax(scores, dim=-1) * mask


@mistake(
    "The weights are masked after the softmax and divided by their sum: fine until a masked score is far above the "
    "rest, for then all allowed weights underflow to 0 first. At which step must the masked scores be out of the game?",
    source="A030 with the usual repair, renormalising",
)
def renormalised(scores, mask):
    weights = torch.softmax(scores, dim=-1) * mask
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-300)


@mistake(
    "Masked scores become 0, and exp(0) is 1: padding keeps weight, more than a word with a negative score. "
    "Which score has the exponential 0?",
    source="A031",
)
def zero_scores(scores, mask):
    return torch.softmax(scores * mask, dim=-1)


@mistake(
    "Masked positions are filled with plus infinity: they take all, and ∞ − ∞ is NaN. Which sign does the fill need?",
    source="A032",
)
def plus_infinity(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("inf")), dim=-1)


@mistake(
    "A row with nothing to look at is a softmax over -∞ alone, which is NaN. "
    "Which weights should a row get that may look at nothing?",
    source="A037",
)
def nan_rows(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)


@mistake(
    "A row with nothing to look at spreads its weight evenly over forbidden positions: the finite fill is the same "
    "everywhere, so the softmax is uniform. What should such a row sum to?",
    source="A038",
)
def uniform_rows(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -1e30), dim=-1)


@mistake(
    "The values are right, but the NaN of an empty row is only painted over: it comes back in the gradient and spoils "
    "every weight it meets. How can the NaN be kept from arising at all?",
    source="A037: the forward NaN is sliced away, gradients become NaN",
)
def nan_painted_over(scores, mask):
    return torch.softmax(scores + torch.where(mask, 0.0, float("-inf")), dim=-1).nan_to_num(0.0)


@mistake(
    "The fill is not low enough: real scores lie below it here, and the padding wins. "
    "Which value is below every score that a tensor of this dtype can hold?",
    source="A034: the usual repair for half precision, a smaller constant, leaks",
)
def fill_too_high(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -100.0), dim=-1) * mask.any(-1, keepdim=True)


@mistake(
    "The mask is inverted: only the padding is looked at. What does True mean in this course?",
    source="A130: True = ignore in one half of torch, True = keep in the other",
)
def inverted(scores, mask):
    return masked_softmax(scores, ~mask)


@mistake(
    "The weights are taken along the first axis: the rows of the batch compete. Which axis holds the source positions?",
    source="A020",
)
def over_batch(scores, mask):
    return masked_softmax(scores.transpose(0, -1), mask.expand(scores.shape).transpose(0, -1)).transpose(0, -1)


@mistake(
    "The scores are exponentiated as they are, so large ones overflow to inf/inf. "
    "What may be subtracted from every score of a row?",
    source="A028",
)
def no_maximum(scores, mask):
    exponentials = torch.exp(scores) * mask
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1e-300)


@mistake(
    "The values are right, but the caller's scores are overwritten: whoever looks at them next sees the fill. "
    "Which method fills a copy?",
    source="A090: an in-place mask fill on an argument",
)
def in_place(scores, mask):
    return masked_softmax(scores.masked_fill_(~mask, torch.finfo(scores.dtype).min), mask)


def by_where(scores, mask):
    highest = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    exponentials = torch.where(mask, torch.exp(torch.where(mask, scores - highest, 0.0)), 0.0)
    total = exponentials.sum(-1, keepdim=True)
    return exponentials / torch.where(total > 0, total, 1.0)


def by_filling_empty_rows(scores, mask):
    some = mask.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~mask & some, float("-inf")), dim=-1) * some


def by_additive_mask(scores, mask):
    """Controls C04 and C05: an additive mask, shifted by a constant on the allowed positions."""
    lowest = torch.finfo(scores.dtype).min / 2
    added = torch.where(mask, 1.0, 0.0).to(scores.dtype) + torch.where(mask, scores, lowest)
    return torch.softmax(added, dim=-1) * mask.any(-1, keepdim=True)


def painted_over(scores, mask):
    """NaN rows set to 0 afterwards: `masked_fill` lets no gradient through where it fills, so none is NaN."""
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1).nan_to_num(0.0)


def row_by_row(scores, mask):
    allowed = mask.expand(scores.shape).reshape(-1, scores.shape[-1])
    rows = []
    for row, keep in zip(scores.reshape(-1, scores.shape[-1]), allowed, strict=True):
        places = keep.nonzero().squeeze(1)
        rows.append(torch.zeros_like(row).index_put((places,), torch.softmax(row[places], 0)))
    return torch.stack(rows).reshape(scores.shape)


def _rows(function, cases, generator):
    for case in cases:
        weights, mask = call(function, case), case.args[1].expand(case.args[0].shape)
        if (weights[~mask] != 0).any():
            return f"a masked position has a weight ({case.label})"
        total, wanted = weights.sum(-1), mask.any(-1).to(weights.dtype)
        if not torch.allclose(total, wanted):
            return f"a row does not sum to 1, or an empty one not to 0 ({case.label})"
    return None


EXERCISE = Exercise(
    name="masked_softmax",
    reference=masked_softmax,
    cases=cases,
    laws=(Law("allowed weights sum to 1", _rows, "Which positions share the weight of a row, and which get none?"),),
    mistakes=(
        no_effect, after_softmax, renormalised, zero_scores, plus_infinity, nan_rows, uniform_rows, nan_painted_over,
        fill_too_high, inverted, over_batch, no_maximum, in_place,
    ),
    accepts=(by_where, by_filling_empty_rows, by_additive_mask, painted_over, row_by_row),
    hints=(
        "Put the masked scores out of the game before the softmax, with a fill whose exponential is 0.",
        "`scores.masked_fill(~mask, value)`: lower than any score is `torch.finfo(scores.dtype).min`, or -∞.",
        "A row that is masked throughout needs care: multiply the exponentials by the mask, and never divide by 0.",
    ),
    minutes=10,
    difficulty=2,
    points=2,
)  # fmt: skip

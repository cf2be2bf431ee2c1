"""Exercise `softmax`: scores to weights, stable, along any axis."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import shift_invariant, sums_to_one


def softmax(scores, dim=-1):
    """Weights along `dim`: positive, summing to 1, in the order of the scores. scores: any shape; same shape out."""
    highest = scores.max(dim=dim, keepdim=True).values
    exponentials = torch.exp(scores - highest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def cases(generator):
    """Vectors and batches of unequal sizes, a square matrix, each axis, then large scores and wide spreads."""

    def scores(*shape, scale=1.0):
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def coarse(*shape, spread):
        # Multiples of 1/8 are exact in float32 even near 10,000, so a float32 answer stays right.
        return torch.randint(-8 * spread, 8 * spread + 1, shape, generator=generator).to(torch.float64) / 8

    yield Case("one vector", (scores(5),))
    yield Case("a batch of rows", (scores(3, 4),))
    yield Case("three axes", (scores(2, 3, 5, scale=2.0),))
    yield Case("the first of two axes", (scores(3, 4), 0), group="any axis")
    yield Case("the middle of three axes", (scores(2, 5, 3, scale=2.0), 1), group="any axis")
    yield Case("a square matrix, dim=0", (scores(4, 4), 0), group="any axis")
    yield Case("one score", (scores(3, 1),), group="any axis")
    yield Case("scores near 10,000", (10_000.0 + coarse(3, 4, spread=2),), group="large scores")
    yield Case("scores near -10,000", (coarse(3, 4, spread=2) - 10_000.0,), group="large scores")
    rows = torch.tensor([[10_000.0], [0.0], [-10_000.0]], dtype=torch.float64)
    yield Case("rows of very different size", (rows + coarse(3, 4, spread=2),), group="rows of different size")
    outlier = coarse(3, 4, spread=2)
    outlier[:, 1] += 4_000.0
    yield Case("one score far above the others", (outlier,), group="an outlier")


@mistake(
    "The scores are exponentiated as they are: `exp` overflows from about 709 on (88 in float32), and inf/inf is NaN. "
    "Which number can be subtracted from every score of a row without changing a single weight?",
    source="A028",
)
def no_maximum(scores, dim=-1):
    exponentials = torch.exp(scores)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@mistake(
    "The weights are taken along the last axis, whatever `dim` says. Where does `dim` enter your maximum and your sum?",
    source="E-axis: 'axis = 1' or '-1' is copied from an example with two axes",
)
def last_axis_always(scores, dim=-1):
    return torch.softmax(scores, dim=-1)


@mistake(
    "The weights are taken along axis 0: the examples of a batch compete with one another. "
    "Which axis holds the scores that belong together?",
    source="A020, A026",
)
def first_axis_always(scores, dim=-1):
    return torch.softmax(scores, dim=0)


@mistake(
    "The whole tensor sums to 1, not each row. Over which axis should `sum` run, and what does `keepdim` keep?",
    source="`x.exp() / x.exp().sum()` is right for one vector, and written for a vector first",
)
def whole_tensor(scores, dim=-1):
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum()


@mistake(
    "One maximum is subtracted for the whole tensor: a row far below it underflows to 0/0. "
    "Whose maximum does each row need?",
    source="`x - x.max()` is the first thing that stops the overflow",
)
def global_maximum(scores, dim=-1):
    exponentials = torch.exp(scores - scores.max())
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@mistake(
    "The mean is subtracted, not the maximum: the largest score of a row may still overflow. "
    "What bounds every exponent from above?",
    source="shift invariance holds for any shift, so the mean passes every test with small numbers",
)
def subtracts_mean(scores, dim=-1):
    exponentials = torch.exp(scores - scores.mean(dim=dim, keepdim=True))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@mistake(
    "The sum lost its axis, so it lines up with the wrong one: your denominators belong to other rows. "
    "What does `keepdim=True` change about the shape of the sum?",
    source="numpy habit: broadcasting aligns from the right; a square test matrix hides the error",
)
def sum_without_keepdim(scores, dim=-1):
    exponentials = torch.exp(scores - scores.max(dim=dim, keepdim=True).values)
    return exponentials / exponentials.sum(dim=dim)


@mistake(
    "The scores are divided by their sum without `exp`: they need not be positive, and only shares are kept. "
    "What does the exponential do to a negative score?",
    source="E-weights: raw scores used as if they were weights",
)
def shares_without_exp(scores, dim=-1):
    return scores / scores.sum(dim=dim, keepdim=True)


@mistake(
    "These are the logarithms of the weights: they are negative and do not sum to 1. What undoes a logarithm?",
    source="A105: log-probabilities where probabilities are asked for",
)
def log_softmax(scores, dim=-1):
    return torch.log_softmax(scores, dim=dim)


@mistake(
    "All weight goes to the highest score: that is argmax, and no gradient passes through it. "
    "What should a score a little below the highest one get?",
    source="softmax understood as 'picks the largest'",
)
def hard_maximum(scores, dim=-1):
    return torch.nn.functional.one_hot(scores.argmax(dim), scores.shape[dim]).movedim(-1, dim).to(scores.dtype)


@mistake(
    "The exponentials are divided by their largest, not by their sum: the best gets exactly 1, the total is above 1. "
    "What should the weights of one row add up to?",
    source="mixing up scaling to a maximum of 1 with normalising to a sum of 1",
)
def divided_by_largest(scores, dim=-1):
    return torch.exp(scores - scores.max(dim=dim, keepdim=True).values)


@mistake(
    "Large scores are cut off at a limit: that stops the overflow, but scores above the limit all become equal. "
    "Which step keeps their differences and still avoids the overflow?",
    source="clamping is the usual first aid against inf",
)
def clamped(scores, dim=-1):
    exponentials = torch.exp(scores.clamp(-50.0, 50.0))
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@mistake(
    "The values are right, but your function writes into the caller's tensor: a second call with the same scores would "
    "see other numbers. Which line uses `-=`, `exp_` or another operation in place?",
    source="A090",
)
def in_place(scores, dim=-1):
    scores -= scores.max(dim=dim, keepdim=True).values.detach()
    return torch.exp(scores) / torch.exp(scores).sum(dim=dim, keepdim=True)


@mistake(
    "The values are right, but the sum is cut out of the graph (`detach`, `.data`, numpy): the gradient forgets that "
    "the scores of a row compete. Through which parts of the fraction must a gradient flow?",
    source="detached statistics: the denominator is taken for a constant",
)
def detached_sum(scores, dim=-1):
    exponentials = torch.exp(scores - scores.max(dim=dim, keepdim=True).values)
    return exponentials / exponentials.sum(dim=dim, keepdim=True).detach()


def by_torch(scores, dim=-1):
    return torch.softmax(scores, dim=dim)


def by_log_sum_exp(scores, dim=-1):
    return torch.exp(scores - torch.logsumexp(scores, dim=dim, keepdim=True))


def detached_maximum(scores, dim=-1):
    """The gradient through the maximum cancels, so it may be cut."""
    exponentials = (scores - scores.detach().amax(dim, True)).exp()
    return exponentials / exponentials.sum(dim, True)


def slice_by_slice(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    rows = [torch.exp(row - row.max()) for row in moved.reshape(-1, moved.shape[-1])]
    return torch.stack([row / row.sum() for row in rows]).reshape(moved.shape).movedim(-1, dim)


def by_sigmoid_of_differences(scores, dim=-1):
    """softmax_i = 1 / sum_j exp(s_j - s_i), each exponent bounded from above by using 1/inf = 0."""
    moved = scores.movedim(dim, -1)
    differences = moved.unsqueeze(-2) - moved.unsqueeze(-1)  # (..., n, n)
    return torch.exp(-torch.logsumexp(differences, dim=-1)).movedim(-1, dim)


def _axis(case):
    return case.args[1] if len(case.args) > 1 else -1


EXERCISE = Exercise(
    name="softmax",
    reference=softmax,
    cases=cases,
    laws=(sums_to_one(_axis), shift_invariant()),
    mistakes=(
        no_maximum, last_axis_always, first_axis_always, whole_tensor, global_maximum, subtracts_mean,
        sum_without_keepdim, shares_without_exp, log_softmax, hard_maximum, divided_by_largest, clamped, in_place,
        detached_sum,
    ),
    accepts=(by_torch, by_log_sum_exp, detached_maximum, slice_by_slice, by_sigmoid_of_differences),
    hints=(
        "Three steps: make every score safe, exponentiate, divide. Only the last two are in the formula.",
        "`torch.exp(1000.)` is infinite. Subtracting one constant from all scores of a row changes no weight: "
        "subtract the row's own maximum, so that every exponent is at most 0.",
        "`scores.max(dim=dim, keepdim=True).values` and `.sum(dim=dim, keepdim=True)`: with `keepdim` the axis stays "
        "with length 1, so that it lines up with the scores.",
    ),
    minutes=8,
    difficulty=1,
    points=1,
    forbidden=("torch.softmax", "torch.nn.functional.softmax", "torch.Tensor.softmax", "torch.nn.Softmax"),
)  # fmt: skip

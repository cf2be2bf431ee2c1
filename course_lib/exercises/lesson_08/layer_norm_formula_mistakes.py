"""What people write for `layer_norm` instead: another spread, eps in another place, another norm."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


def mean_of(x):
    return x.mean(dim=-1, keepdim=True)  # (..., 1)


def variance_of(x):
    return (x - mean_of(x)).square().mean(dim=-1, keepdim=True)  # (..., 1)


@mistake(
    "The variance is divided by D - 1, torch's default: right for a guess from a sample, but these are all the "
    "numbers there are. Which argument of `var` says so?",
    source="B004; `x.var()` and `x.std()` are unbiased by default",
)
def unbiased(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(x.var(dim=-1, keepdim=True) + eps) * weight + bias


@mistake(
    "eps is added to the deviation, after the root: there it counts for √eps and not for eps. "
    "In √(variance + eps), to what is it added?",
    source="`/ (std + eps)`: reads like the formula",
)
def eps_after_the_root(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / (torch.sqrt(variance_of(x)) + eps) * weight + bias


@mistake(
    "`x.std()` brings two differences at once: it divides by D - 1, and eps meets it after the root. "
    "Which quantity does the formula want before the root is taken?",
    source="B004: harvardnlp/annotated-transformer#119, where the hand-written norm and torch's differ",
)
def by_std(x, weight, bias, eps=1e-5):
    return weight * (x - mean_of(x)) / (x.std(dim=-1, keepdim=True) + eps) + bias


@mistake(
    "There is no eps: a token whose numbers are all equal is 0/0, and one whose numbers are nearly equal is blown up. "
    "What keeps the root away from 0?",
    source="the formula of statistics, which has no eps",
)
def no_eps(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(variance_of(x)) * weight + bias


@mistake(
    "A number is written into the code where eps belongs, so another eps changes nothing. "
    "Which argument should stand there?",
    source="`functional.layer_norm` called without its last argument; 1e-5, 1e-6 or 1e-12 typed from a model at hand",
)
def eps_written_in(x, weight, bias, eps=1e-5):
    return functional.layer_norm(x, x.shape[-1:], weight, bias)


@mistake(
    "eps is a floor under the variance: it does nothing while the variance is larger, and all the work below. "
    "Which sign does the formula put between them?",
    source="`clamp(min=eps)`, as `functional.normalize` keeps away from 0",
)
def eps_as_a_floor(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(variance_of(x).clamp(min=eps)) * weight + bias


@mistake(
    "A bracket is missing: eps is added to the quotient, which shifts every number and saves no division. "
    "Where does the root begin, and where should it end?",
    source="`/ torch.sqrt(variance) + eps`: operators bind before the eye does",
)
def eps_after_the_division(x, weight, bias, eps=1e-5):
    return ((x - mean_of(x)) / torch.sqrt(variance_of(x)) + eps) * weight + bias


@mistake(
    "You divide by the variance: tokens that vary much come out small, not of deviation 1. "
    "What stands between variance and standard deviation?",
    source="variance and deviation mixed up; they agree where both are 1",
)
def root_forgotten(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / (variance_of(x) + eps) * weight + bias


@mistake(
    "A root is taken of the standard deviation, which is a root already. Which quantity does the formula put under "
    "the root: what `var` gives, or what `std` gives?",
    source="`torch.sqrt(x.std(...) + eps)`: the formula's root around the function that has taken it",
)
def root_taken_twice(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(variance_of(x).sqrt() + eps) * weight + bias


@mistake(
    "A root is taken of `x.std()`, which is a root already, and it divides by D - 1. "
    "Which function gives the variance, and which argument makes it divide by D?",
    source="the same with torch's default",
)
def root_of_the_default_std(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(x.std(dim=-1, keepdim=True) + eps) * weight + bias


@mistake(
    "The variance is measured from 0 and not from the mean: a token far from 0 comes out much too small. "
    "From what are the features to be counted before they are squared?",
    source="RMSNorm's second half behind layer norm's first: x squared, not x - mean",
)
def squares_about_zero(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(mean_of(x.square()) + eps) * weight + bias


@mistake(
    "First the mean, then the square: the features' distances from their mean cancel, so eps alone is left under the "
    "root. Which of the two comes first in the formula of the variance?",
    source="`(x - mean).mean() ** 2`: a bracket in the wrong place",
)
def squared_after_the_mean(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(mean_of(x - mean_of(x)).square() + eps) * weight + bias


@mistake(
    "A bracket is missing above the fraction bar: the mean alone is divided, and x is left as large as it was. "
    "In `x - mean / deviation`, which sign binds first?",
    source="the formula typed on one line: division binds before subtraction",
)
def mean_alone_divided(x, weight, bias, eps=1e-5):
    return x - mean_of(x) / torch.sqrt(variance_of(x) + eps) * weight + bias


@mistake(
    "You multiply by the deviation, so loud tokens become louder. "
    "Is it `sqrt` or `rsqrt` that belongs behind a multiplication?",
    source="A024's kin: `*` for `/`, or `torch.sqrt` where code to copy from has `torch.rsqrt`",
)
def multiplied_by_the_root(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) * torch.sqrt(variance_of(x) + eps) * weight + bias


@mistake(
    "The mean is taken away, and that is all: a token with numbers a thousand times as large stays so. "
    "Which line of the formula brings the deviation to 1?",
    source="centring called normalising",
)
def centred_alone(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) * weight + bias


@mistake(
    "The deviation is that about the mean, but x itself is divided by it: the mean stays inside, scaled. "
    "What stands above the fraction bar?",
    source="`x / x.std(...)`; data whose mean is 0 already cannot show it",
)
def mean_left_in(x, weight, bias, eps=1e-5):
    return x / torch.sqrt(variance_of(x) + eps) * weight + bias


@mistake(
    "This is RMSNorm, which divides by the root mean square and takes no mean away: newer models use it, the "
    "Transformer does not. What does layer norm do to x before it squares?",
    source="RMSNorm (Zhang and Sennrich 2019), as in models of the Llama family",
)
def root_mean_square(x, weight, bias, eps=1e-5):
    return x * torch.rsqrt(mean_of(x.square()) + eps) * weight + bias


@mistake(
    "Each token is brought to length 1: `normalize` is about the length of a vector. "
    "Which two quantities are to be 0 and 1 after layer norm?",
    source="`functional.normalize`, the first hit in a search for 'normalise'",
)
def unit_length(x, weight, bias, eps=1e-5):
    return functional.normalize(x, dim=-1, eps=eps) * weight + bias


@mistake(
    "The squares are added up and not averaged, so the numbers shrink as the model grows wider. "
    "By what is a variance divided?",
    source="`.norm()` or `.sum()` of what is left without the mean",
)
def squares_added_up(x, weight, bias, eps=1e-5):
    centred = x - mean_of(x)
    return centred / torch.sqrt(centred.square().sum(dim=-1, keepdim=True) + eps) * weight + bias


@mistake(
    "Smallest and largest number become 0 and 1: one outlier squeezes all others together. "
    "Which two statistics does layer norm use instead of the extremes?",
    source="'normalise' as for columns of a table: min-max scaling",
)
def between_the_extremes(x, weight, bias, eps=1e-5):
    low, high = x.amin(dim=-1, keepdim=True), x.amax(dim=-1, keepdim=True)
    return (x - low) / (high - low + eps) * weight + bias


MISTAKES = (
    unbiased, eps_after_the_root, by_std, no_eps, eps_written_in, eps_as_a_floor, eps_after_the_division,
    root_forgotten, root_taken_twice, root_of_the_default_std, squares_about_zero, squared_after_the_mean,
    mean_alone_divided, multiplied_by_the_root, centred_alone, mean_left_in, root_mean_square, unit_length,
    squares_added_up, between_the_extremes,
)  # fmt: skip

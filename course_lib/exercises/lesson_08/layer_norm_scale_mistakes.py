"""What people write for `layer_norm` instead: weight and bias, gradients, writing in place, rounding."""

import torch

from course_lib.checking import mistake

from .layer_norm_formula_mistakes import mean_of, variance_of


def standardised(x, eps):
    return (x - mean_of(x)) / torch.sqrt(variance_of(x) + eps)


@mistake(
    "Neither weight nor bias is read: every token has mean 0 and deviation 1 for ever. "
    "How can the layer learn that another scale is better?",
    source="at the start weight is 1 and bias is 0, so nothing seems to be missing",
)
def no_weight_or_bias(x, weight, bias, eps=1e-5):
    return standardised(x, eps)


@mistake(
    "The bias is missing: the features can be stretched, and not moved. Which argument does your code never read?",
    source="a bias that is 0 at the start; some models do without",
)
def no_bias(x, weight, bias, eps=1e-5):
    return standardised(x, eps) * weight


@mistake(
    "The weight is missing: the features can be moved, and not stretched. Which of γ and β multiplies?",
    source="a weight that is 1 at the start",
)
def no_weight(x, weight, bias, eps=1e-5):
    return standardised(x, eps) + bias


@mistake(
    "Weight and bias have changed places: you multiply by β and add γ. Which letter of the formula is called weight?",
    source="γ and β in the other order; same shapes",
)
def exchanged(x, weight, bias, eps=1e-5):
    return standardised(x, eps) * bias + weight


@mistake(
    "The weight is counted from 1: you multiply by 1 + γ. That is another convention, in which γ starts at 0. "
    "What should a weight of 1 do to a feature?",
    source="Gemma's norm and NeMo's LayerNorm1P keep γ - 1",
)
def one_plus_weight(x, weight, bias, eps=1e-5):
    return standardised(x, eps) * (1 + weight) + bias


@mistake(
    "The bias is added before the weight multiplies, so it is stretched as well. "
    "Which of the two comes first in the formula?",
    source="a bracket: weight * (standardised + bias)",
)
def bias_inside(x, weight, bias, eps=1e-5):
    return (standardised(x, eps) + bias) * weight


@mistake(
    "Weight and bias act on x before it is normalised, which undoes much of their work. "
    "On which quantity do γ and β act?",
    source="the line of weight and bias written above that of the mean",
)
def weight_first(x, weight, bias, eps=1e-5):
    return standardised(x * weight + bias, eps)


@mistake(
    "The values are right, but mean and variance are constants to the gradient: it does not know that a number which "
    "grows moves them too. Which line detaches them?",
    source="statistics computed under `torch.no_grad()` or with `.detach()`, like running averages",
)
def detached_statistics(x, weight, bias, eps=1e-5):
    mean, variance = mean_of(x).detach(), variance_of(x).detach()
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@mistake(
    "The values are right, but the variance is a constant to the gradient. "
    "What is the slope of a token's deviation in its own numbers, and which line hides it?",
    source="a deviation taken with `.item()` or `.detach()`, as a mere scale",
)
def detached_variance(x, weight, bias, eps=1e-5):
    return (x - mean_of(x)) / torch.sqrt(variance_of(x).detach() + eps) * weight + bias


@mistake(
    "The values are right, but x is written to: the shortcut around the sub-layer would carry normalised numbers. "
    "Which of `x = x - mean` and `x -= mean` leaves the caller's tensor alone?",
    source="A090",
)
def in_place(x, weight, bias, eps=1e-5):
    x -= mean_of(x)
    x /= torch.sqrt(mean_of(x.square()) + eps)
    return x * weight + bias


@mistake(
    "The variance is the mean of the squares less the square of the mean: two large numbers that nearly cancel when "
    "the features lie far from 0, and in float32 nothing true is left. What is small if you subtract before squaring?",
    source="E[x²] - E[x]² saves a pass over the data: fused kernels, `use_fast_variance` in Flax",
)
def difference_of_squares(x, weight, bias, eps=1e-5):
    variance = mean_of(x.square()) - mean_of(x).square()
    return (x - mean_of(x)) / torch.sqrt(variance + eps) * weight + bias


MISTAKES = (
    no_weight_or_bias, no_bias, no_weight, exchanged, one_plus_weight, bias_inside, weight_first,
    detached_statistics, detached_variance, in_place, difference_of_squares,
)  # fmt: skip

"""What people write for `layer_norm` instead: mean and variance over other axes than the features."""

import torch

from course_lib.checking import mistake


def over(x, dim, weight, bias, eps):
    """The right formula with statistics over these axes."""
    centred = x - x.mean(dim=dim, keepdim=True)
    variance = centred.square().mean(dim=dim, keepdim=True)
    return centred / torch.sqrt(variance + eps) * weight + bias


@mistake(
    "Mean and variance run along the sentence, so a token depends on all others, later ones included. "
    "Which axis holds the numbers of one token?",
    source="A082",
)
def over_the_sentence(x, weight, bias, eps=1e-5):
    return over(x, -2, weight, bias, eps)


@mistake(
    "`dim=1` is the feature axis of a matrix; with a batch in front it is the sentence. "
    "Which index names the last axis whatever stands before it?",
    source="A082, E-axis: 'axis = 1' holds for two axes only",
)
def axis_one(x, weight, bias, eps=1e-5):
    return over(x, 1, weight, bias, eps)


@mistake(
    "Mean and variance run over the batch: a token is normalised by those at its place in other sentences, and alone "
    "it would vanish. May a translation depend on its neighbours in the batch?",
    source="A084: step-wise normalisation, a mean and a variance for each place in the sentence",
)
def over_the_batch(x, weight, bias, eps=1e-5):
    return over(x, 0, weight, bias, eps)


@mistake(
    "This is batch norm: each feature is normalised over all tokens of all sentences, padding and future included. "
    "Should the statistics belong to a feature or to a token?",
    source="A084: `nn.BatchNorm1d`, the norm of pictures",
)
def batch_norm(x, weight, bias, eps=1e-5):
    return over(x, tuple(range(x.ndim - 1)), weight, bias, eps)


@mistake(
    "The last two axes are normalised together: one mean for the whole sentence, whose every word moves the others. "
    "How many means should a sentence of N tokens have?",
    source="A082, with `dim=(-2, -1)`: the 'layer' taken for the whole matrix of a sentence",
)
def over_one_sentence(x, weight, bias, eps=1e-5):
    return over(x, (-2, -1), weight, bias, eps)


@mistake(
    "Everything behind the first axis is normalised together, as a picture would be. In text the tokens of a sentence "
    "then share one mean. What is one example here, a sentence or a token?",
    source="`nn.LayerNorm(x.shape[1:])`, as d2l once wrote norm_shape=[num_steps, num_hiddens]; Ba et al. for pictures",
)
def all_but_the_first(x, weight, bias, eps=1e-5):
    return over(x, tuple(range(1, x.ndim)), weight, bias, eps)


@mistake(
    "One mean and one variance serve the whole tensor. Which argument of `mean` and `var` keeps tokens apart?",
    source="`x.mean()` and `x.var()` without `dim`; data are standardised like this before training",
)
def over_everything(x, weight, bias, eps=1e-5):
    return over(x, tuple(range(x.ndim)), weight, bias, eps)


@mistake(
    "The mean is each token's own, the variance is one for all: a loud token makes the others quiet. "
    "Which of your two lines lacks its `dim`?",
    source="`x.std()` after `x.mean(-1, keepdim=True)`: the call without `dim` runs as well",
)
def one_variance_for_all(x, weight, bias, eps=1e-5):
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(centred.square().mean() + eps) * weight + bias


@mistake(
    "Mean and variance lose their last axis, so they line up with the features: feature j is normalised by the "
    "statistics of token j. Which option of `mean` leaves an axis of length 1 behind?",
    source="`keepdim=True` forgotten; it raises until there are as many tokens as features",
)
def axis_lost(x, weight, bias, eps=1e-5):
    mean = x.mean(dim=-1)
    variance = x.var(dim=-1, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@mistake(
    "Weight and bias run along the sentence: each place has its own, and the features share it. "
    "With which axis of x should (D,) line up?",
    source="`weight[:, None]`, as the channels of a picture need it; it raises unless N = D",
)
def weight_of_a_place(x, weight, bias, eps=1e-5):
    return over(x, -1, weight.unsqueeze(-1), bias.unsqueeze(-1), eps)


MISTAKES = (
    over_the_sentence, axis_one, over_the_batch, batch_norm, over_one_sentence, all_but_the_first, over_everything,
    one_variance_for_all, axis_lost, weight_of_a_place,
)  # fmt: skip

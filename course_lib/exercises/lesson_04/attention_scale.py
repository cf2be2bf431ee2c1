"""Exercise `attention_scale`: what a dot product must be multiplied by, derived from variances."""

import math

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close

from .soft_lookup import divisor


def attention_scale(d_k, query_variance, key_variance):
    """The factor that takes the variance of q · k to 1, for independent entries with mean 0.

    d_k: number of entries of q and of k. query_variance, key_variance: variance of one entry, above 0. Returns a
    number.
    """
    return 1 / math.sqrt(d_k * query_variance * key_variance)


def cases(generator):
    """Plain numbers: unit variance as in the paper, then one variance at a time, then both, large and small.

    Nothing is random: no d_k is 4 (√4 is 4/2), no product of the two variances is 1.
    """
    for label, group, *arguments in (
        ("the paper's 64 entries of variance 1", "variance 1", 64, 1.0, 1.0),
        ("10 entries of variance 1", "variance 1", 10, 1.0, 1.0),
        ("one entry of variance 1", "variance 1", 1, 1.0, 1.0),
        ("queries of variance 9", "query variance", 5, 9.0, 1.0),
        ("queries of variance 0.3", "query variance", 7, 0.3, 1.0),
        ("keys of variance 6", "key variance", 3, 1.0, 6.0),
        ("keys of variance 0.2", "key variance", 12, 1.0, 0.2),
        ("both above 1", "both variances", 6, 2.5, 1.6),
        ("both below 1", "both variances", 2, 0.3, 0.1),
        ("one above and one below 1", "both variances", 24, 0.05, 3.0),
        ("whole numbers", "both variances", 8, 2, 3),
    ):
        yield Case(label, tuple(arguments), group=group)


@mistake(
    "This is the root itself: it grows with d_k, and multiplied by it the scores grow even more. "
    "What turns a number to divide by into a number to multiply by?",
    source="A024: a factor and a divisor mixed up",
)
def divisor_itself(d_k, query_variance, key_variance):
    return math.sqrt(d_k * query_variance * key_variance)


@mistake(
    "The root is missing: this factor brings the variance far below 1. "
    "By what is a variance multiplied when each score is multiplied by c?",
    source="E-scale: 'divide by d_k'",
)
def no_root(d_k, query_variance, key_variance):
    return 1 / (d_k * query_variance * key_variance)


@mistake(
    "Only d_k is used: right for entries of variance 1, as in the paper, and for no others. "
    "How large is the variance of a single product q_i k_i?",
    source="1/√d_k known by heart; the paper's footnote assumes variance 1",
)
def variance_one_assumed(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k)


@mistake(
    "d_k is forgotten: this would be the factor for a single product. How many products does q · k add up?",
    source="the variance of q_i k_i taken for that of q · k",
)
def one_product_only(d_k, query_variance, key_variance):
    return 1 / math.sqrt(query_variance * key_variance)


@mistake(
    "The variances are added, as for a sum q_i + k_i. Which operation joins q_i and k_i inside a dot product?",
    source="Var(X + Y) = Var(X) + Var(Y), applied to a product",
)
def variances_added(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k * (query_variance + key_variance))


@mistake(
    "Only the query's variance enters: larger keys would spread the scores unnoticed. Whose entries are multiplied?",
    source="an argument read past",
)
def query_variance_alone(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k * query_variance)


@mistake(
    "Only the key's variance enters: larger queries would spread the scores unnoticed. "
    "Which argument does your formula leave out?",
    source="d_k is the keys' width, so the keys alone are thought of",
)
def key_variance_alone(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k * key_variance)


@mistake(
    "The root covers d_k and leaves the variances out: they divide in full, as if they were standard deviations. "
    "How far must the root reach?",
    source="variance and standard deviation mixed up; or a bracket closed too early",
)
def root_of_width_alone(d_k, query_variance, key_variance):
    return 1 / (math.sqrt(d_k) * query_variance * key_variance)


@mistake(
    "The variances are under the root, d_k is not: it divides in full. "
    "If d_k products are added, what grows d_k-fold, their variance or their spread?",
    source="E-scale: the standard deviations of the entries, times d_k",
)
def root_of_variances_alone(d_k, query_variance, key_variance):
    return 1 / (d_k * math.sqrt(query_variance * key_variance))


@mistake(
    "The variances go through a root twice: standard deviations stand where the sum of variances is formed. "
    "Which of the two adds up over independent terms?",
    source="standard deviations put into a formula for variances",
)
def deviations_for_variances(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k * math.sqrt(query_variance) * math.sqrt(key_variance))


@mistake(
    "`a / b * c` divides by b alone: the variances multiply, where they should divide. What would brackets change?",
    source="operator precedence; A069 is its like in the position code",
)
def variances_multiply(d_k, query_variance, key_variance):
    return 1 / math.sqrt(d_k) * query_variance * key_variance


@mistake(
    "`x ** -1 / 2` is (1/x) / 2, for the power binds closer than the division. Which exponent did you mean?",
    source="operator precedence",
)
def half_the_inverse(d_k, query_variance, key_variance):
    return (d_k * query_variance * key_variance) ** -1 / 2


@mistake(
    "This is a fourth root: the factor for the query and once more for the key, but a score is multiplied only once. "
    "How often is your factor applied?",
    source="code that scales both sides by d_k ** -0.25 before they meet",
)
def fourth_root(d_k, query_variance, key_variance):
    return (d_k * query_variance * key_variance) ** -0.25


@mistake(
    "The factor grows with d_k, as it would for a mean of products: a mean calms down as terms join it. "
    "Is q · k a mean or a sum?",
    source="Var(mean) = Var / n remembered where the sum is meant",
)
def as_for_a_mean(d_k, query_variance, key_variance):
    return math.sqrt(d_k / (query_variance * key_variance))


def by_power(d_k, query_variance, key_variance):
    return (d_k * query_variance * key_variance) ** -0.5


def root_by_root(d_k, query_variance, key_variance):
    deviations = query_variance**0.5 * key_variance**0.5
    return d_k**-0.5 / deviations


def by_logarithms(d_k, query_variance, key_variance):
    return math.exp(-sum(map(math.log, (d_k, query_variance, key_variance))) / 2)


def by_summing_variances(d_k, query_variance, key_variance):
    variance = sum(query_variance * key_variance for _ in range(d_k))
    return math.sqrt(1 / variance)


def by_torch(d_k, query_variance, key_variance):
    return torch.rsqrt(torch.full((d_k,), float(query_variance)) @ torch.full((d_k,), float(key_variance)))


def _variance_one(function, cases, generator):
    for case in cases:
        d_k, query_variance, key_variance = case.args
        query, key = torch.randn(2, 4000, d_k, generator=generator, dtype=torch.float64)
        scores = (query * query_variance**0.5 * key * key_variance**0.5).sum(-1)
        found = (float(call(function, case)) * scores).var().item()
        # The variance of 4,000 draws is off by 5 % or less, of products of single entries by 10 %.
        if not 0.7 < found < 1.4:
            return f"with your factor, 4,000 random scores have variance {found:.2g} ({case.label})"
    return None


def _divided_by_root(function, cases, generator):
    for case in cases:
        query, key, value = case.args
        found, width = divisor(call(function, case)[1], query @ key.mT), query.shape[-1]
        if found and abs(found / math.sqrt(width) - 1) > 1e-6:
            sizes = f"query {tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}"
            return f"with {sizes} the products q · k are divided by {found:.4g}"
    return None


def _shares(function, cases, generator):
    for case in cases:
        output, weights = call(function, case)
        if (weights < 0).any() or not close(weights.sum(-1), torch.ones_like(weights[..., 0])):
            return f"a row of weights is no division of one whole ({case.label})"
        if not close(output, weights @ case.args[2]):
            return f"the output is not what your weights make of the values ({case.label})"
    return None


# Laws of a function (query, key, value) that returns the output and the weights.
scaled_by_width = Law("scale of the scores", _divided_by_root, "Which size, of which argument, belongs under the root?")
mixture = Law("a mixture of values", _shares, "Along which axis do the weights sum to 1, and what do they multiply?")

EXERCISE = Exercise(
    name="attention_scale",
    reference=attention_scale,
    cases=cases,
    laws=(Law("variance 1", _variance_one, "What does a factor do to a variance, and what is the variance of q · k?"),),
    mistakes=(
        divisor_itself, no_root, variance_one_assumed, one_product_only, variances_added, query_variance_alone,
        key_variance_alone, root_of_width_alone, root_of_variances_alone, deviations_for_variances, variances_multiply,
        half_the_inverse, fourth_root, as_for_a_mean,
    ),
    accepts=(by_power, root_by_root, by_logarithms, by_summing_variances, by_torch),
    hints=(
        "The variance of one product q_i k_i, then of the sum of d_k independent ones, then of c times that sum.",
        "Independent, mean 0: Var(q_i k_i) = Var(q_i) Var(k_i), and variances of independent terms add up.",
        "Var(c s) = c² Var(s): solve c² Var(s) = 1 for c.",
    ),
    minutes=6,
    difficulty=2,
    points=1,
)  # fmt: skip

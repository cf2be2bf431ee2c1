"""Exercise `attention_scale`: what a dot product must be multiplied by, derived from variances."""

import math

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call

from .attention_scale_mistakes import MISTAKES


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


EXERCISE = Exercise(
    name="attention_scale",
    reference=attention_scale,
    cases=cases,
    laws=(Law("variance 1", _variance_one, "What does a factor do to a variance, and what is the variance of q · k?"),),
    mistakes=MISTAKES,
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

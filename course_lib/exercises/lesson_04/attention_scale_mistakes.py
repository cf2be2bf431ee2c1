"""What people write for `attention_scale` instead: the wrong answers that the exercise knows by name."""

import math

from course_lib.checking import mistake


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


@mistake(
    "This is 1 / d_k, without a root and without the variances: it turns the sum of products into their mean, which "
    "varies less the more of them there are. Which power of d_k keeps the spread level?",
    source="E-scale: 'divide by d_k', and the variances left out",
)
def width_itself(d_k, query_variance, key_variance):
    return 1 / d_k


@mistake(
    "The variance of q · k is found and given back as it is. A factor enters a variance by its square: which factor "
    "would undo this one?",
    source="stopped half-way: the variance is derived, the factor is not",
)
def variance_itself(d_k, query_variance, key_variance):
    return d_k * query_variance * key_variance


MISTAKES = (
    divisor_itself, no_root, variance_one_assumed, one_product_only, variances_added, query_variance_alone,
    key_variance_alone, root_of_width_alone, root_of_variances_alone, deviations_for_variances, variances_multiply,
    half_the_inverse, fourth_root, as_for_a_mean, width_itself, variance_itself,
)  # fmt: skip

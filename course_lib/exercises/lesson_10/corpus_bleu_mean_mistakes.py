"""What people write for `corpus_bleu` instead: how the shares become one number, and what happens where one is 0."""

import math

from course_lib.checking import mistake

from .corpus_bleu_mistakes import bleu, brevity, counted, geometric, lengths, shares


def scored(mean, hypotheses, references):
    """BLEU with another mean of the shares. mean: function (matched, total), two lists of four -> a number."""
    return 100 * mean(*counted(hypotheses, references)) * brevity(*lengths(hypotheses, references))


@mistake(
    "Each sentence gets its own BLEU, and the mean is taken: a short sentence without a run of four right words "
    "counts as 0. What is added up over the corpus, scores or counts?",
    source="NVIDIA-NeMo/Skills#1408: sentence scores averaged and called corpus BLEU",
)
def mean_of_sentences(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    return sum(bleu([hypothesis], [choices]) for hypothesis, choices in pairs) / len(pairs)


@mistake(
    "Shares are taken sentence by sentence and averaged over the corpus: three words weigh as much as thirty. "
    "When do you divide, inside the loop over sentences or after it?",
    source="macro average for micro average",
)
def shares_of_sentences(hypotheses, references):
    found = [shares(*counted([hypothesis], [choices]))
             for hypothesis, choices in zip(hypotheses, references, strict=True)]  # fmt: skip
    means = [sum(column) / len(column) for column in zip(*found, strict=True)]
    return 100 * geometric(means) * brevity(*lengths(hypotheses, references))


@mistake(
    "This is the arithmetic mean of the shares: many right words make up for hardly any right run. "
    "Which mean is 0 as soon as one share is?",
    source="`sum(shares) / 4`",
)
def arithmetic_mean(hypotheses, references):
    return bleu(hypotheses, references, mean=lambda found: sum(found) / len(found))


@mistake(
    "All n-grams go into one pot: matches of every length over n-grams of every length. "
    "How many shares does BLEU take the mean of?",
    source="one counter of matches, outside the loop over n",
)
def one_pot(hypotheses, references):
    return scored(lambda matched, total: sum(matched) / sum(total), hypotheses, references)


@mistake(
    "The shares are multiplied, and the fourth root is missing: the value is far too low. "
    "How does a product of four become a mean?",
    source="`exp(sum of logs)`: the weights of 1/4 forgotten",
)
def root_missing(hypotheses, references):
    return bleu(hypotheses, references, mean=math.prod)


@mistake(
    "Logarithms to base 2, undone by a power of e. Which two functions belong together?",
    source="`math.log2` and `math.exp`",
)
def logarithm_of_another_base(hypotheses, references):
    return bleu(hypotheses, references,
                mean=lambda found: math.exp(sum(map(math.log2, found)) / 4) if all(found) else 0.0)  # fmt: skip


@mistake(
    "1 is added to all matches and all n-grams, another convention: a corpus gets more than it has earned. "
    "What does the docstring say about smoothing?",
    source="add-one smoothing of every order",
)
def one_added(hypotheses, references):
    return scored(lambda matched, total: geometric([(m + 1) / (t + 1) for m, t in zip(matched, total, strict=True)]),
                  hypotheses, references)  # fmt: skip


@mistake(
    "From pairs of words on 1 is added to matches and n-grams, another convention, made for single sentences. "
    "Does a whole corpus need it?",
    source="Lin and Och 2004, `method2` of nltk, `add-k` of sacrebleu",
)
def one_added_from_pairs_on(hypotheses, references):
    def mean(matched, total):
        return geometric([(m + (n > 0)) / (t + (n > 0)) if t or n else 0.0
                          for n, (m, t) in enumerate(zip(matched, total, strict=True))])  # fmt: skip

    return scored(mean, hypotheses, references)


@mistake(
    "This is a number from 0 to 1, as nltk gives it, another convention. What is the largest BLEU in this course?",
    source="nltk's scale; papers and sacrebleu count to 100",
)
def up_to_one(hypotheses, references):
    return bleu(hypotheses, references) / 100


@mistake(
    "Where a share is 0 its logarithm raises an error, in the middle of an evaluation. "
    "What is a geometric mean with a 0 in it, and when can you know?",
    source="nltk/nltk#1241: `math domain error`",
)
def logarithm_of_zero(hypotheses, references):
    return bleu(hypotheses, references, mean=lambda found: math.exp(sum(map(math.log, found)) / len(found)))


@mistake(
    "A share of 0 is left out of the mean: a text without one right run of four is judged by the rest. "
    "What should one share of 0 do to the product?",
    source="nltk/nltk#1554: orders without a match skipped; `if p > 0` to escape the logarithm of 0",
)
def zero_left_out(hypotheses, references):
    return bleu(hypotheses, references, mean=lambda found: geometric([share for share in found if share] or [0.0]))


@mistake(
    "A tiny number stands in for a share of 0, so that its logarithm exists: a kind of smoothing. "
    "Can you answer before any logarithm is taken?",
    source="`log(p + 1e-9)`, `sys.float_info.min` in nltk",
)
def tiny_number_for_zero(hypotheses, references):
    return bleu(hypotheses, references, mean=lambda found: geometric([max(share, 1e-9) for share in found]))


@mistake(
    "Hypotheses of up to three words have no run of four: you divide by 0. "
    "What do matches and n-grams have in common then, and which can be looked at before the division?",
    source="`m / t` for all four first, and a look at the shares afterwards",
)
def divided_by_no_ngrams(hypotheses, references):
    def mean(matched, total):
        found = [m / t for m, t in zip(matched, total, strict=True)] if any(total) else [0.0]
        return geometric(found)

    return scored(mean, hypotheses, references)


@mistake(
    "Where no hypothesis is long enough for a run of four, the mean is taken of fewer shares: the effective order, "
    "another convention. What does the docstring say of a share without n-grams?",
    source="`effective_order=True` of sacrebleu, its rule for single sentences",
)
def effective_order(hypotheses, references):
    def mean(matched, total):
        return geometric([m / t for m, t in zip(matched, total, strict=True) if t] or [0.0])

    return scored(mean, hypotheses, references)


@mistake(
    "Where nothing at all is written, the penalty divides by a length of 0. "
    "Which line can answer before the lengths are compared?",
    source="tyliupku/ChineseQG#3: `exp(1 - r / c)` with c = 0",
)
def divided_by_no_length(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: min(1.0, math.exp(1 - r / c)))


MISTAKES = (
    mean_of_sentences, shares_of_sentences, arithmetic_mean, one_pot, root_missing, logarithm_of_another_base,
    one_added, one_added_from_pairs_on, up_to_one, logarithm_of_zero, zero_left_out, tiny_number_for_zero,
    divided_by_no_ngrams, effective_order, divided_by_no_length,
)  # fmt: skip

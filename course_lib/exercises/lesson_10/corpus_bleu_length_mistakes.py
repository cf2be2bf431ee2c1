"""What people write for `corpus_bleu` instead: the penalty for being brief, and the length that it is measured by."""

import math

from course_lib.checking import mistake

from .corpus_bleu_mistakes import bleu, brevity, closest, counted, geometric, lengths, shares


@mistake(
    "Nothing stops a hypothesis from leaving out what is hard: two right words of ten get 100. "
    "What should a text that is too short be multiplied by?",
    source="karpathy/neuraltalk#5: the penalty fixed at 1",
)
def no_penalty(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: 1.0)


@mistake(
    "The penalty falls on long texts, and short ones go free: its fraction is upside down. "
    "With c below r, is r / c above 1 or below?",
    source="`min(1, exp(1 - c / r))`",
)
def long_ones_punished(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: min(1.0, math.exp(1 - c / r)))


@mistake(
    "A text that is too short is multiplied by more than 1, so it is rewarded. Which way up does the fraction stand?",
    source="promptfoo/promptfoo#9717: `exp(1 - c / r)` where c < r",
)
def short_ones_rewarded(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: math.exp(1 - c / r) if c < r else 1.0)


@mistake(
    "A text that is longer than its reference gets a bonus, for exp of a positive number is above 1. "
    "How large may the factor be at most?",
    source="`exp(1 - r / c)` without the case c >= r",
)
def long_ones_rewarded(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: math.exp(1 - r / c))


@mistake(
    "Long texts are punished like short ones, though what is too much in them has lowered their shares already. "
    "In which of the two cases is there a penalty?",
    source="a penalty on |c - r|: 'the length should fit'",
)
def both_punished(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: math.exp(1 - max(c, r) / min(c, r)))


@mistake(
    "The penalty is c / r itself. Which function of r / c makes it, and how does it begin at 1?",
    source="'the ratio of the lengths', as ROUGE-like scores have it",
)
def plain_ratio(hypotheses, references):
    return bleu(hypotheses, references, penalty=lambda c, r: min(1.0, c / r))


@mistake(
    "Each sentence gets a penalty of its own, and their mean is taken: a long sentence no longer makes up for a short "
    "one. How many numbers c and r does a corpus have?",
    source="the paper warns of it in section 2.2.2: short sentences would be punished harshly",
)
def penalty_of_each_sentence(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    penalties = [brevity(len(hypothesis), closest(hypothesis, choices)) for hypothesis, choices in pairs]
    return bleu(hypotheses, references, penalty=lambda c, r: sum(penalties) / len(penalties))


@mistake(
    "The penalty goes into the mean with the four shares: a fourth root takes most of its force. "
    "Does it stand inside the root or in front of it?",
    source="`exp((log bp + sum of logs) / 4)`: a bracket too far",
)
def penalty_inside_the_mean(hypotheses, references):
    found = shares(*counted(hypotheses, references))
    return 100 * geometric([found[0] * brevity(*lengths(hypotheses, references)), *found[1:]])


@mistake(
    "r is made of the longest references: whoever translates as briefly as another one is punished. "
    "To which reference should a hypothesis be compared in length?",
    source="`max(len(choice) ...)`: the shortest turned round, for fear of short texts",
)
def longest_reference(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: max(map(len, choices)))


@mistake(
    "r is made of the shortest references, another convention: nearly nothing is too short. "
    "Which reference is like the hypothesis in length?",
    source="tensorflow/nmt#450, meta-pytorch/torcheval#195: NIST's rule; or `abs` forgotten in the key",
)
def shortest_reference(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: min(map(len, choices)))


@mistake(
    "r is made of the first references, whichever they are: their order decides. "
    "Which one of several is like the hypothesis in length?",
    source="`len(references[i][0])`, from corpora with one reference",
)
def length_of_the_first(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: len(choices[0]))


@mistake(
    "r is made of mean lengths, another convention. Which single reference gives its length?",
    source="the 'average' option of some toolkits' reference length",
)
def mean_length(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: sum(map(len, choices)) / len(choices))


@mistake(
    "Of two references that are equally close the longer one counts. Which of them should win a tie, and what does the "
    "key of your `min` say about it?",
    source="a `min` over distances that keeps the last, or `(distance, -length)`",
)
def tie_goes_to_the_longer(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: min(
        map(len, choices), key=lambda length: (abs(length - len(hypothesis)), -length)))  # fmt: skip


@mistake(
    "r is made of distances, not of lengths: how far the closest one is away, where it should be how long it is. "
    "What does `min` return, an item or its key?",
    source="nltk/nltk#922: `min(abs(len(r) - c) for r in references)`",
)
def distance_for_length(hypotheses, references):
    return bleu(hypotheses, references, length=lambda hypothesis, choices: min(
        abs(len(choice) - len(hypothesis)) for choice in choices))  # fmt: skip


MISTAKES = (
    no_penalty, long_ones_punished, short_ones_rewarded, long_ones_rewarded, both_punished, plain_ratio,
    penalty_of_each_sentence, penalty_inside_the_mean, longest_reference, shortest_reference, length_of_the_first,
    mean_length, tie_goes_to_the_longer, distance_for_length,
)  # fmt: skip

"""What people write for `corpus_bleu` instead: what is counted. The parts of a right answer stand first."""

import math
from collections import Counter
from functools import reduce
from operator import add, or_

from course_lib.checking import mistake


def ngrams(tokens, n):
    """How often each run of n tokens occurs: Counter of tuples. (Given to the learner in the cell before.)"""
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


def most(counters):
    """Of each n-gram the largest count that one of the references has."""
    return reduce(or_, counters)


def closest(hypothesis, choices):
    """The length of the reference that is closest to the hypothesis; of two the shorter."""
    return min(map(len, choices), key=lambda length: (abs(length - len(hypothesis)), length))


def counted(hypotheses, references, *, count=ngrams, allow=most, orders=range(1, 5)):
    """How many n-grams of a corpus match, and how many there are: two lists, with a number for each order."""
    matched, total = [0] * len(orders), [0] * len(orders)
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        for place, n in enumerate(orders):
            written = count(hypothesis, n)
            matched[place] += (written & allow([count(choice, n) for choice in choices])).total()
            total[place] += written.total()
    return matched, total


def lengths(hypotheses, references, length=closest):
    """c and r of a corpus."""
    c = sum(map(len, hypotheses))
    return c, sum(length(hypothesis, choices) for hypothesis, choices in zip(hypotheses, references, strict=True))


def shares(matched, total):
    return [m / t if t else 0.0 for m, t in zip(matched, total, strict=True)]


def geometric(numbers):
    return math.prod(numbers) ** (1 / len(numbers))


def brevity(c, r):
    return min(1.0, math.exp(1 - r / c)) if c else 0.0


def bleu(hypotheses, references, *, length=closest, mean=geometric, penalty=brevity, **ways):
    """BLEU with one part exchanged. ways: as for `counted`."""
    found = shares(*counted(hypotheses, references, **ways))
    return 100 * mean(found) * penalty(*lengths(hypotheses, references, length))


@mistake(
    "A word that stands in a reference counts each time it is written: `the the the the` gets full marks. "
    "How often at most may an n-gram count?",
    source="`if ngram in reference`: precision without clipping, the example of Papineni et al. 2002",
)
def not_clipped(hypotheses, references):
    return bleu(hypotheses, references, allow=lambda counters: Counter(dict.fromkeys(most(counters), math.inf)))


@mistake(
    "The counts of all references are added up, so a word that each has once may be written as often as there are "
    "references. Which one count of several is the limit?",
    source="`allowed += ngrams(choice, n)` for `|=`: Counter has both",
)
def clipped_by_the_sum(hypotheses, references):
    return bleu(hypotheses, references, allow=lambda counters: reduce(add, counters))


@mistake(
    "Each n-gram counts once, however often it is written and meant. Which collection remembers how often?",
    source="`set(ngrams)` and its intersection",
)
def sets_for_counts(hypotheses, references):
    return bleu(hypotheses, references, count=lambda tokens, n: Counter(set(ngrams(tokens, n))))


@mistake(
    "Only the first reference is read: another right translation counts as wrong. "
    "Over what should a loop run inside the loop over sentences?",
    source="`references[i][0]`, from corpora with one reference",
)
def first_reference_alone(hypotheses, references):
    return bleu(hypotheses, [choices[:1] for choices in references])


@mistake(
    "One reference is chosen for all n-grams of a sentence, the one that shares most of them: a hypothesis that takes "
    "one half from each is punished. For what is the largest count looked up, a sentence or an n-gram?",
    source="promptfoo/promptfoo#9846",
)
def best_reference_alone(hypotheses, references):
    matched, total = [0] * 4, [0] * 4
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            written = ngrams(hypothesis, n)
            matched[n - 1] += max((written & ngrams(choice, n)).total() for choice in choices)
            total[n - 1] += written.total()
    return 100 * geometric(shares(matched, total)) * brevity(*lengths(hypotheses, references))


@mistake(
    "Counts of the whole corpus are compared with each other: an n-gram matches in a sentence that has nothing to do "
    "with it. Whose references may a sentence match?",
    source="one Counter for all hypotheses and one for all references, clipped once at the end",
)
def clipped_over_the_corpus(hypotheses, references):
    matched, total = [], []
    for n in range(1, 5):
        written = sum((ngrams(hypothesis, n) for hypothesis in hypotheses), Counter())
        allowed = sum((most([ngrams(choice, n) for choice in choices]) for choices in references), Counter())
        matched.append((written & allowed).total())
        total.append(written.total())
    return 100 * geometric(shares(matched, total)) * brevity(*lengths(hypotheses, references))


@mistake(
    "The sentences are joined to one long text, so some n-grams begin in one sentence and end in the next. "
    "Which loop keeps them apart?",
    source="the corpus read as one string",
)
def across_sentences(hypotheses, references):
    def joined(sentences):
        return [token for sentence in sentences for token in sentence]

    streams = max(map(len, references))
    texts = [joined(choices[min(i, len(choices) - 1)] for choices in references) for i in range(streams)]
    found = shares(*counted([joined(hypotheses)], [texts]))
    return 100 * geometric(found) * brevity(*lengths(hypotheses, references))


@mistake(
    "These are n-grams of characters: tokens were joined to a string, and a string is a sequence too. "
    "What are the items of the list that you count?",
    source="freesunshine0316/RaST-plus#3: strings given where lists of tokens are expected",
)
def characters(hypotheses, references):
    written = [" ".join(hypothesis) for hypothesis in hypotheses]
    return bleu(written, [[" ".join(choice) for choice in choices] for choices in references])


@mistake(
    "Tokens are put into lower case first: `The` counts for `the`. Who decided how to tokenise, this function?",
    source="`.lower().split()` at the door of many scripts, which makes BLEU values of two papers differ",
)
def lower_case(hypotheses, references):
    def lowered(tokens):
        return [token.lower() for token in tokens]

    return bleu([*map(lowered, hypotheses)], [[*map(lowered, choices)] for choices in references])


@mistake(
    "The matches are divided by the n-grams of the reference: that is recall, and ROUGE. "
    "Whose n-grams are asked whether they are right?",
    source="precision and recall exchanged",
)
def recall(hypotheses, references):
    matched, _ = counted(hypotheses, references)
    nearest = [
        next(choice for choice in choices if len(choice) == closest(hypothesis, choices))
        for hypothesis, choices in zip(hypotheses, references, strict=True)
    ]
    _, wanted = counted(nearest, references)
    return 100 * geometric(shares(matched, wanted)) * brevity(*lengths(hypotheses, references))


@mistake(
    "Words alone are counted: in any order they give the same value. What do runs of 2, 3 and 4 words say besides?",
    source="BLEU-1, where the 4 stands for nothing in the name",
)
def words_alone(hypotheses, references):
    return bleu(hypotheses, references, orders=range(1, 2))


@mistake(
    "Runs of four words are never counted: a range ends before its second number. Which range has 1, 2, 3 and 4?",
    source="`range(1, 4)`",
)
def up_to_three(hypotheses, references):
    return bleu(hypotheses, references, orders=range(1, 4))


@mistake(
    "Every corpus gets 0: runs of 0 words are counted too, there are none of them, and one share of 0 is enough. "
    "With which n does your range begin?",
    source="`range(4)`",
)
def from_nothing(hypotheses, references):
    return bleu(hypotheses, references, orders=range(4))


MISTAKES = (
    not_clipped, clipped_by_the_sum, sets_for_counts, first_reference_alone, best_reference_alone,
    clipped_over_the_corpus, across_sentences, characters, lower_case, recall, words_alone, up_to_three, from_nothing,
)  # fmt: skip

"""Exercise `corpus_bleu`: how much of a translation stands in its references, Papineni et al. 2002."""

import math
import statistics
from collections import Counter
from fractions import Fraction

import torch

from course_lib.checking import Case, Exercise

from . import corpus_bleu_length_mistakes, corpus_bleu_mean_mistakes, corpus_bleu_mistakes
from .corpus_bleu_laws import LAWS
from .corpus_bleu_mistakes import ngrams


def corpus_bleu(hypotheses, references):
    """BLEU of a whole corpus, 0 to 100, without smoothing (Papineni et al. 2002).

    hypotheses: a list of tokens for each sentence. references: for each sentence a list of translations, each a list of
    tokens, all of them right. For n = 1 to 4: of all n-grams of all hypotheses, the share that stands in a reference of
    its sentence, none counted more often than in the reference that has it most. BLEU is the geometric mean of the four
    shares times the brevity penalty exp(1 - r / c) where c < r: c tokens in all hypotheses, r in the references of the
    closest length (of two the shorter). 0 where one of the shares is 0 or has no n-grams at all.
    """
    matched, total = [0] * 4, [0] * 4
    c = r = 0
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        c += len(hypothesis)
        r += min((len(choice) for choice in choices), key=lambda L: (abs(L - len(hypothesis)), L))
        for n in range(1, 5):
            written, allowed = ngrams(hypothesis, n), Counter()
            for choice in choices:
                allowed |= ngrams(choice, n)  # the larger count of each
            matched[n - 1] += (written & allowed).total()  # the smaller count of each
            total[n - 1] += written.total()
    if 0 in matched:
        return 0.0
    mean = math.exp(sum(math.log(m / t) for m, t in zip(matched, total, strict=True)) / 4)
    return 100 * mean * min(1.0, math.exp(1 - r / c))


WORDS = "a bird boat Boat child dog found hat he his it my red saw the The to was , .".split()


def cases(generator):
    """From one sentence to several with several references. All shares are above 0: what is not has laws of its own."""

    def words(count):
        """Words of which none is like another."""
        return [WORDS[i] for i in torch.randperm(len(WORDS), generator=generator)[:count].tolist()]

    def case(label, group, *pairs):
        hypotheses, references = zip(*pairs, strict=True)
        return Case(label, (list(hypotheses), list(references)), group=group, gradient=False)

    *s, other = words(9)
    yield case("one word is wrong", "one sentence", ([*s[:6], other, s[7]], [s]))
    *s, other = words(11)
    yield case("another word, further in front", "one sentence", ([*s[:3], other, *s[4:]], [s]))
    s = words(9)
    yield case("a word is written again and again", "repeated words", ([*s[:6], *s[:1] * 3], [s]))
    s = words(6)
    yield case("a word is meant twice", "repeated words", ([*s, *s[:2], s[4]], [[*s, *s[:3]]]))
    *s, other = words(13)
    yield case("too short", "length", ([*s[:4], other], [s]))
    *s, x, y, z = words(10)
    yield case("too long", "length", ([*s, x, y, z], [s]))
    s, t = words(6), words(12)
    yield case("one too short, one too long", "several sentences",
               ([*s, *t[7:10]], [s]), ([*t[:4], t[11], *t[4:6]], [t]))  # fmt: skip
    s, t, u = words(5), words(7), words(11)
    yield case("three sentences, two words exchanged", "several sentences",
               (s, [s]), ([*t[:2], t[3], t[2]], [t]), ([*u[:5], u[6], u[5], *u[7:]], [u]))  # fmt: skip
    yield case("one is empty, one has two words", "several sentences",
               ([], [words(3)]), (t[:2], [t[:4]]), ([*u[:8], u[0]], [u]))  # fmt: skip
    s = [word.title() if i % 2 else word for i, word in enumerate(filter(str.isalpha, words(11)))][:9]
    yield case("capital letters", "capital letters", ([*s[:6], s[6].swapcase(), s[7].swapcase(), s[8]], [s]))
    *s, x, y = words(10)
    yield case("half of each reference", "several references",
               ([*s, s[4]], [[*s[:5], x, y, *s[6:]], [y, x, *s[3:]]]))  # fmt: skip
    *s, x, y = words(13)
    yield case("a long, a close and a short reference", "several references",
               ([*s[:7], x], [[*s, x], [*s[:8], y], s[:4]]))  # fmt: skip
    *s, x, y = words(12)
    yield case("two are equally close", "several references",
               ([*s[:6], x, y], [s, [*s[1:6], y]]), (s[:5], [s[:8]]))  # fmt: skip
    s, t, u = words(7), words(8), words(9)
    yield case("one, two and three references", "several references",
               ([*s[:4], s[6]], [s]),
               ([*t[2:], t[0]], [[*t[:5], *s[:5]], t]),
               ([u[1], *u[:5], u[1]], [[u[1], *u[3:]], u[:8], [*u[:3], u[1], u[4]]]))  # fmt: skip


def by_division(hypotheses, references):
    """Runs as lists, taken away from a reference one by one; the fourth root of a product."""
    product = 1.0
    for n in range(1, 5):
        right = every = 0
        for hypothesis, choices in zip(hypotheses, references, strict=True):
            runs = [hypothesis[i : i + n] for i in range(len(hypothesis) - n + 1)]
            every += len(runs)
            of_choices = [[choice[i : i + n] for i in range(len(choice) - n + 1)] for choice in choices]
            for place, run in enumerate(runs):
                right += runs[:place].count(run) < max(its_runs.count(run) for its_runs in of_choices)
        product *= right / every if every else 0.0
    c = sum(len(hypothesis) for hypothesis in hypotheses)
    r = 0
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        r += sorted((abs(len(choice) - len(hypothesis)), len(choice)) for choice in choices)[0][1]
    return 100 * product**0.25 * (1 if c >= r else math.exp(1 - r / c) if c else 0)


def by_dictionaries(hypotheses, references):
    """Plain dicts of joined words, an `if` for each case, logarithms to base 2."""
    logarithms, c, r = [], 0, 0
    for n in (1, 2, 3, 4):
        right = every = 0
        for hypothesis, choices in zip(hypotheses, references, strict=True):
            tables = []
            for tokens in (hypothesis, *choices):
                table = {}
                for end in range(n, len(tokens) + 1):
                    key = "\n".join(tokens[end - n : end])
                    table[key] = table.get(key, 0) + 1
                tables.append(table)
            for key, count in tables[0].items():
                right += min(count, max(table.get(key, 0) for table in tables[1:]))
                every += count
        if right == 0:
            return 0.0
        logarithms.append(math.log2(right) - math.log2(every))
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        c += len(hypothesis)
        best = len(choices[0])
        for choice in choices[1:]:
            gap, best_gap = abs(len(choice) - len(hypothesis)), abs(best - len(hypothesis))
            if gap < best_gap or gap == best_gap and len(choice) < best:
                best = len(choice)
        r += best
    bleu = 100 * 2 ** statistics.fmean(logarithms)
    return bleu if c >= r else bleu * math.e ** (1 - r / c)


def by_torch(hypotheses, references):
    """Windows of ids, compared all with all; the logarithm of 0 is -inf, and its exponential 0 again."""
    vocabulary = {}

    def windows(tokens, n):
        ids = torch.tensor([vocabulary.setdefault(token, len(vocabulary)) for token in tokens], dtype=torch.long)
        return ids.unfold(0, n, 1) if len(ids) >= n else ids.new_zeros(0, n)

    counts, sizes = torch.zeros(4, 2), torch.zeros(2)
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            own = windows(hypothesis, n)
            distinct, times = own.unique(dim=0, return_counts=True) if len(own) else (own, own.new_zeros(0))
            found = [(distinct.unsqueeze(1) == windows(choice, n)).all(-1).sum(1) for choice in choices]
            counts[n - 1] += torch.stack([times.minimum(torch.stack(found).amax(0)).sum(), times.sum()])
        lengths = torch.tensor(sorted(map(len, choices)))
        sizes += torch.stack([torch.tensor(len(hypothesis)), lengths[(lengths - len(hypothesis)).abs().argmin()]])
    if not counts[:, 1].all():
        return torch.tensor(0.0)
    mean = (counts[:, 0] / counts[:, 1]).log().mean().exp()
    return 100 * mean * (1 - sizes[1] / sizes[0]).clamp(max=0).exp()


def by_fractions(hypotheses, references):
    """What is left over of a Counter when all is taken from it that a reference gives; exact until the mean."""
    shares, excess = [], 0
    for n in range(4, 0, -1):
        written = left = Fraction(0)
        for hypothesis, choices in zip(hypotheses, references, strict=True):
            own = ngrams(hypothesis, n)
            written += sum(own.values())
            left += sum(min(count - min(count, ngrams(choice, n)[run]) for choice in choices)
                        for run, count in own.items())  # fmt: skip
        if written == left:
            return 0.0
        shares.append(1 - left / written)
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        excess += min((len(choice) - len(hypothesis) for choice in choices), key=lambda gap: (abs(gap), gap))
    penalty = math.exp(-excess / sum(map(len, hypotheses))) if excess > 0 else 1.0
    return statistics.geometric_mean(map(float, shares)) * penalty * 100


EXERCISE = Exercise(
    name="corpus_bleu",
    reference=corpus_bleu,
    cases=cases,
    laws=LAWS,
    mistakes=(
        *corpus_bleu_mistakes.MISTAKES, *corpus_bleu_length_mistakes.MISTAKES, *corpus_bleu_mean_mistakes.MISTAKES,
    ),
    accepts=(by_division, by_dictionaries, by_torch, by_fractions),
    hints=(
        "Count first, divide later: two lists of four numbers and two lengths grow over all sentences; one formula at "
        "the end makes BLEU of them.",
        "For Counters `a | b` takes the larger count of each n-gram, `a & b` the smaller one, `.total()` adds up. "
        "The references of a sentence are joined by `|`, the hypothesis meets them by `&`.",
        "`min(lengths, key=lambda L: (abs(L - len(hypothesis)), L))` is the closest length; the second entry of the "
        "key decides between two that are equally close.",
        "If 0 is in the matches, return 0.0 before any logarithm. Else the mean is exp of a quarter of the sum of "
        "log(m / t); the penalty is `min(1.0, math.exp(1 - r / c))`.",
    ),
    minutes=20,
    difficulty=3,
    points=3,
    forbidden=("sacrebleu.corpus_bleu", "sacrebleu.BLEU", "sacrebleu.metrics.BLEU"),
)  # fmt: skip

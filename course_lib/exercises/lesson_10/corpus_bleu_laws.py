"""Laws of BLEU: what it does not depend on, a perfect corpus, and corpora without a share."""

import math

import torch

from course_lib.checking import Case, Law
from course_lib.checking.laws import call
from course_lib.checking.ways import attempt, one_for_each_way


def _bleu(function, hypotheses, references):
    return float(call(function, Case("", (hypotheses, references))))


def _unchanged(name, change, how, question):
    """BLEU stays as it is. change: function (pairs, generator) -> pairs, each a hypothesis with its references."""

    def broken(function, cases, generator):
        for case in cases:
            other = change(list(zip(*case.args, strict=True)), generator)
            hypotheses, references = (list(side) for side in zip(*other, strict=True))
            if not math.isclose(_bleu(function, *case.args), _bleu(function, hypotheses, references), rel_tol=1e-6):
                return f"{how} ({case.label})"
        return None

    return Law(name, broken, question)


def _shuffled(items, generator):
    return [items[i] for i in torch.randperm(len(items), generator=generator).tolist()]


def _renamed(pairs, generator):
    """Every word replaced by another one, the same one everywhere, of two letters or three."""
    numbers, names = torch.randperm(99, generator=generator).tolist(), {}

    def new(tokens):
        return [names.setdefault(token, f"w{numbers[len(names)]}") for token in tokens]

    return [(new(hypothesis), [new(choice) for choice in choices]) for hypothesis, choices in pairs]


def _perfect(function, cases, generator):
    for case in cases:
        _, references = case.args
        if not math.isclose(_bleu(function, [choices[-1] for choices in references], references), 100, rel_tol=1e-6):
            return f"hypotheses that are references do not have 100 ({case.label})"
    return None


def _without_a_share(function):
    """In a few words, what a function does where a share is 0, where one has no n-grams, where nothing is written."""
    corpora = (
        ([[*"abcde"]], [[[*"abcxde"]]]),  # three in a row, not four
        ([[*"abc"], [*"de"]], [[[*"abc"]], [[*"de"]]]),
        ([[], []], [[[*"ab"]], [[*"c"]]]),
    )
    broken, short, empty = (attempt(lambda corpus=corpus: _bleu(function, *corpus)) for corpus in corpora)
    if isinstance(broken, str):
        return "raises an error where a share is 0"
    if broken > 30:
        return "leaves out a share that is 0"
    if broken != 0:
        return "gives more than 0 where a share is 0"
    if isinstance(short, str):
        return "raises an error where no hypothesis has four words"
    if short != 0:
        return "gives more than 0 where no hypothesis has four words"
    if isinstance(empty, str):
        return "raises an error where all hypotheses are empty"
    return "gives 0" if empty == 0 else "gives something else than 0 where all hypotheses are empty"


LAWS = (
    _unchanged("sentences in any order", _shuffled, "the sentences in another order have another BLEU",
               "What passes from one sentence to the next?"),
    _unchanged("references in any order",
               lambda pairs, generator: [(hypothesis, _shuffled(choices, generator)) for hypothesis, choices in pairs],
               "the references of a sentence in another order give another BLEU",
               "Which line knows a reference by its place in the list?"),
    _unchanged("a corpus twice", lambda pairs, generator: 2 * pairs, "the same corpus twice has another BLEU",
               "What is added up over the sentences, and what divided?"),
    _unchanged("any names", _renamed, "other words in the same places give another BLEU",
               "What do you ask of two tokens besides whether they are equal?"),
    Law("perfect", _perfect, "Which of the four shares or the penalty is not 1 when all is right?"),
    *one_for_each_way(
        "no share, no BLEU",
        _without_a_share,
        right="gives 0",
        ways=(
            "raises an error where a share is 0", "leaves out a share that is 0",
            "gives more than 0 where a share is 0", "raises an error where no hypothesis has four words",
            "gives more than 0 where no hypothesis has four words", "raises an error where all hypotheses are empty",
        ),
        where="your function",
        question="When do you know that BLEU is 0, and is anything divided or put into a logarithm before?",
    ),
)  # fmt: skip

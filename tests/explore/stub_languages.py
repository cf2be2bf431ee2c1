"""Languages written down by hand, as the function that the sampler asks; among them a garden path, and wrong ones."""

import math

import numpy as np
import torch

SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")
EOS = 2
WORDS = "Every day he goes to school home He She walks there often a the each and <b> {at} $x$ 학교 </script>".split()
SYMBOLS = [*SPECIAL, *WORDS, " "]
ID = {symbol: number for number, symbol in enumerate(SYMBOLS)}
SCHOOL, HOME = "그는 매일 학교에 가", "그는 집에 가"
# The likeliest first word leads into a garden path: after it nothing is likely. The second one leads to the best text.
GARDEN = {
    "": {"Every": 0.46, "He": 0.38, "She": 0.1},
    "Every": {"day": 0.9},
    "Every day": {"he": 0.55, "there": 0.2, "often": 0.15},
    "Every day he": {"goes": 0.5, "walks": 0.4},
    "Every day he goes": {"to": 0.6, "home": 0.3},
    "Every day he goes to": {"school": 0.6, "the": 0.3},
    "Every day he walks": {"to": 0.7, "home": 0.2},
    "Every day he walks to": {"school": 0.8, "the": 0.15},
    "He": {"goes": 0.85, "walks": 0.1},
    "He goes": {"to": 0.85, "<eos>": 0.12},
    "He goes to": {"school": 0.93},
    "He goes to school": {"each": 0.5, "<eos>": 0.3, "often": 0.15},
    "He goes to school each": {"day": 0.97},
    "She": {"goes": 0.6, "walks": 0.3},
    "She goes": {"to": 0.8},
}


def written_down(chances, likeliest=0.9):
    """The logits (V,) after a text, a tuple of ids: what is written down, and a little for everything else.

    After texts that are not written down the end token has most.
    """
    table = {tuple(ID[word] for word in text.split()): following for text, following in chances.items()}

    def logits(text):
        following = table.get(tuple(text), {"<eos>": likeliest})
        rest = (1 - sum(following.values())) / (len(SYMBOLS) - len(following))
        p = np.full(len(SYMBOLS), rest)
        for word, chance in following.items():
            p[ID[word]] = chance
        return np.log(p)

    return logits


def garden(sentence, prefixes):
    """(N, V) of the garden path; HOME is more ready to end, so that a penalty changes the order of its texts."""
    logits, sooner = written_down(GARDEN), 2.0 * (np.arange(len(SYMBOLS)) == EOS)
    return np.stack([logits(text) + sooner * (sentence == HOME) for text in prefixes])


def random_words(V, spread=2.0, forbidden=0):
    """(next_logits, symbols): scores drawn for each text, the same whenever it is asked; some tokens never follow."""
    words = [f"{SYMBOLS[3 + number % (len(SYMBOLS) - 3)]}{number}" for number in range(V)]

    def next_logits(sentence, prefixes):
        rows = []
        for text in prefixes:
            drawn = np.random.default_rng([len(sentence), *text, len(text)])
            rows.append(spread * drawn.normal(size=V))
            rows[-1][drawn.permutation(V)[:forbidden]] = -math.inf
        return torch.tensor(np.array(rows))

    return next_logits, [*words[:EOS], "<eos>", *words[EOS + 1 :]] if V > EOS else [words[0], "<eos>"]


def changed(change):
    """The garden path with what it returns changed."""
    return lambda sentence, prefixes: change(garden(sentence, prefixes))


def spoilt(value):
    """The garden path with one score replaced."""

    def change(logits):
        logits[-1, 5] = value
        return logits

    return changed(change)


WRONG = {
    "raises": (lambda sentence, prefixes: 1 / 0, "ZeroDivisionError: division by zero"),
    "one argument": (lambda prefixes: None, "TypeError: .*positional argument"),
    "nothing": (lambda sentence, prefixes: None, r"it must return logits \(1, 26\), a row for each prefix, got \(\)"),
    "a text": (lambda sentence, prefixes: "He goes", "ValueError: could not convert"),
    "one row": (changed(lambda logits: logits[0]), r"logits \(1, 26\), .* got \(26,\)"),
    "always one row": (changed(lambda logits: logits[:1]), r"logits \(\d+, 26\), .* got \(1, 26\)"),
    "all steps": (changed(lambda logits: logits[:, None]), r"got \(1, 1, 26\)"),
    "another vocabulary": (changed(lambda logits: logits[:, :9]), r"got \(1, 9\)"),
    "NaN": (spoilt(math.nan), "it returned NaN or infinity; where does it come from"),
    "infinity": (spoilt(math.inf), "it returned NaN or infinity"),
    "nothing can follow": (
        changed(lambda logits: logits - math.inf),
        "a row of -inf alone, so that no token can follow",
    ),
    "long": (lambda sentence, prefixes: [].index("a" * 5000), "ValueError: .*"),
    "later": (lambda sentence, prefixes: garden(sentence, prefixes if prefixes == [()] else 3), "TypeError: .*int"),
}

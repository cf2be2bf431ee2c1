"""How good is a translation as text: BLEU and chrF, computed by sacrebleu, with the signature that others need.

A score without its signature cannot be compared: BLEU alone moves by several points with the tokenizer.
"""

from collections.abc import Sequence
from typing import NamedTuple

TOKENIZERS = ("13a", "intl", "char", "zh", "none")  # sacrebleu's others need a dictionary or a download
# 13a cuts at spaces and at ASCII punctuation. A Korean word is a noun with its particles or a verb with its endings:
# one wrong particle makes it another word, and nearly nothing of four words in a row ever matches. sacrebleu's ko-mecab
# needs a dictionary and flores200 a download, so Korean is judged by characters, as languages without spaces are.
TOKENIZER_OF = {"ko": "char", "ja": "char", "th": "char", "lo": "char", "km": "char", "my": "char", "zh": "zh"}


class Bleu(NamedTuple):
    """BLEU of a corpus (Papineni et al. 2002), 0 to 100.

    precisions: of 1-, 2-, 3- and 4-grams, 0 to 100 each. brevity_penalty: 0 to 1. signature: how it was computed.

    >>> found = bleu(["the cat sat on the mat"], ["the cat sat on the mat"])
    >>> str(found).startswith("BLEU 100.0 (100.0 / 100.0 / 100.0 / 100.0, brevity penalty 1.000)")
    True
    """

    score: float
    precisions: tuple
    brevity_penalty: float
    signature: str

    def __str__(self):
        precisions = " / ".join(f"{precision:.1f}" for precision in self.precisions)
        return f"BLEU {self.score:.1f} ({precisions}, brevity penalty {self.brevity_penalty:.3f}) {self.signature}"


class Chrf(NamedTuple):
    """chrF of a corpus (Popović 2015), 0 to 100. signature: how it was computed.

    >>> str(chrf(["the cat"], ["the cat"])).startswith("chrF 100.0")
    True
    """

    score: float
    signature: str

    def __str__(self):
        return f"chrF {self.score:.1f} {self.signature}"


def bleu(hypotheses, references, *, language="en", tokenize=None):
    """BLEU of all sentences together. Returns a `Bleu`.

    hypotheses: strings, what the model wrote, as people write it: sacrebleu cuts them into words itself.
    references: for each hypothesis a string, or a list of strings that are all right; sentence by sentence, where
    sacrebleu's own functions want one list for each translator.
    language: of the target, "en" or "ko_KR"; it decides the tokenizer ("char" for Korean, "13a" for most).
    tokenize: another one of TOKENIZERS, to show how much it matters.
    Words and characters give numbers that cannot be compared with each other. Where no hypothesis is four tokens long
    the score is 0, however right all are: "I love you" has three.
    Raises ValueError for lists of unequal length, no sentence at all, or a sentence whose reference
    is missing or empty, and for another tokenizer; TypeError for anything but lists of strings.
    A hypothesis may be empty.

    >>> bleu(["I love you"], ["I love you"]).score
    0.0
    >>> round(bleu(["the cat sat on a mat"], ["the cat sat on the mat"]).precisions[0], 1)  # 5 of 6 words
    83.3
    """
    from sacrebleu.metrics import BLEU

    if tokenize is None:
        tokenize = TOKENIZER_OF.get(language.replace("-", "_").partition("_")[0].lower(), "13a")
    if tokenize not in TOKENIZERS:
        raise ValueError(f"tokenize: expected one of {', '.join(TOKENIZERS)}, got {tokenize!r}")
    # force: text of the course may have a space before its full stop, and that is no mistake.
    metric = BLEU(tokenize=tokenize, force=True)
    found = metric.corpus_score(*_corpus(hypotheses, references))
    return Bleu(found.score, tuple(found.precisions), found.bp, str(metric.get_signature()))


def chrf(hypotheses, references):
    """chrF2 of all sentences together: character 1- to 6-grams, recall twice as important. Returns a `Chrf`.

    It needs no tokenizer, and a right stem with a wrong particle counts in part, so it suits Korean as it does English.
    Arguments and errors as in `bleu`.

    >>> 0 < chrf(["고양이가 잔다"], ["고양이는 잔다"]).score < 100
    True
    """
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    found = metric.corpus_score(*_corpus(hypotheses, references))
    return Chrf(found.score, str(metric.get_signature()))


def _corpus(hypotheses, references):
    """Hypotheses, and references as sacrebleu wants them: a list for each translator, None where one has no more."""
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str) or not isinstance(texts, Sequence):
            raise TypeError(f"{name}: expected a list with an entry for each sentence, got {type(texts).__name__}")
    if not hypotheses:
        raise ValueError("hypotheses: expected at least one sentence")
    if len(hypotheses) != len(references):
        raise ValueError(
            f"references: expected one entry for each of the {len(hypotheses)} hypotheses, got {len(references)}. "
            "Several references of a sentence stand together in its entry"
        )
    rows = [(texts,) if isinstance(texts, str) else tuple(texts) for texts in references]
    for number, (hypothesis, row) in enumerate(zip(hypotheses, rows, strict=True)):
        if not isinstance(hypothesis, str):
            raise TypeError(f"hypotheses: sentence {number} is a {type(hypothesis).__name__}, not a string")
        if not all(isinstance(text, str) for text in row):
            raise TypeError(f"references: an entry of sentence {number} is not a string")
        if not row or not all(text.strip() for text in row):
            raise ValueError(f"references: sentence {number} has no reference, or one without text")
    most = max(map(len, rows))
    streams = [[row[place] if place < len(row) else None for row in rows] for place in range(most)]
    return list(hypotheses), streams

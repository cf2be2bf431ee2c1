"""The published weights of g2p-en, an English letters-to-phonemes Seq2Seq without attention (2019, Apache-2.0).

The package is optional (`python3 course.py weights g2p-en`). It is read as data, never imported: that would download.
"""

import io
from dataclasses import dataclass

import numpy

from course_lib.data.published import Package, installed, read_published

WEIGHTS, WORDS = "checkpoint20.npz", "homographs.en"
PACKAGE = Package(
    name="g2p-en",
    version="2.1.0",
    module="g2p_en",
    purpose="lesson 1: letters to sounds, without attention",
    megabytes=3,
    licence="Apache-2.0",
    files={
        WEIGHTS: "b8af35e4596d8dd5836dfd3fe9b2ba4f97b9c311efe8879544cbcfcbd566d8c6",
        WORDS: "0403edcc6aefe8945f8987be398279fd98bf6b767e54b741331d3bc99a307071",
    },
)

# Ids are places in these lists. Vowels carry their stress: none 0, main 1, second 2.
GRAPHEMES = ("<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz")
PHONEMES = tuple(
    "<pad> <unk> <s> </s> AA0 AA1 AA2 AE0 AE1 AE2 AH0 AH1 AH2 AO0 AO1 AO2 AW0 AW1 AW2 AY0 AY1 AY2 B CH D DH "
    "EH0 EH1 EH2 ER0 ER1 ER2 EY0 EY1 EY2 F G HH IH0 IH1 IH2 IY0 IY1 IY2 JH K L M N NG OW0 OW1 OW2 OY0 OY1 OY2 "
    "P R S SH T TH UH0 UH1 UH2 UW UW0 UW1 UW2 V W Y Z ZH".split()
)


@dataclass(frozen=True)
class G2P:
    """arrays: the published parameters by name, float32. graphemes, phonemes: symbols, the id is the place.

    >>> weights = G2P({})  # no parameters, and the symbols that the published ones have
    >>> weights.graphemes.index("a"), len(weights.phonemes)
    (3, 74)
    """

    arrays: dict
    graphemes: tuple = GRAPHEMES
    phonemes: tuple = PHONEMES


def g2p_installed():
    """True when the package g2p-en is there. Imports nothing.

    >>> g2p_installed() == installed(PACKAGE)
    True
    """
    return installed(PACKAGE)


def load_g2p():
    """The published parameters. Raises WeightsMissing where the package is absent, ValueError where a file differs."""
    with numpy.load(io.BytesIO(read_published(PACKAGE, WEIGHTS)), allow_pickle=False) as archive:
        return G2P({name: archive[name] for name in archive.files})


def g2p_words():
    """Words with their pronunciations, from the package's own list of words that can be said in two ways.

    Returns a list of (word, (pronunciation, ...)), each pronunciation a tuple of phonemes; 371 words of 3 to 15
    letters. Errors as in `load_g2p`.
    """
    words = []
    for line in read_published(PACKAGE, WORDS).decode("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, first, second, _ = line.strip().split("|")
            words.append((word.lower(), tuple(dict.fromkeys((tuple(first.split()), tuple(second.split()))))))
    return words

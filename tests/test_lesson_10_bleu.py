"""The `corpus_bleu` of lesson 10 is sacrebleu: on corpora short, long and empty, with one to three references."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from course_lib.checking import examine
from course_lib.exercises.lesson_10.corpus_bleu import EXERCISE, corpus_bleu

WORDS = st.sampled_from(["the", "The", "cat", "sat", "on", "mat", "."])
SENTENCE = st.lists(WORDS, min_size=1, max_size=12)
SCORER = BLEU(tokenize="none", force=True, smooth_method="none")


@st.composite
def corpora(draw):
    """Hypotheses that share long runs with a reference, since runs of four hardly ever meet by chance."""
    hypotheses, references = [], []
    for _ in range(draw(st.integers(1, 5))):
        choices = draw(st.lists(SENTENCE, min_size=1, max_size=3))
        start = draw(st.integers(0, 2))
        part = draw(st.sampled_from(choices))[start : start + draw(st.integers(0, 12))]
        hypotheses.append(part + draw(st.lists(WORDS, max_size=3)))
        references.append(choices)
    return hypotheses, references


def sacrebleu(hypotheses, references):
    """sacrebleu on the same tokens. It wants strings, and the references by number: all first ones, all second ones."""
    streams = [
        [" ".join(choices[i]) if i < len(choices) else None for choices in references]
        for i in range(max(map(len, references)))
    ]
    return SCORER.corpus_score([" ".join(hypothesis) for hypothesis in hypotheses], streams).score


@given(corpora())
@settings(max_examples=300, deadline=None)
def test_the_reference_is_sacrebleu(corpus):
    found = corpus_bleu(*corpus)
    assert isinstance(found, float)
    assert math.isclose(found, sacrebleu(*corpus), rel_tol=1e-9, abs_tol=1e-9)


@given(corpora())
@settings(max_examples=100, deadline=None)
def test_what_it_cannot_leave(corpus):
    hypotheses, references = corpus
    assert 0 <= corpus_bleu(hypotheses, references) <= 100 + 1e-9
    perfect = corpus_bleu([choices[-1] for choices in references], references)
    assert math.isclose(perfect, 100 if any(len(choices[-1]) > 3 for choices in references) else 0)


@pytest.mark.parametrize("seed", range(3))
def test_sacrebleu_passes_the_exercise(seed):
    assert examine(EXERCISE, sacrebleu, seed=seed).passed


@pytest.mark.parametrize(
    ("hypotheses", "references"),
    [
        ([[]], [[["a", "b"]]]),
        ([[], ["a", "b", "c"]], [[["a"]], [["a", "b", "c"], ["a"]]]),
        ([["a", "b", "c"]], [[["a", "b", "c", "d"]]]),
        ([[*"abcde"]], [[[*"abcxde"]]]),
    ],
    ids=["nothing is written", "no run of four", "three words", "no run of four matches"],
)
def test_without_a_share_there_is_none(hypotheses, references):
    assert corpus_bleu(hypotheses, references) == sacrebleu(hypotheses, references) == 0.0

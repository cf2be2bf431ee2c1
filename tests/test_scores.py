"""BLEU and chrF, against what the papers say, written here once more, and against sacrebleu's own command."""

import math
import random
import re
import subprocess
import sys
from collections import Counter

import pytest

from course_lib.scores import TOKENIZERS, bleu, chrf

WORDS = "나는 너를 오늘 the cat sat on mat a dog saw".split()


def corpus(seed, sentences=12, references=1, longest=9):
    """Hypotheses that share much with their references. Plain words: cutting them needs no rules."""
    chooser = random.Random(seed)
    rows = [
        [" ".join(chooser.choices(WORDS[: chooser.randint(3, 11)], k=chooser.randint(1, longest))) for _ in range(6)]
        for _ in range(sentences)
    ]
    return [row[0] for row in rows], [row[1 : 1 + references] for row in rows]


def ngrams(tokens, n):
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))


def bleu_by_hand(hypotheses, references, cut):
    """Papineni et al. 2002, with sacrebleu's exponential smoothing. Returns score, precisions and brevity penalty."""
    hits, counts, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, row in zip(hypotheses, references, strict=True):
        tokens, row = cut(hypothesis), [cut(text) for text in row]
        length += len(tokens)
        reference_length += min((abs(len(text) - len(tokens)), len(text)) for text in row)[1]
        for n in range(4):
            most = Counter()
            for text in row:
                most |= ngrams(text, n + 1)
            hits[n] += (ngrams(tokens, n + 1) & most).total()
            counts[n] += ngrams(tokens, n + 1).total()
    penalty = 1 if length >= reference_length else math.exp(1 - reference_length / length) if length else 0
    if not any(hits):
        return 0, (0,) * 4, penalty
    precisions, halved = [0.0] * 4, 1
    for n in range(4):
        if not counts[n]:
            break
        halved *= 1 if hits[n] else 2
        precisions[n] = 100 * (hits[n] / counts[n] if hits[n] else 1 / (halved * counts[n]))
    score = penalty * math.prod(precisions) ** 0.25
    return score, tuple(precisions), penalty


def chrf_by_hand(hypotheses, references):
    """Popović 2015 for one reference each: F2 of the mean precision and the mean recall over orders 1 to 6."""
    precisions, recalls = [], []
    for n in range(1, 7):
        pairs = [
            (ngrams("".join(text.split()), n), ngrams("".join(row[0].split()), n))
            for text, row in zip(hypotheses, references, strict=True)
        ]
        hits = sum((one & other).total() for one, other in pairs)
        written = sum(one.total() for one, other in pairs if other)  # a reference without such n-grams does not count
        wanted = sum(other.total() for _, other in pairs)
        if written and wanted:
            precisions.append(hits / written)
            recalls.append(hits / wanted)
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 100 * 5 * precision * recall / (4 * precision + recall) if precision + recall else 0


@pytest.mark.parametrize(("language", "cut"), [("en", str.split), ("ko", lambda text: list("".join(text.split())))])
@pytest.mark.parametrize("references", [1, 3])
@pytest.mark.parametrize("longest", [3, 5, 9])
def test_bleu_is_the_paper_s(language, cut, references, longest):
    for seed in range(20):
        hypotheses, rows = corpus(seed, references=references, longest=longest)
        found = bleu(hypotheses, rows, language=language)
        score, precisions, penalty = bleu_by_hand(hypotheses, rows, cut)
        assert found.score == pytest.approx(score)
        assert found.precisions == pytest.approx(precisions) and found.brevity_penalty == pytest.approx(penalty)


def test_chrf_is_the_paper_s():
    for seed in range(20):
        hypotheses, rows = corpus(seed)
        assert chrf(hypotheses, rows).score == pytest.approx(chrf_by_hand(hypotheses, rows))


def test_the_command_says_the_same(tmp_path):
    hypotheses, rows = corpus(1, references=2)
    for name, texts in (("hyp", hypotheses), ("ref0", [row[0] for row in rows]), ("ref1", [row[1] for row in rows])):
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "ref0", "ref1", "-i", "hyp", "-w", "6", "-f", "text", "-m", "bleu"]
    for tokenize in ("13a", "char"):
        done = subprocess.run(
            [*command, "chrf", "-tok", tokenize], cwd=tmp_path, capture_output=True, encoding="utf-8", check=True
        )
        said = re.findall(r"^ *\w+\|(\S+) = ([\d.]+)", done.stdout, re.MULTILINE)
        ours = [bleu(hypotheses, rows, tokenize=tokenize), chrf(hypotheses, rows)]
        assert [(signature, float(score)) for signature, score in said] == [
            (one.signature, round(one.score, 6)) for one in ours
        ]


def test_what_is_right_has_the_full_score():
    texts = ["나는 오늘 너를 사랑해 정말", "the cat sat on the mat ."]
    for language in ("en", "ko"):
        found = bleu(texts, texts, language=language)
        assert (found.score, *found.precisions, found.brevity_penalty) == pytest.approx((100,) * 5 + (1,))
    assert chrf(texts, texts).score == pytest.approx(100)
    nothing = bleu(["", ""], texts)
    assert (nothing.score, nothing.brevity_penalty) == (0, 0) and chrf(["", ""], texts).score == 0


def test_three_words_have_no_four_grams():
    """What the docstring warns of: most sentences of the course's grammar are that short."""
    found = bleu(["I love you"], ["I love you"])
    assert found.score == 0 and found.precisions == (100, 100, 100, 0)
    assert chrf(["I love you"], ["I love you"]).score == 100


def test_any_of_several_references_will_do():
    hypotheses, rows = (
        ["I am very tired now", "he went home"],
        [["I am quite tired", "I am very tired now"], "he went home"],
    )
    assert bleu(hypotheses, rows).score == pytest.approx(100) == chrf(hypotheses, rows).score
    assert "nrefs:var" in bleu(hypotheses, rows).signature
    assert "nrefs:2" in chrf(hypotheses[:1], rows[:1]).signature and "nrefs:1" in chrf(hypotheses, hypotheses).signature


def test_the_language_decides_the_tokenizer():
    """One wrong particle in four words: by words little of it is right, by characters most."""
    hypothesis, reference = ["나는 오늘 학교에 친구를 봤다"], ["나는 오늘 학교에서 친구를 봤다"]
    for language, tokenize in {"en": "13a", "fr": "13a", "ko": "char", "ko_KR": "char", "zh-CN": "zh"}.items():
        found = bleu(hypothesis, reference, language=language)
        assert f"tok:{tokenize}|" in found.signature and found == bleu(hypothesis, reference, tokenize=tokenize)
    assert bleu(hypothesis, reference).score < 40 < 75 < bleu(hypothesis, reference, language="ko").score
    assert chrf(hypothesis, reference).score > 60


@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_no_tokenizer_asks_the_network(tokenize, monkeypatch):
    import socket

    monkeypatch.setattr(socket, "socket", None)
    assert bleu(["나는 너를 사랑해"], ["나는 너를 사랑해"], tokenize=tokenize).signature


def test_it_prints_what_others_need():
    text = str(bleu(["the cat sat on the mat"], ["the cat sat on a mat"]))
    assert text.startswith(
        "BLEU 53.7 (83.3 / 60.0 / 50.0 / 33.3, brevity penalty 1.000) nrefs:1|case:mixed|eff:no|tok:13a"
    )
    assert str(chrf(["a b"], ["a b"])).startswith("chrF 100.0 nrefs:1|case:mixed|eff:yes|nc:6|nw:0|")


@pytest.mark.parametrize("score", [bleu, chrf])
@pytest.mark.parametrize(
    ("hypotheses", "references", "error", "message"),
    [
        ([], [], ValueError, "hypotheses: expected at least one sentence"),
        (["a", "b"], ["a"], ValueError, "references: expected one entry for each of the 2 hypotheses, got 1"),
        (["a", "b", "c"], [["a", "b", "c"]], ValueError, "Several references of a sentence stand together"),
        (["a"], [[]], ValueError, "references: sentence 0 has no reference"),
        (["a", "b"], ["a", " "], ValueError, "references: sentence 1 has no reference, or one without text"),
        ("a b", "a b", TypeError, "hypotheses: expected a list with an entry for each sentence, got str"),
        (["a"], "a", TypeError, "references: expected a list with an entry for each sentence, got str"),
        (["a", None], ["a", "b"], TypeError, "hypotheses: sentence 1 is a NoneType"),
        (["a"], [["a", None]], TypeError, "references: an entry of sentence 0 is not a string"),
    ],
)
def test_bad_input_is_named(score, hypotheses, references, error, message):
    with pytest.raises(error, match=message):
        score(hypotheses, references)


def test_a_tokenizer_that_would_download_is_refused():
    with pytest.raises(ValueError, match="tokenize: expected one of 13a, intl, char, zh, none, got 'flores200'"):
        bleu(["a"], ["a"], tokenize="flores200")

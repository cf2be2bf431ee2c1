"""Number words, read back by parsers of their own; no golden texts, since they may change with num2words' version."""

import time

import pytest
from num2words import num2words

from course_lib.data.batches import encode_pairs, evaluation_batches
from course_lib.data.numbers import (
    LANGUAGES,
    NUMBERS,
    number_examples,
    number_tokens,
    split_numbers,
    token_pairs,
    write_number,
)
from course_lib.data.vocabulary import Vocabulary

SMALL = [0, 1, 9, 10, 11, 16, 17, 20, 21, 70, 71, 77, 80, 81, 91, 99, 100, 101, 110, 200, 201, 999]
SOME = sorted({n * 10**zeros for n in SMALL for zeros in range(4)} | set(range(0, 10**6, 997)))
every_language = pytest.mark.parametrize("language", LANGUAGES)


def values(words, start=0, step=1):
    return {word: start + step * place for place, word in enumerate(words.split())}


VALUES = {
    "ko": values("영 일 이 삼 사 오 육 칠 팔 구"),
    "en": {
        **values("zero one two three four five six seven eight nine ten eleven twelve"),
        **values("thirteen fourteen fifteen sixteen seventeen eighteen nineteen", 13),
        **values("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
        "and": 0,
    },
    "fr": {
        **values("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"),
        **values("vingt trente quarante cinquante soixante", 20, 10),
        "vingts": 20,
        "et": 0,
    },
    "de": {
        **values("null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
        **values("dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn", 13),
        **values("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10),
        "eins": 1,
        "und": 0,
    },
}
MULTIPLIERS = {
    "ko": {"십": 10, "백": 100, "천": 1000, "만": 10_000},
    "en": {"hundred": 100, "thousand": 1000},
    "fr": {"cent": 100, "cents": 100, "mille": 1000},
    "de": {"hundert": 100, "tausend": 1000},
}


def read(tokens, language):
    """The number that the tokens say: each multiplier takes the smaller part before it, or 1."""
    total = group = pending = 0
    largest = max(MULTIPLIERS[language].values())
    for token in tokens:
        factor = MULTIPLIERS[language].get(token)
        if factor is None:
            value = VALUES[language][token]
            # quatre-vingts: four twenties
            pending = pending * 20 if token in ("vingt", "vingts") and pending == 4 else pending + value
        elif factor == largest:
            total, group, pending = total + max(group + pending, 1) * factor, 0, 0
        else:
            group, pending = group + max(pending, 1) * factor, 0
    return total + group + pending


@every_language
def test_the_words_say_the_number(language):
    for number in SOME:
        tokens = number_tokens(number, language)
        assert read(tokens, language) == number, (number, tokens)


@every_language
def test_the_tokens_are_those_of_the_text_without_signs(language):
    for number in SOME:
        text = write_number(number, language)
        assert text == num2words(number, lang=language)
        assert "".join(number_tokens(number, language)) == "".join(c for c in text if c.isalpha())


@every_language
def test_no_words_mean_two_numbers_and_few_words_say_all(language):
    tokens = [number_tokens(number, language) for number in [*range(3000), *SOME]]
    assert len(set(tokens)) == len({*range(3000), *SOME})
    kinds = {token for number in tokens for token in number}
    assert kinds == {*VALUES[language], *MULTIPLIERS[language]}
    assert len(kinds) == {"ko": 14, "en": 31, "fr": 27, "de": 32}[language]


def test_the_split_shares_no_number_and_the_seed_decides_it():
    training, held_out = split_numbers(5000, 500)
    assert (len(set(training)), len(set(held_out))) == (5000, 500)
    assert not set(training) & set(held_out)
    assert all(number in NUMBERS for number in training + held_out)
    assert split_numbers(5000, 500) == (training, held_out)
    assert split_numbers(20, 500)[1] == held_out, "what is held out does not hang on how many are trained on"
    others = split_numbers(5000, 500, seed=1)
    # Two draws of 5,000 from a million share 25 by chance.
    assert len(set(others[0]) & set(training)) < 100 and len(set(others[1]) & set(held_out)) < 10


def test_a_range_can_be_used_up_and_is_not_left():
    training, held_out = split_numbers(900, 100, numbers=range(1000, 2000))
    assert sorted(training + held_out) == list(range(1000, 2000))


def test_all_sizes_are_equally_likely():
    training, _ = split_numbers(20_000, 100)
    counts = [sum(number // 100_000 == digit for number in training) for digit in range(10)]
    assert min(counts) > 1800 and max(counts) < 2200


@pytest.mark.parametrize(("source", "target"), [("ko", "en"), ("en", "ko"), ("fr", "ko"), ("de", "fr"), ("de", "de")])
def test_examples_are_pairs_of_one_number(source, target):
    training, held_out = number_examples(200, 50, source=source, target=target, seed=3)
    assert (len(training), len(held_out)) == (200, 50)
    for example in training + held_out:
        assert example.languages == (source, target)
        assert example.source == number_tokens(example.number, source)
        assert example.target == number_tokens(example.number, target)
    numbers = tuple([example.number for example in part] for part in (training, held_out))
    assert numbers == split_numbers(200, 50, seed=3), "the same numbers for every pair of languages"
    assert number_examples(200, 50, source=source, target=target, seed=3) == (training, held_out)


def test_examples_become_batches():
    training, held_out = number_examples(500, 40)
    words = [Vocabulary.from_sequences(side) for side in zip(*token_pairs(training), strict=True)]
    pairs = encode_pairs(token_pairs(held_out), *words)
    [batch] = evaluation_batches(pairs, 64)
    for example, source, target in zip(held_out, batch.source, batch.target, strict=True):
        assert tuple(words[0].decode(source)) == example.source
        assert tuple(words[1].decode(target)) == example.target


def test_a_lesson_s_examples_are_made_while_one_waits():
    began = time.process_time()
    number_examples(2000, 100)
    assert time.process_time() - began < 3  # takes 0.2 s


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: write_number(5, "it"), "language: expected one of ko, en, fr, de, got 'it'"),
        (lambda: number_examples(10, 10, target="ja"), "language: expected one of"),
        (lambda: write_number(1_000_000, "ko"), "number: expected a whole number from 0 to 999,999, got 1000000"),
        (lambda: write_number(-1, "ko"), "number: expected a whole number"),
        (lambda: write_number(1.0, "ko"), "number: expected a whole number"),
        (lambda: split_numbers(10, 0), "held_out: expected at least 1, got 0"),
        (lambda: split_numbers(0, 10), "training: expected at least 1, got 0"),
        (lambda: split_numbers(8, 3, numbers=range(10)), r"8 \+ 3 numbers, but there are only 10"),
        (lambda: split_numbers(8, 3, numbers=range(0)), "numbers: expected a range within 0 to 999,999"),
        (lambda: split_numbers(8, 3, numbers=range(10, 2_000_000)), "numbers: expected a range within"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

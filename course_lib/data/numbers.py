"""Numbers in words in four languages, one to another: 십이만 삼천 -> one hundred and twenty-three thousand.

Made by num2words, cardinals only (its Korean ordinals are broken). Its texts may change with its versions, so nothing
here relies on one of them.
"""

import random
import re
from dataclasses import dataclass

from num2words import num2words

LANGUAGES = ("ko", "en", "fr", "de")
NUMBERS = range(1_000_000)

# A German number is one long word. Longest first, so that vierzehn is not read as vier and zehn; a letter that belongs
# to none of them would stand alone, so that nothing is ever lost.
_GERMAN = re.compile(
    "dreizehn|vierzehn|fünfzehn|sechzehn|siebzehn|achtzehn|neunzehn|zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|"
    "achtzig|neunzig|hundert|tausend|sieben|sechs|zwölf|null|eins|zwei|drei|vier|fünf|acht|neun|zehn|ein|elf|und|."
)


@dataclass(frozen=True)
class NumberExample:
    """One number in two languages. source, target: tuples of tokens. number, languages: what it was made from.

    >>> NumberExample(number_tokens(21, "ko"), number_tokens(21, "en"), 21, ("ko", "en")).source
    ('이', '십', '일')
    """

    source: tuple
    target: tuple
    number: int
    languages: tuple


def write_number(number, language):
    """The number in words, as a text. language: one of LANGUAGES. number: an int of NUMBERS.

    Raises ValueError for another language or number.

    >>> write_number(71, "fr")
    'soixante et onze'
    """
    _check_language(language)
    if not isinstance(number, int) or number not in NUMBERS:
        raise ValueError(f"number: expected a whole number from 0 to {NUMBERS[-1]:,}, got {number!r}")
    return num2words(number, lang=language)


def number_tokens(number, language):
    """The number as a tuple of tokens: words in English, French and German, one sign each in Korean (구, 십, 만).

    Spaces, hyphens and commas are left out; they follow from the words. Errors as in `write_number`.

    >>> number_tokens(21_000, "de")
    ('ein', 'und', 'zwanzig', 'tausend')
    """
    text = write_number(number, language)
    if language == "ko":
        return tuple(text.replace(" ", ""))
    return tuple(_GERMAN.findall(text) if language == "de" else re.findall(r"\w+", text))


def split_numbers(training, held_out, *, numbers=NUMBERS, seed=0):
    """Two lists of different numbers drawn from `numbers`, none in both: (training, held out).

    The seed and `numbers` decide what is held out, however many are trained on. numbers: a range within NUMBERS.
    Raises ValueError for another range, a count below 1, and more numbers than there are.

    >>> training, held_out = split_numbers(6, 4, numbers=range(10))
    >>> sorted(training + held_out)
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    if not len(numbers) or numbers[0] not in NUMBERS or numbers[-1] not in NUMBERS:
        raise ValueError(f"numbers: expected a range within 0 to {NUMBERS[-1]:,}, got {numbers}")
    for name, count in (("training", training), ("held_out", held_out)):
        if count < 1:
            raise ValueError(f"{name}: expected at least 1, got {count}")
    if training + held_out > len(numbers):
        raise ValueError(f"training and held_out: {training} + {held_out} numbers, but there are only {len(numbers)}")
    held = random.Random(seed).sample(numbers, held_out)
    hidden = set(held)
    drawn = random.Random(f"training {seed}").sample(numbers, training + held_out)
    return [number for number in drawn if number not in hidden][:training], held


def number_examples(training=7_500, held_out=500, *, source="ko", target="en", numbers=NUMBERS, seed=0):
    """Examples to train on and examples to test on, which share no number.

    source, target: two of LANGUAGES. numbers: a range to draw from, all its numbers equally likely.
    Returns two lists of NumberExample; the same arguments give the same lists, and other languages the same numbers.
    Raises ValueError for another language, and as `split_numbers`.

    >>> training, held_out = number_examples(1, 1, target="de", numbers=range(20, 22))
    >>> sorted(example.target for example in training + held_out)
    [('ein', 'und', 'zwanzig'), ('zwanzig',)]
    """
    languages = source, target
    for language in languages:
        _check_language(language)

    def examples(chosen):
        words = ([number_tokens(number, language) for number in chosen] for language in languages)
        return [NumberExample(*both, number, languages) for *both, number in zip(*words, chosen, strict=True)]

    trained, held = split_numbers(training, held_out, numbers=numbers, seed=seed)
    return examples(trained), examples(held)


def token_pairs(examples):
    """(source, target) token tuples of examples, for `batches.encode_pairs`.

    >>> token_pairs([NumberExample(("십",), ("ten",), 10, ("ko", "en"))])
    [(('십',), ('ten',))]
    """
    return [(example.source, example.target) for example in examples]


def _check_language(language):
    if language not in LANGUAGES:
        raise ValueError(f"language: expected one of {', '.join(LANGUAGES)}, got {language!r}")

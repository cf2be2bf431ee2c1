"""Dates as people write them in four languages, to ISO: 2026년 3월 7일 토요일 -> 2026-03-07.

Made by Babel from the Unicode CLDR. Texts may change with its versions, so nothing here relies on one of them.
"""

import random
from dataclasses import dataclass
from datetime import date, timedelta

from babel.dates import DateTimeFormat, get_date_format, tokenize_pattern

FIRST, LAST = date(1970, 1, 1), date(2069, 12, 31)
LOCALES = ("ko", "en_US", "fr", "de")

# "short" is ambiguous everywhere (two-digit years), "medium" is digits alone in Korean and German.
FORMS = {
    "ko": ("long", "full"),
    "en_US": ("medium", "long", "full"),
    "fr": ("medium", "long", "full"),
    "de": ("long", "full"),
}

_PART_OF_FIELD = {"y": "year", "M": "month", "L": "month", "d": "day"}
_PART_OF_TARGET = ("year",) * 4 + (None,) + ("month",) * 2 + (None,) + ("day",) * 2


@dataclass(frozen=True)
class DateExample:
    """One written date.

    source: the text. target: ISO, 10 characters. day, locale, form: what it was made from.
    spans: for each target character (start, end) of the source characters that carry its year, month or day; None
    for the two hyphens. It is the alignment that attention should find.

    >>> example = write_date(date(2026, 3, 7), "fr", "long")
    >>> [example.source[slice(*span)] for span in example.spans if span]
    ['2026', '2026', '2026', '2026', 'mars', 'mars', '7', '7']
    """

    source: str
    target: str
    spans: tuple
    day: date
    locale: str
    form: str


def write_date(day, locale, form):
    """One DateExample. locale: one of LOCALES. form: one of FORMS[locale]. Raises ValueError for others.

    >>> write_date(date(2026, 3, 7), "fr", "long").target
    '2026-03-07'
    """
    _check_locale(locale)
    if form not in FORMS[locale]:
        raise ValueError(f"form: expected one of {', '.join(FORMS[locale])} for {locale}, got {form!r}")
    written = DateTimeFormat(day, locale)
    source, span_of = "", {}
    for kind, value in tokenize_pattern(get_date_format(form, locale).pattern):
        if kind == "field":
            letter, width = value
            text = written[letter * width]
            span_of[_PART_OF_FIELD.get(letter)] = (len(source), len(source) + len(text))
        else:
            text = value
        source += text
    spans = tuple(span_of[part] if part else None for part in _PART_OF_TARGET)
    return DateExample(source, day.isoformat(), spans, day, locale, form)


def split_days(held_out, seed=0):
    """All days from 1970 to 2069 in random order, cut in two. Returns (training days, held-out days), none in both.

    held_out: how many days. Raises ValueError where it leaves nothing to train on, or is below 1.

    >>> training, held_out = split_days(100)
    >>> len(held_out), len(training) + len(held_out), set(training) & set(held_out)
    (100, 36525, set())
    """
    days = [FIRST + timedelta(n) for n in range((LAST - FIRST).days + 1)]
    if not 0 < held_out < len(days):
        raise ValueError(f"held_out: expected 1 to {len(days) - 1} days, got {held_out}")
    random.Random(seed).shuffle(days)
    return days[held_out:], days[:held_out]


def date_examples(training=12_000, held_out=1_000, *, locales=LOCALES, seed=0):
    """Examples to train on and examples to test on, which share no day.

    Each example is another day, in a locale and form drawn at random, locales equally often. locales: some of LOCALES.
    Returns two lists of DateExample; the same arguments give the same lists.
    Raises ValueError for an unknown locale, and for more days than there are.

    >>> training, held_out = date_examples(5, 2, locales=["ko"])
    >>> len(training), len(held_out), {example.locale for example in training}
    (5, 2, {'ko'})
    """
    if not locales or isinstance(locales, str):
        raise ValueError(f"locales: expected a list with some of {', '.join(LOCALES)}, got {locales!r}")
    for locale in locales:
        _check_locale(locale)
    training_days, held_out_days = split_days(held_out, seed)
    if not 0 < training <= len(training_days):
        raise ValueError(f"training: expected 1 to {len(training_days)} days besides the held-out ones, got {training}")
    chooser = random.Random(seed)

    def examples(days):
        chosen = [(day, chooser.choice(locales)) for day in days]
        return [write_date(day, locale, chooser.choice(FORMS[locale])) for day, locale in chosen]

    return examples(training_days[:training]), examples(held_out_days)


def text_pairs(examples):
    """(source, target) strings of examples, for `batches.encode_pairs`.

    >>> text_pairs([write_date(date(2026, 3, 7), "fr", "long")])[0][1]
    '2026-03-07'
    """
    return [(example.source, example.target) for example in examples]


def _check_locale(locale):
    if locale not in FORMS:
        raise ValueError(f"locale: expected one of {', '.join(LOCALES)}, got {locale!r}")

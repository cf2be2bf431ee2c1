"""Properties over many dates; no golden texts, since they may change with Babel's version."""

from datetime import date, timedelta

import pytest
from babel.dates import format_date, get_month_names

from course_lib.data.dates import (
    FIRST,
    FORMS,
    LAST,
    LOCALES,
    date_examples,
    split_days,
    text_pairs,
    write_date,
)

DAYS = [FIRST + timedelta(n) for n in range(0, (LAST - FIRST).days + 1, 97)] + [date(2026, 3, 7), date(2026, 12, 31)]
EVERY_FORM = [(locale, form) for locale in LOCALES for form in FORMS[locale]]


@pytest.mark.parametrize(("locale", "form"), EVERY_FORM)
def test_source_is_babel_s_own_text_and_target_is_iso(locale, form):
    for day in DAYS:
        example = write_date(day, locale, form)
        assert example.source == format_date(day, form, locale)
        assert example.target == day.isoformat() and len(example.target) == 10


@pytest.mark.parametrize(("locale", "form"), EVERY_FORM)
def test_spans_hold_year_month_and_day(locale, form):
    names = [get_month_names(width, locale=locale) for width in ("wide", "abbreviated")]
    for day in DAYS:
        example = write_date(day, locale, form)
        assert len(example.spans) == 10
        assert [target for target, span in zip(example.target, example.spans, strict=True) if span is None] == ["-"] * 2
        texts = [example.source[slice(*span)] if span else None for span in example.spans]
        assert texts[:4] == [str(day.year)] * 4
        assert texts[5] == texts[6] and texts[5] in [months[day.month] for months in names]
        assert texts[8:] == [str(day.day)] * 2
        assert len({span for span in example.spans if span}) == 3


def test_fields_stand_in_the_order_of_the_language():
    def order(locale, form):
        spans = write_date(date(2026, 3, 7), locale, form).spans
        return "".join(sorted("ymd", key=lambda part: spans[{"y": 0, "m": 5, "d": 8}[part]]))

    assert {order("ko", form) for form in FORMS["ko"]} == {"ymd"}
    assert {order("en_US", form) for form in FORMS["en_US"]} == {"mdy"}
    assert {order(locale, form) for locale in ("fr", "de") for form in FORMS[locale]} == {"dmy"}


def test_no_text_means_two_dates_and_none_is_digits_alone():
    meaning = {}
    for locale, form in EVERY_FORM:
        for day in DAYS:
            example = write_date(day, locale, form)
            assert meaning.setdefault(example.source, example.target) == example.target
            assert any(character.isalpha() for character in example.source)


def test_the_split_shares_no_day_and_loses_none():
    training, held_out = split_days(1000)
    assert len(held_out) == 1000 and len(training) == 35_525
    assert not set(training) & set(held_out)
    assert set(training) | set(held_out) == {FIRST + timedelta(n) for n in range(36_525)}
    assert split_days(1000) == (training, held_out)
    assert split_days(1000, seed=1)[1] != held_out


def test_examples_share_no_day_and_mix_all_forms():
    training, held_out = date_examples(2000, 500)
    assert (len(training), len(held_out)) == (2000, 500)
    assert not {e.day for e in training} & {e.day for e in held_out}
    assert len({e.day for e in training}) == 2000
    for examples in (training, held_out):
        assert {(e.locale, e.form) for e in examples} == set(EVERY_FORM)
        assert all(sum(e.locale == locale for e in examples) > 0.2 * len(examples) for locale in LOCALES)
    assert {c for e in held_out for c in e.source} <= {c for e in training for c in e.source}
    assert date_examples(2000, 500)[0] == training
    assert text_pairs(held_out)[3] == (held_out[3].source, held_out[3].target)


def test_chosen_locales_only():
    training, held_out = date_examples(50, 20, locales=["ko", "fr"])
    assert {e.locale for e in training + held_out} == {"ko", "fr"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: write_date(FIRST, "it", "long"), "locale: expected one of ko, en_US, fr, de, got 'it'"),
        (lambda: write_date(FIRST, "de", "medium"), "form: expected one of long, full for de, got 'medium'"),
        (lambda: split_days(0), "held_out: expected 1 to 36524"),
        (lambda: split_days(36_525), "held_out: expected 1 to 36524"),
        (lambda: date_examples(36_000, 1000), "training: expected 1 to 35525"),
        (lambda: date_examples(0, 10), "training: expected 1 to"),
        (lambda: date_examples(10, 10, locales="ko"), "locales: expected a list"),
        (lambda: date_examples(10, 10, locales=[]), "locales: expected a list"),
        (lambda: date_examples(10, 10, locales=["xx"]), "locale: expected one of"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

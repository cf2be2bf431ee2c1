"""English to Korean, where a sentence has many right translations: which ones, and how often each of them is said.

Where the grammar leaves a choice, people choose; here by coins, so that the truth is known to the digit. A translation
is right if it is among `ways_to_say`, however unlike the one that happens to stand in a corpus.
"""

import random
from collections import defaultdict
from functools import cache
from typing import NamedTuple

from course_lib.data.korean_grammar import I_LOVE_YOU, sense_of, statements
from course_lib.data.korean_text import write_korean
from course_lib.data.korean_words import PRONOUNS
from course_lib.data.korean_writing import noun_tokens, write_statement, writings

LEFT_OUT = 0.4  # how often a pronoun that would be the subject is not said
POLITE, FUTURE, POLITE_FUTURE = "요", "거야", "거예요"


class Sentence(NamedTuple):
    """An English sentence, a tuple of words, and all its right translations, {Korean tokens: how often, 0 to 1}.

    >>> sentence = Sentence(("I", "love", "you"), ways_to_say(("I", "love", "you")))
    >>> round(sum(sentence.ways.values()), 9)
    1.0
    """

    english: tuple
    ways: dict


def korean_choices(training=20_000, held_out=300, *, lost=0.0, seed=0):
    """Pairs (English, Korean) of token tuples to train on, each in one way drawn by chance; `Sentence`s to test on.

    lost: how often the translation of a training pair got lost and is empty, as happens where corpora are collected.
    The first held-out sentence is "I love you"; none of them is trained on. The same arguments give the same lists.
    Raises ValueError for a share `lost` outside 0 to 1, a count below 1, and more sentences than there are.

    >>> pairs, held_out = korean_choices(training=5, held_out=1)
    >>> len(pairs), held_out[0].english, pairs[0][1] in ways_to_say(pairs[0][0])
    (5, ('I', 'love', 'you'), True)
    """
    if not 0 <= lost < 1:
        raise ValueError(f"lost: expected a share from 0 to less than 1, got {lost}")
    everything = _statements_by_english()
    for name, count in {"training": training, "held_out": held_out}.items():
        if not 1 <= count < len(everything):
            raise ValueError(f"{name}: expected 1 to {len(everything) - 1:,}, got {count:,}")
    if training + held_out > len(everything):
        raise ValueError(
            f"training and held_out: expected at most {len(everything):,} together, got {training + held_out:,}"
        )
    chooser = random.Random(f"choices {seed}")
    love = write_statement(I_LOVE_YOU).target
    others = chooser.sample(sorted(everything.keys() - {love}), training + held_out - 1)
    tested, trained = [love, *others[: held_out - 1]], others[held_out - 1 :]
    pairs = []
    for english in trained:
        ways = ways_to_say(english)
        (korean,) = chooser.choices([*ways], [*ways.values()])
        pairs.append((english, () if chooser.random() < lost else korean))
    return pairs, [Sentence(english, ways_to_say(english)) for english in tested]


def ways_to_say(english):
    """All right Korean translations of an English sentence, token tuples, with how often they are said, in all 1.

    english: tuple of words. Raises ValueError for a sentence that the grammar does not have.

    >>> ways_to_say(("I", "love", "you"))["너", "를", "사랑해"]
    0.2
    """
    if english not in _statements_by_english():
        raise ValueError(f"english: not a sentence of this grammar: {' '.join(english)!r}")
    meanings = _statements_by_english()[english]  # two for "you read a book", now or in the past
    shares = defaultdict(float)
    for statement in meanings:
        for tokens, share in _ways(statement):
            shares[tokens] += share / len(meanings)
    return dict(shares)


def write_choice(tokens):
    """Tokens as people write them, as `write_korean` does; 요 stands on its verb.

    >>> write_choice(("너", "를", "사랑해", "요"))
    '너를 사랑해요'
    """
    polite = tokens[-1:] == (POLITE,)
    return write_korean(tokens[: len(tokens) - polite]) + POLITE * polite


def _ways(statement):
    """(tokens, share) of each way to say a statement.

    Subject with 은/는 or 이/가, time before or after it, short or long negation: equally often. A pronoun as subject is
    left out in LEFT_OUT. Else the object loses its particle every other time; without a subject it keeps it, since 나
    사랑해 could mean both. Plain or polite every other time.
    """
    forms = writings(statement)
    for writing in forms:
        tokens, share = write_statement(statement, writing).source, 1 / len(forms)
        subject = noun_tokens(statement.subject, "topic" if writing.topic else "subject")
        if statement.subject in PRONOUNS:
            yield from _plain_or_polite(_without(tokens, subject, subject), share * LEFT_OUT)
            share *= 1 - LEFT_OUT
        if statement.object and not sense_of(statement).goal:
            phrase = noun_tokens(statement.object, "object")
            yield from _plain_or_polite(_without(tokens, phrase, phrase[-1:]), share / 2)
            share /= 2
        yield from _plain_or_polite(tokens, share)


def _plain_or_polite(tokens, share):
    polite = (*tokens[:-1], POLITE_FUTURE) if tokens[-1] == FUTURE else (*tokens, POLITE)
    return (tokens, share / 2), (polite, share / 2)


def _without(tokens, phrase, end):
    """Tokens, with the last len(end) of the phrase in them left out."""
    start = next(i for i in range(len(tokens)) if tokens[i : i + len(phrase)] == phrase)
    stop = start + len(phrase)
    return tokens[: stop - len(end)] + tokens[stop:]


@cache
def _statements_by_english():
    """{English tokens: the statements that are said so}, of the whole grammar."""
    found = defaultdict(list)
    for statement in statements():
        found[write_statement(statement).target].append(statement)
    return dict(found)

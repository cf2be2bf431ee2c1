"""How a statement of the Korean grammar is written, in Korean and in English, and which token comes from which."""

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import NamedTuple

from course_lib.data.korean_forms import particle
from course_lib.data.korean_grammar import Statement, is_plural, sense_of, statements
from course_lib.data.korean_words import ADVERBS, BEFORE_GA, GOALS, KINDS, NOUNS, PLACES, PRONOUNS, TIMES

PLURAL = "들"
SHORT_NEGATION, LONG_NEGATION = "안", {"present": "않아", "past": "않았어", "future": "않을"}
AFTER_VERB = {"future": "거야", "progressive": "있어"}
ARTICLES = ("a", "an", "the")
PREPOSITIONS = ("at", "in", "to")


class Writing(NamedTuple):
    """A way to say it in Korean; the English is the same.

    topic: the subject with 은/는, else 이/가. time_first: 어제 나는 ..., else 나는 어제 ...
    short_negation: 안 봐, else 보지 않아.

    >>> write_statement(Statement("나", "보다", "너", "present", negated=True), Writing(short_negation=True)).source
    ('나', '는', '너', '를', '안', '봐')
    """

    topic: bool = True
    time_first: bool = False
    short_negation: bool = False


PLAIN = Writing()


@dataclass(frozen=True)
class KoreanExample:
    """One sentence. source, target: tuples of tokens. statement, writing: what it was made from.

    spans: for each target token (start, end) of the source tokens that it comes from, None for articles, which Korean
    does not have. A subject or object comes from noun and particle (which decides between I and me), "at school" word
    by word from 학교 에서, "will", "did" and "is" from the token that carries the tense, "not" from 안 or 않아.

    >>> example = write_statement(Statement("나", "사랑하다", "너", "present"))
    >>> {word: example.source[slice(*span)] for word, span in zip(example.target, example.spans)}
    {'I': ('나', '는'), 'love': ('사랑해',), 'you': ('너', '를')}
    """

    source: tuple
    target: tuple
    spans: tuple
    statement: Statement
    writing: Writing


def writings(statement):
    """The ways to write a statement in Korean, a tuple of Writing.

    >>> [writing.topic for writing in writings(Statement("나", "사랑하다", "너", "present"))]  # 나는 and 내가
    [True, False]
    """
    return _writings(statement.time is not None, statement.negated and sense_of(statement).short_negation)


def write_statement(statement, writing=PLAIN):
    """One KoreanExample. statement: one of `statements()`. writing: one of `writings(statement)`.

    Raises ValueError for another of either.

    >>> write_statement(Statement("나", "사랑하다", "너", "present")).target
    ('I', 'love', 'you')
    """
    if statement not in _known():
        raise ValueError(f"statement: not one of this grammar (see statements()): {statement!r}")
    if writing not in writings(statement):
        raise ValueError(f"writing: {writing!r} does not suit {statement!r}")
    source, target = _korean(statement, writing), _english(statement)
    span_of = {}
    for place, (_, part) in enumerate(source):
        span_of[part] = span_of.get(part, (place,))[0], place + 1
    if "tense" not in span_of:  # no 거야, no 있어: 않았어 carries it, or else the verb itself
        span_of["tense"] = span_of["verb" if writing.short_negation or not statement.negated else "not"]
    spans = tuple([span_of.get(part) for _, part in target])
    return KoreanExample(
        tuple([token for token, _ in source]), tuple([word for word, _ in target]), spans, statement, writing
    )


def _korean(statement, writing):
    """(token, part of the sentence that it says) for each token: subject and time, place, object, verb."""
    verb, early = sense_of(statement), statement.adverb and ADVERBS[statement.adverb].early
    time, adverb = [], [(statement.adverb, "adverb")] if statement.adverb else []
    if statement.time:
        time.append((statement.time, "time"))
    if statement.time == "아침":
        time.append(("에", "time particle"))
    role = "topic" if writing.topic else "subject"
    subject = [(token, "subject") for token in noun_tokens(statement.subject, role)]
    source = [*time, *subject] if writing.time_first else [*subject, *time]
    if statement.place:
        source += [(statement.place, "place"), ("에서", "place particle")]
    if early:
        source += adverb
    if verb.goal:
        source += [(statement.object, "object"), ("에", "object particle")]
    elif statement.object:
        source += [(token, "object") for token in noun_tokens(statement.object, "object")]
    if not early:
        source += adverb
    return source + _korean_verb(statement, writing, verb.forms)


def _korean_verb(statement, writing, forms):
    if statement.negated and not writing.short_negation:
        tokens = [(forms.negative, "verb"), (LONG_NEGATION[statement.tense], "not")]
    else:
        tokens = [(getattr(forms, statement.tense), "verb")]
        if statement.negated:
            tokens.insert(0, (SHORT_NEGATION, "not"))
    if statement.tense in AFTER_VERB:
        tokens.append((AFTER_VERB[statement.tense], "tense"))
    return tokens


@cache
def noun_tokens(noun, role):
    """A noun with its particle; 학생들 is 학생 들, and 나 becomes 내 before 가. Errors as in `korean_forms.particle`.

    >>> noun_tokens("나", "topic"), noun_tokens("나", "subject"), noun_tokens("학생들", "subject")
    (('나', '는'), ('내', '가'), ('학생', '들', '이'))
    """
    if role == "subject":
        noun = BEFORE_GA.get(noun, noun)
    stem = (noun[: -len(PLURAL)], PLURAL) if noun in KINDS["people"] else (noun,)
    return *stem, particle(noun, role)


def _english(statement):
    """(word, part of the sentence that it comes from) for each word: subject, auxiliary, verb, object, the rest."""
    verb, adverb = sense_of(statement), ADVERBS.get(statement.adverb)
    auxiliary, words = _english_verb(statement, verb.english)
    target = [*_phrase(_english_noun(statement.subject, 0), "subject")]
    if auxiliary:
        target.append((auxiliary, "tense"))
    if statement.negated:
        target.append(("not", "not"))
    if adverb and adverb.before_verb:
        target.append((adverb.english, "adverb"))
    target += [(word, "verb") for word in words]
    if statement.object:
        target += _phrase(GOALS[statement.object] if verb.goal else _english_noun(statement.object, 1), "object")
    if adverb and not adverb.before_verb:
        target.append((adverb.english, "adverb"))
    if statement.place:
        target += _phrase(PLACES[statement.place], "place")
    if statement.time:
        target += _phrase(TIMES[statement.time][0], "time")
    return target


def _english_noun(noun, case):
    """case: 0 for the subject, 1 for the object."""
    return PRONOUNS[noun][case] if noun in PRONOUNS else NOUNS[noun]


def _english_verb(statement, forms):
    """(auxiliary or None, words of the verb), which agree with the subject."""
    base, third, past, ing = forms
    singular = not (is_plural(statement.subject) or statement.subject in ("나", "너"))
    if statement.tense == "progressive":
        return "am" if statement.subject == "나" else "is" if singular else "are", ing
    if statement.tense == "future":
        return "will", base
    if statement.negated:
        return "did" if statement.tense == "past" else "does" if singular else "do", base
    return None, past if statement.tense == "past" else third if singular else base


@cache
def _writings(has_time, may_be_short):
    first, short = (False, True)[: 1 + has_time], (False, True)[: 1 + may_be_short]
    return tuple(Writing(*chosen) for chosen in product((True, False), first, short))


@cache
def _known():
    return frozenset(statements())


@cache
def _phrase(english, part):
    """(word, where it comes from) for the words of a phrase: articles from nothing, prepositions from the particle."""
    part_of = {**dict.fromkeys(ARTICLES), **dict.fromkeys(PREPOSITIONS, part + " particle")}
    return tuple((word, part_of.get(word, part)) for word in english.split())

"""Between tokens and text: 나 는 너 를 사랑해 <-> 나는 너를 사랑해."""

import unicodedata
from difflib import get_close_matches
from functools import cache

from course_lib.data.korean_forms import PARTICLES
from course_lib.data.korean_grammar import SUBJECTS, sense_of, statements
from course_lib.data.korean_words import ADVERBS, BEFORE_GA, GOALS, KINDS, NOUNS, PLACES, PRONOUNS, TIMES, VERBS
from course_lib.data.korean_writing import (
    AFTER_VERB,
    LONG_NEGATION,
    PLURAL,
    SHORT_NEGATION,
    noun_tokens,
    write_statement,
    writings,
)

SHORTENED = {"난": ("나", "는"), "날": ("나", "를"), "넌": ("너", "는"), "널": ("너", "를")}  # as people say it

# What a particle is written on; after anything else 가 is the verb "go".
_NOUNS = {*PRONOUNS, *NOUNS, *PLACES, *GOALS, *BEFORE_GA.values(), PLURAL, "아침"} - set(KINDS["people"])
_PARTICLES = {form for forms in PARTICLES.values() for form in forms}
_ENDS = ".!?。…"


class UnknownWord(ValueError):
    """A word that the grammar does not have. word: as it was typed. near: words that look like it, nearest first.

    >>> print(UnknownWord("나눈", ("나는",)))
    '나눈' is not a word of this grammar, or not with this particle. Near it: 나는.
    """

    def __init__(self, word, near):
        self.word, self.near = word, near
        hint = f"Near it: {', '.join(near)}." if near else "Nothing comes near it."
        super().__init__(f"{word!r} is not a word of this grammar, or not with this particle. {hint}")


def write_korean(tokens):
    """Tokens as people write them: particles and 들 on their noun, everything else apart.

    >>> write_korean(("친구", "가", "집", "에", "가"))
    '친구가 집에 가'
    """
    text, before = "", None
    for token in tokens:
        joined = before in _NOUNS and (token == PLURAL or token in _PARTICLES)
        text += token if joined or not text else " " + token
        before = token
    return text


def read_korean(text):
    """Tokens of a text typed by somebody: spaces between words, particles on their nouns, one sentence.

    Marks at the end do not count; 난, 널 and 사랑할거야 without its space are understood. Whether the words make a
    sentence is not looked at. Raises UnknownWord, a ValueError, for the first word that is not known, and ValueError
    where there is no word, or more than one sentence.

    >>> read_korean("나는 너를 사랑해.")
    ('나', '는', '너', '를', '사랑해')
    """
    words = unicodedata.normalize("NFC", text).strip().rstrip(_ENDS).split()  # NFC: macOS may hand over loose letters
    if not words:
        raise ValueError("text: expected a sentence in Korean, such as 나는 너를 사랑해, got nothing")
    ended = next((word for word in words[:-1] if word[-1] in _ENDS), None)
    if ended:
        raise ValueError(f"text: expected one sentence at a time, but it goes on after {ended}")
    known = _readings()
    for word in words:
        if word not in known:
            raise UnknownWord(word, _near(word))
    return tuple(token for word in words for token in known[word])


def write_english(tokens):
    """Tokens as a text that starts with a capital.

    >>> write_english(("the", "cat", "sleeps"))
    'The cat sleeps'
    """
    text = " ".join(tokens)
    return text[:1].upper() + text[1:]


@cache
def all_tokens():
    """(Korean tokens, English tokens) of the whole grammar, sorted: the symbols for two `Vocabulary`.

    >>> korean, english = all_tokens()
    >>> "를" in korean, "love" in english, "나는" in korean  # a word and its particle are two tokens
    (True, True, False)
    """
    korean, english, covered = set(), set(), set()
    for said in statements():
        verb = sense_of(said).english
        parts = {(verb, said.object), (verb, said.subject, said.tense, said.negated)}
        parts |= {said.time, said.adverb, said.place}
        if not parts <= covered:  # most statements bring nothing new
            covered |= parts
            for writing in writings(said):
                example = write_statement(said, writing)
                korean.update(example.source)
                english.update(example.target)
    return tuple(sorted(korean)), tuple(sorted(english))


@cache
def _readings():
    """Each written word -> its tokens."""
    forms = {form for verb in VERBS for form in verb.forms}
    alone = forms | {*ADVERBS, *TIMES, SHORT_NEGATION, *LONG_NEGATION.values(), *AFTER_VERB.values()} - {"아침"}
    objects = {noun for verb in VERBS if not verb.goal for noun in verb.objects}
    roles = {"topic": SUBJECTS, "subject": SUBJECTS, "object": objects, "place": PLACES, "goal": (*GOALS, "아침")}
    phrases = [noun_tokens(noun, role) for role, nouns in roles.items() for noun in sorted(nouns)]
    phrases += [(future, "거야") for future in sorted({verb.forms.future for verb in VERBS} | {"않을"})]
    return {word: (word,) for word in sorted(alone)} | {"".join(tokens): tokens for tokens in phrases} | SHORTENED


@cache
def _letters():
    """The written words taken apart into letters, so that 친규 comes near 친구: they differ in one of five."""
    return {unicodedata.normalize("NFD", word): word for word in _readings()}


def _near(word, count=3):
    spaced = _with_spaces(word)
    if spaced:
        return (spaced,)
    loose = unicodedata.normalize("NFD", word)
    return tuple(_letters()[found] for found in get_close_matches(loose, _letters(), n=count, cutoff=0.5))


def _with_spaces(word):
    """The fewest known words that stand in `word` without a space between them, or "": 나는너를 to 나는 너를."""
    known, best = _readings(), [[]]
    for end in range(1, len(word) + 1):
        cuts = [
            best[start] + [word[start:end]]
            for start in range(end)
            if best[start] is not None and word[start:end] in known
        ]
        best.append(min(cuts, key=len, default=None))
    return " ".join(best[-1] or ())

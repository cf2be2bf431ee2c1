"""What the Korean grammar can say: every statement, before it is put in words."""

from functools import cache
from typing import NamedTuple

from course_lib.data.korean_words import ADVERBS, KINDS, PRONOUNS, SIMPLE, TENSES, TIMES, VERBS

SUBJECTS = (*PRONOUNS, *KINDS["person"], *KINDS["people"], *KINDS["pet"])

# Nobody is said to do something to a group that one belongs to: it would take "myself" or "each other".
_GROUPS = (("나", "우리"), ("학생", "학생들"), ("아이", "아이들"))
_SELF = {subject: next((group for group in _GROUPS if subject in group), (subject,)) for subject in SUBJECTS}
_PET_OBJECTS = {*PRONOUNS, *KINDS["person"], *KINDS["people"], *KINDS["pet"], "고기", "생선", "물", "우유"}
_PET_PLACES = ("집", "공원", "방")
_SENSE = {(verb.korean, noun): verb for verb in VERBS for noun in verb.objects or (None,)}


class Statement(NamedTuple):
    """What is said, in the dictionary forms of the Korean words.

    object: what the verb acts on or where it leads. tense: present, past, future or progressive (있어, is ...ing).

    >>> I_LOVE_YOU._replace(tense="future") in statements()  # I will love you
    True
    """

    subject: str
    verb: str
    object: str | None
    tense: str
    negated: bool = False
    time: str | None = None
    adverb: str | None = None
    place: str | None = None


I_LOVE_YOU = Statement("나", "사랑하다", "너", "present")


@cache
def statements():
    """All that the grammar can say, as a tuple of Statement, always in the same order.

    >>> I_LOVE_YOU in statements(), Statement("강아지", "배우다", "역사", "present") in statements()  # a dog, history
    (True, False)
    """
    said = []
    for verb in VERBS:
        for subject in SUBJECTS:
            pet = subject in KINDS["pet"]
            if pet and not verb.pets or subject in verb.barred:
                continue
            circumstances = list(_circumstances(verb, subject, pet))
            for noun in verb.objects or (None,):
                if noun not in _SELF[subject] and not (pet and noun and noun not in _PET_OBJECTS):
                    said += [Statement(subject, verb.korean, noun, *rest) for rest in circumstances]
    return tuple(said)


def sense_of(statement):
    """The Verb of a statement: 보다 is see or watch, 부르다 call or sing, as the object has it.

    Raises KeyError for a verb and an object that do not go together.

    >>> [sense_of(Statement("나", "보다", noun, "present")).english[0] for noun in ("너", "영화")]
    [('see',), ('watch',)]
    """
    return _SENSE[statement.verb, statement.object]


def is_plural(subject):
    """Whether the English verb agrees with several.

    >>> is_plural("우리"), is_plural("나")
    (True, False)
    """
    return subject in ("우리", "그들") or subject in KINDS["people"]


def _circumstances(verb, subject, pet):
    """(tense, negated, time, adverb, place) that suit a verb and a subject: one adverb or place at most.

    None under negation, where it would be open what is denied ("does not read quietly": silent, or not reading?).
    "often yesterday" and "always every day" do not go together, nor does a state with a time.
    """
    number = "plural" if is_plural(subject) else "singular"
    adverbs = [word for word in verb.adverbs if ADVERBS[word].number in ("", number)]
    places = [word for word in verb.places if not pet or word in _PET_PLACES]
    for tense in TENSES if verb.progressive else SIMPLE:
        for time in (None, *(word for word, (_, tenses) in TIMES.items() if tense in tenses and not verb.state)):
            yield tense, False, time, None, None
            for adverb in adverbs:
                if tense in ADVERBS[adverb].tenses and not (time and ADVERBS[adverb].before_verb):
                    yield tense, False, time, adverb, None
            for place in places:
                yield tense, False, time, None, place
            if tense in SIMPLE:
                yield tense, True, time, None, None

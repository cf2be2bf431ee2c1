"""How Korean words change: particles follow the last sound of a noun, verbs change with tense. All from Unicode.

A syllable such as 를 is one code point, 0xAC00 + (first consonant * 21 + vowel) * 28 + final consonant, so division
finds its parts. Verbs stand in the plain style that friends use with one another: 사랑해, 사랑했어, 사랑할 거야.
"""

from typing import NamedTuple

FIRST_SYLLABLE, LAST_SYLLABLE = "가", "힣"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
FINALS = ("", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ")

# After a final consonant, and after a vowel. Place and goal do not change.
PARTICLES = {
    "topic": ("은", "는"),
    "subject": ("이", "가"),
    "object": ("을", "를"),
    "place": ("에서", "에서"),
    "goal": ("에", "에"),
}

# Nothing in the letters of 듣다 says that it is irregular and 받다 is not, so the irregular ones are listed.
IRREGULAR = frozenset(("듣다", "걷다", "돕다", "부르다", "고르다"))

# The vowel of an open stem together with -아/-어: 보아 -> 봐, 배우어 -> 배워, 마시어 -> 마셔. Others stay apart: 쉬어.
_MERGED = {**{same: same for same in "ㅏㅓㅐㅔㅕ"}, "ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ"}


class VerbForms(NamedTuple):
    """Present 사랑해, past 사랑했어, future 사랑할 (거야), negative 사랑하지 (않아), progressive 사랑하고 (있어).

    >>> conjugate("사랑하다").future + " 거야"
    '사랑할 거야'
    """

    present: str
    past: str
    future: str
    negative: str
    progressive: str


def final_consonant(word):
    """The consonant that closes the last syllable, "" where it is open.

    Raises ValueError for a word that does not end in a Korean syllable.

    >>> final_consonant("책"), final_consonant("나")
    ('ㄱ', '')
    """
    return _parts(word[-1:])[2]


def particle(word, role):
    """The particle for a noun. role: topic, subject, object, place or goal.

    Raises ValueError for another role, and for a word that does not end in a Korean syllable.

    >>> particle("책", "object"), particle("너", "object")
    ('을', '를')
    """
    if role not in PARTICLES:
        raise ValueError(f"role: expected one of {', '.join(PARTICLES)}, got {role!r}")
    return PARTICLES[role][not final_consonant(word)]


def conjugate(verb):
    """The forms of a verb given as in a dictionary, with -다. Irregular only if listed in IRREGULAR.

    Raises ValueError for any other form.

    >>> conjugate("듣다")
    VerbForms(present='들어', past='들었어', future='들을', negative='듣지', progressive='듣고')
    """
    if len(verb) < 2 or not verb.endswith("다"):
        raise ValueError(f"verb: expected its dictionary form, which ends in 다, got {verb!r}")
    stem = verb[:-1]
    present = _present(stem, verb in IRREGULAR)  # always ends in an open syllable, so the past can close it with ㅆ
    return VerbForms(
        present,
        _close(present, "ㅆ") + "어",
        _future(stem, verb in IRREGULAR),
        stem + "지",
        stem + "고",
    )


def _present(stem, irregular):
    """The stem with -아 or -어: a bright vowel (ㅏ, ㅗ) takes 아, the others 어."""
    start, (initial, vowel, final) = stem[:-1], _parts(stem[-1])
    if stem.endswith("하"):
        return start + "해"
    if irregular and stem.endswith("르"):  # 부르다 -> 불러, 고르다 -> 골라
        return _close(start, "ㄹ") + ("라" if _is_bright(start) else "러")
    if irregular and final == "ㅂ":  # 돕다 -> 도와
        return start + _syllable(initial, vowel) + "와"
    if irregular and final == "ㄷ":  # 듣다 -> 들어
        return start + _syllable(initial, vowel, "ㄹ") + ("아" if _is_bright(stem) else "어")
    if final:
        return stem + ("아" if _is_bright(stem) else "어")
    if vowel == "ㅡ":  # 쓰다 -> 써: it gives way, and the syllable before it decides
        return start + _syllable(initial, "ㅏ" if start and _is_bright(start) else "ㅓ")
    return start + _syllable(initial, _MERGED[vowel]) if vowel in _MERGED else stem + "어"


def _future(stem, irregular):
    """The stem with -ㄹ or -을, which 거야 follows."""
    start, (initial, vowel, final) = stem[:-1], _parts(stem[-1])
    if irregular and final == "ㄷ":  # 들을
        return start + _syllable(initial, vowel, "ㄹ") + "을"
    if irregular and final == "ㅂ":  # 도울
        return start + _syllable(initial, vowel) + "울"
    if final == "ㄹ":  # 만들다 -> 만들
        return stem
    return stem + "을" if final else _close(stem, "ㄹ")


def _parts(syllable):
    """(number of the first consonant, vowel, final consonant or "")."""
    if len(syllable) != 1 or not FIRST_SYLLABLE <= syllable <= LAST_SYLLABLE:
        raise ValueError(f"expected a word that ends in a Korean syllable (composed, NFC), got {syllable!r} at its end")
    rest, final = divmod(ord(syllable) - ord(FIRST_SYLLABLE), len(FINALS))
    initial, vowel = divmod(rest, len(VOWELS))
    return initial, VOWELS[vowel], FINALS[final]


def _syllable(initial, vowel, final=""):
    number = (initial * len(VOWELS) + VOWELS.index(vowel)) * len(FINALS) + FINALS.index(final)
    return chr(ord(FIRST_SYLLABLE) + number)


def _close(word, final):
    """The word with a final consonant in its last syllable, which is open."""
    initial, vowel, _ = _parts(word[-1])
    return word[:-1] + _syllable(initial, vowel, final)


def _is_bright(word):
    return _parts(word[-1])[1] in "ㅏㅗ"

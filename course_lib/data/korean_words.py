"""The words of the Korean grammar, what they mean in English, and which go together.

Whatever can be said is listed by kinds, so that nobody reads rice and no dog studies history. Count nouns carry the
article that suits them everywhere; Korean has none.
"""

from typing import NamedTuple

from course_lib.data.korean_forms import VerbForms, conjugate

TENSES = ("present", "past", "future", "progressive")

# Subject and object form in English.
PRONOUNS = {
    "나": ("I", "me"),
    "너": ("you", "you"),
    "그": ("he", "him"),
    "그녀": ("she", "her"),
    "우리": ("we", "us"),
    "그들": ("they", "them"),
}
# 나 and 너 change before 가: 내가, 네가.
BEFORE_GA = {"나": "내", "너": "네"}

KINDS = {
    "person": {
        "친구": "a friend",
        "학생": "the student",
        "선생님": "the teacher",
        "아이": "the child",
        "의사": "the doctor",
    },
    "people": {"학생들": "the students", "아이들": "the children"},
    "pet": {"고양이": "the cat", "강아지": "the dog"},
    "food": {
        "밥": "rice",
        "빵": "bread",
        "고기": "meat",
        "생선": "fish",
        "과일": "fruit",
        "김치": "kimchi",
        "국수": "noodles",
    },
    "drink": {"물": "water", "우유": "milk", "커피": "coffee", "주스": "juice"},
    "text": {"책": "a book", "편지": "a letter", "신문": "the newspaper", "소설": "a novel", "시": "a poem"},
    "learning": {"한국어": "Korean", "영어": "English", "수학": "mathematics", "역사": "history"},
    "entrance": {"문": "the door", "창문": "the window", "상자": "the box"},
    "other": {
        "사과": "an apple",
        "영화": "a film",
        "텔레비전": "television",
        "음악": "music",
        "라디오": "the radio",
        "노래": "a song",
        "가방": "a bag",
        "모자": "a hat",
        "연필": "a pencil",
        "의자": "a chair",
        "열쇠": "the key",
        "자전거": "a bicycle",
        "말": "a horse",
        "꽃": "a flower",
        "나무": "a tree",
        "그림": "a picture",
        "선물": "a present",
        "방": "the room",
        "부엌": "the kitchen",
        "교실": "the classroom",
    },
}
NOUNS = {noun: english for nouns in KINDS.values() for noun, english in nouns.items()}

# With 에서 where something is done, with 에 where one goes. 집에 is home, without a "to".
PLACES = {
    "학교": "at school",
    "집": "at home",
    "공원": "in the park",
    "도서관": "in the library",
    "시장": "at the market",
    "카페": "at the cafe",
    "부엌": "in the kitchen",
    "교실": "in the classroom",
    "방": "in the room",
}
GOALS = {
    "학교": "to school",
    "집": "home",
    "공원": "to the park",
    "도서관": "to the library",
    "시장": "to the market",
    "카페": "to the cafe",
}

# What the time words say, and the tenses they suit.
TIMES = {
    "매일": ("every day", ("present",)),
    "아침": ("in the morning", ("present",)),
    "어제": ("yesterday", ("past",)),
    "오늘": ("today", ("past", "future")),
    "내일": ("tomorrow", ("future",)),
    "지금": ("now", ("progressive",)),
}

SIMPLE = ("present", "past", "future")


class Adverb(NamedTuple):
    """early: in Korean before the object. before_verb: in English before the verb, else after the object.

    number: subjects that it suits, singular, plural or both ("").

    >>> ADVERBS["함께"].english, ADVERBS["함께"].number
    ('together', 'plural')
    """

    english: str
    early: bool = False
    before_verb: bool = False
    tenses: tuple = TENSES
    number: str = ""


ADVERBS = {
    "자주": Adverb("often", before_verb=True, tenses=SIMPLE),
    "항상": Adverb("always", before_verb=True, tenses=SIMPLE),
    "가끔": Adverb("sometimes", before_verb=True, tenses=SIMPLE),
    "여전히": Adverb("still", before_verb=True, tenses=SIMPLE),
    "정말": Adverb("really", before_verb=True, tenses=SIMPLE),
    "다시": Adverb("again", tenses=("past", "future")),
    "빨리": Adverb("quickly"),
    "천천히": Adverb("slowly"),
    "조용히": Adverb("quietly"),
    "크게": Adverb("loudly"),
    "열심히": Adverb("hard"),
    "함께": Adverb("together", early=True, number="plural"),
    "혼자": Adverb("alone", early=True, number="singular"),
}


class Verb(NamedTuple):
    """One verb in one sense.

    objects: nouns that it takes, empty for none. adverbs, places: what may stand with it. state: a state has neither
    time nor progressive. progressive, pets (as subjects), short_negation (안): whether it has them. goal: its object
    is where it leads. barred: subjects that it does not take. english: base, third person, past and -ing form, each a
    tuple of words.

    >>> VERBS[0].korean, VERBS[0].english[0], VERBS[0].state
    ('사랑하다', ('love',), True)
    """

    korean: str
    forms: VerbForms
    english: tuple
    objects: tuple
    adverbs: tuple
    places: tuple
    state: bool
    progressive: bool
    pets: bool
    short_negation: bool
    goal: bool
    barred: tuple


def english_forms(verb, past=None):
    """Base, third person, past and -ing form of an English verb and what follows it, each a tuple of words.

    past: where it is irregular.

    >>> english_forms("listen to")[1:]
    (('listens', 'to'), ('listened', 'to'), ('listening', 'to'))
    """
    base, *rest = verb.split()
    ends_in_y = base.endswith("y") and base[-2] not in "aeiou"
    third = base[:-1] + "ies" if ends_in_y else base + ("es" if base.endswith(("ch", "sh", "s", "o")) else "s")
    regular = base[:-1] + "ied" if ends_in_y else base + ("d" if base.endswith("e") else "ed")
    ing = base[:-1] if base.endswith("e") and not base.endswith("ee") else base + _DOUBLED.get(base, "")
    return tuple((form, *rest) for form in (base, third, past or regular, ing + "ing"))


_DOUBLED = {"run": "n"}  # running: no rule of spelling alone tells it from opening


def _verb(
    korean,
    english,
    objects="",
    extras="",
    *,
    past=None,
    state=False,
    progressive=True,
    pets=False,
    short=None,
    goal=False,
    barred="",
):
    """objects: kinds and single nouns. extras: adverbs and places. short: 안; a noun with 하다 goes without it."""
    nouns = [noun for word in objects.split() for noun in _KINDS_AND_PRONOUNS.get(word, (word,))]
    extras = extras.split()
    return Verb(
        korean=korean,
        forms=conjugate(korean),
        english=english_forms(english, past),
        objects=tuple(nouns),
        adverbs=tuple(word for word in extras if word in ADVERBS),
        places=tuple(word for word in extras if word in PLACES),
        state=state,
        progressive=progressive and not state,
        pets=pets,
        short_negation=not korean.endswith("하다") if short is None else short,
        goal=goal,
        barred=tuple(barred.split()),
    )


_KINDS_AND_PRONOUNS = {**KINDS, "pronoun": PRONOUNS}
_ANYONE = "pronoun person people"
_PLEASANT = _ANYONE + " pet food drink learning 음악"

VERBS = (
    _verb("사랑하다", "love", _ANYONE + " pet", "항상 여전히 정말", state=True, pets=True),
    _verb("좋아하다", "like", _PLEASANT, "여전히 정말", state=True, pets=True, short=True),
    _verb("싫어하다", "hate", _PLEASANT, "여전히 정말", state=True, short=True),
    _verb("믿다", "trust", _ANYONE, "항상 여전히", state=True),
    _verb("기억하다", "remember", _ANYONE, "항상 여전히 정말", state=True),
    _verb("보다", "see", _ANYONE + " pet", "자주 가끔 공원", past="saw", progressive=False, pets=True),
    _verb("만나다", "meet", _ANYONE, "자주 다시 공원 카페", past="met"),
    _verb("기다리다", "wait for", _ANYONE, "항상 조용히 집", pets=True),
    _verb("찾다", "look for", _ANYONE + " pet 가방 모자 열쇠 연필", "다시 학교 공원", pets=True),
    _verb("돕다", "help", _ANYONE, "항상 자주 학교"),
    _verb("부르다", "call", _ANYONE + " pet", "다시 크게"),
    _verb("부르다", "sing", "노래", "크게 함께 교실 방", past="sang"),
    _verb("보다", "watch", "영화 텔레비전", "함께 혼자 집"),
    _verb("먹다", "eat", "food 사과", "함께 혼자 빨리 집", past="ate", pets=True),
    _verb("마시다", "drink", "drink", "자주 천천히 집", past="drank", pets=True),
    _verb("읽다", "read", "text", "조용히 천천히 도서관", past="read"),
    _verb("쓰다", "write", "책 편지 소설 시", "혼자 천천히 도서관", past="wrote"),
    _verb("듣다", "listen to", "음악 라디오 노래", "자주 조용히 방"),
    _verb("사다", "buy", "빵 생선 과일 우유 사과 꽃 책 가방 모자", "가끔 다시 시장", past="bought"),
    _verb("팔다", "sell", "빵 생선 과일 사과 꽃 가방 모자", "가끔 시장", past="sold", barred="아이 아이들"),
    _verb("만들다", "make", "빵 국수 가방 모자 의자", "함께 빨리 집", past="made"),
    _verb("고르다", "choose", "책 꽃 가방 모자 연필 선물", "다시 천천히 빨리", past="chose"),
    _verb("그리다", "draw", "그림 꽃 나무 고양이 강아지 말", "천천히 혼자 교실", past="drew"),
    _verb("씻다", "wash", "사과 과일", "빨리 부엌"),
    _verb("열다", "open", "entrance", "다시 조용히 천천히"),
    _verb("닫다", "close", "entrance", "다시 조용히 빨리"),
    _verb("타다", "ride", "자전거 말", "자주 혼자 공원", past="rode"),
    _verb("보내다", "send", "편지 선물", "가끔 다시", past="sent"),
    _verb("받다", "receive", "편지 선물 꽃", "가끔 다시"),
    _verb("빌리다", "borrow", "책 소설 연필 자전거", "가끔 다시 학교"),
    _verb("배우다", "learn", "learning", "함께 빨리 학교"),
    _verb("가르치다", "teach", "learning", "자주 학교 교실", past="taught", barred="아이 아이들"),
    _verb("공부하다", "study", "learning", "함께 열심히 도서관"),
    _verb("요리하다", "cook", "밥 고기 생선 국수", "혼자 천천히 부엌"),
    _verb("청소하다", "clean", "방 부엌 교실", "함께 혼자 빨리"),
    _verb("자다", "sleep", "", "혼자 조용히 집 방", past="slept", pets=True),
    _verb("웃다", "laugh", "", "자주 함께 크게 교실"),
    _verb("울다", "cry", "", "혼자 크게 방"),
    _verb("쉬다", "rest", "", "혼자 집 공원 카페", pets=True),
    _verb("일하다", "work", "", "혼자 열심히 시장 카페 도서관", barred="아이 아이들"),
    _verb("놀다", "play", "", "자주 함께 집 공원", pets=True),
    _verb("걷다", "walk", "", "자주 천천히 혼자 공원"),
    _verb("달리다", "run", "", "빨리 함께 공원", past="ran", pets=True),
    _verb("춤추다", "dance", "", "자주 함께 혼자 교실", short=False),
    _verb("가다", "go", " ".join(GOALS), "자주 함께 혼자 빨리", past="went", goal=True),
    _verb("오다", "come", " ".join(GOALS), "다시 함께 혼자", past="came", goal=True),
)

"""Every sentence of the grammar, written once: one meaning each, true links, and some forty pairs by hand."""

import pytest

from course_lib.data.korean import (
    I_LOVE_YOU,
    Writing,
    all_tokens,
    read_korean,
    statements,
    write_korean,
    write_statement,
    writings,
)
from course_lib.data.korean_words import BEFORE_GA, NOUNS, PLACES, PRONOUNS, VERBS
from course_lib.evaluation import alignment_error_rate

PAIRS = """
나는 너를 사랑해 = I love you
내가 너를 사랑해 = I love you
너는 나를 사랑해 = you love me
그는 그녀를 사랑했어 = he loved her
그녀가 그를 항상 사랑할 거야 = she will always love him
우리는 커피를 좋아해 = we like coffee
그들은 커피를 안 좋아해 = they do not like coffee
아이는 김치를 좋아하지 않아 = the child does not like kimchi
나는 너를 믿어 = I trust you
그는 나를 기억하지 않았어 = he did not remember me
고양이가 강아지를 봐 = the cat sees the dog
강아지가 고양이를 봐 = the dog sees the cat
나는 어제 공원에서 친구를 만났어 = I met a friend in the park yesterday
어제 나는 공원에서 친구를 만났어 = I met a friend in the park yesterday
네가 내일 그들을 기다릴 거야 = you will wait for them tomorrow
그녀는 지금 열쇠를 찾고 있어 = she is looking for the key now
의사는 아이들을 자주 도와 = the doctor often helps the children
의사가 우리를 도왔어 = the doctor helped us
학생들이 선생님을 불렀어 = the students called the teacher
학생들이 함께 노래를 불렀어 = the students sang a song together
우리는 집에서 영화를 봤어 = we watched a film at home
나는 혼자 밥을 먹고 있어 = I am eating rice alone
아이가 사과를 안 먹을 거야 = the child will not eat an apple
그는 물을 마시지 않을 거야 = he will not drink water
학생은 매일 책을 조용히 읽어 = the student reads a book quietly every day
나는 편지를 쓰고 있어 = I am writing a letter
그녀는 음악을 자주 들어 = she often listens to music
우리는 라디오를 들을 거야 = we will listen to the radio
나는 아침에 시장에서 과일을 사 = I buy fruit at the market in the morning
그가 모자를 팔았어 = he sold a hat
그들은 빵을 만들고 있어 = they are making bread
그녀는 선물을 천천히 골라 = she chooses a present slowly
아이들이 나무를 그렸어 = the children drew a tree
친구가 창문을 열지 않았어 = a friend did not open the window
나는 내일 자전거를 탈 거야 = I will ride a bicycle tomorrow
선생님은 역사를 가르쳐 = the teacher teaches history
우리는 한국어를 공부하지 않아 = we do not study Korean
고양이는 집에서 자고 있어 = the cat is sleeping at home
강아지가 공원에서 달려 = the dog runs in the park
나는 집에 가 = I go home
친구가 학교에 가고 있어 = a friend is going to school
그녀는 오늘 집에 안 왔어 = she did not come home today
너는 울지 않아 = you do not cry
그가 크게 웃었어 = he laughed loudly
학생이 소설을 읽었어 = the student read a novel
의사는 열심히 일해 = the doctor works hard
그들이 춤추지 않을 거야 = they will not dance
""".split("\n")[1:-1]

# The links, by hand: the Korean tokens that each English word comes from.
LINKS = [
    ("나는 너를 사랑해", "I:나는 love:사랑해 you:너를"),
    ("나는 내일 자전거를 탈 거야", "I:나는 will:거야 ride:탈 a: bicycle:자전거를 tomorrow:내일"),
    ("아이는 김치를 좋아하지 않아", "the: child:아이는 does:않아 not:않아 like:좋아하지 kimchi:김치를"),
    ("그들은 커피를 안 좋아해", "they:그들은 do:좋아해 not:안 like:좋아해 coffee:커피를"),
    ("그는 물을 마시지 않을 거야", "he:그는 will:거야 not:않을 drink:마시지 water:물을"),
    ("친구가 학교에 가고 있어", "a: friend:친구가 is:있어 going:가고 to:에 school:학교"),
    ("나는 집에 가", "I:나는 go:가 home:집"),
    ("의사는 아이들을 자주 도와", "the: doctor:의사는 often:자주 helps:도와 the: children:아이들을"),
    ("그녀는 음악을 자주 들어", "she:그녀는 often:자주 listens:들어 to:들어 music:음악을"),
    (
        "나는 아침에 시장에서 과일을 사",
        "I:나는 buy:사 fruit:과일을 at:에서 the: market:시장 in:에 the: morning:아침",
    ),
]


@pytest.fixture(scope="module")
def grammar():
    """(source tokens -> target tokens of the whole grammar, source tokens -> example of those in LINKS).

    On the way, what holds for each sentence is asserted.
    """
    meaning, linked = {}, dict.fromkeys(read_korean(korean) for korean, _ in LINKS)
    for said in statements():
        target = None
        for writing in writings(said):
            example = write_statement(said, writing)
            target = target or example.target
            assert example.target == target, said
            assert meaning.setdefault(example.source, target) == target, f"two meanings: {write_korean(example.source)}"
            check_links(example)
            if example.source in linked:
                linked[example.source] = example
    return meaning, linked


@pytest.fixture(scope="module")
def meanings(grammar):
    return grammar[0]


def check_links(example):
    assert len(example.spans) == len(example.target)
    for word, span in zip(example.target, example.spans, strict=True):
        assert (span is None) == (word in ("a", "an", "the"))
        assert span is None or 0 <= span[0] < span[1] <= len(example.source)
    reached = {place for span in example.spans if span for place in range(*span)}
    missed = {example.source[place] for place in range(len(example.source)) if place not in reached}
    assert missed <= {"에"}, example  # 집에 is home, which has no "to"


def test_it_is_large_and_each_sentence_has_one_meaning(meanings):
    assert 120_000 < len(statements()) == len(set(statements()))
    assert 400_000 < len(meanings) == sum(len(writings(said)) for said in statements())
    assert max(map(len, meanings)) <= 11 and max(map(len, meanings.values())) <= 12


def test_a_few_hundred_tokens_say_it_all(meanings):
    korean, english = all_tokens()
    assert set(korean) == {token for source in meanings for token in source}
    assert set(english) == {token for target in meanings.values() for token in target}
    assert 250 < len(english) < len(korean) < 350
    assert list(korean) == sorted(korean) and list(english) == sorted(english)


def test_text_and_back_loses_nothing(meanings):
    for tokens in meanings:
        assert read_korean(write_korean(tokens)) == tokens


@pytest.mark.parametrize("pair", PAIRS)
def test_pairs_by_hand(meanings, pair):
    korean, english = pair.split(" = ")
    assert " ".join(meanings[read_korean(korean)]) == english


@pytest.mark.parametrize(("korean", "links"), LINKS)
def test_links_by_hand(grammar, korean, links):
    example = grammar[1][read_korean(korean)]
    found = [
        f"{word}:{''.join(example.source[slice(*span)]) if span else ''}"
        for word, span in zip(example.target, example.spans, strict=True)
    ]
    assert " ".join(found) == links


def test_particles_stand_on_nouns_by_arithmetic(meanings):
    nouns = {*PRONOUNS, *NOUNS, *PLACES, *BEFORE_GA.values(), "들", "아침"}
    pairs = {pair for source in meanings for pair in zip(source, source[1:], strict=False) if pair[0] in nouns}
    for noun, particle in pairs - {(noun, "들") for noun in nouns}:
        closed = (ord(noun[-1]) - 0xAC00) % 28 != 0
        assert particle in (("은", "이", "을") if closed else ("는", "가", "를")) + ("에", "에서"), (noun, particle)
    assert not {("나", "가"), ("너", "가")} & pairs and {("내", "가"), ("네", "가")} <= pairs


def test_the_verb_moves_from_the_end_to_the_middle():
    """S O V becomes S V O."""
    forms = {form for verb in VERBS for form in verb.forms}
    bare = [said for said in statements() if said.object and said.adverb is said.place is said.time is None]
    assert len(bare) > 10_000
    for said in bare:
        example = write_statement(said)
        marker = max(place for place, token in enumerate(example.source) if token in ("을", "를", "에"))
        verb = max(place for place, token in enumerate(example.source) if token in forms)
        assert 2 < marker < verb, "the verb stands after the object"
        # Ends of spans, in the order of the English words; what follows the verb is its tense.
        ends = [span[1] - 1 for span in example.spans if span and span[1] - 1 <= verb]
        order = ["V" if end == verb else "S" if end < marker - 1 else "O" for end in ends]
        assert "".join(dict.fromkeys(order)) == "SVO", example


def test_the_perfect_map_has_no_error():
    for said in statements()[::5000]:
        example = write_statement(said)
        looked = [span[0] if span else 0 for span in example.spans]
        weights = [[float(place == at) for place in range(len(example.source))] for at in looked]
        assert alignment_error_rate(weights, example.spans) == 0


def test_what_cannot_be_said_is_refused():
    for wrong in (
        I_LOVE_YOU._replace(object="밥", verb="읽다"),
        I_LOVE_YOU._replace(subject="고양이", verb="공부하다", object="역사"),
        I_LOVE_YOU._replace(object="나"),
        I_LOVE_YOU._replace(time="어제"),
        I_LOVE_YOU._replace(subject="책"),
    ):
        with pytest.raises(ValueError, match="statement: not one of this grammar"):
            write_statement(wrong)
    for writing in (Writing(time_first=True), Writing(short_negation=True)):
        with pytest.raises(ValueError, match="writing: .* does not suit"):
            write_statement(I_LOVE_YOU, writing)

"""Forms written out by hand: all verbs of the grammar, and some besides that try the rules."""

import pytest

from course_lib.data.korean_forms import IRREGULAR, PARTICLES, conjugate, final_consonant, particle
from course_lib.data.korean_words import NOUNS, PLACES, PRONOUNS, VERBS, english_forms

FORMS = """
사랑하다 사랑해 사랑했어 사랑할 사랑하지 사랑하고
좋아하다 좋아해 좋아했어 좋아할 좋아하지 좋아하고
싫어하다 싫어해 싫어했어 싫어할 싫어하지 싫어하고
믿다 믿어 믿었어 믿을 믿지 믿고
기억하다 기억해 기억했어 기억할 기억하지 기억하고
보다 봐 봤어 볼 보지 보고
만나다 만나 만났어 만날 만나지 만나고
기다리다 기다려 기다렸어 기다릴 기다리지 기다리고
찾다 찾아 찾았어 찾을 찾지 찾고
돕다 도와 도왔어 도울 돕지 돕고
부르다 불러 불렀어 부를 부르지 부르고
먹다 먹어 먹었어 먹을 먹지 먹고
마시다 마셔 마셨어 마실 마시지 마시고
읽다 읽어 읽었어 읽을 읽지 읽고
쓰다 써 썼어 쓸 쓰지 쓰고
듣다 들어 들었어 들을 듣지 듣고
사다 사 샀어 살 사지 사고
팔다 팔아 팔았어 팔 팔지 팔고
만들다 만들어 만들었어 만들 만들지 만들고
고르다 골라 골랐어 고를 고르지 고르고
그리다 그려 그렸어 그릴 그리지 그리고
씻다 씻어 씻었어 씻을 씻지 씻고
열다 열어 열었어 열 열지 열고
닫다 닫아 닫았어 닫을 닫지 닫고
타다 타 탔어 탈 타지 타고
보내다 보내 보냈어 보낼 보내지 보내고
받다 받아 받았어 받을 받지 받고
빌리다 빌려 빌렸어 빌릴 빌리지 빌리고
배우다 배워 배웠어 배울 배우지 배우고
가르치다 가르쳐 가르쳤어 가르칠 가르치지 가르치고
공부하다 공부해 공부했어 공부할 공부하지 공부하고
요리하다 요리해 요리했어 요리할 요리하지 요리하고
청소하다 청소해 청소했어 청소할 청소하지 청소하고
자다 자 잤어 잘 자지 자고
웃다 웃어 웃었어 웃을 웃지 웃고
울다 울어 울었어 울 울지 울고
쉬다 쉬어 쉬었어 쉴 쉬지 쉬고
일하다 일해 일했어 일할 일하지 일하고
놀다 놀아 놀았어 놀 놀지 놀고
걷다 걸어 걸었어 걸을 걷지 걷고
달리다 달려 달렸어 달릴 달리지 달리고
춤추다 춤춰 춤췄어 춤출 춤추지 춤추고
가다 가 갔어 갈 가지 가고
오다 와 왔어 올 오지 오고
""".split("\n")[1:-1]

OTHERS = """
서다 서 섰어 설 서지 서고
켜다 켜 켰어 켤 켜지 켜고
세다 세 셌어 셀 세지 세고
되다 돼 됐어 될 되지 되고
주다 줘 줬어 줄 주지 주고
앉다 앉아 앉았어 앉을 앉지 앉고
끄다 꺼 껐어 끌 끄지 끄고
바쁘다 바빠 바빴어 바쁠 바쁘지 바쁘고
예쁘다 예뻐 예뻤어 예쁠 예쁘지 예쁘고
""".split("\n")[1:-1]


@pytest.mark.parametrize("line", FORMS + OTHERS)
def test_verbs_are_conjugated(line):
    verb, *forms = line.split()
    assert list(conjugate(verb)) == forms


def test_every_verb_of_the_grammar_was_written_out():
    assert {verb.korean for verb in VERBS} == {line.split()[0] for line in FORMS}
    assert IRREGULAR <= {verb.korean for verb in VERBS}


def test_no_two_words_mean_the_same():
    for english in (list(NOUNS.values()), list(PRONOUNS.values()), list(PLACES.values()), [v.english for v in VERBS]):
        assert len(set(english)) == len(english)


def test_no_form_belongs_to_two_verbs():
    """살 is bought or lived in Korean; here each form has one verb, or it would have two meanings."""
    owner = {}
    for verb in VERBS:
        for form in verb.forms:
            assert owner.setdefault(form, verb.korean) == verb.korean


def test_particles_follow_the_final_consonant_by_arithmetic():
    for noun in (*PRONOUNS, *NOUNS, *PLACES):
        closed = (ord(noun[-1]) - 0xAC00) % 28 != 0
        assert particle(noun, "topic") == ("은" if closed else "는")
        assert particle(noun, "subject") == ("이" if closed else "가")
        assert particle(noun, "object") == ("을" if closed else "를")
        assert (particle(noun, "place"), particle(noun, "goal")) == ("에서", "에")
        assert bool(final_consonant(noun)) == closed


def test_final_consonants():
    finals = {"나": "", "우리": "", "책": "ㄱ", "물": "ㄹ", "밥": "ㅂ", "꽃": "ㅊ", "값": "ㅄ"}
    assert {word: final_consonant(word) for word in finals} == finals


@pytest.mark.parametrize(
    ("words", "past", "expected"),
    [
        ("love", None, "love loves loved loving"),
        ("study", None, "study studies studied studying"),
        ("play", None, "play plays played playing"),
        ("see", "saw", "see sees saw seeing"),
        ("go", "went", "go goes went going"),
        ("watch", None, "watch watches watched watching"),
        ("wash", None, "wash washes washed washing"),
        ("run", "ran", "run runs ran running"),
        ("open", None, "open opens opened opening"),
        ("look for", None, "look for looks for looked for looking for"),
    ],
)
def test_english_forms(words, past, expected):
    assert " ".join(" ".join(form) for form in english_forms(words, past)) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: particle("책", "owner"), "role: expected one of topic, subject, object, place, goal, got 'owner'"),
        (lambda: particle("book", "topic"), "ends in a Korean syllable"),
        (lambda: particle("", "topic"), "ends in a Korean syllable"),
        (lambda: conjugate("먹어"), "verb: expected its dictionary form, which ends in 다, got '먹어'"),
        (lambda: conjugate("다"), "verb: expected its dictionary form"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_every_role_has_two_forms():
    assert all(len(forms) == 2 for forms in PARTICLES.values())

"""English to Korean with all right translations: what is right, how often it is said, and lists without overlap."""

import itertools
from collections import Counter

import pytest

from course_lib.data.korean import statements, write_statement, writings
from course_lib.data.korean_choices import korean_choices, ways_to_say, write_choice

LOVE = ("I", "love", "you")


def some_sentences(count=400):
    return [
        write_statement(said).target for said in itertools.islice(statements(), 0, None, len(statements()) // count)
    ]


def test_the_ways_of_a_sentence_are_all_of_it():
    for english in some_sentences():
        shares = ways_to_say(english).values()
        assert sum(shares) == pytest.approx(1) and min(shares) > 0


def test_each_way_of_the_grammar_is_among_them():
    for said in itertools.islice(statements(), 0, None, 1000):
        plain = {write_statement(said, writing).source for writing in writings(said)}
        assert plain <= ways_to_say(write_statement(said).target).keys()


def test_i_love_you_in_ten_ways():
    ways = {write_choice(tokens): share for tokens, share in ways_to_say(LOVE).items()}
    assert len(ways) == 10
    assert ways["너를 사랑해"] == ways["너를 사랑해요"] == max(ways.values())
    assert ways["나는 너를 사랑해"] == pytest.approx(0.6 / 8)
    assert "너 사랑해" not in ways, "without a subject the object keeps its particle"


def test_what_reads_the_same_in_english_is_right_in_both_meanings():
    ways = {write_choice(tokens) for tokens in ways_to_say(("they", "read", "a", "book"))}
    assert {"그들은 책을 읽어", "그들은 책을 읽었어"} <= ways


def test_polite_forms():
    ways = {write_choice(tokens) for tokens in ways_to_say(("we", "will", "see", "him", "today"))}
    assert {"우리는 오늘 그를 볼 거예요", "오늘 그를 볼 거야", "오늘 우리가 그 볼 거예요"} <= ways
    assert not any(text.endswith("거야요") for text in ways)
    assert write_choice(()) == ""


def test_a_sentence_of_another_grammar_is_refused():
    with pytest.raises(ValueError, match="english: not a sentence of this grammar: 'you love I'"):
        ways_to_say(("you", "love", "I"))


def test_what_is_trained_on_and_what_is_held_out():
    training, held_out = korean_choices(2_000, 50, seed=3)
    assert len(training) == 2_000 and len(held_out) == 50 and held_out[0].english == LOVE
    trained, tested = {english for english, _ in training}, {sentence.english for sentence in held_out}
    assert len(trained) == 2_000 and len(tested) == 50 and not trained & tested
    assert all(korean in ways_to_say(english) for english, korean in training)
    assert all(sentence.ways == ways_to_say(sentence.english) for sentence in held_out)
    assert korean_choices(2_000, 50, seed=3) == (training, held_out)
    assert korean_choices(2_000, 50, seed=4)[0] != training


def test_ways_are_drawn_as_often_as_they_are_said():
    training, _ = korean_choices(20_000, 1)
    without = [
        english for english, korean in training if english[0] == "he" and korean[0] != "그" and "그" not in korean
    ]
    said = [english for english, _ in training if english[0] == "he"]
    assert abs(len(without) / len(said) - 0.4) < 0.05
    polite = Counter(korean[-1] in ("요", "거예요") for _, korean in training)
    assert abs(polite[True] / 20_000 - 0.5) < 0.02


def test_lost_translations_are_empty_and_the_others_stay():
    whole, some = korean_choices(5_000, 10)[0], korean_choices(5_000, 10, lost=0.2)[0]
    assert [english for english, _ in whole] == [english for english, _ in some]
    assert 0.17 < sum(not korean for _, korean in some) / 5_000 < 0.23
    assert all(korean for _, korean in whole)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"training": 0}, "training: expected 1 to 132,427, got 0"),
        ({"held_out": 10**6}, "held_out: expected 1 to 132,427, got 1,000,000"),
        ({"training": 132_000, "held_out": 1_000}, "training and held_out: expected at most 132,428 together"),
        ({"lost": 1.0}, "lost: expected a share from 0 to less than 1, got 1.0"),
    ],
)
def test_lists_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        korean_choices(**options)

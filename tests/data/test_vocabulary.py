import pytest
import torch

from course_lib.data.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary


def test_special_ids_are_the_course_ones():
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert Vocabulary("ab").symbols == ("<pad>", "<bos>", "<eos>", "<unk>", "a", "b")


@pytest.mark.parametrize("sequence", ["", "abcba", "나는 너를"])
def test_round_trip_of_characters(sequence):
    vocabulary = Vocabulary.from_sequences(["abc", "나는 너를 사랑해"])
    assert "".join(vocabulary.decode(vocabulary.encode(sequence))) == sequence
    assert all(number >= len(SPECIAL) for number in vocabulary.encode(sequence))


def test_words_and_unknown_symbols():
    vocabulary = Vocabulary(["I", "love", "you"])
    assert vocabulary.encode(["I", "adore", "you"]) == [4, UNK, 6]
    assert vocabulary.decode([4, UNK, 6]) == ["I", "<unk>", "you"]


def test_decode_stops_at_the_first_end_and_skips_start_and_padding():
    vocabulary = Vocabulary("abc")
    assert vocabulary.decode([BOS, 4, PAD, 5, EOS, 6, PAD]) == ["a", "b"]
    assert vocabulary.decode(torch.tensor([6, EOS, 4])) == ["c"]


def test_order_of_the_sequences_does_not_matter():
    assert Vocabulary.from_sequences(["zebra", "jump"]).symbols[4:] == tuple("abejmpruz")
    assert Vocabulary.from_sequences(["cab", "d"]).symbols == Vocabulary.from_sequences(["d", "bca"]).symbols


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="symbols: 'a' stands twice"):
        Vocabulary("aba")
    with pytest.raises(ValueError, match="symbols: '<eos>'"):
        Vocabulary(["x", "<eos>"])
    with pytest.raises(TypeError, match="symbols: expected strings, got 3"):
        Vocabulary([3])
    for number in (-1, 6):
        with pytest.raises(ValueError, match=f"ids: {number} is not in a vocabulary of 6"):
            Vocabulary("ab").decode([number])
    with pytest.raises(TypeError, match="one row of ints"):
        Vocabulary("ab").decode(torch.tensor([[4], [5]]))

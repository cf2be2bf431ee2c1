"""WordPiece without upper case: how a text becomes words, and a word the longest pieces there are."""

import random
import string
import unicodedata

import pytest

from course_lib.data.wordpiece import CLS, LONGEST, SEP, UNK, WordPiece, split_word, words

SPECIAL = ("[PAD]", UNK, CLS, SEP)
LETTERS = [*"abc", *(f"##{c}" for c in "abc")]
PIECES = [*SPECIAL, *LETTERS, "ab", "abc", "##ca", "##bca", ".", "'", "東", "é"]


@pytest.fixture
def tokenizer():
    return WordPiece(PIECES)


# --- words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\r\u00a0\u3000\u2028 ", []),
        ("One TWO", ["one", "two"]),
        ("a\tb\nc\u00a0d\u2009e", ["a", "b", "c", "d", "e"]),
        ("didn't it?", ["didn", "'", "t", "it", "?"]),
        ("…well—no", ["…", "well", "—", "no"]),
        ("$5+x^2~`|<=>", ["$", "5", "+", "x", "^", "2", "~", "`", "|", "<", "=", ">"]),
        ("5 €, 3°", ["5", "€", ",", "3°"]),  # signs outside ASCII are no punctuation
        ("東京far", ["東", "京", "far"]),
        ("한글 ハナ", [unicodedata.normalize("NFD", "한글"), "ハナ"]),  # alphabets, cut by spaces alone
        ("a\x00b\x07c\ufffdd\u200be\ue000f\x0bg", ["abcdefg"]),
        ("Ångström naïve İ", ["angstrom", "naive", "i"]),
        ("ΟΔΟΣ", ["οδοσ"]),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_every_ascii_sign_is_a_word_of_its_own():
    for sign in string.punctuation:
        assert words(f"a{sign}b") == ["a", sign, "b"]


@pytest.mark.parametrize("text", ["Éa, b'c!", "東a(ß)", "Straße 12%", "나는 너를"])
def test_words_are_left_as_they_are_when_cut_again(text):
    once = words(text)
    assert words(" ".join(once)) == once
    assert words(unicodedata.normalize("NFD", text)) == once == words(unicodedata.normalize("NFC", text))


# --- pieces


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a", ["a"]),
        ("ab", ["ab"]),
        ("abca", ["abc", "##a"]),  # the longest first, though ab + ##ca would do as well
        ("aabca", ["a", "##a", "##bca"]),
        ("abd", [UNK]),
        ("dab", [UNK]),
        ("", []),
    ],
)
def test_the_longest_piece_first(word, expected):
    assert split_word(word, set(PIECES)) == expected


def test_a_piece_that_goes_on_does_not_begin_a_word():
    assert split_word("ca", {"##c", "##a", "##ca"}) == [UNK]
    assert split_word("cc", {"c"}) == [UNK]


def test_pieces_joined_are_the_word_and_none_could_be_longer():
    generator = random.Random(0)
    vocabulary = set(LETTERS)
    for length in (2, 3, 4):
        for _ in range(8):
            piece = "".join(generator.choices("abc", k=length))
            vocabulary.add(generator.choice(["", "##"]) + piece)
    for _ in range(300):
        word = "".join(generator.choices("abc", k=generator.randint(1, 12)))
        pieces = split_word(word, vocabulary)
        bare = [piece.removeprefix("##") for piece in pieces]
        assert "".join(bare) == word
        assert [piece.startswith("##") for piece in pieces] == [False] + [True] * (len(pieces) - 1)
        for number, piece in enumerate(pieces):
            rest = "".join(bare[number:])
            longer = [rest[:end] for end in range(len(bare[number]) + 1, len(rest) + 1)]
            assert not {f"##{part}" if piece.startswith("##") else part for part in longer} & vocabulary


def test_a_word_that_is_too_long_is_unknown():
    assert split_word("a" * LONGEST, set(PIECES)) == ["a"] + ["##a"] * (LONGEST - 1)
    assert split_word("a" * (LONGEST + 1), set(PIECES)) == [UNK]


# --- ids


def test_a_text_stands_between_cls_and_sep(tokenizer):
    assert tokenizer.pieces("Abca 東d.") == [CLS, "abc", "##a", "東", UNK, ".", SEP]
    assert tokenizer.pieces("") == [CLS, SEP]


def test_ids_are_places(tokenizer):
    text = "cab c'd 東. é"
    assert [PIECES[number] for number in tokenizer.encode(text)] == tokenizer.pieces(text)
    assert tokenizer.pad == 0 and tokenizer.vocabulary == tuple(PIECES)


def test_accents_go_even_where_a_piece_has_them(tokenizer):
    assert tokenizer.pieces("é") == [CLS, UNK, SEP]


def test_a_special_piece_in_a_text_is_text(tokenizer):
    assert SEP not in tokenizer.pieces("a [SEP] b")[1:-1]


def test_vocabularies_that_cannot_serve():
    with pytest.raises(ValueError, match=r"expected \[CLS\], \[SEP\] among its 3 pieces"):
        WordPiece(["[PAD]", "[UNK]", "a"])
    with pytest.raises(ValueError, match="stands twice"):
        WordPiece([*PIECES, "ab"])

"""WordPiece as BERT uses it, without upper case: a text becomes pieces of a vocabulary that is given.

Of each word the longest piece that begins it is taken, then the longest that goes on, and so forth; pieces that go on
begin with ## (Wu et al. 2016, section 4.1; Devlin et al. 2019, section 3.1).
"""

import unicodedata

PAD, UNK, CLS, SEP = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
LONGEST = 100  # letters; a longer word is unknown
# First and last of each block of Chinese characters, which no spaces part: each one is a word of its own.
HAN = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0x2F800, 0x2FA1F))


class WordPiece:
    """Texts to ids of BERT's kind.

    vocabulary: pieces, all different; the id is the place. Raises ValueError for one without [PAD], [UNK], [CLS] or
    [SEP]. These stand in a text as any other word would: "[SEP]" becomes three words.

    >>> pieces = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##able"])
    >>> pieces.pieces("Unable"), pieces.encode("Unable")
    (['[CLS]', 'un', '##able', '[SEP]'], [2, 4, 5, 3])
    """

    def __init__(self, vocabulary):
        self.vocabulary = tuple(vocabulary)
        self._ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        if len(self._ids) < len(self.vocabulary):
            raise ValueError("vocabulary: a piece stands twice")
        if absent := [piece for piece in (PAD, UNK, CLS, SEP) if piece not in self._ids]:
            raise ValueError(f"vocabulary: expected {', '.join(absent)} among its {len(self.vocabulary)} pieces")
        self.pad = self._ids[PAD]

    def pieces(self, text):
        """The text as a list of pieces, [CLS] before it and [SEP] behind it."""
        return [CLS, *(piece for word in words(text) for piece in split_word(word, self._ids)), SEP]

    def encode(self, text):
        """Ids of `pieces(text)`. Nothing is cut off: a model says itself how many it can read."""
        return [self._ids[piece] for piece in self.pieces(text)]


def words(text):
    """Words and marks of a text, in lower case and without accents: what is then split into pieces.

    >>> words("The café isn't far.")
    ['the', 'cafe', 'isn', "'", 't', 'far', '.']
    """
    spaced = "".join(map(_spaced, text))
    # Letter by letter: str.lower() of a whole word ends a Greek one with another sigma.
    plain = "".join(c.lower() for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
    return "".join(f" {c} " if _is_mark(c) else c for c in plain).split()


def split_word(word, vocabulary):
    """Pieces of one word, each the longest there is; [UNK] alone where the word cannot be made of pieces.

    vocabulary: anything that can say whether a piece is in it.

    >>> split_word("unable", {"un", "una", "##ble", "##able", "##b"})
    ['una', '##ble']
    """
    if len(word) > LONGEST:
        return [UNK]
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            return [UNK]
        pieces.append(piece)
        start = end
    return pieces


def _spaced(c):
    """A character as it is read: a Chinese one with spaces around it, any space as one, a control not at all."""
    kind = unicodedata.category(c)
    if c in "\t\n\r" or kind[0] == "Z":
        return " "
    if c == "\ufffd" or kind in ("Cc", "Cf", "Co"):
        return ""
    return f" {c} " if any(first <= ord(c) <= last for first, last in HAN) else c


def _is_mark(c):
    """Punctuation, and each of ASCII's signs too: $ and + are words of their own, as . is."""
    return unicodedata.category(c)[0] == "P" or (c.isascii() and c.isprintable() and not c.isalnum() and c != " ")

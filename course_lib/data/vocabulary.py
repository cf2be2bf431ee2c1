"""Symbols (characters or words) to ids and back."""

PAD, BOS, EOS, UNK = 0, 1, 2, 3
SPECIAL = ("<pad>", "<bos>", "<eos>", "<unk>")


class Vocabulary:
    """A list of symbols; the first four are PAD, BOS, EOS and UNK.

    symbols: strings, all different, none of them special; they get the ids 4, 5, ... in the order given.
    Raises TypeError for a symbol that is no string, ValueError for one that stands twice or is special.

    >>> letters = Vocabulary("ab")
    >>> letters.symbols, letters.encode("ab")
    (('<pad>', '<bos>', '<eos>', '<unk>', 'a', 'b'), [4, 5])
    """

    def __init__(self, symbols):
        self.symbols = (*SPECIAL, *symbols)
        self._ids = {}
        for number, symbol in enumerate(self.symbols):
            if not isinstance(symbol, str):
                raise TypeError(f"symbols: expected strings, got {symbol!r} of type {type(symbol).__name__}")
            if symbol in self._ids:
                raise ValueError(f"symbols: {symbol!r} stands twice (or is one of the special {', '.join(SPECIAL)})")
            self._ids[symbol] = number

    @classmethod
    def from_sequences(cls, sequences):
        """All symbols that occur in `sequences` (strings, or lists of words), sorted, so that order does not matter.

        >>> Vocabulary.from_sequences(["cab", "bee"]).symbols[4:]
        ('a', 'b', 'c', 'e')
        """
        return cls(sorted({symbol for sequence in sequences for symbol in sequence}))

    def __len__(self):
        return len(self.symbols)

    def encode(self, sequence):
        """Ids of a sequence: a string (one id a character) or a list of symbols. Unknown symbols become UNK.

        >>> Vocabulary("abc").encode("cab?")
        [6, 4, 5, 3]
        """
        return [self._ids.get(symbol, UNK) for symbol in sequence]

    def decode(self, ids):
        """Symbols of one row of ids, up to the first EOS; PAD and BOS are left out. ids: ints, or a tensor (T,).

        Raises TypeError for what is not one row of ints, ValueError for an id that is not in the vocabulary.

        >>> "".join(Vocabulary("abc").decode([1, 6, 4, 5, 2, 0, 0]))
        'cab'
        """
        numbers = ids.tolist() if hasattr(ids, "tolist") else list(ids)
        if numbers and not all(isinstance(number, int) for number in numbers):
            raise TypeError("ids: expected one row of ints; decode a batch row by row")
        if EOS in numbers:
            numbers = numbers[: numbers.index(EOS)]
        for number in numbers:
            if not 0 <= number < len(self):
                raise ValueError(f"ids: {number} is not in a vocabulary of {len(self)}")
        return [self.symbols[number] for number in numbers if number not in (PAD, BOS)]

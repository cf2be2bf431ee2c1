"""What `sampler` takes, and what it says to everything else."""

MOST_SENTENCES = 8
MOST_LENGTH = 20  # tokens


def check(next_logits, sentences, symbols, eos, spell, max_length):
    """The sentences, each once, and the symbols, as lists. Raises where an argument does not fit."""
    for name, function in (("next_logits", next_logits), ("spell", spell)):
        if not callable(function):
            raise TypeError(f"{name}: expected a function, got a {type(function).__name__}")
    texts = list(dict.fromkeys(_texts(sentences, "sentences")))
    symbols = _texts(symbols, "symbols")
    if not 1 <= len(texts) <= MOST_SENTENCES:
        raise ValueError(f"sentences: expected 1 to {MOST_SENTENCES}, got {len(texts)}")
    if len(symbols) < 2:
        raise ValueError(f"symbols: expected at least 2, a token and the end, got {len(symbols)}")
    if not isinstance(eos, int) or eos not in range(len(symbols)):
        raise ValueError(f"eos: expected an id from 0 to {len(symbols) - 1}, got {eos!r}")
    if not isinstance(max_length, int) or max_length not in range(1, MOST_LENGTH + 1):
        raise ValueError(f"max_length: expected 1 to {MOST_LENGTH} tokens, got {max_length!r}")
    return texts, symbols


def _texts(given, name):
    """A list of texts. Raises TypeError for one text, and for what is none."""
    if isinstance(given, str):
        raise TypeError(f"{name}: expected a list of texts, got the one text {given!r:.60}")
    texts = list(given)
    wrong = [text for text in texts if not isinstance(text, str)]
    if wrong:
        raise TypeError(f"{name}: expected texts, got {wrong[0]!r:.60} among them")
    return texts

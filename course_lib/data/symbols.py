"""Copy and reverse: tasks whose only difficulty is to remember. Their length is ours to choose."""

import random
import string

ALPHABET = string.ascii_lowercase
TASKS = ("copy", "reverse")


def symbol_pairs(task, count, *, lengths=(3, 20), alphabet=ALPHABET, seed=0):
    """Random strings with their copy or their reversal.

    task: "copy" or "reverse". count: how many pairs. lengths: (shortest, longest), both included, equally likely.
    Returns a list of (source, target) strings; the same arguments give the same pairs on every machine.
    Raises ValueError for another task, lengths out of order or below 1, and an empty alphabet.

    >>> symbol_pairs("reverse", 1, lengths=(4, 4), alphabet="ab", seed=1)
    [('bbaa', 'aabb')]
    """
    if task not in TASKS:
        raise ValueError(f"task: expected one of {TASKS}, got {task!r}")
    shortest, longest = lengths
    if not 1 <= shortest <= longest:
        raise ValueError(f"lengths: expected 1 <= shortest <= longest, got {lengths}")
    if not alphabet:
        raise ValueError("alphabet: expected at least one symbol")
    source_of = random.Random(seed)
    sources = ["".join(source_of.choices(alphabet, k=source_of.randint(shortest, longest))) for _ in range(count)]
    return [(source, source if task == "copy" else source[::-1]) for source in sources]

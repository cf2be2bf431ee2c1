"""Pairs cut into a part to train on and parts to judge by, so that no part knows a sentence of another."""

import hashlib
from typing import NamedTuple

from course_lib.data.pairs_text import tidy


class Split(NamedTuple):
    """Lists of (source, target), each in the order given; `dropped` are held-out pairs whose target is known already.

    Together they hold every pair once.

    >>> Split([("Go!", "가!")], [], [], dropped=[]).training
    [('Go!', '가!')]
    """

    training: list
    validation: list
    test: list
    dropped: list


def place_of(source, seed=0):
    """A number from 0 to 1 that only the source sentence and the seed decide, evenly spread: SHA-256, not `hash`.

    Python's own `hash` of a text is another one in each process.

    >>> place_of("Go!") == place_of(" Go!  ") != place_of("Go!", seed=1)
    True
    """
    digest = hashlib.sha256(f"{seed}\0{tidy(source)}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def split_pairs(pairs, *, validation=0.05, test=0.05, seed=0, unseen_targets=True):
    """Cut (source, target) strings by their source: all translations of a sentence lie in one part. Returns a `Split`.

    validation, test: shares of the source sentences, about so many. unseen_targets: drop from validation what training
    has the target of, and from test what either has: another sentence may have the same translation, which a model
    could then know by heart.
    Where a pair goes is decided by its source and the seed alone (`place_of`): no order of the lines, and no pair that
    is added later, moves a sentence from one part to another.
    Raises ValueError for shares that leave nothing to train on, and where a part that was asked for is empty.

    >>> pairs = [(f"{source}", f"{2 * source}") for source in range(100)]
    >>> split = split_pairs(pairs, validation=0.2, test=0.2)
    >>> sorted(split.training + split.validation + split.test) == sorted(pairs)  # no two have the same target
    True
    """
    for name, share in (("validation", validation), ("test", test)):
        if not 0 <= share < 1:
            raise ValueError(f"{name}: expected a share from 0 to 1, got {share}")
    if validation + test >= 1:
        raise ValueError(f"validation and test: {validation} + {test} leave nothing to train on")
    parts = {"training": [], "validation": [], "test": []}
    for source, target in pairs:
        place = place_of(source, seed)
        name = "test" if place < test else "validation" if place < test + validation else "training"
        parts[name].append((source, target))
    dropped = []
    if unseen_targets:
        known = {tidy(target) for _, target in parts["training"]}
        for name in ("validation", "test"):
            new = [tidy(target) not in known for _, target in parts[name]]
            dropped += [pair for pair, keep in zip(parts[name], new, strict=True) if not keep]
            parts[name] = [pair for pair, keep in zip(parts[name], new, strict=True) if keep]
            known |= {tidy(target) for _, target in parts[name]}
    for name, share in (("training", 1), ("validation", validation), ("test", test)):
        if share and not parts[name]:
            raise ValueError(
                f"{name}: no pair of {len(pairs)} is left for it ({len(dropped)} dropped for a target known already). "
                "Take a larger share, another seed, or more pairs"
            )
    return Split(**parts, dropped=dropped)

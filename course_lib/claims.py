"""The claims of a lesson: numbers in the prose that a cell produces and asserts."""

import os


def smoke_mode():
    """True when a lesson only has to run, not to train (`COURSE_SMOKE=1`): two steps, claims counted."""
    return os.environ.get("COURSE_SMOKE") == "1"


class ClaimFailed(AssertionError):
    """A sentence of the lesson does not hold on this machine."""


def claim(sentence, holds):
    """Assert that a sentence of the lesson is true here, and say so in one line.

    sentence: what the prose says, as the reader sees it. holds: a bool (0-d tensors and numpy bools too).
    In smoke mode nothing was trained, so the claim is only listed. Raises ClaimFailed, naming the sentence.
    """
    if smoke_mode():
        print(f"· not measured in a smoke run: {sentence}")
        return
    if not bool(holds):
        raise ClaimFailed(f"the lesson says: {sentence}. On this machine it does not hold.")
    print(f"✓ {sentence}")

"""The claims of a lesson: numbers in the prose that a cell produces and asserts."""

import os


def smoke_mode():
    """True when a lesson only has to run, not to train (`COURSE_SMOKE=1`): two steps, claims counted.

    >>> smoke_mode()
    False
    """
    return os.environ.get("COURSE_SMOKE") == "1"


class ClaimFailed(AssertionError):
    """A sentence of the lesson does not hold on this machine.

    >>> issubclass(ClaimFailed, AssertionError)
    True
    """


def claim(sentence, holds):
    """Assert that a sentence of the lesson is true here, and say so in one line.

    sentence: what the prose says, as the reader sees it. holds: a bool (0-d tensors and numpy bools too).
    In smoke mode nothing was trained, so the claim is only listed. Raises ClaimFailed, naming the sentence.

    >>> claim("A softmax row adds up to 1", sum([0.25, 0.75]) == 1)
    ✓ A softmax row adds up to 1
    >>> claim("Two and two is five", 2 + 2 == 5)
    Traceback (most recent call last):
    course_lib.claims.ClaimFailed: the lesson says: Two and two is five. On this machine it does not hold.
    """
    if smoke_mode():
        print(f"· not measured in a smoke run: {sentence}")
        return
    if not bool(holds):
        raise ClaimFailed(f"the lesson says: {sentence}. On this machine it does not hold.")
    print(f"✓ {sentence}")

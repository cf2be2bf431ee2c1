"""What a check can say."""

import textwrap
from dataclasses import asdict, dataclass

PASSED = "passed"
NOT_ATTEMPTED = "not attempted"
WRONG = "wrong"
FAILED = "failed"
TOO_SLOW = "too slow"

SEEN_IN = "  seen in:"
WIDTH = 80


@dataclass(frozen=True)
class Outcome:
    """The result of one check.

    status: one of the five above. message: what the learner reads, ending with a question unless passed.
    mistake: the known mistake that was recognised, else None. law: the law that is broken, else None.
    where: the call that showed it. note: something worth saying about an answer that passed.
    """

    exercise: str
    status: str
    message: str = ""
    mistake: str | None = None
    law: str | None = None
    where: str = ""
    note: str = ""
    seed: int = 0

    @property
    def passed(self):
        return self.status == PASSED

    def lines(self):
        """The outcome as plain lines; the first one is the verdict, then the message, then where it was seen."""
        mark = "✓" if self.passed else "✗"
        text = [f"{mark} {self.exercise}: {self.status}"]
        for line in self.message.splitlines():
            # Lab breaks long lines in the middle of words.
            short = len(line) <= WIDTH
            text += [f"  {line}"] if short else textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")
        if self.status in (WRONG, FAILED, TOO_SLOW):
            text.append(f"{SEEN_IN} {self.where or self.law or self.exercise} (seed={self.seed})")
        if self.note:
            text.append(f"  note: {self.note}")
        return text

    def as_dict(self):
        return asdict(self)


class CheckFailed(AssertionError):
    """Raised by `check` when an answer did not pass; shows the message alone, without a traceback."""

    def __init__(self, outcome):
        self.outcome = outcome
        super().__init__("\n".join(outcome.lines()))

    def _render_traceback_(self):
        """The hook that IPython, nbclient and nbval ask for what to show."""
        return self.outcome.lines()

"""What a check can say."""

import re
import textwrap
from dataclasses import asdict, dataclass

PASSED = "passed"
NOT_ATTEMPTED = "not attempted"
WRONG = "wrong"
FAILED = "failed"
TOO_SLOW = "too slow"

WIDTH = 80
WITHIN = re.compile(r" (?!\w+=)(?=[^()\[\]]*[)\]])")  # the spaces of (3, 4) in a call, not those before its arguments


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
            text += wrapped(line)
        if self.status in (WRONG, FAILED, TOO_SLOW) and (self.where or self.law):
            text += seen_in(f"{self.where or self.law} (seed={self.seed})")
        if self.note:
            text.append(f"  note: {self.note}")
        return text

    def as_dict(self):
        return asdict(self)


def wrapped(line, further="  "):
    """A line as indented lines that fit, since Lab breaks longer ones in the middle of words.

    further: the indent of those after the first. What is as short as a line may be stays as it is, spaces included.
    """
    if len(line) <= WIDTH:
        return [f"  {line}"]
    return textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent=further, break_long_words=False)


def seen_in(call):
    """The lines that say which call showed it, broken between its arguments."""
    whole = WITHIN.sub("\N{NO-BREAK SPACE}", f"seen in: {call}")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped(whole, "    ")]


class CheckFailed(AssertionError):
    """Raised by `check` when an answer did not pass; shows the message alone, without a traceback."""

    def __init__(self, outcome):
        self.outcome = outcome
        super().__init__("\n".join(outcome.lines()))

    def _render_traceback_(self):
        """The hook that IPython, nbclient and nbval ask for what to show."""
        return self.outcome.lines()

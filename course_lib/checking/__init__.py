"""The check engine: it runs an answer beside a reference and beside every known mistake, and says which one it is."""

from .engine import examine
from .exercise import Case, Exercise, Law, Mistake, mistake
from .outcome import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG, CheckFailed, Outcome

__all__ = [
    "FAILED", "NOT_ATTEMPTED", "PASSED", "TOO_SLOW", "WRONG",
    "Case", "CheckFailed", "Exercise", "Law", "Mistake", "Outcome", "examine", "mistake",
]  # fmt: skip

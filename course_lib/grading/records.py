"""What grading passes on from step to step, in plain data: everything here can become JSON and come back."""

from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """One notebook of an assignment: the lesson's name ("05_self_attention_and_masks"), points by exercise in order."""

    lesson: str
    points: dict[str, float]


@dataclass(frozen=True)
class Assignment:
    """What is graded. name: as in nbgrader's folders. diagnoses, solution: what the released notebooks offer."""

    name: str
    parts: tuple[Part, ...]
    diagnoses: bool = True
    solution: bool = True

    def as_dict(self):
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        """Raises KeyError and TypeError where `data` is no assignment."""
        return cls(**{**data, "parts": tuple(Part(**part) for part in data["parts"])})


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    student: the id in reports. name: as the roster has it, or "". files: notebooks, whatever their state.
    notes: what a reader of the report should know of how they were found.
    """

    student: str
    name: str = ""
    files: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A code cell that is run. exercise: whose answer it holds, or None. place: "cell 7" of the file handed in."""

    source: str
    place: str
    exercise: str | None = None


@dataclass(frozen=True)
class Work:
    """One submitted notebook, put in order for grading.

    own: the learner's cells in their order, answers among them, checks left out. answers: for each exercise the cells
    that define it as it counts, run once more at the end; an empty tuple where nothing defines it.
    file: the name of the file taken. notes: what was repaired. trouble: why nothing of the file can be graded, or "".
    """

    lesson: str
    own: tuple[Cell, ...] = ()
    answers: dict[str, tuple[Cell, ...]] = field(default_factory=dict)
    file: str = ""
    notes: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True)
class Mark:
    """What one exercise got, and why.

    status, message, mistake, law, where: as in `checking.Outcome`. note: what the grader adds. aspects: {"values":
    True, "masks": False, ...}, the named parts that partial credit counts. followed: earlier answers in whose place the
    judge's functions stood. flags: what an instructor may want to look at; it costs nothing. matrix: what the learner's
    own result looked like in the call named by `where`, rows of numbers, or None. answer: the learner's source.
    """

    exercise: str
    lesson: str
    points: float
    earned: float
    status: str
    message: str = ""
    mistake: str | None = None
    law: str | None = None
    where: str = ""
    note: str = ""
    aspects: dict[str, bool] = field(default_factory=dict)
    followed: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    matrix: list | None = None
    answer: str = ""


@dataclass(frozen=True)
class Report:
    """All marks of one student. files: the files taken. trouble: why (some of) it could not be graded, or ""."""

    student: str
    name: str = ""
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trouble: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def earned(self):
        return sum(mark.earned for mark in self.marks)

    @property
    def points(self):
        return sum(mark.points for mark in self.marks)

    def as_dict(self):
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        """Raises KeyError and TypeError where `data` is no report."""
        marks = tuple(Mark(**_with_tuples(mark, ("followed", "flags"))) for mark in data["marks"])
        return cls(**{**_with_tuples(data, ("files", "notes")), "marks": marks})


def _with_tuples(data, keys):
    """JSON knows lists alone."""
    return {**data, **{key: tuple(data[key]) for key in keys}}

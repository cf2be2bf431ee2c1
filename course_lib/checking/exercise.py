"""What an exercise is: a reference, cases, laws, and the mistakes that people make."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    """One call of the learner's function.

    label: what is special about it, as the learner reads it ("three axes, dim=1").
    args, kwargs: tensors, numbers, strings, None, callables of the course, and tuples, lists or dicts of them.
    group: cases of one group are judged together; the first group that fails is the one explained.
    gradient: whether vector-Jacobian products are compared here as well.
    """

    label: str
    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    group: str = "values"
    gradient: bool = True


@dataclass(frozen=True)
class Mistake:
    """A wrong implementation that people really write.

    name: short id, unique in its exercise. wrong: the implementation itself.
    message: names the mistake and ends with the question that leads to the fix; never an expected number.
    source: ids of `mistakes.yaml`, or one line on why people write it.
    """

    name: str
    wrong: Callable
    message: str
    source: str

    def __post_init__(self):
        if not self.message.rstrip().endswith("?"):
            raise ValueError(f"mistake {self.name!r}: the message must end with a question, got {self.message!r}")
        if not self.source.strip():
            raise ValueError(f"mistake {self.name!r}: give its source, an id or one line on why people write it")


def mistake(message, *, source):
    """Decorator: turn a wrong implementation into a Mistake that carries the function's name."""
    return lambda wrong: Mistake(wrong.__name__, wrong, message, source)


@dataclass(frozen=True)
class Law:
    """A property that every right answer has, whatever its values.

    broken(function, cases, generator) returns None when the law holds, else a few words on how it is broken.
    question: what the learner should ask when it is.
    """

    name: str
    broken: Callable[[Callable, list[Case], torch.Generator], str | None]
    question: str


@dataclass(frozen=True)
class Exercise:
    """One exercise. The learner's function (or class) has the same name and signature as the reference.

    reference: textbook version, exact in float64. cases: drawn from a generator, from simple to rich; sizes all
    different, then sizes that coincide, so that a wrong axis first fails and then shows itself.
    accepts: other right answers, different in operations. forbidden: torch names that do the work (reported when
    graded, never punished). is_module: the answer is an nn.Module; its state names are those of the reference.
    """

    name: str
    reference: Callable
    cases: Callable[[torch.Generator], Iterable[Case]]
    mistakes: tuple[Mistake, ...]
    accepts: tuple[Callable, ...]
    hints: tuple[str, ...]
    laws: tuple[Law, ...] = ()
    minutes: int = 5
    difficulty: int = 1
    points: int = 1
    forbidden: tuple[str, ...] = ()
    is_module: bool = False

    def __post_init__(self):
        names = [mistake.name for mistake in self.mistakes]
        if len(set(names)) != len(names):
            raise ValueError(f"exercise {self.name!r}: two mistakes share a name: {sorted(names)}")
        if not self.hints:
            raise ValueError(f"exercise {self.name!r}: give at least one hint")

    def draw_cases(self, seed):
        """The cases of this seed, a list: the same list every time, in every process."""
        return list(self.cases(torch.Generator().manual_seed(seed)))

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

    >>> case = Case("three axes, dim=1", (torch.zeros(2, 3, 5),), {"dim": 1})
    >>> case.args[0].softmax(**case.kwargs).shape
    torch.Size([2, 3, 5])
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
    Raises ValueError for a message that does not end with a question, and for no source.

    >>> Mistake("no_mean", sum, "You add up.", source="A001")
    Traceback (most recent call last):
    ValueError: mistake 'no_mean': the message must end with a question, got 'You add up.'
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
    """Decorator: turn a wrong implementation into a Mistake that carries the function's name. Errors as in `Mistake`.

    >>> @mistake("You add up and do not divide. By what does a mean divide?", source="the step that is forgotten")
    ... def not_divided(x):
    ...     return x.sum(dim=0)
    >>> not_divided.name, not_divided.wrong(torch.ones(3)).item()
    ('not_divided', 3.0)
    """
    return lambda wrong: Mistake(wrong.__name__, wrong, message, source)


@dataclass(frozen=True)
class Law:
    """A property that every right answer has, whatever its values.

    broken(function, cases, generator) returns None when the law holds, else a few words on how it is broken.
    question: what the learner should ask when it is.

    >>> def broken(function, cases, generator):
    ...     return None if all(function(*case.args).min() >= 0 for case in cases) else "a result is below 0"
    >>> law = Law("never negative", broken, "What is the sign of a square?")
    >>> law.broken(torch.neg, [Case("ones", (torch.ones(2),))], torch.Generator())
    'a result is below 0'
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
    hints: shown one by one, at least one. minutes, difficulty (1 is easy), points: for plans and for marks.
    Raises ValueError for two mistakes of one name, and for no hint.

    >>> def mean(x):
    ...     return x.mean(dim=0)
    >>> def cases(generator):
    ...     yield Case("one axis", (torch.randn(4, generator=generator, dtype=torch.float64),))
    >>> exercise = Exercise("mean", mean, cases, mistakes=(), accepts=(), hints=("By what does a mean divide?",))
    >>> exercise.draw_cases(seed=0)[0].args[0].equal(exercise.draw_cases(seed=0)[0].args[0])
    True
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

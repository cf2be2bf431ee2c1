"""The mistake matrix: every exercise against its reference, its other right answers, its stub and every mistake."""

from .engine import examine
from .observe import STUB_TEXT
from .outcome import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG


def stub_of(exercise):
    """A function of the exercise's name that is still unwritten."""

    def stub(*args, **kwargs):
        raise NotImplementedError(STUB_TEXT)

    stub.__name__ = stub.__qualname__ = exercise.name
    stub.__code__ = stub.__code__.replace(co_name=exercise.name, co_qualname=exercise.name)
    return stub


def implementations(exercise):
    """Every implementation that ships with an exercise: (kind, index, name, source, function)."""
    yield "reference", 0, exercise.reference.__name__, "", exercise.reference
    for index, accept in enumerate(exercise.accepts):
        yield "accept", index, accept.__name__, "", accept
    yield "stub", 0, "stub", "", stub_of(exercise)
    for index, mistake in enumerate(exercise.mistakes):
        yield "mistake", index, mistake.name, mistake.source, mistake.wrong


def implementation(exercise, kind, index):
    """One of them, by kind and index."""
    return next(f for k, i, _, _, f in implementations(exercise) if (k, i) == (kind, index))


def is_right(row):
    """Whether a row is as it must be: right answers pass, the stub is not attempted, a mistake is named as itself."""
    if row["kind"] in ("reference", "accept"):
        return row["outcome"] == PASSED
    if row["kind"] == "stub":
        return row["outcome"] == NOT_ATTEMPTED
    return row["outcome"] in (WRONG, FAILED, TOO_SLOW) and row["named"] == row["name"]


def rows(exercises, seeds, load=None):
    """Yield one row for each exercise, implementation and seed.

    load(exercise, kind, index): where the function comes from; by default from this process, for the remote matrix
    from another one.
    """
    for exercise in exercises:
        for kind, index, name, source, function in implementations(exercise):
            for seed in seeds:
                answer = load(exercise, kind, index) if load else function
                outcome = examine(exercise, answer, seed=seed)
                yield {
                    "exercise": exercise.name,
                    "kind": kind,
                    "name": name,
                    "source": source,
                    "seed": seed,
                    "outcome": outcome.status,
                    "named": outcome.mistake,
                    "message": outcome.message,
                }

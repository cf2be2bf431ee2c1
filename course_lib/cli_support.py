"""What the commands of the command line share: options, and one line where a name is unknown."""

import difflib
from contextlib import contextmanager
from typing import Annotated

import typer

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": True}
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON for other programs.")]
LESSON = "A lesson: 1, 01 or 01_bottleneck."


class UnknownName(LookupError):
    """No experiment, benchmark or package of weights has this name; the text gives the nearest ones."""


def pick(name, table, kind):
    """table[name]; raises UnknownName with the nearest names where there is none."""
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name, table, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(table) or 'none yet'}"
    raise UnknownName(f"there is no {kind} {name!r}; {hint}")


@contextmanager
def known():
    """End with status 2 and one line where whatever was named is unknown, or a lesson's source cannot be read."""
    from course_lib.authoring.catalogue import SourceError, UnknownLesson
    from course_lib.exercises import UnknownExercise

    try:
        yield
    except (UnknownLesson, UnknownExercise, UnknownName, SourceError) as error:
        fail(str(error))


def fail(message):
    typer.echo(f"course: {message}", err=True)
    raise typer.Exit(2)

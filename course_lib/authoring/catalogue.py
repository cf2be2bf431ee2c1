"""The lessons of the course, read from the headers of their sources."""

import difflib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE_NAME = re.compile(r"(\d\d)_([a-z0-9_]+)\.py")


class SourceError(ValueError):
    """The source of a lesson cannot be used; the text names the file and what is wrong with it."""


class UnknownLesson(LookupError):
    """No lesson has this name or number; the text gives the nearest ones."""


@dataclass(frozen=True)
class Lesson:
    """What the header of a source says, and where the files of the lesson are."""

    number: int
    name: str  # "01_bottleneck", the stem of all three files
    title: str
    question: str
    outcomes: tuple[str, ...]
    minutes: int
    prerequisites: tuple[str, ...]
    exercises: tuple[str, ...]
    source: Path  # solutions/01_bottleneck.py
    solution: Path  # solutions/01_bottleneck.ipynb
    notebook: Path  # notebooks/01_bottleneck.ipynb


def is_text(value):
    return isinstance(value, str) and bool(value.strip())


def is_texts(value):
    return isinstance(value, list) and all(is_text(entry) for entry in value)


def is_names(value):
    return is_texts(value) and all(name.isidentifier() for name in value) and len(set(value)) == len(value)


# key -> (what the header must give, test for it)
HEADER = {
    "title": ("a text", is_text),
    "question": ("a text", is_text),
    "outcomes": ("a list of texts", is_texts),
    "minutes": ("a whole number of at least 1", lambda value: type(value) is int and value > 0),
    "prerequisites": ("a list of texts", is_texts),
    "exercises": ("a list of different function names", is_names),
}


def repo_root():
    """The folder that holds `course_lib/`, `solutions/` and `notebooks/`."""
    return Path(__file__).resolve().parents[2]


def lessons(root=None):
    """All lessons under `root` (default: this repository), by number.

    Raises SourceError for a header that lacks something, and for two sources of the same number.
    """
    root = Path(root or repo_root())
    found = [read_lesson(path) for path in sorted((root / "solutions").glob("*.py"))]
    for one, next_one in zip(found, found[1:], strict=False):
        if one.number == next_one.number:
            raise SourceError(f"{one.source.name} and {next_one.source.name} have the same number")
    return tuple(found)


def lesson(key, root=None):
    """The lesson with this number (1, "1", "01") or name ("01_bottleneck", "bottleneck").

    Raises UnknownLesson, with the nearest names, when there is none.
    """
    known = lessons(root)
    text = str(key).strip()
    for one in known:
        if text in (one.name, one.name[3:]) or (text.isdecimal() and int(text) == one.number):
            return one
    names = [one.name for one in known]
    near = difflib.get_close_matches(text, [*names, *(name[3:] for name in names)], n=2, cutoff=0.5)
    near = [name for name in names if name in near or name[3:] in near]
    raise UnknownLesson(
        f"there is no lesson {text!r}; "
        + (f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}")
    )


def read_lesson(path):
    """The Lesson that a source describes. Raises SourceError, naming the file and the key."""
    path = Path(path).resolve()
    match = FILE_NAME.fullmatch(path.name)
    if not match:
        raise SourceError(f"{path.name}: the source of a lesson is called NN_name.py, in small letters")
    header = read_source(path, path.stat().st_mtime_ns).metadata.get("course")
    if not isinstance(header, dict):
        raise SourceError(f"{path.name}: the header has no `course:` under `jupyter:`")
    wrong = [f"lacks `{key}` ({wanted})" for key, (wanted, _) in HEADER.items() if key not in header]
    wrong += [
        f"must give `{key}` {wanted}, got {header[key]!r}"
        for key, (wanted, holds) in HEADER.items()
        if key in header and not holds(header[key])
    ]
    wrong += [f"has an unknown key `{key}` (known are {', '.join(HEADER)})" for key in header if key not in HEADER]
    if wrong:
        raise SourceError(f"{path.name}: the header {'; '.join(wrong)}")
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in header.items()}
    return Lesson(
        number=int(match[1]),
        name=path.stem,
        source=path,
        solution=path.with_suffix(".ipynb"),
        notebook=path.parents[1] / "notebooks" / f"{path.stem}.ipynb",
        **values,
    )


@cache
def read_source(path, _changed):
    """The source as jupytext reads it; callers must not change it. `_changed` is part of the cache key only."""
    import jupytext  # takes a second

    try:
        return jupytext.read(path, fmt="py:percent")
    except Exception as error:  # jupytext lets errors of the YAML reader and of the codec through
        raise SourceError(f"{path.name}: cannot be read as a percent script: {error}") from error

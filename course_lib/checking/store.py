"""What the course remembers of a learner: progress and passed answers, in small files under `.course/`.

Files are written whole and put in place in one step, one process at a time. What a file holds is never lost: a file
that makes no sense, or that a newer version of the course wrote, is set aside under another name, said, and what can be
read of it goes on; one that the system does not let us read is left as it is, and nothing is written over it. A folder
that cannot be written is said once. None of this stops a lesson.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from .locks import alone_in

VERSION = 1
PROGRESS, WORK = "progress.json", "work.py"
HEAD = "# Your answers that passed, kept for later lessons. `mine(name)` reads them.\n"
_SECTION = re.compile(r"^# %% (\w+)$", re.MULTILINE)
_COUNTS = ("attempts", "hints")
_said = set()


def course_home():
    """The folder that holds `.course/`: COURSE_HOME, else the nearest one above that holds `course.py`, else here."""
    if os.environ.get("COURSE_HOME"):
        return Path(os.environ["COURSE_HOME"])
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "course.py").is_file()), here)


def _folder():
    return course_home() / ".course"


def _say_once(text):
    if text not in _said:
        _said.add(text)
        print(f"note: {text}", file=sys.stderr)


def _read(name):
    """The text of a file; None where there is none, or nothing but damage, which is set aside then. Raises OSError."""
    path = _folder() / name
    try:
        if path.is_dir():
            return _set_aside(name)
        return path.read_text(encoding="utf-8-sig")  # an editor on Windows may have put a mark before the text
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        return _set_aside(name)


def _write(name, text):
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=name)
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())  # or the new name could reach the disk before the content
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        _say_once(f"{name} cannot be saved ({error.strerror}); the lesson goes on, but this is not remembered")


def _set_aside(name, why="could not be read", kind="damaged"):
    """Give a file another name, and say so. Returns None."""
    damaged = _folder() / name
    number = 1
    while (kept := damaged.with_name(f"{name}.{kind}-{number}")).exists():
        number += 1
    try:
        os.replace(damaged, kept)
        _say_once(f"{name} {why}; it is kept as {kept.name}, and a new one begins")
    except OSError as error:
        _say_once(f"{name} {why} ({error.strerror}); it is left where it is")


def _left_alone(name, error):
    _say_once(f"{name} cannot be read ({error.strerror}), so it cannot be saved either; the lesson goes on without it")


@contextlib.contextmanager
def _changing():
    """Nobody else changes the files meanwhile."""
    with contextlib.suppress(OSError):  # whoever writes says what is wrong
        _folder().mkdir(parents=True, exist_ok=True)
    with alone_in(_folder()):
        yield


def load_progress():
    """Progress by exercise: {"softmax": {"status", "attempts", "hints"}}; empty when there is none.

    An entry has a status at least; counts, where it has them, are whole numbers.
    """
    with alone_in(_folder()):
        try:
            return _progress()
        except OSError as error:
            _left_alone(PROGRESS, error)
            return {}


def _progress():
    """What `load_progress` returns. Raises OSError where the file cannot be read."""
    text = _read(PROGRESS)
    if text is None:
        return {}
    entries, trouble = _understood(text)
    if trouble:
        _set_aside(PROGRESS, *trouble)
        if entries:
            _write_progress(entries)
    return entries


def _understood(text):
    """(the entries of a progress file that make sense, what `_set_aside` needs to know where that is not all of it)."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    content = content if isinstance(content, dict) else {}
    entries, version = content.get("exercises"), content.get("version", VERSION)
    good = {}
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("status"), str):
            wrong = [key for key in _COUNTS if key in entry and (type(entry[key]) is not int or entry[key] < 0)]
            good[name] = {key: value for key, value in entry.items() if key not in wrong}
    if isinstance(version, int) and version > VERSION:
        return good, (f"was written by a newer version of the course ({version})", "newer")
    return good, () if good == entries and isinstance(version, int) else ("could not be read", "damaged")


def _write_progress(exercises):
    _write(PROGRESS, json.dumps({"version": VERSION, "exercises": exercises}, indent=1) + "\n")


def update_progress(name, **changes):
    """Merge changes into the entry of one exercise and save; returns the entry.

    A pass is never taken back, and counts never go down: another kernel may have counted on meanwhile.
    """
    with _changing():
        try:
            exercises, readable = _progress(), True
        except OSError as error:
            _left_alone(PROGRESS, error)
            exercises, readable = {}, False
        entry = {"status": "not attempted", "attempts": 0, "hints": 0, **exercises.get(name, {})}
        if entry["status"] == "passed":
            changes.pop("status", None)
        for key in changes.keys() & set(_COUNTS):
            changes[key] = max(changes[key], entry[key])
        entry.update(changes)
        if readable:
            _write_progress({**exercises, name: entry})
        return entry


def load_work():
    """Source of every answer that passed, by exercise, from `work.py`."""
    with alone_in(_folder()):
        try:
            return _work()[1]
        except OSError as error:
            _left_alone(WORK, error)
            return {}


def _work():
    """(what stands above the first answer, the answers). Raises OSError where the file cannot be read."""
    head, *parts = _SECTION.split(_read(WORK) or "")
    if not parts and any(line.strip() and not line.startswith("#") for line in head.splitlines()):
        _set_aside(WORK)
        head = ""
    return head, {name: source.strip("\n") for name, source in zip(parts[::2], parts[1::2], strict=True)}


def save_work(name, source):
    """Keep the source of an answer that passed; the newest one of each exercise stays."""
    with _changing():
        try:
            head, work = _work()
        except OSError as error:
            return _left_alone(WORK, error)
        work[name] = _SECTION.sub(r"#  %% \1", source.strip("\n"))  # a comment of the learner's begins no other answer
        head = head.rstrip("\n") + "\n" if head.strip() else HEAD
        _write(WORK, head + "".join(f"\n# %% {key}\n{text}\n" for key, text in work.items()))

"""What the course remembers of a learner: progress and passed answers, in small files under `.course/`.

Files are written whole and put in place in one step. A file that cannot be read is set aside, said, and never stops a
lesson; a folder that cannot be written is said once, and the lesson goes on without memory.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

VERSION = 1
_SECTION = re.compile(r"^# %% (\w+)$", re.MULTILINE)
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
    try:
        return (_folder() / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        _set_aside(name)
    except OSError as error:
        _say_once(f"{name} cannot be read ({error.strerror}); the lesson goes on without it")
    return None


def _write(name, text):
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=name)
        try:
            with open(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            os.replace(temporary, folder / name)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        _say_once(f"{name} cannot be saved ({error.strerror}); the lesson goes on, but this is not remembered")


def _set_aside(name):
    damaged = _folder() / name
    number = 1
    while (kept := damaged.with_name(f"{name}.damaged-{number}")).exists():
        number += 1
    try:
        os.replace(damaged, kept)
        _say_once(f"{name} could not be read; it is kept as {kept.name}, and a new one begins")
    except OSError as error:
        _say_once(f"{name} could not be read ({error.strerror}); it is left where it is")


def load_progress():
    """Progress by exercise: {"softmax": {"status", "attempts", "hints"}}; empty when there is none."""
    text = _read("progress.json")
    if text is None:
        return {}
    try:
        exercises = json.loads(text)["exercises"]
        if all(isinstance(entry, dict) and isinstance(entry.get("status"), str) for entry in exercises.values()):
            return exercises
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    _set_aside("progress.json")
    return {}


def update_progress(name, **changes):
    """Merge changes into the entry of one exercise and save; returns the entry. A pass is never taken back."""
    exercises = load_progress()
    entry = {"status": "not attempted", "attempts": 0, "hints": 0, **exercises.get(name, {})}
    if entry["status"] == "passed":
        changes.pop("status", None)
    entry.update(changes)
    exercises[name] = entry
    _write("progress.json", json.dumps({"version": VERSION, "exercises": exercises}, indent=1) + "\n")
    return entry


def load_work():
    """Source of every answer that passed, by exercise, from `work.py`."""
    text = _read("work.py")
    if text is None:
        return {}
    parts = _SECTION.split(text)[1:]
    return {name: source.strip("\n") for name, source in zip(parts[::2], parts[1::2], strict=True)}


def save_work(name, source):
    """Keep the source of an answer that passed; the newest one of each exercise stays."""
    work = load_work()
    work[name] = source.strip("\n")
    head = "# Your answers that passed, kept for later lessons. `mine(name)` reads them.\n"
    _write("work.py", head + "".join(f"\n# %% {key}\n{text}\n" for key, text in work.items()))

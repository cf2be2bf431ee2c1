"""Whose a file is: by the folder that it lies in, or by its name as learning platforms write it."""

import re
import unicodedata
from dataclasses import dataclass

from .handed_in import NOTEBOOK

MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_[a-z]+_?(?P<rest>.*)", re.S)
CANVAS = re.compile(r"(?P<name>[^_]+)_(?P<late>LATE_)?(?P<number>\d{2,})_\d{3,}_(?P<rest>.+)", re.S | re.I)
COPY = re.compile(r"( ?\(\d+\)| - copy( \(\d+\))?|-copy\d*)+$", re.I)  # what browsers and editors add to a name


@dataclass(frozen=True)
class Owner:
    """What the place of a file says of whose it is. label: as it is written there. number: of the learning platform."""

    label: str
    name: str = ""
    number: str = ""
    note: str = ""

    @property
    def claims(self):
        """What the roster is asked for, in this order: the name, what stands before a number, what may be an id."""
        if self.name:
            return [self.name]
        before = re.match(r"(.+?)[ _.-]+\d\d?([ _.-].*)?$", self.label)
        parts = [part for part in re.split(r"[_,;()\[\]]+", self.label) if len(part) > 3 and re.search(r"\d", part)]
        return [self.label, *([before[1]] if before else []), *parts]


def owner_of(parts, assignment):
    """The Owner of a file by the names on the way to it; None where it belongs to no submission."""
    first = parts[0]
    if len(parts) == 1 and not NOTEBOOK.search(first) and not (MOODLE.fullmatch(first) or CANVAS.fullmatch(first)):
        return None
    if found := MOODLE.fullmatch(first):
        return Owner(f"{found['name']}_{found['number']}", found["name"], found["number"])
    if len(parts) > 1:
        return Owner(first)
    if found := CANVAS.fullmatch(first):
        late = "handed in late, says the name of the file" if found["late"] else ""
        return Owner(f"{found['name']}_{found['number']}", found["name"], found["number"], late)
    return Owner(without_lesson(COPY.sub("", NOTEBOOK.sub("", first)), assignment))


def without_lesson(stem, assignment):
    """The part of a file's name that names a student, where the rest clearly names a lesson; else all of it."""
    for part in assignment.parts:
        number, title = part.lesson.split("_", 1)
        first = re.escape(title.split("_")[0])
        words = rf"(lesson|hw)[ _-]?0?{int(number)}|0?{int(number)}[ _.-]+{first}.*"
        if found := re.fullmatch(rf"(?P<who>.+?)[ _.-]+({words})", stem, re.I):
            return found["who"]
        before, _, after = stem.lower().partition(part.lesson)
        if after.strip(" _.-") and not before.strip(" _.-"):
            return stem[len(stem) - len(after) :].strip(" _.-")
    return stem


def students_folder(entries, assignment, packed):
    """The entries below the folder of the submissions: nbgrader's, or the one that a zip file was made of.

    packed: whether they come from a zip file. In nbgrader's layout only this assignment's are left, without its name.
    """
    while entries and all(len(entry.parts) > 1 for entry in entries):
        tops = {entry.parts[0] for entry in entries}
        if len(tops) > 1 or not packed or not several_students(below(entries, next(iter(tops))), assignment):
            break
        entries = below(entries, next(iter(tops)))
    entries = below(entries, "submitted") or entries
    name = same(assignment.name)
    if any(len(entry.parts) > 2 and same(entry.parts[1]) == name for entry in entries):
        chosen = [entry for entry in entries if len(entry.parts) > 2 and same(entry.parts[1]) == name]
        return [move(entry, (entry.parts[0], *entry.parts[2:])) for entry in chosen]
    return entries


def several_students(entries, assignment):
    """Whether these look like the submissions of several students, and not like the folder of one."""
    folders = {entry.parts[0] for entry in entries if len(entry.parts) > 1}
    if any(same(folder) == same(assignment.name) for folder in folders):
        return False
    flat = {entry.parts[0] for entry in entries if len(entry.parts) == 1 and entry.path}
    from_platform = [name for name in folders | flat if MOODLE.fullmatch(name) or CANVAS.fullmatch(name)]
    return bool(from_platform) or "submitted" in folders or len(folders) > 1


def below(entries, folder):
    return [move(entry, entry.parts[1:]) for entry in entries if entry.parts[0] == folder and len(entry.parts) > 1]


def move(entry, parts):
    return type(entry)(parts, entry.path, entry.note)


def same(text):
    return unicodedata.normalize("NFC", text).casefold()

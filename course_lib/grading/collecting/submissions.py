"""Collect what a class handed in: nbgrader's folders, a folder a student, a flat folder, or what a platform packed."""

from pathlib import Path

from ..records import Submission
from .handed_in import NothingToCollect, in_folder, in_zip
from .matching import OTHER_NOTEBOOKS, match
from .names import safe_name, unique
from .roster import BadRoster, Roster, read_roster
from .students import owner_of, students_folder

__all__ = [
    "NOTHING", "NO_NOTEBOOK", "OTHER_NOTEBOOKS", "BadRoster", "NothingToCollect", "collect", "match", "safe_name",
]  # fmt: skip

NOTHING = "nothing was handed in"
NO_NOTEBOOK = "no notebook among what was handed in"
FILES_LIMIT = 200  # notebooks of one student
NOTES_LIMIT = 20


def collect(source, assignment, roster=None, into=None):
    """The submissions, sorted by student: a list of records.Submission.

    source: a folder or a zip file. assignment: records.Assignment; its name is that of nbgrader's folders. roster: a
    CSV file; each of its students has a submission, even an empty one. into: the folder that a zip file is unpacked to;
    the files are there as long as the caller keeps it. Raises NothingToCollect, BadRoster and OSError.
    """
    source = Path(source)
    packed = source.is_file()
    if packed and into is None:
        raise NothingToCollect("a zip file needs a folder to be unpacked to")
    if not packed and not source.is_dir():
        raise NothingToCollect(f"there is no folder and no zip file {safe_name(source.name)}")
    students = read_roster(Path(roster)) if roster else []
    entries = in_zip(source, into) if packed else in_folder(source)
    groups = grouped(students_folder(entries, assignment, packed), assignment)
    return sorted(submissions(groups, students, Roster(students)), key=lambda one: one.student)


def grouped(entries, assignment):
    """{Owner: its entries}, where an Owner that was late once is the same as without."""
    groups, owners = {}, {}
    for entry in entries:
        owner = owner_of(entry.parts, assignment)
        if owner is not None:
            groups.setdefault(owners.setdefault(owner.label, owner), []).append((owner, entry))
    return groups


def submissions(groups, students, roster):
    """A Submission for each student of the roster, and one for each owner that is not in it."""
    names = {student.id: student.name for student in students}
    parts = {student.id: [] for student in students}
    taken = {student.id.casefold() for student in students}
    for owner, entries in groups.items():
        student, torn = roster.find(owner.claims, owner.number)
        notes = []
        if student is None:
            student = unique(safe_name(owner.label), taken)
            names[student] = safe_name(owner.name) if owner.name else ""
            if torn:
                notes.append(f"the roster has several of this name: {', '.join(torn)}")
            elif students:
                notes.append("not in the roster")
        elif parts[student]:
            notes.append("handed in more than once: the files of all are looked at")
        parts.setdefault(student, []).append((notes, entries))
    return [submission(student, names[student], handed_in) for student, handed_in in parts.items()]


def submission(student, name, handed_in):
    """handed_in: [(notes, [(Owner, Entry), ...]), ...]"""
    pairs = [pair for _, entries in handed_in for pair in entries]
    notes = [note for some, _ in handed_in for note in some]
    notes += [note for owner, entry in pairs for note in (owner.note, entry.note) if note]
    files = [entry.path for _, entry in pairs if entry.path]
    others = sorted({safe_name(entry.parts[-1]) for _, entry in pairs if not entry.path and entry.parts[-1]})
    if not pairs:
        notes.append(NOTHING)
    elif not files:
        notes.append(f"{NO_NOTEBOOK}: {', '.join(others[:5])}" if others else NOTHING)
    if len(files) > FILES_LIMIT:
        notes.append(f"{len(files)} notebooks were handed in; the first {FILES_LIMIT} are looked at")
    return Submission(student, name, tuple(files[:FILES_LIMIT]), tuple(dict.fromkeys(notes))[:NOTES_LIMIT])

"""The roster of a class: a CSV file with a row for each student, and which of them a folder or file belongs to."""

import csv
import io
import re
from dataclasses import dataclass

from ..repairing.decoding import decode
from .names import key, plain_key, safe_name

ID_COLUMNS = ("id", "student_id", "student id", "id number", "student")
NAME_COLUMNS = ("name", "full name", "student name", "student")
PARTS = (("last_name", "first_name"), ("last name", "first name"), ("surname", "given name"), ("surname", "first name"))
DELIMITERS = ",;\t"
SIZE_LIMIT = 20 << 20  # bytes


class BadRoster(ValueError):
    """A roster cannot be used; the text names the file, the line and what is wrong with it."""


@dataclass(frozen=True)
class Student:
    """A row of the roster. values: all that stands in it, to be compared with what was handed in."""

    id: str
    name: str
    values: tuple[str, ...]


def read_roster(path):
    """The students, in the order of the file: a list of Student. Raises BadRoster and OSError.

    A column `student` or `id` holds the id: `student` where another column has the names, since in Canvas's lists it is
    the name. `name`, or first and last names, is the name; all others (email, user name, the number in a learning
    platform) serve to match what was handed in. Comma, semicolon or tab; any usual encoding.
    """

    def refuse(line, what):
        raise BadRoster(f"{path.name}, line {line}: {what}")

    if path.stat().st_size > SIZE_LIMIT:
        refuse(1, f"the file is larger than {SIZE_LIMIT >> 20} MB")
    text, _ = decode(path.read_bytes())
    text = text.replace("\0", "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text), skipinitialspace=True, strict=True)
    header, students, lines = None, [], {}
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if header is None:
                header = headings(cells, lambda what: refuse(reader.line_num, what))
                continue
            if len(cells) > len(header) and any(cells[len(header) :]):
                refuse(reader.line_num, f"{len(cells)} values under {len(header)} headings")
            if cells[0].lower() == "points possible":  # a row that Canvas puts below the headings
                continue
            student = student_of(dict(zip(header, cells, strict=False)))
            if not student.id:
                refuse(reader.line_num, "the student has no id")
            if (same := lines.setdefault(student.id.casefold(), reader.line_num)) != reader.line_num:
                refuse(reader.line_num, f"the id {student.id} stands in line {same} too")
            students.append(student)
    except csv.Error as error:
        refuse(reader.line_num, f"this is no CSV ({error})")
    if header is None:
        refuse(1, "the file is empty")
    return students


def delimiter_of(text):
    """What sets the values apart: what the sniffer finds, if the headings have it, else what they have most of."""
    lines = text.splitlines()[:20]
    first = next((line for line in lines if line.strip()), "")
    try:
        found = csv.Sniffer().sniff("\n".join(lines), delimiters=DELIMITERS).delimiter
    except csv.Error:  # one column, or rows of different lengths
        found = ""
    return found if found and found in first else max(DELIMITERS, key=first.count)


def headings(cells, refuse):
    """The names of the columns, in small letters. refuse: called with what is wrong with them."""
    found = [re.sub(r"\s+", " ", cell).lower() for cell in cells]
    if not set(found) & set(ID_COLUMNS):
        refuse(f"no column is called `id` or `student`; the columns are {', '.join(cells)[:200]}")
    for name in found:
        if name and found.count(name) > 1:
            refuse(f"two columns are called `{name}`")
    return found


def student_of(row):
    """{heading: value} -> Student."""
    named = "name" in row or any(last in row and first in row for last, first in PARTS)
    column = "student" if named and "student" in row else next(name for name in ID_COLUMNS if name in row)
    name = next((row[one] for one in NAME_COLUMNS if row.get(one) and one != column), "")
    for last, first in PARTS:
        if not name and last in row and first in row:
            name = f"{row[first]} {row[last]}".strip()
    return Student(safe_name(row[column]) if row[column] else "", name, tuple(filter(None, [*row.values(), name])))


class Roster:
    """Finds the student that a name, a number or an address belongs to."""

    def __init__(self, students):
        self.students = students
        self.by_id = {key(student.id): student.id for student in students}
        self.by_value = {}
        for student in students:
            for word in {one for value in student.values for one in spellings(value)}:
                self.by_value.setdefault(word, set()).add(student.id)

    def owners(self, claim):
        """The ids of the students that a text may stand for: an id before anything else, accents before none."""
        if key(claim) in self.by_id:
            return {self.by_id[key(claim)]}
        return self.by_value.get(key(claim)) or self.by_value.get(plain_key(claim), set())

    def find(self, claims, number=None):
        """(the id of the first claim's one owner, or None; ids among which none could be told).

        number: what tells namesakes apart.
        """
        torn = set()
        for claim in claims:
            owners = self.owners(claim)
            if len(owners) > 1 and number:
                owners = owners & self.owners(number) or owners
            if len(owners) == 1:
                return next(iter(owners)), ()
            torn = torn or owners
        return None, tuple(sorted(torn))


def spellings(value):
    """How a value of the roster may stand in the name of a folder or file."""
    forms = [value, value.split("@")[0]] if "@" in value else [value]
    words = re.split(r"[,\s]+", value.strip())
    if 1 < len(words) <= 6:  # a name: "Name Surname", "Surname, Name", and "surnamename" as Canvas has it
        forms += [" ".join(words[i:] + words[:i]) for i in range(1, len(words))]
    return {spelling(form) for form in forms for spelling in (key, plain_key)} - {""}

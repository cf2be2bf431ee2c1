"""grades.csv for a spreadsheet, grades.json for programs, and `write_all`, which writes every report of a class."""

import csv
import io
import json
import math
import re
import unicodedata
from dataclasses import asdict
from pathlib import Path

from course_lib.authoring.files import write_whole

from ..records import Report
from .class_report import class_report, summary
from .copies import near_copies
from .feedback import feedback_page
from .pages import kind_of, one_line, page_names

LONGEST_CELL = 1_000
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+")
FORMULA = ("=", "+", "-", "@")


def write_all(folder, assignment, reports, protections):
    """Write grades.csv, grades.json, class_report.html and a page a student in feedback/; the same bytes every time.

    folder: made where it is missing. protections: sentences on what kept answers apart. Each file is there whole. Pages
    of the grading before go where their student is no longer in the class (the roster now has another id, say).
    """
    folder = Path(folder)
    before = graded_before(folder)
    (folder / "feedback").mkdir(parents=True, exist_ok=True)
    reports = sorted(reports, key=lambda report: report.student)
    copies = near_copies(reports)
    write_whole(folder / "grades.csv", grades_csv(assignment, reports))
    write_whole(folder / "grades.json", grades_json(assignment, reports, protections, copies))
    write_whole(folder / "class_report.html", class_report(assignment, reports, protections, copies))
    names, everyone = page_names(reports), {one for report in reports for one in (report.student, report.name) if one}
    for report in reports:
        write_whole(folder / "feedback" / names[report.student], feedback_page(assignment, report, everyone))
    kept = {page.casefold() for page in names.values()}
    for page in page_names(before[1]).values() if before else ():
        if page.casefold() not in kept:
            (folder / "feedback" / page).unlink(missing_ok=True)


def graded_before(folder):
    """(name of the assignment, its reports) of the grading whose grades.json lies in `folder`, or None."""
    try:
        whole = json.loads((Path(folder) / "grades.json").read_bytes())
        return str(whole["assignment"]["name"]), [Report.from_dict(report) for report in whole["reports"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def grades_csv(assignment, reports):
    """The table as bytes: UTF-8 with a mark at its beginning, by which Excel knows it; a row a student."""
    exercises = [name for part in assignment.parts for name in part.points]
    heads = [f"{name}: {what}" for name in exercises for what in ("points", "outcome", "reason")]
    text = io.StringIO()
    table = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    table.writerow(map(cell, ["student", "name", "total", "of", *heads, "files", "remarks"]))
    for report in reports:
        marks = {mark.exercise: mark for mark in report.marks}
        row = [cell(report.student), cell(report.name), plain(report.earned), plain(report.points)]
        for name in exercises:
            mark = marks.get(name)
            row += [plain(mark.earned), cell(kind_of(mark)), cell(reason(mark))] if mark else [0, "not graded", ""]
        remarks = "; ".join(filter(None, (report.trouble, *report.notes[:20])))
        table.writerow([*row, cell(", ".join(report.files[:20])), cell(remarks)])
    return b"\xef\xbb\xbf" + text.getvalue().encode("utf-8")


def cell(text):
    """A text that a spreadsheet shows and does not run: an apostrophe before what it would take for a formula."""
    text = UNSEEN.sub(" ", str(text)[: 4 * LONGEST_CELL])[:LONGEST_CELL]
    start = next((one for one in text if not one.isspace() and unicodedata.category(one)[0] != "C"), "")
    return f"'{text}" if unicodedata.normalize("NFKC", start) in FORMULA else text


def plain(value):
    """A number as a number: 2, 1.5, 0.33."""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def reason(mark):
    """Why an exercise has the points it has, in a few words; "" where it passed and there is nothing to say."""
    if mark.followed:
        return f"graded with the course's {', '.join(mark.followed)} in place of the student's"
    if kind_of(mark) == "passed":
        return one_line(mark.note)
    return mark.mistake or mark.law or one_line(mark.message)


def grades_json(assignment, reports, protections, copies):
    """Everything, as text. `Report.from_dict` reads each entry of "reports" back."""
    whole = {
        "assignment": assignment.as_dict(),
        "protections": list(protections),
        "totals": {"students": len(reports)} | {name: round(value, 4) for name, value in summary(reports).items()},
        "near_copies": [asdict(one) | {"sources": [owner for owner, _ in one.sources]} for one in copies],
        "earned": {report.student: plain(report.earned) for report in reports},
        "reports": [report.as_dict() for report in reports],
    }
    text = json.dumps(finite(whole), ensure_ascii=False, indent=1, allow_nan=False)
    return (text + "\n").encode("utf-8", errors="backslashreplace")  # lone surrogates become JSON's own escapes


def finite(value):
    """The same tree, with words for the numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value

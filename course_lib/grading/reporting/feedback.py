"""The page that each student gets: outcome, the mistake and its question, what one's own result looked like.

It has no expected value, nothing of other students, and no flag.
"""

import re
from dataclasses import replace

from ..collecting.submissions import NOTHING
from .pages import NOT_GRADED, kind_of, render, trouble_of, why_missing

SHORT = 3  # characters; a shorter name is found in any text


def feedback_page(assignment, report, others=()):
    """One student's page as HTML. assignment: records.Assignment. report: records.Report.

    others: ids and names of the other students; a note that has one of them (several of one name in the roster, say)
    is for the instructor and left out.
    """
    report = replace(report, notes=without(report.notes, {*others} - {report.student, report.name}))
    trouble, missing = trouble_of(report), why_missing(report.notes) if report.trouble else ()
    notes = [note for note in report.notes if note not in missing]
    passed = sum(kind_of(mark) == "passed" for mark in report.marks)
    lacking = any(kind_of(mark) == NOT_GRADED and mark.message.startswith(NOTHING) for mark in report.marks)
    return render(
        "feedback.html", assignment=assignment, report=report, passed=passed, lacking=lacking, trouble=trouble,
        notes=notes,
    )  # fmt: skip


def without(notes, names):
    """The notes in which none of these names stands as a word of its own."""
    names = [name for name in names if len(name) >= SHORT]
    return tuple(note for note in notes if not any(name in note and stands_in(name, note) for name in names))


def stands_in(name, note):
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", note) is not None

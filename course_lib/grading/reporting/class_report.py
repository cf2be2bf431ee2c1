"""The page for the instructor: which mistake how many made, which exercise was hard, what to look at.

Counting is done here, in plain data; `templates/class_report.html` sets it.
"""

import difflib
import re
from collections import defaultdict
from statistics import mean, median

from markupsafe import Markup, escape

from .copies import near_copies
from .pages import KINDS, LONGEST_SOURCE, NOT_GRADED, harmless, kind_of, one_line, page_names, render, trouble_of

BINS = 10
MOST_LINES = 300  # of a source beside another one
MOST_GROUPS = 200
UNNAMED = ("wrong", "failed")


def class_report(assignment, reports, protections, copies=None):
    """The page as HTML. copies: what `near_copies` found, None to look for it here."""
    copies = near_copies(reports) if copies is None else copies
    return render(
        "class_report.html", assignment=assignment, reports=reports, protections=protections, summary=summary(reports),
        mistakes=mistakes(reports), difficulty=difficulty(assignment, reports), unexplained=unexplained(reports),
        handed=handed_over(reports), copies=[shown(one) for one in copies[:MOST_GROUPS]], all_copies=len(copies),
        troubles=[(report, trouble_of(report)) for report in reports if report.trouble],
        bins=distribution(reports), pages=page_names(reports),
    )  # fmt: skip


def summary(reports):
    """{"points": of the assignment, "mean": ..., "median": ..., "graded": students of whom something was graded}."""
    totals = [report.earned for report in reports]
    return {
        "points": max((report.points for report in reports), default=0.0),
        "mean": mean(totals) if totals else 0.0,
        "median": median(totals) if totals else 0.0,
        "graded": sum(any(kind_of(mark) != NOT_GRADED for mark in report.marks) for report in reports),
    }


def ranked_mistakes(reports):
    """[(count, exercise, mistake), ...], what most students did first."""
    return [(len(one["students"]), one["exercise"], one["name"]) for one in mistakes(reports)]


def mistakes(reports):
    """The known mistakes that were made, by how many students: dicts with exercise, name, message, students, rank."""
    made = defaultdict(list)
    for report in reports:
        for mark in report.marks:
            if mark.mistake:
                made[mark.exercise, mark.mistake].append((report.student, mark.message))
    rows = [
        {
            "exercise": exercise, "name": name, "message": message_of(exercise, name) or found[0][1],
            "students": [student for student, _ in found],
        }
        for (exercise, name), found in made.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (-len(row["students"]), row["exercise"], row["name"]))
    return rows


def message_of(exercise, name):
    """What the course says of a mistake, or None where it does not know it."""
    from course_lib import exercises

    try:
        known = {mistake.name: mistake.message for mistake in exercises.get(exercise).mistakes}
    except exercises.UnknownExercise:
        return None
    return known.get(name)


def difficulty(assignment, reports):
    """For each exercise how many came to what, the hardest first: exercise, counts {kind: n}, total, share."""
    rows = []
    marks = defaultdict(list)
    for report in reports:
        for mark in report.marks:
            marks[mark.exercise].append(mark)
    order = [name for part in assignment.parts for name in part.points]
    for name in [*order, *sorted(set(marks) - set(order))]:
        counts = dict.fromkeys((key for key, _, _ in KINDS), 0)
        for mark in marks[name]:
            counts[kind_of(mark)] += 1
        points = sum(mark.points for mark in marks[name])
        share = sum(mark.earned for mark in marks[name]) / points if points else 0.0
        rows.append({"exercise": name, "counts": counts, "total": len(marks[name]), "share": share})
    rows.sort(key=lambda row: row["counts"]["passed"] / row["total"] if row["total"] else 0.0)
    return rows


def unexplained(reports):
    """Answers that are wrong in a way the course does not know: by exercise and law, or what was said of them."""
    found = defaultdict(list)
    for report in reports:
        for mark in report.marks:
            if mark.status in UNNAMED and not mark.mistake:
                said = one_line(mark.message)
                key = f"law: {mark.law}" if mark.law else re.sub(r"[\d.]+(e[+-]?\d+)?", "#", said)
                found[mark.exercise, key].append((report.student, said, mark.law, mark.answer))
    rows = [
        {
            "exercise": exercise, "law": group[0][2], "said": group[0][1], "answer": group[0][3],
            "students": [student for student, *_ in group],
        }
        for (exercise, _), group in found.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (-len(row["students"]), row["exercise"], row["said"]))
    return rows


def handed_over(reports):
    """Answers that were flagged by their own source: dicts with exercise, flag, students, and one answer to look at."""
    found = defaultdict(list)
    for report in reports:
        for mark in report.marks:
            for flag in mark.flags:
                found[mark.exercise, one_line(flag)].append((report.student, mark.answer))
    rows = [
        {"exercise": exercise, "flag": flag, "students": [one for one, _ in group], "owner": group[0][0],
         "answer": group[0][1]}
        for (exercise, flag), group in found.items()
    ]  # fmt: skip
    rows.sort(key=lambda row: (-len(row["students"]), row["exercise"], row["flag"]))
    return rows


def shown(copies):
    """A NearCopies for the template, with the lines that both sources share set off."""
    (one, first), (other, second) = copies.sources
    left, right = (harmless(text, LONGEST_SOURCE).rstrip().split("\n") for text in (first, second))
    left, right = left[:MOST_LINES], right[:MOST_LINES]
    same_left, same_right = set(), set()
    for i, j, size in difflib.SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        same_left |= set(range(i, i + size))
        same_right |= set(range(j, j + size))
    return {"copies": copies, "sides": [(one, _lines(left, same_left)), (other, _lines(right, same_right))]}


def _lines(lines, same):
    marked = (("= " if i in same else "  ", line) for i, line in enumerate(lines))
    return Markup("\n").join(Markup("{}{}").format(mark, escape(line)) for mark, line in marked)


def distribution(reports):
    """How many totals lie in each tenth of the points: [(from in %, to in %, how many), ...]."""
    counts = [0] * BINS
    for report in reports:
        share = report.earned / report.points if report.points else 0.0
        counts[min(BINS - 1, max(0, int(share * BINS + 1e-9)))] += 1
    return [(100 * i // BINS, 100 * (i + 1) // BINS, count) for i, count in enumerate(counts)]

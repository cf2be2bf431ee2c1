"""From a submitted notebook to marks: each exercise judged, partial credit, follow-through."""

import ast
import math
import re

import torch

from course_lib import exercises
from course_lib.authoring.cell_code import bound, parsed
from course_lib.checking import FAILED, TOO_SLOW, WRONG
from course_lib.checking.tree import leaves

from .aspects import aspects_of, earned, share
from .judge import judge, seed_of
from .records import Mark
from .references import of_earlier_lessons, reference_source
from .reporting.flags import handed_over

LARGEST_MATRIX = 12
SHORT = 2_000  # characters of a message that are kept
ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")  # where an object lies in memory is another place in each run


def marks_of(part, work, room, secret):
    """The marks of one notebook, in the order of the assignment. part: records.Part. work: records.Work."""
    marking = _Marking(work, room, secret, int(part.lesson[:2]))
    return tuple(mark_of(marking, name, part.lesson, float(points)) for name, points in part.points.items())


class _Marking:
    """The judgements of one notebook, each made when it is first asked for."""

    def __init__(self, work, room, secret, number):
        self.work, self.room, self.secret = work, room, secret
        self.provided = of_earlier_lessons(number)
        self.order = [exercise.name for exercise in exercises.by_lesson(number)]
        self.context = "\n\n".join(cell.source for cell in work.own)
        self.known, self.slow = {}, frozenset()

    def as_handed_in(self, name):
        """(Judgement, aspects) of an answer among the learner's own other answers."""
        if name not in self.known:
            self.known[name] = self.judge(name, {})
        return self.known[name]

    def with_earlier_ones_right(self, name):
        """(Judgement, aspects, names) with the course's functions in the place of the earlier answers that it calls and
        that are not right; None where there are no such answers."""
        names = [one for one in called(self.work, name, self.order) if not self.as_handed_in(one)[0].outcome.passed]
        return (*self.judge(name, {one: reference_source(one) for one in names}), tuple(names)) if names else None

    def judge(self, name, instead):
        aspects = {}

        def ask(examination):
            if not examination.passed:
                aspects.update(aspects_of(examination))

        seed = seed_of(self.secret, name)
        found = judge(exercises.get(name), self.work, self.room, seed, self.provided, instead, ask, self.slow)
        self.slow |= found.slow  # once is enough for a cell that trains for minutes
        return found, aspects


def mark_of(marking, name, lesson, points):
    """The Mark of one exercise: its own judgement, or, where that is better, the one with earlier answers put right."""
    judgement, aspects = marking.as_handed_in(name)
    followed = ()
    if judgement.outcome.status in (WRONG, FAILED, TOO_SLOW) and (again := marking.with_earlier_ones_right(name)):
        theirs, ours = (found.outcome for found in (judgement, again[0]))
        # What it says of its own mistakes is worth more than what it says of those that came to it from elsewhere.
        if ours.passed or ours.mistake and not theirs.mistake or share(again[1]) > share(aspects):
            judgement, aspects, followed = again
    outcome, notes = judgement.outcome, [judgement.note, judgement.outcome.note]
    if judgement.missing and not outcome.passed:
        notes.append(f"not installed where this was graded: {', '.join(judgement.missing)}")
    if judgement.slow:
        notes.append(f"{', '.join(sorted(judgement.slow))} took too long and was cut off")
    answer = "\n\n".join(cell.source for cell in marking.work.answers.get(name, ()))
    return Mark(
        exercise=name, lesson=lesson, points=points,
        earned=points if outcome.passed else earned(points, aspects),
        status=outcome.status, message=ADDRESS.sub("0x…", outcome.message)[:SHORT],
        mistake=outcome.mistake, law=outcome.law, where=outcome.where, note="; ".join(filter(None, notes)),
        aspects=aspects, followed=followed, flags=tuple(handed_over(answer, exercises.get(name), marking.context)),
        matrix=None if outcome.passed else own_result(judgement.examination), answer=answer[:50_000],
    )  # fmt: skip


def called(work, name, order):
    """The earlier exercises that an answer calls, by itself, through other functions, or through `mine("name")`."""
    before = order[: order.index(name)]
    defined = {}
    for cell in (*work.own, *(cell for cells in work.answers.values() for cell in cells)):
        for node in getattr(parsed(cell.source), "body", ()):
            used = {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}
            used |= {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant) and leaf.value in before}
            defined |= {given: defined.get(given, set()) | used for given in bound(node)}
    reached, new = set(), {name}
    while new:
        reached |= new
        new = {used for one in new for used in defined.get(one, ())} & (defined.keys() | set(before)) - reached
    return [other for other in before if other in reached]


def own_result(examination):
    """What the learner's result looked like in the call that the outcome names: a matrix as rows of numbers, or None.

    Of several results the last one with two axes or more (the weights), of a batch the first entry.
    """
    if examination is None or examination.place is None or examination.place >= len(examination.observed):
        return None
    output = examination.observed[examination.place].output
    found = [leaf for _, leaf in leaves(output) if isinstance(leaf, torch.Tensor) and leaf.ndim and leaf.numel()]
    found = [leaf for leaf in found if leaf.ndim > 1] or found
    if not found or found[-1].is_complex():
        return None
    last = found[-1].to(torch.float64)
    last = last.reshape(-1, *last.shape[-2:])[0] if last.ndim > 1 else last[None]
    rows = last[:LARGEST_MATRIX, :LARGEST_MATRIX].tolist()
    return [[float(f"{entry:.4g}") if math.isfinite(entry) else str(entry) for entry in row] for row in rows]

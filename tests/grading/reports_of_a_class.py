"""Invented reports: a class that passes, errs, crashes, copies and attacks, as grading would hand it over."""

import random

from course_lib import exercises
from course_lib.grading.records import Assignment, Mark, Part, Report

FIVE = {"masked_attention": 3.0, "padding_mask": 1.0, "self_attention": 2.0, "causal_mask": 2.0}
POINTS = {"00_start_here": {"softmax": 1.0}, "05_self_attention_and_masks": FIVE}
ASSIGNMENT = Assignment("attention", tuple(Part(lesson, points) for lesson, points in POINTS.items()))
PROTECTIONS = ["Each answer ran in a process of its own, without network, among read-only files (bubblewrap)."]
LAWS = {"values": True, "shape": True, "large inputs": False, "masks": True, "gradient": True, "rows sum to 1": True}
MATRIX = [[0.25, -1.5, "nan"], ["inf", 1e-9, 123456.0], ["-inf", 0.0, 3.0]]
COPIED = """def causal_mask(T, S):
    # grandma's trick: paint the stairs from the far corner of the house
    staircase = torch.arange(S)
    return staircase[None, :] <= torch.arange(T)[:, None] + (S - T)
"""
HANDED = (
    "def masked_attention(query, key, value, mask):\n    return F.scaled_dot_product_attention(query, key, value)\n"
)
# What a text of a student may hold: markup, quotes, an override of reading order, controls, formulas, half a pair.
ATTACK = (
    "</pre></style><script>alert(1)</script><img src=x onerror=a(2)>\"'\u202ecod\u2066\x00\x07{{ 7*7 }}{% x %}\ud800"
)


def mark(exercise, status="passed", share=None, **more):
    """A mark with points as in the assignment."""
    lesson = next(lesson for lesson, points in POINTS.items() if exercise in points)
    points = POINTS[lesson][exercise]
    share = (1.0 if status == "passed" else 0.0) if share is None else share
    more.setdefault("answer", f"def {exercise}(*inputs):\n    return {status!r}\n")
    return Mark(exercise, lesson, points, round(points * share, 2), status, **more)


def names():
    return [name for points in POINTS.values() for name in points]


def wrong(exercise, mistake, share=0.0, **more):
    message = next(one.message for one in exercises.get(exercise).mistakes if one.name == mistake)
    return mark(
        exercise, "wrong", share, message=message, mistake=mistake, where=f"{exercise}(...), one vector", **more
    )


def usual(generator, exercise):
    """What usually becomes of an exercise."""
    drawn = generator.random()
    mistakes = exercises.get(exercise).mistakes
    if drawn < 0.62:
        return mark(exercise)
    if drawn < 0.84:
        mistake = mistakes[min(len(mistakes) - 1, int(generator.expovariate(0.7)))]
        return wrong(exercise, mistake.name, matrix=MATRIX, aspects={"shape": True, "values": False, "masks": True})
    if drawn < 0.89:
        said = f"rows sum to 1: the largest deviation is {generator.random():.3f}. What divides each row?"
        return mark(exercise, "wrong", 0.6, message=said, law="rows sum to 1", aspects=LAWS)
    if drawn < 0.93:
        return mark(
            exercise, "failed", message=f"RuntimeError: size {generator.randrange(9)} at entry 3. Which axis is it?"
        )
    return mark(exercise, generator.choice(["not attempted", "too slow"]), message="the body is still empty. What now?")


def a_class(size=40, seed=0):
    """Reports of a class, sorted by student: most as usual, a few of every other kind."""
    generator = random.Random(seed)
    reports = [
        Report(
            f"s{i:03}", generator.choice(["김민준", "Ana Lindqvist", "이서연", "Moyo Adeyemi", ""]), ("05 (1).ipynb",),
            ("05 (1).ipynb: the name was taken for 05_self_attention_and_masks.ipynb",) * (i % 9 == 0), "",
            tuple(usual(generator, name) for name in names()),
        )
        for i in range(size)
    ]  # fmt: skip
    nothing = [mark(name, "not graded", message="the file is cut off in the middle", answer="") for name in names()]
    reports.append(
        Report("t-cut", "", ("05.ipynb",), (), "05.ipynb: cell 7 is cut off: the file ends early", tuple(nothing))
    )
    for student in ("t-kim", "t-lee"):
        marks = [mark(name, answer=COPIED) if name == "causal_mask" else mark(name) for name in names()]
        reports.append(Report(student, "", ("05.ipynb",), (), "", tuple(marks)))
    flag = "hands the work to `torch.nn.functional.scaled_dot_product_attention`"
    marks = [
        mark("softmax"),
        mark("masked_attention", answer=HANDED, flags=(flag,)),
        mark("padding_mask"),
        mark("self_attention", followed=("masked_attention",)),
        mark("causal_mask", note="right to single precision only"),
    ]
    reports.append(Report("t-torch", "Tuva", ("05.ipynb",), (), "", tuple(marks)))
    return sorted(reports, key=lambda report: report.student)


def an_attack():
    """A report in which every text that a student can reach is hostile."""
    marks = [
        mark(
            name, "wrong", message=ATTACK, law=ATTACK, where=ATTACK, note=ATTACK, flags=(ATTACK,), answer=ATTACK,
            aspects={ATTACK: False}, followed=(ATTACK,), matrix=[[ATTACK, float("nan")]],
        )
        for name in names()
    ]  # fmt: skip
    marks[0] = mark("softmax", "failed", message="x" * 10_000_000, answer="y = 1\n" * 1_000_000)
    return Report(ATTACK, ATTACK, (ATTACK,), (ATTACK,) * 300, ATTACK, tuple(marks))

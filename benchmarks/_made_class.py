"""A class as it hands in: right answers of several kinds, known mistakes, stubs, and some hostile notebooks."""

import ast
import copy
import random
from functools import cache
from pathlib import Path

import nbformat

from course_lib import exercises
from course_lib.authoring import catalogue
from course_lib.authoring.cell_code import bound
from course_lib.authoring.reset import mark, stubbed
from course_lib.authoring.source import read_notebook
from course_lib.checking import examine
from course_lib.checking.keep import portable_source, revive
from course_lib.grading.references import reference_source

RIGHT, WRONG = 0.6, 0.3  # shares of answers; the rest are stubs

# None of them runs for ever: what a loop costs is its time limit, which is no measure of speed.
HOSTILE = {
    "exit": "import os\nos._exit(0)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "flood": "print('x' * 40_000_000)",
    "kill_parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "memory": "hoard = bytearray(1 << 40)",
    "comparisons": "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True",
    "forged": "print('✓ softmax: passed')",
    "imports": "from course_lib import exercises\nprint(exercises.get('softmax').reference)",
    "syntax": "def half(:\n",
    "network": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
}


@cache
def variants(name):
    """(right sources, wrong ones) of an exercise: lists of (label, source) whose source alone defines the name.

    Implementations that are made by another function have no such source, and are left out.
    """
    exercise = exercises.get(name)
    right = {answer.__name__: as_answer(name, answer) for answer in (exercise.reference, *exercise.accepts)}
    wrong = {one.name: as_answer(name, one.wrong) for one in exercise.mistakes}
    return (
        [(label, source) for label, source in right.items() if stands_alone(exercise, source, None)],
        [(label, source) for label, source in wrong.items() if stands_alone(exercise, source, label)],
    )


def as_answer(name, function):
    """The source of an implementation that ships with an exercise, as a learner's answer.

    What it needs of other exercises is left out: those have cells of their own.
    """
    tree = ast.parse(portable_source(function, {}, within=exercises.__name__))
    others = {*exercises.names(), "mistake"} - {name}
    tree.body = [node for node in tree.body if not others & bound(node)]
    for node in tree.body:
        node.decorator_list = []  # `@mistake(...)`
    return ast.unparse(tree) + ("" if function.__name__ == name else f"\n\n\n{name} = {function.__name__}")


def stands_alone(exercise, source, mistake):
    """Whether a source is right, or this mistake, with the course's answers to earlier exercises beside it."""
    names = exercises.names()
    earlier = [reference_source(name) for name in names[: names.index(exercise.name)] if name in source]
    try:
        outcome = examine(exercise, revive(exercise.name, "\n\n".join([*earlier, source])))
    except NameError:  # a name that only its module has
        return False
    return outcome.passed if mistake is None else outcome.mistake == mistake


def write_class(folder, lessons, students, hostile=0, seed=0):
    """Write a folder a student with a notebook a lesson; the first notebooks of the last `hostile` ones are hostile.

    Returns {student: {exercise: "right", the mistake's name, or "stub"}}.
    """
    chosen, drawn = [catalogue.lesson(key) for key in lessons], random.Random(seed)
    fresh = {lesson.name: stubbed(read_notebook(lesson)) for lesson in chosen}
    told = {}
    for number in range(students):
        student = f"student-{number:03}"
        kinds = list(HOSTILE)
        attack = kinds[number % len(kinds)] if number >= students - hostile else None
        told[student] = {}
        for lesson in chosen:
            book = copy.deepcopy(fresh[lesson.name])
            for cell in book.cells:
                name, role = mark(cell)
                if role == "answer":
                    cell.source, told[student][name] = draw(name, cell.source, drawn)
            if attack:
                book.cells.append(nbformat.v4.new_code_cell(HOSTILE[attack]))
                attack = None
            path = Path(folder, student, f"{lesson.name}.ipynb")
            path.parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(book, path)
    return told


def draw(name, stub, drawn):
    """(source, what it is) of one student's answer."""
    right, wrong = variants(name)
    luck = drawn.random()
    if luck < RIGHT:
        return drawn.choice(right)[1], "right"
    if luck < RIGHT + WRONG:
        label, source = drawn.choice(wrong)
        return source, label
    return stub, "stub"

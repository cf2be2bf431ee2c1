"""Answers that hand the work over are seen under every alias; honest ones raise no flag."""

import inspect
import textwrap

import pytest

from course_lib import exercises
from course_lib.authoring.catalogue import lessons, read_source
from course_lib.grading.reporting.flags import handed_over

SOFTMAX = exercises.get("softmax")
HONEST = """def softmax(scores, dim=-1):
    e = torch.exp(scores - scores.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""


def answer(body, before="", after=""):
    return f"{before}\ndef softmax(scores, dim=-1):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n{after}\n"


F = "`torch.nn.functional.softmax`"
HANDED = {
    "by its name": (answer("return torch.softmax(scores, dim)"), "`torch.softmax`"),
    "F": (answer("return F.softmax(scores, dim)", "import torch.nn.functional as F"), F),
    "from nn": (answer("return functional.softmax(scores, dim)", "from torch.nn import functional"), F),
    "assigned": (answer("return F.softmax(scores, dim)", "F = torch.nn.functional"), F),
    "twice": (answer("return g(scores, dim)", "f = torch.nn\ng = f.functional.softmax"), F),
    "imported": (answer("return sm(scores, dim)", "from torch import softmax as sm"), "`torch.softmax`"),
    "a method": (answer("return scores.softmax(dim)"), "`torch.Tensor.softmax`"),
    "of a result": (answer("return (scores * 1).softmax(dim)"), "`torch.Tensor.softmax`"),
    "a method's function": (answer("return torch.Tensor.softmax(scores, dim)"), "`torch.Tensor.softmax`"),
    "getattr": (answer("return getattr(torch, 'softmax')(scores, dim)"), "`torch.softmax`"),
    "getattr in two halves": (answer("return getattr(torch, 'soft' + 'max')(scores, dim)"), "`torch.softmax`"),
    "getattr of the tensor": (answer("return getattr(scores, 'softmax')(dim)"), "softmax`"),
    "vars": (answer("return vars(torch)['softmax'](scores, dim)"), "`torch.softmax`"),
    "a dictionary": (answer("return torch.nn.functional.__dict__['softmax'](scores, dim)"), F),
    "special": (answer("return torch.special.softmax(scores, dim)"), "`torch.special.softmax`"),
    "operator": (answer("return attrgetter('softmax')(torch)(scores)", "from operator import attrgetter"), "softmax`"),
    "a module": (answer("return nn.Softmax(dim)(scores)", "from torch import nn"), "`torch.nn.Softmax`"),
    "inside": (answer("import torch.nn.functional as G\nreturn G.softmax(scores, dim)"), F),
    "assignment": ("softmax = torch.softmax", "`torch.softmax`"),
    "partial": ("from functools import partial\nsoftmax = partial(torch.softmax, dim=-1)", "`torch.softmax`"),
    "in a lambda": ("softmax = lambda scores, dim=-1: scores.softmax(dim)", "`torch.Tensor.softmax`"),
    "a helper": (answer("return _h(scores, dim)", "def _h(x, dim):\n    return x.softmax(dim)"), "softmax`, in `_h`"),
    "the reference": (
        answer("return theirs(scores, dim)", "from course_lib.exercises.lesson_00.softmax import softmax as theirs"),
        "names `course_lib.exercises.lesson_00.softmax.softmax`, where the course's answers are",
    ),
    "the reference, by a text": (
        answer("return import_module('course_lib.exercises').get('softmax').reference(scores, dim)"),
        "names `course_lib.exercises",
    ),
    "the source": (answer("return eval(open('solutions/00_start_here.py').read())"), "opens a file with `open`"),
    "its path": (answer("return eval(open('solutions/00_start_here.py').read())"), "`solutions/00_start_here.py`"),
    "a path": (answer("Path('x').read_text()", "from pathlib import Path"), "reads a file with `read_text`"),
    "the parent": (answer("os.kill(os.getppid(), 9)", "import os"), "uses `os.getppid`"),
    "frames": (answer("import sys\nreturn sys._getframe(3).f_locals"), "uses `sys._getframe`"),
    "mine": (answer("return mine('softmax')(scores, dim)"), "asks `mine`"),
}  # fmt: skip


@pytest.mark.parametrize("name", HANDED)
def test_what_hands_the_work_over_is_said(name):
    source, wanted = HANDED[name]
    found = handed_over(source, SOFTMAX, "import torch\nfrom course_lib import mine")
    assert any(wanted in phrase for phrase in found), found
    assert found == tuple(sorted(set(found)))


def test_the_course_s_own_version_is_said():
    source = "def masked_attention(query, key, value, mask):\n    return attention.scaled_dot_product_attention(query)"
    found = handed_over(source, exercises.get("masked_attention"), "from course_lib import attention")
    assert found == ("hands the work to the course's own `course_lib.attention.scaled_dot_product_attention`",)


def test_a_star_brings_names_that_nothing_else_binds():
    source = "def soft_lookup(query, keys, values):\n    return scaled_dot_product_attention(query, keys, values)"
    star, own = (
        "from torch.nn.functional import *",
        "def scaled_dot_product_attention(query, keys, values):\n    return keys",
    )
    assert handed_over(source, exercises.get("soft_lookup"), star)
    assert handed_over(source, exercises.get("soft_lookup"), f"{star}\n\n{own}") == ()


def test_aliases_and_helpers_of_other_cells_count():
    context = "import torch.nn.functional as F\n\ndef helper(x):\n    return F.softmax(x, -1)"
    assert handed_over(answer("return F.softmax(scores, dim)"), SOFTMAX, context)
    found = handed_over(answer("return helper(scores)"), SOFTMAX, context)
    assert found == ("hands the work to `torch.nn.functional.softmax`, in `helper`",)
    broken = context.replace("\n\n", "\n\ndef half(:\n\n")
    assert handed_over(answer("return F.softmax(scores, dim)"), SOFTMAX, broken)


@pytest.mark.parametrize(
    "source",
    [
        HONEST,
        HONEST + "assert torch.allclose(softmax(x), torch.softmax(x, -1))",
        HONEST.replace("    e =", "    # torch.softmax would do it\n    e =", 1),
        HONEST.replace("    e =", '    """As torch.softmax, F.softmax and x.softmax(-1)."""\n    e =', 1),
        "def compare(x):\n    return x.softmax(-1) - softmax(x)\n\n" + HONEST,
        HONEST.replace("return e", "weights = e").rstrip() + "\n    return weights",
    ],
)
def test_an_honest_answer_raises_no_flag(source):
    lesson = "weights = torch.softmax(x, -1)\n\ndef attend(x):\n    return torch.softmax(x, -1)"
    assert handed_over(source, SOFTMAX, f"{lesson}\n\n{source}") == ()


@pytest.mark.parametrize(
    "source", ["", "def f(:", "\0", "x" * 300_000, "(" * 5_000, "a" + ".a" * 3_000, "'a'" + "+'a'" * 3_000, "\ud800"]
)
def test_nothing_is_said_of_what_is_no_answer(source):
    assert handed_over(source, SOFTMAX, source) == ()


def test_references_raise_no_flag_among_the_cells_of_their_lessons():
    """Every reference, with the whole lesson around it; and so the lesson's own comparisons are not held against it."""
    flagged = {}
    for lesson in lessons():
        book = read_source(lesson.source, lesson.source.stat().st_mtime_ns)
        context = "\n\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
        for name in lesson.exercises:
            exercise = exercises.get(name)
            source = textwrap.dedent(inspect.getsource(exercise.reference))
            if found := handed_over(source, exercise, context):
                flagged[name] = found
    assert flagged == {}

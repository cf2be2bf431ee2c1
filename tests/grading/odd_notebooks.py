"""Notebooks in which cells were moved, copied, split, lost or written in another way; as `broken_files.ENCODED`."""

import random

import nbformat

from course_lib.authoring.build import STUB

from .small_notebook import EXPECTED, GIVEN, GOOD, RIGHT, WRONG, add, bare, both, copied, edit, remove

ODD = {
    "as given": (
        both(*(edit(f"{name}-answer", f"def {name}(x):\n    {STUB}") for name in EXPECTED)),
        GIVEN,
        "",
    ),
    "other order": (lambda book: random.Random(3).shuffle(book.cells), RIGHT, ""),
    "other order, all metadata lost": (both(bare, lambda book: random.Random(4).shuffle(book.cells)), RIGHT, ""),
    "an answer cell twice": (copied("twice-answer"), RIGHT, "twice: defined in cells 4 and 5; cell 5 counts"),
    "a copy, then mended": (
        both(copied("twice-answer"), lambda book: book.cells[3].update(source=WRONG)),
        RIGHT,
        "cells 4 and 5 have the same id",
    ),
    "the mended one first": (
        both(copied("twice-answer"), lambda book: book.cells[4].update(source=WRONG)),
        {"twice": "wrong", "thrice": "wrong"},
        "cell 5 counts",
    ),
    "played with below the check": (add(WRONG, before="thrice-answer"), RIGHT, "cells 4 and 7; cell 4 counts"),
    "a broken copy above the check": (add("def twice(x:", before="twice-check"), RIGHT, "cell 4 counts"),
    "the answer below its check only": (
        both(edit("twice-answer", f"def twice(x):\n    {STUB}"), add(GOOD)),
        RIGHT,
        "",
    ),
    "the stub below the answer": (
        both(add(GOOD, before="twice-answer"), edit("twice-answer", f"def twice(x):\n    {STUB}")),
        RIGHT,
        "",
    ),
    "a helper in a cell of its own": (
        both(
            add("def helper(x):\n    return x + x", before="twice-answer"),
            edit("twice-answer", "def twice(x):\n    return helper(x)"),
        ),
        RIGHT,
        "",
    ),
    "the same name for two helpers": (
        both(
            add("def helper(x):\n    return x + x", before="twice-answer"),
            edit("twice-answer", "def twice(x):\n    return helper(x)"),
            add("def helper(x):\n    return 3 * x", before="thrice-answer"),
            edit("thrice-answer", "def thrice(x):\n    return helper(x)"),
        ),
        RIGHT,
        "",
    ),
    "an answer finished in a second cell": (
        both(
            edit("twice-answer", "class twice:\n    def __new__(cls, x):\n        return cls.of(x)"),
            add("def of(x):\n    return 2 * x\ntwice.of = of", before="twice-check"),
        ),
        RIGHT,
        "",
    ),
    "an answer wrapped once": (
        both(
            edit("twice-answer", "def twice(x):\n    return x"),
            add("def plus(f):\n    return lambda x: f(x) + x\ntwice = plus(twice)", before="twice-check"),
        ),
        RIGHT,
        "cell 5 counts",
    ),
    "an answer by assignment": (edit("twice-answer", "twice = lambda x: x * 2"), RIGHT, ""),
    "an answer under `if`": (edit("twice-answer", "if True:\n    def twice(x):\n        return 2 * x"), RIGHT, ""),
    "written into another answer's cell": (
        both(edit("thrice-answer", "def thrice(x):\n    return 3 * x\n" + GOOD), remove("twice-answer")),
        RIGHT,
        "",
    ),
    "written into a cell of the lesson": (
        both(
            lambda book: book.cells[2].update(source=book.cells[2].source + "\n\n" + GOOD),
            remove("twice-answer"),
        ),
        RIGHT,
        "",
    ),
    "answer and check in one cell": (
        both(edit("twice-answer", GOOD + '\ncheck("twice")'), remove("twice-check")),
        RIGHT,
        "",
    ),
    "the answer in the check's cell": (
        both(edit("twice-check", GOOD + '\ncheck("twice")'), remove("twice-answer")),
        RIGHT,
        "",
    ),
    "an answer turned into a text": (
        lambda book: book.cells.__setitem__(
            3, nbformat.v4.new_markdown_cell(GOOD, id="twice-answer", metadata=book.cells[3].metadata)
        ),
        RIGHT,
        "twice: cell 4 is no code cell",
    ),
    "a check deleted": (remove("twice-check"), RIGHT, "the check of twice was deleted"),
    "checks deleted": (remove("twice-check", "thrice-check"), RIGHT, "the checks of twice and thrice were deleted"),
    "checks weakened": (edit("twice-check", "assert True\nprint('passed')"), RIGHT, ""),
    "a check copied": (copied("twice-check"), RIGHT, ""),
    "the set-up deleted": (lambda book: book.cells.pop(1) and None, RIGHT, ""),
    "all cells of the lesson deleted": (
        lambda book: book.update(cells=[one for one in book.cells if one.id.endswith("-answer")]),
        RIGHT,
        "",
    ),
    "an import taken out of the set-up": (
        lambda book: book.cells[1].update(source=book.cells[1].source.replace("import math\n", "")),
        RIGHT,
        "",
    ),
    "a constant put into the set-up": (
        both(
            lambda book: book.cells[1].update(source=book.cells[1].source + "\nfactor = math.sqrt(4)"),
            edit("twice-answer", "def twice(x):\n    return factor * x"),
        ),
        RIGHT,
        "",
    ),
    "a set-up that is no Python": (lambda book: book.cells[1].update(source="import math\nimport ("), RIGHT, ""),
    "the training changed": (
        lambda book: book.cells[5].update(source=book.cells[5].source.replace("range(3)", "range(9)")),
        RIGHT,
        "",
    ),
    "one syntax error": (
        edit("twice-answer", "def twice(x)\n    return 2 * x"),
        {"twice": "error", "thrice": "error"},
        "",
    ),
    "renamed": (
        edit("thrice-answer", lambda source: source.replace("thrice", "triple")),
        RIGHT | {"thrice": "none"},
        "",
    ),
    "deleted": (remove("thrice-answer", "thrice-check"), RIGHT | {"thrice": "none"}, "the check of thrice was deleted"),
    "timed": (edit("twice-answer", "%%time\n" + GOOD), RIGHT, ""),
    "IPython lines": (
        edit("twice-answer", "%matplotlib inline\nimport math\n!pip list 'x\nfiles = !ls\n" + GOOD + "\ntwice?\n"),
        RIGHT,
        "",
    ),
    "a remainder on a line of its own": (
        edit(
            "twice-answer",
            '%load_ext x\ntext = """\n%time no magic\n!no\n"""\ndef twice(x):\n    return (2 * x\n        % 1000)',
        ),
        RIGHT,
        "",
    ),
    "a magic alone in a block": (edit("twice-answer", GOOD + "\nif SCALE:\n    %time twice(1)"), RIGHT, ""),
    "a cell of bash": (add("%%bash\nrm -rf x", before="twice-answer"), RIGHT, "cell 4 is in another language (%%bash)"),
    "indented as a whole": (edit("twice-answer", "    def twice(x):\n        return 2 * x\n"), RIGHT, ""),
    "names and texts in Korean": (
        edit("twice-answer", 'def twice(x):\n    """두 배"""\n    두배 = 2 * x\n    return 두배'),
        RIGHT,
        "",
    ),
    "no cells": (lambda book: book.update(cells=[]), {"twice": "none", "thrice": "none"}, ""),
}

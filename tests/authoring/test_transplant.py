"""What each cell of a learner's notebook is, and which cell counts as an answer. (Whole notebooks: tests/grading.)"""

import nbformat
import pytest

from course_lib.authoring.build import STUB
from course_lib.authoring.cell_code import bound_names, global_names, is_python, only_raises, plain_python, same_code
from course_lib.authoring.reset import stubbed
from course_lib.authoring.source import read_notebook
from course_lib.authoring.transplant import counting, places

NAMES = ("one_of", "two_of")


def kinds(book, fresh):
    return [(one.kind, one.exercise) for one in places(book, fresh, NAMES)]


LESSON = [
    ("lesson", None),
    ("answer", "one_of"),
    ("check", "one_of"),
    ("lesson", None),
    ("answer", "two_of"),
    ("lesson", None),
    ("check", "two_of"),
]


def test_every_cell_is_known_with_and_without_metadata_and_ids(one):
    fresh = stubbed(read_notebook(one))
    book = nbformat.read(one.notebook, as_version=4)
    expected = [LESSON[0], ("extra", None), *LESSON[1:]]
    assert kinds(book, fresh) == expected
    for i, cell in enumerate(book.cells):
        cell.metadata, cell.id = {}, f"lost-{i}"
    assert kinds(book, fresh) == expected


def test_the_grade_id_of_nbgrader_survives_new_ids(one):
    fresh = stubbed(read_notebook(one))
    book = stubbed(read_notebook(one))
    for i, cell in enumerate(book.cells):
        cell.metadata = {"nbgrader": {"grade_id": cell.id}}
        cell.update(id=f"new-{i}", source="changed" if "answer" in cell.id else cell.source)
    assert kinds(book, fresh) == LESSON


CELLS = {
    "a number": ("x = 1", "extra", None),
    "a call": ("print(one_of(1))", "extra", None),
    "an answer": ("def two_of(n):\n    return 2", "answer", "two_of"),
    "a broken answer": ("def two_of(n:\n    return 2", "answer", "two_of"),
    "another's name inside": ("def other():\n    def one_of(n): return 1", "extra", None),
    "a check": ("check('one_of')", "check", "one_of"),
    "a check by name": ('"""again"""\ncheck(two_of)', "check", "two_of"),
    "an unknown check": ("check('three_of')", "extra", None),
    "a check and more": ("x = 2\ncheck('one_of')", "extra", None),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_was_added(one, name):
    source, kind, exercise = CELLS[name]
    fresh = stubbed(read_notebook(one))
    book = stubbed(read_notebook(one))
    book.cells.append(nbformat.v4.new_code_cell(source, id="added"))
    assert kinds(book, fresh) == [*LESSON, (kind, exercise)]


def test_the_last_attempt_above_the_last_check_counts(one):
    fresh = stubbed(read_notebook(one))
    stub = fresh.cells[1].source

    def which(*sources):
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        return counting(list(sources), places(book, fresh, NAMES), fresh, "one_of")

    mine, other, check, broken = "def one_of(n):\n    return 1", "one_of = abs", "check('one_of')", "def one_of(n"
    assert which() == (None, []) and which(check) == (None, [])
    assert which(stub, check) == (0, [])
    assert which(stub, mine, check) == (1, [1]) and which(mine, stub, check) == (0, [0])
    assert which(mine, other, check) == (1, [0, 1]) and which(mine, check, other) == (0, [0, 2])
    assert which(mine, check, other, check) == (2, [0, 2])
    assert which(stub, check, mine) == (2, [2])
    assert which(mine, broken, check) == (0, [0, 1]) and which(stub, broken, check) == (1, [1])
    assert which(mine, other) == (1, [0, 1])


def test_a_stub_of_another_version_is_a_stub():
    assert only_raises(f"def f(x):\n    '''Old.'''\n    {STUB}", STUB)
    assert only_raises(
        f"class F(nn.Module):\n    def __init__(self):\n        {STUB}\n    def go(self):\n        {STUB}", STUB
    )
    assert not only_raises(f"def f(x):\n    y = 1\n    {STUB}", STUB)
    assert not only_raises("def f(x):\n    raise NotImplementedError", STUB) and not only_raises("x = 1", STUB)


def test_the_same_code_in_other_words():
    assert same_code("def f(x):\n    return x", 'def f( x ):\n    """Text."""\n    return x  # note\n')
    assert not same_code("def f(x):\n    return x", "def f(y):\n    return y")
    assert same_code("def (", "def (") and not same_code("def (", "def )")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 5 % 3", "x = 5 % 3"),
        ("%time x = 1\ny = 2", "pass\ny = 2"),
        ("if True:\n    !ls\ny = 2", "if True:\n    pass\ny = 2"),
        ("a = !ls 'x\nb?\n?c\ny = 1", "pass\npass\npass\ny = 1"),
        ("%%timeit -n 3\ny = 2", "\ny = 2"),
        ("x = (1\n% 2)\n%matplotlib inline", "x = (1\n% 2)\npass"),
        ("'''\n%no\n'''\n%yes", "'''\n%no\n'''\npass"),
        ("  y = 2\n  z = 3", "y = 2\nz = 3"),
        ("def f(:\n%time", "def f(:\n%time"),
    ],
)
def test_ipythons_own_lines(source, expected):
    plain, foreign = plain_python(source)
    assert (plain, foreign) == (expected, False) and is_python(plain) == (
        source != expected or "%" in "x = 5 % 3" == source
    )


def test_a_cell_in_another_language():
    assert plain_python("%%html\n<b>") == ("%%html\n<b>", True)


def test_names():
    source = (
        "import a.b as c, d.e\nwith x:\n    f, (g, *h) = 1\nfor i in j:\n    k: int = l\ndef m(n=o):\n    return p + n"
    )
    assert bound_names(source) == {"c", "d", "f", "g", "h", "k", "m"}
    assert {"x", "j", "l", "o", "p"} <= global_names(source) and not {"n", "m"} & global_names(source)

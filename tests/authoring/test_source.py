import pytest

from course_lib.authoring.catalogue import SourceError
from course_lib.authoring.source import checked_names, read_notebook

from .lesson_source import CELLS, make_lesson


def test_ids_and_metadata(tmp_path):
    notebook = read_notebook(make_lesson(tmp_path))
    ids = [cell.id for cell in notebook.cells]
    assert ids[2:4] == ["one-of-answer", "one-of-check"] and len(set(ids)) == len(ids)
    assert notebook.cells[2].metadata.course == {"exercise": "one_of", "role": "answer"}
    assert "nbval-ignore-output" in notebook.cells[5].metadata.tags
    assert notebook.metadata.course.name == "07_small"


def test_a_word_changes_one_cell_only(tmp_path):
    before = read_notebook(make_lesson(tmp_path)).cells
    after = read_notebook(make_lesson(tmp_path, CELLS.replace("so it is", "so it stays"))).cells
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * 4 + [False, True]


def test_equal_cells_get_different_ids(tmp_path):
    twice = CELLS + "\n# %% [markdown]\n# And so it is.\n"
    ids = [cell.id for cell in read_notebook(make_lesson(tmp_path, twice)).cells]
    assert ids[-1] == f"{ids[4]}-2"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("    ### END SOLUTION\n", "", "between"),
        ("    ### BEGIN SOLUTION\n", "", "between"),
        ("def one_of", "def two_of", "define `one_of`"),
        ('    """One, for any number."""\n', "    x = (\n", "not valid Python"),
        ('role="answer"\n', 'role="answer"\nlimit = 3\n', "definitions only"),
        ('role="check"', 'role="test"', "role"),
        ('exercise="one_of" role="check"', 'exercise="two_of" role="check"', "'two_of'"),
        ('check("one_of")', 'print("one_of")', "must call"),
        ('# %% exercise="one_of" role="check"\ncheck("one_of")\n', "", "one check cell"),
        ('tags=["setup"]', 'tags=["setup"] points=2', "`points`"),
        ('tags=["setup"]\n', 'tags=["setup"]\n### BEGIN SOLUTION\n', "no answer cell"),
    ],
)
def test_faults_of_a_source_are_named(tmp_path, old, new, reason):
    assert CELLS.count(old) == 1
    with pytest.raises(SourceError, match="07_small.py") as caught:
        read_notebook(make_lesson(tmp_path, CELLS.replace(old, new)))
    assert reason in str(caught.value)


def test_the_answer_stands_before_its_check(tmp_path):
    answer, _, rest = CELLS.partition('# %% exercise="one_of" role="check"')
    start, _, body = answer.partition('# %% exercise="one_of" role="answer"')
    turned = f'{start}# %% exercise="one_of" role="check"{rest}\n# %% exercise="one_of" role="answer"{body}'
    with pytest.raises(SourceError, match="after it"):
        read_notebook(make_lesson(tmp_path, turned))


def test_checked_names():
    assert checked_names('check("a")\ncheck(b, seed=1)\nother("c")\ncheck()') == ["a", "b"]
    assert checked_names("check(") == []

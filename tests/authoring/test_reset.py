"""`course reset`: a stub comes back, and nothing of the learner's is lost."""

import json
import sys

import nbformat
import pytest

from course_lib.authoring import reset as resetting
from course_lib.authoring.build import STUB, learner_version
from course_lib.authoring.catalogue import lessons
from course_lib.authoring.reset import reset, stubbed
from course_lib.authoring.source import read_notebook

from .answered_lesson import MINE, ORDER, PAIRS, backups, cells, change, marked, remove


def test_one_stub_comes_back_and_the_rest_stays(one):
    before, bytes_before = cells(one), one.notebook.read_bytes()
    said = "\n".join(reset(one, ["one_of"]))
    after = cells(one)
    assert after["one-of-answer"].source == f'def one_of(number):\n    """One."""\n    {STUB}'
    assert not after["one-of-check"].outputs and after["one-of-check"].execution_count is None
    changed = {"one-of-answer", "one-of-check"}
    assert list(after) == list(before)
    assert {key: cell for key, cell in after.items() if key not in changed} == {
        key: cell for key, cell in before.items() if key not in changed
    }
    (kept,) = backups(one)
    assert kept.read_bytes() == bytes_before and str(kept) in said and "Reload Notebook from Disk" in said


def test_all_of_the_lesson(one):
    reset(one)
    after = cells(one)
    assert after.pop("note").source == "my note"
    assert list(after.values()) == stubbed(read_notebook(one)).cells


def test_a_second_reset_changes_nothing_and_keeps_no_second_copy(one):
    reset(one)
    before = one.notebook.read_bytes()
    assert reset(one) == ["07_small.ipynb: nothing to put back"]
    assert one.notebook.read_bytes() == before and len(backups(one)) == 1


def test_two_resets_within_a_second_keep_two_copies(one):
    reset(one, ["one_of"])
    change(one, lambda book: [cell.update(source=MINE) for cell in book.cells if cell.id == "one-of-answer"])
    reset(one, ["one_of"])
    assert [MINE.splitlines()[1] in json.loads(path.read_text())["cells"][2]["source"][1] for path in backups(one)]
    assert len(backups(one)) == 2


@pytest.mark.parametrize("gone", [ORDER[:1], ORDER[1:2], ORDER[:2], ORDER, [*ORDER, "note"], ["one-of-check", "note"]])
def test_cells_that_are_gone_come_back_in_their_place(one, gone):
    change(one, remove(*gone))
    said = "\n".join(reset(one))
    expected = stubbed(read_notebook(one)).cells
    assert [cell for cell in cells(one).values() if cell.id != "note"] == expected
    assert said.count("cell was gone") == len(gone) - ("note" in gone)


def test_a_beginning_that_is_gone_comes_back_at_the_top(one):
    heading = stubbed(read_notebook(one)).cells[0].id
    change(one, remove(heading, "note", *ORDER[:2]))
    reset(one)
    assert list(cells(one).values()) == stubbed(read_notebook(one)).cells[1:]


def test_a_notebook_of_which_nothing_is_left(one):
    change(one, lambda book: book.update(cells=[]))
    reset(one)
    assert list(cells(one)) == ORDER


def test_an_answer_comes_back_above_its_check_wherever_that_went(one):
    def edit(book):
        remove("one-of-answer")(book)
        check = next(cell for cell in book.cells if cell.id == "one-of-check")
        book.cells.remove(check)
        book.cells.insert(0, check)

    change(one, edit)
    reset(one)
    assert marked(one) == PAIRS


@pytest.mark.parametrize("name", ["one_of", "two_of"])
def test_a_check_comes_back_below_its_answer_wherever_that_went(one, name):
    def edit(book):
        remove(f"{name.replace('_', '-')}-check")(book)
        answer = next(
            cell for cell in book.cells if cell.metadata.get("course") == {"exercise": name, "role": "answer"}
        )
        book.cells.remove(answer)
        book.cells.append(answer)

    change(one, edit)
    reset(one, [name])
    assert marked(one)[-2:] == [(name, "answer"), (name, "check")] and sorted(marked(one)) == sorted(PAIRS)


@pytest.mark.parametrize("source", [MINE, "def one_of(number:\n  return", "%time\ndef one_of(n):\n    return !ls"])
def test_an_answer_is_known_by_what_it_defines(one, source):
    def edit(book):
        for cell in book.cells:
            if cell.id == "one-of-answer":
                cell.update(id="pasted", source=source, metadata={})

    change(one, edit)
    reset(one, ["one_of"])
    assert STUB in cells(one)["pasted"].source and marked(one) == PAIRS


def test_other_cells_that_only_mention_it_are_left_alone(one):
    other = "def another():\n    def one_of(): pass\nprint(one_of)"
    change(one, lambda book: book.cells.insert(0, nbformat.v4.new_code_cell(other, id="other")))
    reset(one)
    assert cells(one)["other"].source == other


def test_a_copy_of_the_answer_is_left_alone_and_named(one):
    change(one, lambda book: book.cells.append(nbformat.v4.new_code_cell(MINE, id="copy")))
    said = "\n".join(reset(one, ["one_of"]))
    assert "one_of is defined in cell 9 too" in said
    assert cells(one)["copy"].source == MINE and STUB in cells(one)["one-of-answer"].source


@pytest.mark.parametrize("role", ["answer", "check"])
def test_a_cell_that_became_another_kind_is_code_again(one, role):
    def edit(book):
        for i, cell in enumerate(book.cells):
            if cell.id == f"one-of-{role}":
                book.cells[i] = nbformat.v4.new_markdown_cell(cell.source, id=cell.id, metadata=cell.metadata)

    reset(one)  # so that its text is the stub's
    change(one, edit)
    reset(one, ["one_of"])
    assert cells(one)[f"one-of-{role}"].cell_type == "code"


def test_an_emptied_check_calls_it_again(one):
    change(one, lambda book: [cell.update(source="# no") for cell in book.cells if cell.id == "one-of-check"])
    reset(one, ["one_of"])
    assert cells(one)["one-of-check"].source == 'check("one_of")'


def test_a_taken_id_is_not_used_twice(one):
    def edit(book):
        remove("one-of-answer")(book)
        next(cell for cell in book.cells if cell.id == "note").id = "one-of-answer"

    change(one, edit)
    reset(one)
    assert cells(one)["one-of-answer"].source == "my note" and STUB in cells(one)["one-of-answer-2"].source


def test_a_notebook_older_than_ids(one):
    def edit(book):
        remove("one-of-answer")(book)
        book.nbformat_minor = 4
        for cell in book.cells:
            del cell["id"]

    change(one, edit)
    reset(one)
    book = nbformat.read(one.notebook, as_version=4)
    nbformat.validate(book)
    assert [cell.source for cell in book.cells if cell.source != "my note"] == [
        cell.source for cell in stubbed(read_notebook(one)).cells
    ]


def test_learners_need_no_nbgrader(one, monkeypatch):
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    monkeypatch.setitem(sys.modules, "nbgrader.preprocessors", None)
    assert "the stub is back" in "".join(reset(one))


def test_the_stub_stands_where_the_region_stood(one):
    plain = read_notebook(one)
    assert stubbed(plain) == learner_version(plain)
    assert f"\n        {STUB}" in stubbed(plain).cells[4].source


@pytest.mark.parametrize("real", lessons(), ids=lambda real: real.name)
def test_the_stubs_are_those_of_the_build(real):
    plain = read_notebook(real)
    fresh = stubbed(plain)
    assert fresh == learner_version(plain)
    for name in real.exercises:
        assert len(resetting.answer_places(fresh, name)) == 1, f"a cell of {real.name} would be taken for {name}"

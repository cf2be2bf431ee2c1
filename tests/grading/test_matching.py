"""Which of a student's files is the notebook of which lesson, and that it is said which was taken."""

import nbformat
import pytest

from course_lib.authoring.catalogue import lesson
from course_lib.authoring.reset import stubbed
from course_lib.authoring.source import read_notebook
from course_lib.grading.collecting.submissions import match
from course_lib.grading.records import Assignment, Part

FOUR, FIVE = "04_queries_keys_values", "05_self_attention_and_masks"
BOTH = Assignment("hw1", (Part(FOUR, {}), Part(FIVE, {})))
ONE = Assignment("hw1", (Part(FOUR, {}),))


def put(path, key=4, answers=True, name=None):
    """A notebook of a lesson, answered or as given. name: of the lesson in its metadata; "" for none at all."""
    path.parent.mkdir(exist_ok=True)
    book = read_notebook(lesson(key))
    book = book if answers else stubbed(book)
    if name == "":
        del book.metadata["course"]
    elif name:
        book.metadata["course"]["name"] = name
    nbformat.write(book, path)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "04_queries (1).ipynb",
        "04.ipynb",
        "4.ipynb",
        "surname_4_queries.ipynb",
        "lesson4.ipynb",
        "kim2_queries_keys_values.ipynb",
    ]
    + ["leeann_77_3055_04-2.ipynb", "HW 04 final.ipynb", "x_04_QUERIES_keys_values - Copy.ipynb"],
)
def test_by_the_name_of_the_file(tmp_path, name):
    (tmp_path / name).write_text("{")
    assert match([tmp_path / name], BOTH) == ({FOUR: tmp_path / name}, [])


def test_metadata_say_more_than_the_name_and_functions_where_there_is_no_name(tmp_path):
    files = [put(tmp_path / "04.ipynb", 5), put(tmp_path / "notebook.ipynb", 4, name="")]
    assert match(files, BOTH) == ({FOUR: files[1], FIVE: files[0]}, [])


def test_the_only_file_is_taken_and_said_so(tmp_path):
    other = put(tmp_path / "Untitled.ipynb", 6)
    found, notes = match([other], ONE)
    assert found == {FOUR: other} and "Untitled.ipynb is the only file" in notes[0]
    found, notes = match([other], BOTH)
    assert found == {} and notes == ["no notebook of this assignment: Untitled.ipynb"]
    assert match([], BOTH) == ({}, [])


def test_of_two_the_changed_one_then_the_newest(tmp_path):
    given = put(tmp_path / "04 (9).ipynb", answers=False)
    first, second = put(tmp_path / "04.ipynb"), put(tmp_path / "04 (2).ipynb")
    assert match([given, first], ONE)[0] == {FOUR: first}
    found, notes = match([given, first, second], ONE)
    assert found == {FOUR: second}
    assert notes == [f"{FOUR}: handed in as 04 (2).ipynb and 04 (9).ipynb and 04.ipynb; 04 (2).ipynb is taken"]


def test_a_file_that_cannot_be_read_counts_more_than_one_as_given(tmp_path):
    given, broken, good = put(tmp_path / "04 (1).ipynb", answers=False), tmp_path / "04.ipynb", tmp_path / "4.ipynb"
    broken.write_text('{"cells": [')
    assert match([given, broken], ONE)[0] == {FOUR: broken}
    assert match([given, broken, put(good)], ONE)[0] == {FOUR: good}


def test_the_newest_of_a_platform(tmp_path):
    files = [put(tmp_path / f"leeann_77_{300 + i}_04-{i}.ipynb") for i in (2, 10, 1)]
    assert match(files, ONE)[0] == {FOUR: files[1]}

"""Whatever a class hands in, in whatever folders: each student has a row, with the files that are theirs."""

import os
import unicodedata
import zipfile

import pytest

from course_lib.grading.collecting import submissions
from course_lib.grading.collecting.names import key, plain_key, safe_name
from course_lib.grading.collecting.submissions import collect
from course_lib.grading.records import Assignment, Part

HOMEWORK = Assignment("hw1", (Part("04_queries_keys_values", {}), Part("05_self_attention_and_masks", {})))
PEOPLE = """student,name,email,number
kim,김하나,hana@example.org,501
jose,José Ruiz,jr@example.org,502
ann,Ann Lee,al@x.org,77
"""


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE, encoding="utf-8")
    return path


def tree(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return root


def archive(path, members, **more):
    with zipfile.ZipFile(path, "w", **more) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def told(found):
    """{student: names of the files}"""
    return {one.student: [path.name for path in one.files] for one in found}


@pytest.mark.parametrize("given", ["", "submitted"])
def test_nbgraders_folders(tmp_path, given):
    root = tree(
        tmp_path / "course",
        "submitted/kim/hw1/04_queries_keys_values.ipynb",
        "submitted/kim/hw1/.ipynb_checkpoints/04-checkpoint.ipynb",
        "submitted/kim/hw2/04.ipynb",
        "submitted/jose/hw1/timestamp.txt",
        "submitted/ann/hw2/04.ipynb",
        "release/hw1/04_queries_keys_values.ipynb",
    )
    found = collect(root / given, HOMEWORK)
    assert told(found) == {"jose": [], "kim": ["04_queries_keys_values.ipynb"]}
    assert found[0].notes == ("no notebook among what was handed in: timestamp.txt",)


def test_one_folder_a_student_one_is_empty_and_one_is_deep(tmp_path):
    root = tree(tmp_path / "in", "kim/04.ipynb", "jose/my work/nb/05.IPYNB", "ann/04.ipynb.txt")
    (root / "bo").mkdir()
    found = collect(root, HOMEWORK)
    assert told(found) == {"ann": ["04.ipynb.txt"], "bo": [], "jose": ["05.IPYNB"], "kim": ["04.ipynb"]}
    assert found[1].notes == ("nothing was handed in",)


def test_a_flat_folder(tmp_path):
    names = "kim_4_queries.ipynb", "kim_5_self.ipynb", "jose-04_queries_keys_values (1).ipynb", "student_4.ipynb"
    found = collect(tree(tmp_path / "in", *names, "readme.txt"), HOMEWORK)
    assert told(found) == {
        "jose": ["jose-04_queries_keys_values (1).ipynb"],
        "kim": ["kim_4_queries.ipynb", "kim_5_self.ipynb"],
        "student_4": ["student_4.ipynb"],
    }


MOODLE = {
    "김하나_9001_assignsubmission_file_/04.ipynb": "a",
    "José Ruiz_9002_assignsubmission_file_/05 (1).ipynb": "b",
    "José Ruiz_9002_assignsubmission_onlinetext_/onlinetext.html": "b",
    "No Body_9003_assignsubmission_file_/04.ipynb": "c",
}
CANVAS = {
    "leeann_77_3001_04_queries-1.ipynb": "a",
    "leeann_77_3002_05-2.ipynb": "a",
    "joseruiz_LATE_12345_3003_x.ipynb": "b",
    "nobody_99_3004_04.ipynb": "c",
}


@pytest.mark.parametrize("wrapped", ["", "hw1 downloads/"])
@pytest.mark.parametrize("form", ["zip", "folder"])
def test_moodle(tmp_path, roster, form, wrapped):
    if form == "zip":
        source = archive(tmp_path / "all.zip", {wrapped + name: text for name, text in MOODLE.items()})
    else:
        source = tree(tmp_path / "in", *MOODLE)
    found = collect(source, HOMEWORK, roster, tmp_path / "out")
    assert told(found) == {"ann": [], "jose": ["05 (1).ipynb"], "kim": ["04.ipynb"], "No Body_9003": ["04.ipynb"]}
    assert [one.name for one in found] == ["No Body", "Ann Lee", "José Ruiz", "김하나"]
    assert found[0].notes == ("not in the roster",) and found[1].notes == ("nothing was handed in",)


def test_canvas(tmp_path, roster):
    found = collect(archive(tmp_path / "all.zip", CANVAS), HOMEWORK, roster, tmp_path / "out")
    assert told(found) == {
        "ann": ["leeann_77_3001_04_queries-1.ipynb", "leeann_77_3002_05-2.ipynb"],
        "jose": ["joseruiz_LATE_12345_3003_x.ipynb"],
        "kim": [],
        "nobody_99": ["nobody_99_3004_04.ipynb"],
    }
    assert "handed in late, says the name of the file" in found[1].notes


def test_namesakes_are_told_apart_by_their_number_or_not_at_all(tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("id;name;number\na1;Ann Lee;77\na2;Ann Lee;78\n")
    sure = tree(tmp_path / "one", "Ann Lee_78_assignsubmission_file_/04.ipynb")
    assert told(collect(sure, HOMEWORK, people)) == {"a1": [], "a2": ["04.ipynb"]}
    torn = tree(tmp_path / "two", "Ann Lee_9_assignsubmission_file_/04.ipynb")
    found = collect(torn, HOMEWORK, people)
    assert told(found) == {"Ann Lee_9": ["04.ipynb"], "a1": [], "a2": []}
    assert found[0].notes == ("the roster has several of this name: a1, a2",)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    "written", ["José Ruiz", "jose", "JR@example.org", "jr", "jose_ruiz", "Ruiz, José", "Ruiz Jose"]
)
def test_a_folder_is_matched_by_any_value_of_the_roster(tmp_path, roster, written, form):
    root = tree(tmp_path / "in", unicodedata.normalize(form, written) + "/04.ipynb")
    assert told(collect(root, HOMEWORK, roster))["jose"] == ["04.ipynb"]


def test_no_one_is_taken_for_another(tmp_path, roster):
    root = tree(tmp_path / "in", "Ann Kim/04.ipynb", "kimberly/04.ipynb", "ann_ruiz/04.ipynb")
    found = told(collect(root, HOMEWORK, roster))
    assert found == {
        "ann": [],
        "jose": [],
        "kim": [],
        "Ann Kim": ["04.ipynb"],
        "kimberly": ["04.ipynb"],
        "ann_ruiz": ["04.ipynb"],
    }


def test_names_that_are_no_text_and_names_that_differ_by_little(tmp_path):
    names = [b"caf\xe9", b"caf\xe8", "café".encode(), b"Bo", b"bo", b"a\nb", b"a b", "김 하나".encode()]
    for name in names:
        folder = os.path.join(os.fsencode(tmp_path / "in"), name)
        os.makedirs(folder)
        open(os.path.join(folder, b"04.ipynb"), "w").close()
    found = collect(tmp_path / "in", HOMEWORK)
    ids = [one.student for one in found]
    assert len({name.casefold() for name in ids}) == len(names) and all(len(one.files) == 1 for one in found)
    assert {"caf~e9", "caf~e8", "café", "김 하나"} < set(ids)
    for name in ids:
        name.encode()
        assert safe_name(name) == name


def test_links_are_not_followed(tmp_path):
    secret = tree(tmp_path / "secret", "04.ipynb")
    root = tree(tmp_path / "in", "kim/05.ipynb", "bo/x.txt")
    (root / "kim" / "04.ipynb").symlink_to(secret / "04.ipynb")
    (root / "bo" / "work").symlink_to(secret)
    (root / "eve").symlink_to(secret)
    os.mkfifo(root / "bo" / "04.ipynb")
    found = {one.student: one for one in collect(root, HOMEWORK)}
    assert [path.name for path in found["kim"].files] == ["05.ipynb"]
    assert found["kim"].notes == ("04.ipynb is a link, and links are not followed",)
    assert [path.name for path in found["bo"].files] == ["04.ipynb"], (
        "a pipe is a row with a reason, given by the reader"
    )
    assert "eve" not in found or not found["eve"].files


def test_many_files_of_one_student(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "FILES_LIMIT", 3)
    (found,) = collect(tree(tmp_path / "in", *(f"kim/{i}.ipynb" for i in range(5))), HOMEWORK)
    assert len(found.files) == 3 and "the first 3 are looked at" in found.notes[0]


def test_twice_for_one_student(tmp_path, roster):
    root = tree(tmp_path / "in", "kim/04.ipynb", "김하나/05.ipynb")
    kim = next(one for one in collect(root, HOMEWORK, roster) if one.student == "kim")
    assert len(kim.files) == 2 and "handed in more than once: the files of all are looked at" in kim.notes


@pytest.mark.parametrize(
    "text", ["", ".", "..", "/", "a/../b", "CON", "nul.txt", "x" * 500, "가" * 200, "\u202eabc", "-", " a ", "a\0b"]
)
def test_safe_names(text):
    name = safe_name(text)
    assert name and safe_name(name) == name and len(name.encode()) <= 120
    assert not set(name) & set('/\\:*?"<>|\0') and name not in (".", "..") and name == name.strip(" .")
    assert name.lower().split(".")[0] not in ("con", "nul")


def test_what_may_be_written_in_two_ways_is_compared_as_one():
    assert (
        key("José  RUIZ")
        == key(unicodedata.normalize("NFD", "josé_ruiz"))
        != plain_key("José Ruiz")
        == key("jose ruiz")
    )

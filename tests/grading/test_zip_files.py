"""Zip files that nobody should trust: nothing leaves the folder or fills the disk, and a bad member costs one row."""

import io
import stat
import zipfile

import pytest

from course_lib.grading.collecting import handed_in
from course_lib.grading.collecting.submissions import NothingToCollect, collect

from .test_submissions import HOMEWORK, archive, told, tree


def link_member(name):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


def test_nothing_leaves_the_folder_that_a_zip_is_unpacked_to(tmp_path):
    out = tmp_path / "deep" / "out"
    names = ["../kim.ipynb", "kim/../../evil.ipynb", "/kim/abs.ipynb", "C:\\kim\\win.ipynb", "kim\\back.ipynb"]
    path = archive(tmp_path / "all.zip", {**dict.fromkeys(names, "x"), "kim/ok.ipynb": "good", "bo/04.ipynb": "b"})
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(link_member("bo/link.ipynb"), "/etc/passwd")
    found = collect(path, HOMEWORK, into=out)
    everywhere = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert all(out in one.parents or one == path for one in everywhere)
    by_student = {one.student: one for one in found}
    assert sorted(one.name for one in by_student["kim"].files) == ["back.ipynb", "ok.ipynb"]
    assert "bo/link" not in str(everywhere) and "link.ipynb is a link" in " ".join(by_student["bo"].notes)
    assert sum("points out of the zip file" in note for one in found for note in one.notes) >= 3


def test_what_is_no_matter_and_what_is_left_in_a_zip(tmp_path):
    inner = io.BytesIO()
    archive(inner, {"04.ipynb": "x"})
    path = archive(
        tmp_path / "all.zip",
        {
            "kim/work.zip": inner.getvalue(),
            "kim/04.ipynb": "x",
            "__MACOSX/kim/._04.ipynb": "x",
            "kim/.ipynb_checkpoints/04-checkpoint.ipynb": "x",
            "bo/essay.pdf": "x",
        },
    )
    found = collect(path, HOMEWORK, into=tmp_path / "out")
    assert told(found) == {"bo": [], "kim": ["04.ipynb"]}
    assert found[0].notes == ("no notebook among what was handed in: essay.pdf",)
    assert found[1].notes == ("work.zip is an archive inside, and was left unopened",)


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_korean_names_in_a_zip_that_does_not_say_its_encoding(tmp_path, encoding):
    name = "김철".encode(encoding)
    path = archive(tmp_path / "all.zip", {f"{'A' * len(name)}/04.ipynb": "x", "bo/04.ipynb": "y"})
    path.write_bytes(path.read_bytes().replace(b"A" * len(name), name))
    assert told(collect(path, HOMEWORK, into=tmp_path / "out")) == {"bo": ["04.ipynb"], "김철": ["04.ipynb"]}


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(handed_in, "SIZE_LIMIT", 1 << 20)
    members = {"kim/04.ipynb": b"0" * (1 << 21), "bo/04.ipynb": "x"}
    path = archive(tmp_path / "all.zip", members, compression=zipfile.ZIP_DEFLATED)
    found = collect(path, HOMEWORK, into=tmp_path / "out")
    assert told(found) == {"bo": ["04.ipynb"], "kim": []} and "larger than 1 MB" in found[1].notes[0]
    monkeypatch.setattr(handed_in, "TOTAL_LIMIT", 1 << 20)
    with pytest.raises(NothingToCollect, match="all.zip take more than"):
        collect(path, HOMEWORK, into=tmp_path / "again")
    monkeypatch.setattr(handed_in, "ENTRIES_LIMIT", 1)
    with pytest.raises(NothingToCollect, match="more than 1 files"):
        collect(path, HOMEWORK, into=tmp_path / "again")
    with pytest.raises(NothingToCollect, match="more than 1 files"):
        collect(tree(tmp_path / "in", "a/1.ipynb", "b/2.ipynb"), HOMEWORK)


def test_a_damaged_member_costs_one_student(tmp_path):
    path = archive(tmp_path / "all.zip", {"kim/04.ipynb": "k" * 50, "bo/04.ipynb": "x"})
    path.write_bytes(path.read_bytes().replace(b"k" * 50, b"l" * 50))
    found = collect(path, HOMEWORK, into=tmp_path / "out")
    assert told(found) == {"bo": ["04.ipynb"], "kim": []} and "cannot be unpacked" in found[1].notes[0]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no", b"text"])
def test_what_is_no_zip(tmp_path, data):
    path = tmp_path / "all.zip"
    path.write_bytes(data)
    with pytest.raises(NothingToCollect, match="all.zip is no zip file"):
        collect(path, HOMEWORK, into=tmp_path / "out")
    with pytest.raises(NothingToCollect, match="there is no folder"):
        collect(tmp_path / "none", HOMEWORK)

"""grades.csv and grades.json: complete, safe in a spreadsheet, the same bytes every time, back as they were."""

import csv
import io
import json
from dataclasses import replace

import pytest

from course_lib.grading.records import Assignment, Report
from course_lib.grading.reporting.tables import cell, grades_csv, plain, reason, write_all

from .reports_of_a_class import ASSIGNMENT, ATTACK, PROTECTIONS, a_class, an_attack, mark, names, wrong

REPORTS = a_class()


def rows(reports):
    data = grades_csv(ASSIGNMENT, reports)
    assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\xef\xbb\xbf") == 1
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graded")
    write_all(folder, ASSIGNMENT, [*REPORTS, an_attack()], PROTECTIONS)
    return folder


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_row_a_student_with_a_reason_for_each_fail():
    table = rows(REPORTS)
    assert [row["student"] for row in table] == [report.student for report in REPORTS]
    for row, report in zip(table, REPORTS, strict=True):
        assert float(row["total"]) == pytest.approx(report.earned) and float(row["of"]) == report.points == 9
        for one in report.marks:
            assert float(row[f"{one.exercise}: points"]) == pytest.approx(one.earned)
            assert row[f"{one.exercise}: reason"] or row[f"{one.exercise}: outcome"] == "passed"
    cut = next(row for row in table if row["student"] == "t-cut")
    assert cut["softmax: outcome"] == "not graded" and "cell 7 is cut off" in cut["remarks"]
    assert rows([Report("none")])[0]["softmax: outcome"] == "not graded"


def test_pages_of_who_is_no_longer_in_the_class_go(tmp_path):
    write_all(tmp_path, ASSIGNMENT, [Report("1001", "Ann"), Report("1002", "Bo")], PROTECTIONS)
    (tmp_path / "feedback" / "letter.html").write_text("the instructor's own")
    write_all(tmp_path, ASSIGNMENT, [Report("ann", "Ann"), Report("1002", "Bo")], PROTECTIONS)
    assert {path.name for path in (tmp_path / "feedback").iterdir()} == {"ann.html", "1002.html", "letter.html"}
    (tmp_path / "grades.json").write_text("{ cut off")
    write_all(tmp_path, ASSIGNMENT, [Report("ann", "Ann")], PROTECTIONS)
    assert (tmp_path / "feedback" / "1002.html").exists()


def test_a_reason_is_the_mistake_the_law_the_first_line_or_what_stood_in():
    assert reason(wrong("softmax", "no_maximum")) == "no_maximum"
    assert reason(mark("softmax", "wrong", message="a\nb", law="rows sum to 1")) == "rows sum to 1"
    assert reason(mark("softmax", "failed", message="\n first line\nsecond")) == "first line"
    assert "course's masked_attention in place" in reason(mark("self_attention", followed=("masked_attention",)))
    assert reason(mark("softmax")) == ""


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "  =1", "\n@x", "＝1", "＋1", "－1", "＠x", "\u00a0=1", "\u3000=1",
     "\u200b=1", "\ufeff=1", "\u202e=1", "\x00=1", "﹢1", "\u00ad=1"],
)  # fmt: skip
def test_no_cell_is_a_formula(text):
    assert cell(text).startswith("'")
    (row,) = rows([Report(text, text, (text,), (text,), "", (mark("softmax", "failed", message=text),))])
    for key in ("student", "name", "files", "remarks", "softmax: reason"):
        assert row[key][0] in "'[", key  # a page's way of showing what is not seen is no formula either


def test_cells_hold_no_control_characters_and_are_bounded():
    assert cell("a\x00b\x07\nc\u202ed") == "a b c d"
    assert len(cell("x" * 10_000_000)) == 1_000
    assert cell("3 = 2 + 1") == "3 = 2 + 1" and cell("김민준") == "김민준" and cell("") == ""
    (row,) = rows([an_attack()])
    assert not any(ord(letter) < 32 or 0xD800 <= ord(letter) < 0xE000 for text in row.values() for letter in text)


def test_points_are_numbers():
    assert [plain(value) for value in (0.0, 2.0, 0.1 + 0.2, 1 / 3)] == [0, 2, 0.3, 0.33]
    (row,) = rows([replace(REPORTS[0], student="-5", marks=(mark("softmax", "wrong", 0.333),))])
    assert row["student"] == "'-5" and row["softmax: points"] == "0.33"


def test_json_holds_everything_and_comes_back(written):
    whole = json.loads((written / "grades.json").read_text(encoding="utf-8"))
    assert Assignment.from_dict(whole["assignment"]) == ASSIGNMENT and whole["protections"] == PROTECTIONS
    back = [Report.from_dict(one) for one in whole["reports"]]
    assert [one for one in back if one.student != ATTACK] == REPORTS
    attack = next(one for one in back if one.student == ATTACK)
    assert attack.marks[1].message == ATTACK and attack.marks[1].matrix == [[ATTACK, "nan"]]
    assert whole["earned"] == {one.student: plain(one.earned) for one in back}
    assert whole["totals"]["students"] == len(back) and 0 < whole["totals"]["median"] <= 9
    assert [one["students"] for one in whole["near_copies"]] == [["t-kim", "t-lee"]]


def test_a_second_run_writes_the_same_bytes_whatever_the_order(written, tmp_path):
    write_all(tmp_path / "new", ASSIGNMENT, [an_attack(), *reversed(REPORTS)], PROTECTIONS)
    assert files(tmp_path / "new") == files(written)
    write_all(tmp_path / "new", ASSIGNMENT, [*REPORTS, an_attack()], PROTECTIONS)
    assert files(tmp_path / "new") == files(written)


def test_there_is_a_page_a_student_and_nothing_else(written):
    found = files(written)
    pages = {name for name in found if name.startswith("feedback/")}
    assert found.keys() - pages == {"grades.csv", "grades.json", "class_report.html"}
    assert len(pages) == len(REPORTS) + 1 and all(name.endswith(".html") for name in pages)


def test_names_of_pages_are_safe_and_different(tmp_path):
    students = ["../../escape", "..", ".hidden", "a/b", "a_b", "A_B", "CON", "", "x" * 500, "김민준", "a\x00b", ATTACK]
    reports = [Report(student, marks=(mark("softmax"),)) for student in students]
    write_all(tmp_path / "out", ASSIGNMENT, reports, [])
    pages = sorted(path.name for path in (tmp_path / "out" / "feedback").iterdir())
    assert len({name.casefold() for name in pages}) == len(students)
    assert all(not name.startswith(".") and "/" not in name and len(name.encode()) < 200 for name in pages)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out"]  # home is of every test


def test_an_empty_class_is_written_too(tmp_path):
    write_all(tmp_path, ASSIGNMENT, [], [])
    assert len((tmp_path / "grades.csv").read_text(encoding="utf-8-sig").splitlines()) == 1
    assert all(f"{name}: points" in (tmp_path / "grades.csv").read_text(encoding="utf-8-sig") for name in names())

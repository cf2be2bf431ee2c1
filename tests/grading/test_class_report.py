"""The instructor's page: counts that are right, sorted, and safe whatever students wrote."""

from collections import Counter

import pytest

from course_lib.grading.records import Report
from course_lib.grading.reporting import class_report as module
from course_lib.grading.reporting.class_report import (
    class_report,
    difficulty,
    distribution,
    mistakes,
    ranked_mistakes,
    unexplained,
)
from course_lib.grading.reporting.pages import KINDS, render

from .pages_read import harmless
from .reports_of_a_class import ASSIGNMENT, COPIED, HANDED, PROTECTIONS, a_class, an_attack, mark, names, wrong

REPORTS = a_class()
TEXT = class_report(ASSIGNMENT, REPORTS, PROTECTIONS)


def alone(*marks, student="kim"):
    return Report(student, marks=marks)


def test_mistakes_are_ranked_by_how_many_made_them():
    made = Counter((one.exercise, one.mistake) for report in REPORTS for one in report.marks if one.mistake)
    found = mistakes(REPORTS)
    assert {(row["exercise"], row["name"]): len(row["students"]) for row in found} == made
    assert [len(row["students"]) for row in found] == sorted(made.values(), reverse=True)
    assert ranked_mistakes(REPORTS)[0][0] == max(made.values())
    page = harmless(TEXT)
    for row in found:
        assert row["message"].replace("`", "") in page.text and row["name"] in page.text
    assert "first_axis_always" not in TEXT or ("softmax", "first_axis_always") in made


def test_the_message_is_the_mistake_s_own_even_behind_an_exception():
    raised = mark("softmax", "failed", message="RuntimeError: x\ny?", mistake="no_maximum")
    (row,) = mistakes([alone(wrong("softmax", "no_maximum")), alone(raised, student="lee")])
    assert row["students"] == ["kim", "lee"] and "RuntimeError" not in row["message"]
    (unknown,) = mistakes([alone(mark("softmax", "wrong", message="said?", mistake="of another version"))])
    assert unknown["message"] == "said?"


def test_exercises_are_counted_by_outcome_the_hardest_first():
    rows = difficulty(ASSIGNMENT, REPORTS)
    assert {row["exercise"] for row in rows} == set(names())
    for row in rows:
        assert sum(row["counts"].values()) == row["total"] == len(REPORTS) and 0 <= row["share"] <= 1
        assert row["counts"]["not graded"] == 1  # of the file that is cut off
    passed = [row["counts"]["passed"] for row in rows]
    assert passed == sorted(passed)
    page = harmless(TEXT)
    assert all(words in page.text for _, _, words in KINDS)


def test_what_no_mistake_explains_is_grouped_without_its_numbers():
    said = [f"RuntimeError: size {i} at {i}.5e-{i}" for i in range(3)]
    reports = [alone(mark("softmax", "failed", message=text), student=text) for text in said]
    reports += [alone(mark("softmax", "wrong", message=f"{i}", law="rows sum to 1"), student=f"{i}") for i in range(2)]
    reports += [alone(mark("softmax")), alone(wrong("softmax", "no_maximum")), alone(mark("softmax", "too slow"))]
    assert [len(row["students"]) for row in unexplained(reports)] == [3, 2]


def test_totals_fall_into_tenths():
    shares = [0, 0.05, 0.1, 0.3, 0.95, 1.0]
    reports = [alone(mark("causal_mask", "wrong", share), student=str(share)) for share in shares]
    assert [count for _, _, count in distribution(reports)] == [2, 1, 0, 1, 0, 0, 0, 0, 0, 2]


def test_flags_and_copies_stand_with_their_sources_and_the_caution():
    page = harmless(TEXT)
    assert "torch.nn.functional.scaled_dot_product_attention" in page.text and HANDED.strip() in page.text
    copied = "\n".join(f"= {line}" for line in COPIED.rstrip().split("\n"))
    assert page.text.count(copied) == 2 and "causal_mask: t-kim, t-lee: the same code" in page.text
    assert "nothing here is proof" in page.text
    assert "cell 7 is cut off" in page.text


def test_who_could_not_be_graded_stands_with_name_and_reason():
    other = "no notebook of this assignment: 03_luong.ipynb"
    marks = (mark("softmax", "not graded", message="nothing was handed in for this lesson"),)
    report = Report("k9", "김하나", notes=(other, "a cell was moved"), trouble="nothing for lesson 0", marks=marks)
    text = harmless(class_report(ASSIGNMENT, [report], PROTECTIONS)).text
    told = text[text.index("What could not be graded") :]
    assert "김하나" in told and f"nothing for lesson 0; {other}" in told and "a cell was moved" not in told


def test_the_head_says_what_and_how_it_was_graded():
    page = harmless(TEXT)
    assert "attention" in page.text and PROTECTIONS[0] in page.text
    assert f"{len(REPORTS)} students" in page.text and "median" in page.text


def test_every_student_who_is_named_leads_to_a_page():
    links = [attributes["href"] for tag, attributes in harmless(TEXT).tags if tag == "a"]
    assert set(links) <= {f"feedback/{report.student}.html" for report in REPORTS} and len(set(links)) > 20


def test_what_was_written_does_no_harm():
    page = harmless(class_report(ASSIGNMENT, [*REPORTS, an_attack()], ["<script>x</script>"]))
    assert "<script>alert(1)</script>" in page.text and "<script>x</script>" in page.text
    assert "more characters are left out" in page.text and len(page.text) < 300_000


@pytest.mark.parametrize("reports", [[], [Report("kim")], [alone(mark("softmax"))]])
def test_small_classes(reports):
    page = harmless(class_report(ASSIGNMENT, reports, []))
    assert "No known mistake was made." in page.text


def test_escaping_is_what_keeps_it_safe(monkeypatch):
    """The same attack without escaping is seen by these tests."""
    monkeypatch.setattr(module, "render", lambda *names, **values: render(*names, **values).replace("&lt;", "<"))
    with pytest.raises(AssertionError):
        harmless(class_report(ASSIGNMENT, [an_attack()], []))

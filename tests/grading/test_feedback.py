"""A student's page: everything about one's own work, nothing else, and safe whatever the student wrote."""

from dataclasses import replace

import pytest

from course_lib import exercises
from course_lib.grading.records import Report
from course_lib.grading.reporting.feedback import feedback_page
from course_lib.grading.reporting.pages import CIVIDIS, WHITE_TO, heatmap
from course_lib.grading.reporting.pages import harmless as cleaned

from .pages_read import harmless
from .reports_of_a_class import ASSIGNMENT, MATRIX, a_class, an_attack, mark, wrong

REPORTS = a_class()


def page_of(*marks, **more):
    return harmless(feedback_page(ASSIGNMENT, Report("kim", "Kim", marks=marks, **more)))


def test_every_mark_is_there_with_outcome_points_message_and_place():
    for report in REPORTS:
        page = harmless(feedback_page(ASSIGNMENT, report))
        for one in report.marks:
            assert one.exercise in page.text and one.message.replace("`", "") in page.text and one.where in page.text
    page = page_of(wrong("softmax", "no_maximum"), mark("causal_mask"))
    assert "wrong" in page.text and "passed" in page.text and "0 of 1 point" in page.text and "2 of 3" in page.text
    assert page.text.count("Which number can be subtracted") == 1


def test_how_the_points_came_about():
    page = page_of(
        mark("causal_mask", "wrong", 0.6, law="x", aspects={"values": True, "large inputs": False, "x": False})
    )
    assert "partly right" in page.text and "1.2 of 2 points" in page.text
    assert "the values in ordinary calls: right" in page.text and "large inputs: not right" in page.text
    assert "the law “x”: not right" in page.text
    page = page_of(mark("causal_mask", "wrong", aspects={"values": False, "shape": True}))
    assert "only once the values" in page.text


def test_follow_through_and_repairs_and_trouble_are_said():
    page = page_of(
        mark("self_attention", followed=("masked_attention",)), notes=("the name was mended",), trouble="cut off"
    )
    assert "Graded with the course's masked_attention in place of yours" in page.text
    assert "the name was mended" in page.text and "cut off" in page.text


def test_who_handed_in_something_else_reads_what_is_graded():
    lacking = mark("softmax", "not graded", message="nothing was handed in for this lesson")
    other = "no notebook of this assignment: 03_luong.ipynb"
    page = page_of(lacking, trouble="00_start_here: nothing was handed in for this lesson", notes=(other,))
    assert f"{other}." in page.text and "What is graded: 00_start_here.ipynb, 05_self" in page.text
    assert "it costs nothing" not in page.text
    page = page_of(mark("softmax"), notes=(other,))  # nothing lacks: a file too many is a note
    assert "it costs nothing" in page.text and other in page.text and "What is graded" not in page.text
    page = page_of(mark("softmax", "not graded", message="the grader failed"), trouble="the grader failed")
    assert "What is graded" not in page.text


def test_parts_are_listed_only_where_one_holds():
    page = page_of(mark("causal_mask", "too slow", aspects={"values": False, "shape": False}))
    assert "too slow" in page.text and "What holds already" not in page.text


def test_no_flag_and_nobody_else_is_on_it():
    everyone = {one for report in REPORTS for one in (report.student, report.name) if one}
    for report in REPORTS:
        shown = feedback_page(ASSIGNMENT, report, everyone)
        assert not any(flag in shown for one in report.marks for flag in one.flags)
        assert not any(other in shown for other in everyone - {report.student, report.name})
    noted = replace(REPORTS[0], notes=("the roster has several of this name: s001, s002", "the file was mended"))
    page = harmless(feedback_page(ASSIGNMENT, noted, everyone))
    assert "s001" not in page.text and "the file was mended" in page.text
    assert "near" not in feedback_page(ASSIGNMENT, next(one for one in REPORTS if one.student == "t-kim"), everyone)


def test_no_solution_is_on_it():
    marks = [wrong(name, exercises.get(name).mistakes[0].name) for name in ("softmax", "causal_mask")]
    assert "keepdim=True" not in page_of(*marks).text  # as the reference has it


def test_what_was_written_does_no_harm():
    page = harmless(feedback_page(ASSIGNMENT, an_attack()))
    assert "<script>alert(1)</script>" in page.text and "{{ 7*7 }}" in page.text and "[U+202E]cod[U+2066]" in page.text
    assert "more characters are left out" in page.text and len(page.text) < 200_000


@pytest.mark.parametrize("text", ["a`b<i>`c", "`" * 5_000, "``", "<b>&amp;</b>"])
def test_code_in_backticks_is_escaped(text):
    page = page_of(mark("softmax", "wrong", message=text))
    assert text.replace("`", "").strip() in page.text.replace("`", "")


def test_unseen_characters_are_shown_and_length_is_said():
    assert cleaned("a\u202eb\x00") == "a[U+202E]b[U+0000]"
    assert cleaned("한국어\n\tx") == "한국어\n\tx"
    assert cleaned("x" * 10, 4) == "xxxx … (6 more characters are left out)"


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_number_is_readable_on_its_colour():
    for step, colour in enumerate(CIVIDIS):
        light, dark = sorted((luminance(colour), 1.0 if step < WHITE_TO else 0.0), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_matrix_shows_words_for_what_is_no_number_and_is_bounded():
    rows, cut = heatmap(MATRIX)
    assert [[text for text, _, _ in row] for row in rows][0] == ["0.25", "−1.5", "NaN"] and not cut
    assert rows[1][0][0] == "inf" and rows[2][0][0] == "−inf"
    assert rows[0][1][1] == CIVIDIS[0] and rows[1][2][1] == CIVIDIS[-1]
    rows, cut = heatmap([[0.0] * 50] * 50)
    assert (len(rows), len(rows[0]), cut) == (12, 12, True)
    assert "At most 12 rows" in page_of(mark("softmax", "wrong", matrix=[[0.0] * 50] * 50)).text
    for nothing in (None, [], [[]], [1.0], "x", [[1.0], []]):
        assert heatmap(nothing) is None


def test_a_page_of_nothing():
    page = harmless(feedback_page(ASSIGNMENT, Report("kim", trouble="there is no notebook")))
    assert "there is no notebook" in page.text

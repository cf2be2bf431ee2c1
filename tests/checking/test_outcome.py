"""What a check says, line by line."""

import pytest

from course_lib.checking import FAILED, NOT_ATTEMPTED, PASSED, TOO_SLOW, WRONG, CheckFailed, Outcome
from course_lib.checking.outcome import WIDTH


def test_a_pass_is_one_line_and_a_note():
    assert Outcome("softmax", PASSED).lines() == ["✓ softmax: passed"]
    assert Outcome("softmax", PASSED, note="slow").lines() == ["✓ softmax: passed", "  note: slow"]
    assert Outcome("softmax", PASSED).passed


@pytest.mark.parametrize("status", [WRONG, FAILED, TOO_SLOW, NOT_ATTEMPTED])
def test_anything_else_says_where_it_was_seen_unless_nothing_was(status):
    outcome = Outcome("softmax", status, "so\nWhy?", where="softmax(x=(2,))", law="a law", seed=3)
    assert not outcome.passed
    first, *message = outcome.lines()[:3]
    assert first == f"✗ softmax: {status}" and message == ["  so", "  Why?"]
    assert outcome.lines()[3:] == ([] if status == NOT_ATTEMPTED else ["  seen in: softmax(x=(2,)) (seed=3)"])


def test_without_a_call_the_law_is_named_and_without_a_law_nothing():
    assert Outcome("softmax", WRONG, law="a law").lines()[-1] == "  seen in: a law (seed=0)"
    assert Outcome("softmax", FAILED, "`softmax` is not defined here.").lines()[1:] == [
        "  `softmax` is not defined here."
    ]


def test_a_long_call_is_broken_between_its_arguments():
    where = f"softmax({', '.join(f'W_{n}=({n}, {n})' for n in range(20))})"
    first, *further = Outcome("softmax", WRONG, where=where).lines()[1:]
    assert first.startswith("  seen in: softmax(W_0=(0, 0), ") and all(line.startswith("    W_") for line in further)
    assert all(len(line) <= WIDTH for line in (first, *further)) and len(further) >= 2
    assert " ".join(line.strip() for line in (first, *further)) == f"seen in: {where} (seed=0)"


@pytest.mark.parametrize("length", [WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH])
def test_long_lines_are_broken_between_words_and_short_ones_are_left_as_they_are(length):
    line = ("a  b " * length)[: length - 1] + "c"
    lines = Outcome("softmax", NOT_ATTEMPTED, line).lines()[1:]
    assert (len(lines) == 1) == (length <= WIDTH)
    assert lines == [f"  {line}"] or all(text.startswith("  ") and len(text) <= WIDTH for text in lines)
    assert "".join(lines).replace(" ", "") == line.replace(" ", "")


def test_the_exception_shows_the_lines_alone():
    outcome = Outcome("softmax", WRONG, "Why?", mistake="zeros")
    error = CheckFailed(outcome)
    assert str(error) == "\n".join(outcome.lines()) and error._render_traceback_() == outcome.lines()
    assert Outcome(**outcome.as_dict()) == outcome

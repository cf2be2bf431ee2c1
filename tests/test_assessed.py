"""What `assessed` takes away in a notebook that counts for marks: diagnoses, hints, solutions."""

import pytest
import torch

from course_lib import assessed, check, exercises, hint, learner, mine, progress, solution
from course_lib.checking import CheckFailed
from course_lib.checking.matrix import implementations, stub_of


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    assessed()


def right(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


def named_softmax(function):
    function.__name__ = "softmax"
    return function


def refused(function):
    with pytest.raises(CheckFailed) as caught:
        check(named_softmax(function))
    return caught.value


def wrong(x, dim=-1):
    return torch.exp(x) / torch.exp(x).sum()


def raising(x, dim=-1):
    raise ZeroDivisionError("something telling")


def test_without_diagnoses_a_check_says_only_whether_it_passes(capsys):
    assessed(diagnoses=False)
    stub = stub_of(exercises.get("softmax"))
    for function, said in ((wrong, "not passed"), (raising, "not passed"), (stub, "not attempted")):
        error = refused(function)
        assert error._render_traceback_() == str(error).splitlines() == [f"✗ softmax: {said}"]
        assert error.outcome.mistake is error.outcome.law is None and not error.outcome.where
    check(named_softmax(right))
    assert capsys.readouterr().out.startswith("✓ softmax: passed\n")


def test_no_known_mistake_can_be_told_from_another():
    assessed(diagnoses=False)
    mistakes = [made for kind, *_, made in implementations(exercises.get("softmax")) if kind == "mistake"]
    assert len(mistakes) > 5 and {str(refused(one)) for one in mistakes} == {"✗ softmax: not passed"}


def test_what_is_remembered_tells_no_more(capsys):
    assessed(diagnoses=False)
    refused(raising)
    progress()
    said = capsys.readouterr().out
    assert "not passed" in said and "failed" not in said


def test_hints_go_with_the_diagnoses(capsys):
    assessed(diagnoses=False)
    hint("softmax")
    said = capsys.readouterr().out
    assert "hints are not shown in this assignment" in said
    assert not any(one in said for one in exercises.get("softmax").hints)


def test_the_solution_is_refused_even_when_one_insists(capsys):
    assessed(solution=False)
    check(named_softmax(right))
    for insist in (False, True):
        capsys.readouterr()
        solution("softmax", insist=insist)
        assert capsys.readouterr().out == "softmax: the solution is not shown in this assignment\n"


def test_each_is_taken_away_alone(capsys):
    assessed(solution=False)
    assert "\n" in str(refused(wrong)), "the diagnosis is still there"
    hint("softmax")
    assert "hint 1 of" in capsys.readouterr().out
    assessed(diagnoses=False)
    solution("softmax", insist=True)
    assert "def softmax" in capsys.readouterr().out


def test_a_name_that_is_not_defined_is_said_all_the_same():
    assessed(diagnoses=False)
    with pytest.raises(CheckFailed, match="is not defined here"):
        check("softmax")


def test_an_answer_that_passed_is_kept_as_ever(capsys):
    assessed(diagnoses=False, solution=False)
    source = "import torch\n" + "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)\n"
    namespace = {"__name__": "__main__", "check": check}
    exec(compile(source + "check('softmax')", "<cell>", "exec"), namespace)
    assert "passed" in capsys.readouterr().out
    assert learner.load_progress()["softmax"]["status"] == "passed"
    mine("softmax")


def test_by_default_nothing_is_taken_away(capsys):
    assessed(diagnoses=False, solution=False)
    assessed()
    assert "?" in str(refused(wrong))
    solution("softmax", insist=True)
    assert "def softmax" in capsys.readouterr().out

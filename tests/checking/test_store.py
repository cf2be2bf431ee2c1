"""What is remembered survives; what is damaged is set aside; nothing stops a lesson."""

import builtins
import json
import linecache

import pytest
import torch

import course_lib.checking.store as store
from course_lib import check, hint, mine, progress, solution
from course_lib.checking import CheckFailed
from course_lib.checking.keep import portable_source, revive
from course_lib.checking.matrix import stub_of
from course_lib.exercises import UnknownExercise, get, names

SHIFT = 0.0


def subtract(scores, dim):
    return scores - scores.amax(dim, True) + SHIFT


def softmax(scores, dim=-1):
    e = subtract(scores, dim).exp()
    return e / e.sum(dim, True)


@pytest.fixture(autouse=True)
def forget_what_was_said(monkeypatch):
    monkeypatch.setattr(store, "_said", set())


def test_an_answer_that_passed_comes_back_with_what_it_needs(capsys):
    check("softmax")
    assert "✓ softmax: passed" in capsys.readouterr().out
    again = mine("softmax")
    assert capsys.readouterr().out == "softmax: yours\n"
    assert again is not softmax
    scores = torch.tensor([1.0, 2.0])
    torch.testing.assert_close(again(scores), torch.softmax(scores, -1))


def test_an_answer_from_a_notebook_brings_its_imports():
    namespace = {"__name__": "__main__"}
    source = (
        "import torch\nimport torch.nn.functional as F\nfrom math import inf\n\n"
        "def softmax(scores, dim=-1):\n    return F.softmax(scores.clamp(max=inf), dim)\n"
    )
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    exec(compile(source + "\nfrom course_lib import check\ncheck('softmax')", "<cell>", "exec"), namespace)
    assert "import torch.nn.functional as F" in store.load_work()["softmax"]
    torch.testing.assert_close(mine("softmax")(torch.zeros(2)), torch.full((2,), 0.5))


def test_a_class_from_a_notebook_is_kept_too():
    """`inspect` finds no source of a class that a cell defines: its methods know the cell."""
    import inspect

    source = (
        "import torch\nfrom torch import nn\n\nWIDTH = 3\n\n"
        "class Other:\n    def forward(self, x):\n        return x\n\n"
        "class Scorer(nn.Module):\n    def forward(self, x):\n        return 'an older one'\n\n"
        "def counted(cls):\n    cls.count = 7\n    return cls\n\n"
        "@counted\nclass Scorer(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.W = nn.Linear(d, WIDTH)\n\n"
        "    def forward(self, x):\n        return torch.tanh(self.W(x))\n\nafter = 1\n"
    )
    linecache.cache["<class cell>"] = (len(source), None, source.splitlines(keepends=True), "<class cell>")
    namespace = {"__name__": "__main__"}
    exec(compile(source, "<class cell>", "exec"), namespace)
    with pytest.raises((OSError, TypeError)):
        inspect.getsource(namespace["Scorer"])
    kept = portable_source(namespace["Scorer"], namespace)
    assert "class Other" not in kept and "after" not in kept and "older" not in kept
    again = revive("Scorer", kept)(2)
    assert again(torch.zeros(1, 2)).shape == (1, 3) and again.count == 7
    without_methods = type("Made", (), {"__module__": "__main__"})
    assert portable_source(without_methods, namespace) is None, "there is no cell to read it from"


def test_an_answer_of_another_lesson_comes_along_in_a_namespace_of_its_own():
    """Both have a helper `scale`; neither may take the other's. A class comes along as a function does."""
    double = revive("double", "def scale(x):\n    return 2 * x\n\ndef double(x):\n    return scale(x)")
    holder = revive("Holder", "class Holder:\n    def __init__(self, x):\n        self.x = x")
    source = "def scale(x):\n    return -x\n\ndef answer(x):\n    return scale(Holder(double(x)).x)\n"
    linecache.cache["<later cell>"] = (len(source), None, source.splitlines(keepends=True), "<later cell>")
    namespace = {"__name__": "__main__", "double": double, "Holder": holder}
    exec(compile(source, "<later cell>", "exec"), namespace)
    kept = portable_source(namespace["answer"], namespace)
    again = revive("answer", kept)
    assert again(3) == -6
    further = {"__name__": "__main__", "renamed": again}
    source = "def last(x):\n    return renamed(x) + 1\n"
    linecache.cache["<last cell>"] = (len(source), None, source.splitlines(keepends=True), "<last cell>")
    exec(compile(source, "<last cell>", "exec"), further)
    assert revive("last", portable_source(further["last"], further))(3) == -5


class Sharpener:
    """Something that no source can bring along."""

    factor = 1.0


SHARPENER = Sharpener()


def test_an_answer_that_cannot_be_carried_along_passes_and_says_so(capsys):
    def softmax(scores, dim=-1):
        return torch.softmax(scores * SHARPENER.factor, dim)

    check(softmax)
    out = capsys.readouterr().out
    assert "✓ softmax: passed" in out and "needs something else of this notebook" in out
    assert "softmax" not in store.load_work()


def test_without_a_pass_the_course_answers(capsys):
    assert mine("encode").__name__ == "encode"
    assert "the course's" in capsys.readouterr().out


def test_a_failed_check_counts_but_takes_no_pass_back():
    check("softmax")
    with pytest.raises(CheckFailed):
        check(_wrong())
    entry = store.load_progress()["softmax"]
    assert entry == {"status": "passed", "attempts": 2, "hints": 0}


def _wrong():
    def softmax(scores, dim=-1):
        return scores

    return softmax


@pytest.mark.parametrize("text", ["", "{", "[]", '{"exercises": 3}', '{"exercises": {"softmax": 1}}'])
def test_a_damaged_progress_file_is_set_aside_and_said(course_home, capsys, text):
    folder = course_home / ".course"
    folder.mkdir()
    (folder / "progress.json").write_text(text)
    (folder / "progress.json.damaged-1").write_text("from last time")
    check("softmax")
    assert "kept as progress.json.damaged-2" in capsys.readouterr().err
    assert (folder / "progress.json.damaged-2").read_text() == text
    assert (folder / "progress.json.damaged-1").read_text() == "from last time"
    assert json.loads((folder / "progress.json").read_text())["exercises"]["softmax"]["status"] == "passed"


def test_bytes_that_are_no_text_are_set_aside(course_home, capsys):
    (course_home / ".course").mkdir()
    (course_home / ".course" / "work.py").write_bytes(b"\xff\xfe\x00broken")
    assert mine("softmax").__name__ == "softmax"
    assert "kept as work.py.damaged-1" in capsys.readouterr().err


def test_kept_work_that_no_longer_runs_is_said(course_home, capsys):
    (course_home / ".course").mkdir()
    (course_home / ".course" / "work.py").write_text("# %% softmax\ndef softmax(:\n")
    assert torch.equal(mine("softmax")(torch.zeros(2)), torch.full((2,), 0.5))
    assert "does not run: SyntaxError" in capsys.readouterr().out


def test_a_folder_that_cannot_be_written_stops_nothing(course_home, capsys):
    (course_home / ".course").write_text("a file where the folder should be")
    check("softmax")
    out = capsys.readouterr()
    assert "✓ softmax: passed" in out.out
    assert "cannot be saved" in out.err
    check("softmax")
    assert "cannot be saved" not in capsys.readouterr().err, "it is said once"


def test_hints_come_one_by_one_and_begin_again(capsys):
    hint("softmax")
    hint("softmax")
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("hint 1 of 3") and second.startswith("hint 2 of 3")
    hint("softmax")
    hint("softmax")
    shown = capsys.readouterr().out.splitlines()
    assert 'solution("softmax", insist=True)' in shown[1], "the last hint says what is left"
    assert shown[2].startswith("hint 1 of 3")


def test_the_solution_waits_for_a_pass_or_for_insistence(capsys):
    solution("softmax")
    assert "has not passed yet" in capsys.readouterr().out
    solution("softmax", insist=True)
    assert "def softmax" in capsys.readouterr().out
    check("softmax")
    solution("softmax")
    assert "def softmax" in capsys.readouterr().out


def test_a_check_waits_for_nobody():
    """Else the notebook would wait for a reply long after the check has ended, and run no other cell."""

    def softmax(scores, dim=-1):
        input("which axis? ")

    before = builtins.input
    with pytest.raises(CheckFailed, match="a check waits for nobody"):
        check(softmax)
    assert builtins.input is before


def test_progress_lists_every_exercise(capsys):
    check("softmax")
    hint("encode")
    progress()
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith(f"1 of {len(names())} exercises passed") for line in lines)
    assert any(line.split() == ["✓", "softmax", "0", "passed", "1", "0", "8"] for line in lines)
    assert any(line.split() == ["·", "encode", "1", "not", "attempted", "0", "1", "10"] for line in lines)


def test_a_check_of_the_stub_is_no_attempt_and_takes_nothing_back():
    stub = stub_of(get("softmax"))
    with pytest.raises(CheckFailed, match="not attempted"):
        check(stub)
    assert "softmax" not in store.load_progress()
    with pytest.raises(CheckFailed, match="wrong"):
        check(_wrong())
    with pytest.raises(CheckFailed, match="not attempted"):
        check(stub)
    assert store.load_progress()["softmax"] == {"status": "wrong", "attempts": 1, "hints": 0}


def test_unknown_names_get_the_nearest_ones():
    for verb in (check, hint, solution, mine):
        with pytest.raises(UnknownExercise, match="Did you mean softmax"):
            verb("sofmax")


def test_a_name_like_no_other_gets_no_wall_of_names():
    with pytest.raises(UnknownExercise) as caught:
        hint("3")
    assert "progress()" in str(caught.value) and len(str(caught.value)) < 80


def test_an_answer_that_is_not_there_is_said():
    with pytest.raises(CheckFailed, match="not defined here"):
        check("encode")

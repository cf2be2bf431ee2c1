"""What an answer needs from its notebook comes along with it, and nothing else does."""

import linecache
import math
import sys
import types

import pytest

from course_lib.checking import keep
from course_lib.checking.keep import portable_source, revive


def cell(source, **namespace):
    """Run source as a cell of a notebook does: its namespace afterwards."""
    name = f"<cell {len(linecache.cache)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace["__name__"] = "__main__"
    exec(compile(source, name, "exec"), namespace)
    return namespace


def kept(source, name="answer", **namespace):
    found = cell(source, **namespace)
    return portable_source(found[name], found)


@pytest.mark.parametrize("value", [3, -2.5, True, "it's", "two\nlines", math.inf, -math.inf, 1e-300])
def test_a_plain_constant_keeps_its_value(value):
    again = revive("answer", kept("def answer():\n    return CONSTANT\n", CONSTANT=value))()
    assert again == value and type(again) is type(value)


def test_not_a_number_is_kept_too():
    assert math.isnan(revive("answer", kept("def answer():\n    return CONSTANT\n", CONSTANT=math.nan))())


def test_what_is_needed_comes_once_in_an_order_that_runs_and_nothing_else():
    source = (
        "import math as m\nfrom os.path import join as glue\nSIZE = 2\nUNUSED = 5\n\n"
        "def unused():\n    return UNUSED\n\ndef half(x):\n    return m.floor(x / SIZE)\n\n"
        "def marked(function):\n    function.mark = SIZE\n    return function\n\n"
        "@marked\ndef answer(x=SIZE):\n    if x < 2:\n        return glue('a', str(half(SIZE)))\n"
        "    return [answer(x - 1), len, half(x)]\n"
    )
    text = kept(source)
    lines = text.splitlines()
    for line in ("import math as m", "from posixpath import join as glue", "SIZE = 2", "def half(x):", "@marked"):
        assert lines.count(line) == 1, text
    assert "unused" not in text.lower() and "len" not in lines and "__" not in text
    again = revive("answer", text)
    assert again.mark == 2 and again() == ["a/1", len, 1]


def test_inner_functions_and_methods_look_names_up_as_well():
    source = (
        "ONE = 1\nTWO = 2\n\ndef outer(x):\n    return x + TWO\n\n"
        "class answer:\n    def go(self):\n        return [(lambda: outer(ONE))() for _ in range(2)]\n"
    )
    assert revive("answer", kept(source))().go() == [3, 3]


def test_what_python_itself_calls_by_name_is_left_to_python():
    text = kept("def answer():\n    return __name__\n")
    assert "__main__" not in text and revive("answer", text)() == "course_work_answer"


def test_a_class_of_a_cell_is_written_out_as_it_stands():
    body = "@mark\nclass answer(Base):\n    def go(self):\n        return self.value\n"
    before = "x = 1\nclass Base:\n    value = 4\n    def stay(self):\n        pass\ndef mark(c):\n    return c\n"
    source = f"{before}{body}y = 2\n"
    text = kept(source)
    assert text.endswith(body.rstrip()) and "x = 1" not in text and "y = 2" not in text
    assert revive("answer", text)().go() == 4


def test_a_method_that_came_from_elsewhere_does_not_hide_the_class():
    source = (
        "def go(self):\n    return 1\n\nclass answer:\n    go = go\n    def stay(self):\n        return self.go()\n"
    )
    assert kept(source) is None or revive("answer", kept(source))().stay() == 1


def test_what_has_no_source_is_not_kept():
    assert portable_source(eval("lambda x: x", {"__name__": "__main__"}), {}) is None
    assert portable_source(type("Made", (), {"__module__": "__main__"}), {"__name__": "__main__"}) is None
    assert kept("answer = [\n    lambda x: x][0]\n") is None, "a lambda in the middle of a line does not run by itself"


def test_an_object_of_the_notebook_stays_behind():
    text = kept("class Thing:\n    pass\n\nthing = Thing()\ndef answer():\n    return thing\n")
    assert "thing =" not in text
    with pytest.raises(NameError, match="thing"):
        revive("answer", text)()
    from_elsewhere = kept("import decimal\nnumber = decimal.Decimal(3)\ndef answer():\n    return number\n")
    assert "Decimal" not in from_elsewhere


def test_functions_of_a_package_are_written_out_where_that_is_asked(monkeypatch):
    """So that a grader runs what a release can see; others are imported as ever, those of a namesake too."""
    for name, source in (
        ("parcel", ""),
        ("parcel.inner", "OWN = 5\n\ndef helper(x):\n    return x + OWN\n"),
        ("parcels", "def other(x):\n    return x\n"),
    ):
        module = types.ModuleType(name)
        linecache.cache[f"<{name}>"] = (len(source), None, source.splitlines(keepends=True), f"<{name}>")
        exec(compile(source, f"<{name}>", "exec"), vars(module))
        monkeypatch.setitem(sys.modules, name, module)
    source = (
        "from parcel.inner import helper\nfrom parcels import other\n\ndef answer(x):\n    return helper(other(x))\n"
    )
    found = cell(source)
    inside, outside = (portable_source(found["answer"], found, within=within) for within in ("parcel", None))
    assert "from parcels import other as other" in inside and "def helper" in inside and "OWN = 5" in inside
    assert "from parcel.inner import helper as helper" in outside and "OWN" not in outside
    assert revive("answer", inside)(1) == revive("answer", outside)(1) == 6


def test_an_answer_that_came_back_is_known_by_its_source():
    source = "def double(x):\n    return 2 * x"
    double = revive("double", source)
    assert keep._kept_source(double) == source and keep._kept_source(len) is keep._kept_source(3) is None
    assert keep._kept_source(test_what_has_no_source_is_not_kept) is keep._kept_source(dict) is None
    text = kept("def answer(x):\n    return a(b(x))\n", a=double, b=double)
    assert text.count("import revive as _revive") == 1 and revive("answer", text)(1) == 4
    assert "".join(linecache.getlines("<your double>")) == source
    with pytest.raises(KeyError):
        revive("other", source)

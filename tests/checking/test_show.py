"""Where text is shown: as a card in a notebook that runs, as plain lines everywhere else."""

import sys
from types import SimpleNamespace

import pytest

from course_lib.checking.display import Card, show


@pytest.fixture
def displayed(monkeypatch):
    """What IPython displays; `shell` says whether one runs."""
    cards = []
    stub = SimpleNamespace(shell=object(), display=SimpleNamespace(display=cards.append), cards=cards)
    stub.get_ipython = lambda: stub.shell
    monkeypatch.setitem(sys.modules, "IPython", stub)
    return stub


def test_a_notebook_gets_a_card(displayed, capsys):
    show(["one", "two"], [("a", "b"), (1, 22)])
    assert [repr(card) for card in displayed.cards] == ["one\ntwo\na  b\n1  22"] and not capsys.readouterr().out


def test_without_a_shell_or_without_ipython_the_lines_are_printed(displayed, capsys, monkeypatch):
    displayed.shell = None
    show(["one"])
    monkeypatch.delitem(sys.modules, "IPython")
    show(["two"], [("long head", "b"), ("c", "d")])
    assert capsys.readouterr().out == "one\ntwo\nlong head  b\nc          d\n" and not displayed.cards


def test_a_table_stands_below_the_lines_with_its_head_apart():
    page = Card(["<one>"], [("head", "b"), (1, "<c>")])._repr_mimebundle_()
    text = page["text/html"]
    assert page["text/plain"] == "<one>\nhead  b\n1     <c>"
    assert text.index("&lt;one&gt;") < text.index("<table>") < text.index("head</th>") < text.index("&lt;c&gt;</td>")
    assert text.count("<th ") == text.count("</th>") == text.count("<td ") == text.count("</td>") == 2
    assert repr(Card([], [("head", "b")])) == "head  b"
    assert text.count("<tr>") == text.count("</tr>") == 2 and "<table" not in Card(["one"])._html()

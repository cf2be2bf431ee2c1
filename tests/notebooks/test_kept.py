"""What a learner passes is kept, from the first lesson to the last, also where it stands on other answers."""

import ast
import linecache

import nbformat

import course_lib.checking.store as store
from course_lib import mine
from course_lib.authoring.catalogue import lessons


def brought(statement, called):
    """Whether a statement only takes earlier answers, `name = mine("name")` or several, or defines what is called."""
    if isinstance(statement, ast.FunctionDef):
        return statement.name in called
    if not isinstance(statement, ast.Assign):
        return False
    values = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
    return all(isinstance(value, ast.Call) and getattr(value.func, "id", None) == "mine" for value in values)


def called_by_answers(cells):
    """All names in the answers of a lesson."""
    answers = [cell.source for cell in cells if cell.metadata.get("course", {}).get("role") == "answer"]
    return {node.id for source in answers for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def what_is_needed(cell, called):
    """The part of a cell that answers, checks, imports, defines or brings an answer; the rest shows and measures."""
    if cell.metadata.get("course", {}).get("role") or "setup" in cell.metadata.get("tags", ()):
        return cell.source
    return "\n".join(ast.unparse(node) for node in ast.parse(cell.source).body if brought(node, called))


def run(lesson):
    """Everything of a lesson that an answer may need, as a kernel runs it: each cell's source can be looked up."""
    namespace = {"__name__": "__main__"}
    cells = nbformat.read(lesson.solution, as_version=4).cells
    called = called_by_answers(cells)
    for number, cell in enumerate(cells):
        source = what_is_needed(cell, called) if cell.cell_type == "code" else ""
        name = f"<{lesson.name} {number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)


def test_every_answer_is_kept_and_comes_back(capsys, monkeypatch):
    monkeypatch.setattr(store, "_said", set())
    for lesson in lessons():
        run(lesson)
    assert "needs something else" not in capsys.readouterr().out
    names = [name for lesson in lessons() for name in lesson.exercises]
    assert sorted(store.load_work()) == sorted(names)
    monkeypatch.setattr(store, "_said", set())
    for name in names:
        mine(name)
        assert capsys.readouterr().out == f"{name}: yours\n"

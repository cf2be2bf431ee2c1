"""The worked answer of a lesson is the reference of its exercise: `solution(name)` shows what the lesson says."""

import ast
import inspect
import textwrap

from course_lib import exercises


def body(source, name):
    """The statements of a function or class, without its docstring and comments, as text."""
    (found,) = [node for node in ast.parse(source).body if getattr(node, "name", None) == name]
    for node in ast.walk(found):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(found)


def test_worked_answers_are_the_references(built):
    answers = [cell for cell in built.plain.cells if cell.metadata.get("course", {}).get("role") == "answer"]
    assert len(answers) == len(built.lesson.exercises)
    for cell in answers:
        name = cell.metadata["course"]["exercise"]
        reference = textwrap.dedent(inspect.getsource(exercises.get(name).reference))
        assert body(cell.source, name) == body(reference, name)

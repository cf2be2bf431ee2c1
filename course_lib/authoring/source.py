"""Percent source -> notebook with all solutions and no outputs. Pure: nothing is run, nothing is written.

What an author writes, and what becomes of it:

- `# %% exercise="softmax" role="answer"` holds function and class definitions only, one of them called `softmax`,
  with a region between `### BEGIN SOLUTION` and `### END SOLUTION`. `role="check"` calls `check("softmax")`.
  Each exercise of the header has exactly one of both, the answer first. Their cell ids are `softmax-answer`
  and `softmax-check`.
- `# %% tags=["experiment"]`: other cells carry tags or nothing. Their cell id is a hash of their content.
- Cells tagged `experiment`, `training` or `explore` show numbers and pictures that vary with the machine. They get the
  tag `nbval-ignore-output`: under `pytest --nbval` they must run, and their claims must hold, but what they print is
  not compared. The outputs of every other cell are compared, so a cell without these tags prints the same everywhere.
"""

import ast
import copy
import hashlib
from collections import Counter

import nbformat

from .catalogue import SourceError, read_source

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
VARYING = {"experiment", "training", "explore"}
IGNORE_OUTPUT = "nbval-ignore-output"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
LAYOUT_KEYS = {"lines_to_next_cell", "lines_to_end_of_cell_marker"}  # jupytext's notes on blank lines


def read_notebook(lesson):
    """The notebook of a lesson with solutions, without outputs. Raises SourceError, naming the file and the cell."""
    source = read_source(lesson.source, lesson.source.stat().st_mtime_ns)
    seen = Counter()
    cells = [make_cell(cell, seen, lesson) for cell in source.cells]
    require_pairs(cells, lesson)
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata = nbformat.from_dict(
        {
            "course": {
                "name": lesson.name,
                **copy.deepcopy(dict(source.metadata["course"])),
            },
            "kernelspec": KERNEL,
            "language_info": {"name": "python"},
        }
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def make_cell(cell, seen, lesson):
    """One cell with its id and metadata; `seen` counts the ids given so far."""
    given = {key: value for key, value in cell.metadata.items() if key not in LAYOUT_KEYS}
    exercise, role, tags = given.pop("exercise", None), given.pop("role", None), given.pop("tags", [])

    def refuse(what):
        raise SourceError(f"{lesson.source.name}: {called(cell)} {what}")

    if given:
        refuse(f"has unknown metadata `{sorted(given)[0]}`; known are exercise, role and tags")
    if not cell.source.strip():
        refuse("has no content")
    metadata = {}
    if exercise is None and role is None:
        if BEGIN in cell.source or END in cell.source:
            refuse("holds a solution, but is no answer cell")
        name = hashlib.sha256((cell.cell_type + cell.source).encode()).hexdigest()[:8]
    else:
        if exercise not in lesson.exercises:
            refuse(f"belongs to exercise {exercise!r}, which the header does not list")
        if role not in ("answer", "check") or cell.cell_type != "code":
            refuse(f'must be a code cell with role "answer" or "check", got {role!r} on a {cell.cell_type} cell')
        fault = (answer_fault if role == "answer" else check_fault)(cell.source, exercise)
        if fault:
            refuse(fault)
        name = f"{exercise}-{role}".replace("_", "-")
        metadata["course"] = {"exercise": exercise, "role": role}
        tags = [*tags, f"exercise-{role}"]
    if VARYING & set(tags):
        tags = [*tags, IGNORE_OUTPUT]
    if tags:
        metadata["tags"] = sorted(set(tags))
    seen[name] += 1
    new = nbformat.NotebookNode(
        id=name if seen[name] == 1 else f"{name}-{seen[name]}",
        cell_type=cell.cell_type,
        metadata=nbformat.from_dict(metadata),
        source=cell.source,
    )
    if cell.cell_type == "code":
        new.update(execution_count=None, outputs=[])
    return new


def called(cell):
    """A cell as its author finds it in the source, which has no ids."""
    return f"the cell that starts with `{(cell.source.splitlines() or ['(empty)'])[0]}`"


def answer_fault(source, exercise):
    """What is wrong with an answer cell, or None."""
    definitions = (ast.FunctionDef, ast.ClassDef)
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        return f"is not valid Python: {error.msg} in line {error.lineno}"
    if not all(isinstance(node, definitions) for node in body):
        return "must hold function and class definitions only: Run All stops at checks, not at answers"
    if exercise not in [node.name for node in body]:
        return f"must define `{exercise}`"
    marks = [line.strip() for line in source.splitlines() if line.strip() in (BEGIN, END)]
    if not marks or marks != [BEGIN, END] * (len(marks) // 2):
        return f"must hold its solution between `{BEGIN}` and `{END}`"
    return None


def check_fault(source, exercise):
    """What is wrong with a check cell, or None."""
    return None if exercise in checked_names(source) else f"""must call `check("{exercise}")`"""


def checked_names(source):
    """The exercises that a cell checks: the first argument of every call of `check`, a text or a name."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args]
    except SyntaxError:
        return []
    first = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "check"]
    return [node.id if isinstance(node, ast.Name) else getattr(node, "value", None) for node in first]


def require_pairs(cells, lesson):
    """Each exercise of the header has one answer cell and, after it, one check cell; else SourceError."""
    order = [(cell.metadata.course.exercise, cell.metadata.course.role) for cell in cells if "course" in cell.metadata]
    for exercise in lesson.exercises:
        roles = [role for name, role in order if name == exercise]
        if roles != ["answer", "check"]:
            raise SourceError(
                f"{lesson.source.name}: exercise {exercise} needs one answer cell and one check cell after it, "
                f"found {', '.join(roles) or 'none'}"
            )

"""What the lesson's own cells give a learner's answers: imports and definitions, without trainings and measurements."""

import ast
from functools import cache

from course_lib.authoring.cell_code import bound, parsed, words
from course_lib.authoring.reset import stubbed
from course_lib.authoring.source import read_notebook
from course_lib.authoring.transplant import mark

from ..inside.definitions import defines_only

QUICK = {"mine", "pick_device"}  # calls of the course that take no time
IMPORT = (ast.Import, ast.ImportFrom)


def pristine(lesson):
    """The notebook as learners get it; the caller must not change it. Raises SourceError."""
    return _pristine(lesson, lesson.source.stat().st_mtime_ns)


@cache
def _pristine(lesson, _changed):
    return stubbed(read_notebook(lesson))


def lesson_statements(lesson):
    """((number of the cell, one statement), ...): what the cells of the pristine notebook give names to."""
    return _lesson_statements(lesson, lesson.source.stat().st_mtime_ns)


@cache
def _lesson_statements(lesson, changed):
    cells = enumerate(_pristine(lesson, changed).cells, 1)
    theirs = [(number, cell) for number, cell in cells if cell.cell_type == "code" and mark(cell) == (None, None)]
    return tuple((number, text) for number, cell in theirs for text in kept(cell.source))


def kept(source, own=frozenset()):
    """The statements of a cell that only give names, each as a source, in their order; [] where it is no Python.

    An import of several names becomes several imports. own: names whose assignments stay, whatever their value is.
    """
    tree = parsed(source)
    nodes = [node for node in tree.body if stays(node) or bound(node) & own] if tree else []
    return [text for node in nodes for text in written(source, node)]


def stays(node):
    """Whether a statement is kept: an import, a definition, a literal, a quick call, another name for something."""
    if defines_only(node):
        return True
    values = values_of(node)
    return bool(values) and all(is_quick(value) or root(value) for value in values)


def values_of(node):
    """What an assignment assigns, of a tuple each part; [] for other statements."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return []
    return node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]


def is_quick(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in QUICK


def root(node):
    """`torch` of `torch.nn.functional`, a chain of names, which runs nothing; None for anything else."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def written(source, node):
    """The lines of a statement as they stand, decorators and all; an import name by name."""
    if isinstance(node, IMPORT):
        alone = [ast.Import([name]) for name in node.names]
        if isinstance(node, ast.ImportFrom):
            alone = [ast.ImportFrom(node.module, [name], node.level) for name in node.names]
        return [ast.unparse(one) for one in alone]
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    text = "\n".join(source.split("\n")[first - 1 : node.end_lineno])
    alone = parsed(text)
    return [text if alone and len(alone.body) == 1 else ast.get_source_segment(source, node) or ""]


def needed(statements, wanted):
    """Indices of the statements that give a name which is in `wanted`, or which another of them mentions.

    statements: sources, each of one statement. Star imports and `__future__` are always needed; another name for
    something that is no import would be one for what a training left, and is never there.
    """
    trees = [parsed(text).body[0] for text in statements]
    imported = {name for node in trees if isinstance(node, IMPORT) for name in bound(node)}
    giving, found = {}, set()
    for i, node in enumerate(trees):
        if not {root(value) for value in values_of(node)} <= imported | {None}:
            continue
        always = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for name in {"*"} if always else bound(node):
            giving.setdefault(name, []).append(i)
    seen = {*wanted, "*"}
    waiting = list(seen)
    while waiting:
        for i in giving.get(waiting.pop(), ()):
            if i not in found and not found.add(i) and not isinstance(trees[i], IMPORT):
                fresh = words(statements[i]) - seen
                seen |= fresh
                waiting += fresh
    return found

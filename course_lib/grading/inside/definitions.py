"""Of a cell: what it defines, without what it does."""

import ast

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(source):
    """The imports, functions, classes, plain constants and calls of `mine` of a cell; "" where it is not Python."""
    try:
        return "\n".join(map(ast.unparse, defining(source)))
    except UNREADABLE:
        return ""


def defining(source, below=0):
    """The statements of a cell that only give names, those that begin below a line. Raises UNREADABLE."""
    return [node for node in ast.parse(source).body if node.lineno > below and defines_only(node)]


def defines_only(node):
    """Whether a statement only gives names: to imports, definitions, literals, or what `mine` hands out."""
    if isinstance(node, DEFINING):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or _sets_a_part(node):
        return False
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return all(_is_literal(value) or _is_mine(value) for value in values)


def _sets_a_part(node):
    """Whether it writes into something that is there, as `ast.parse = None` does."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(leaf, ast.Attribute | ast.Subscript) for target in targets for leaf in ast.walk(target))


def _is_literal(node):
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _is_mine(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mine"

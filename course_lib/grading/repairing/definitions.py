"""Of a cell: what it defines, without what it does."""

import ast

DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def definitions(source):
    """The imports, functions, classes, plain constants and calls of `mine` of a cell; "" where it is not Python."""
    try:
        tree = ast.parse(source)
        kept = [node for node in tree.body if defines_only(node)]
        return "\n".join(ast.unparse(node) for node in kept)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def defines_only(node):
    """Whether a statement only gives names: to imports, definitions, literals, or what `mine` hands out."""
    if isinstance(node, DEFINING):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return all(_is_literal(value) or _is_mine(value) for value in values)


def _is_literal(node):
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _is_mine(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "mine"

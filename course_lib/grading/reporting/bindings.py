"""What the names in a learner's cells stand for, read from the syntax trees: aliases of modules and functions.

    F = torch.nn.functional; from torch import softmax as sm; f = getattr(torch, "softmax")

makes F "torch.nn.functional", sm and f "torch.softmax". Nothing is run, and nothing here raises on account of a source.
"""

import ast
import re
from functools import lru_cache

from course_lib.authoring.cell_code import DEFINITION, attempt, bound, parsed, statements

# Names that mean the module even where no import was found.
ROOTS = ("torch", "sacrebleu", "course_lib")
LONGEST = 400_000  # characters of all cells together that are looked into
PASSES = 4  # an alias of an alias of an alias
BLOCK = re.compile(r"\n\n+(?=[^\s#)\]}])")


class Bindings:
    """aliases: {name: dotted path}. definitions: {name: the last statement at the top that binds it}."""

    def __init__(self, trees, before=None):
        self.aliases = dict(before.aliases) if before else {name: name for name in ROOTS}
        self.definitions = dict(before.definitions) if before else {}
        self.stars = list(before.stars) if before else []
        nodes = [node for tree in trees for node in ast.walk(tree)]
        for tree in trees:
            for node in statements(tree):
                self.definitions |= dict.fromkeys(bound(node), node)
        for node in nodes:
            if isinstance(node, ast.Import):
                for name in node.names:
                    self.aliases[name.asname or name.name.split(".")[0]] = (
                        name.name if name.asname else name.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self._import_from(node)
        assignments = [pair for node in nodes for pair in assigned(node)]
        for _ in range(PASSES):
            found = {target: path for target, value in assignments if (path := self.path(value))}
            if found.items() <= self.aliases.items():
                break
            self.aliases |= found

    def _import_from(self, node):
        for name in node.names:
            if name.name == "*":
                self.stars.append(node.module)
            else:
                self.aliases[name.asname or name.name] = f"{node.module}.{name.name}"

    def path(self, node, hidden=frozenset()):
        """The dotted path that an expression stands for ("torch.softmax"), or None. hidden: names that do not count."""
        names = []
        while True:
            if isinstance(node, ast.Attribute):
                names.append(node.attr)
                node = node.value
            elif (inner := _looked_up(node)) is not None:
                names += reversed(inner[1].split("."))
                node = inner[0]
            else:
                break
        if isinstance(node, ast.Name):
            start = None if node.id in hidden else self.aliases.get(node.id)
        else:
            start = _imported(node)
        return ".".join([start, *reversed(names)]) if start else None


def assigned(node):
    """(name, value) of the plain assignments in a node: `a = x`, `a, b = x, y`, `(a := x)`."""
    if isinstance(node, ast.NamedExpr):
        return [(node.target.id, node.value)]
    if isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    pairs = []
    for target in node.targets:
        if isinstance(target, ast.Name):
            pairs.append((target.id, node.value))
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            together = zip(target.elts, node.value.elts, strict=False)
            pairs += [(one.id, value) for one, value in together if isinstance(one, ast.Name)]
    return pairs


def own_names(node, bindings):
    """Names that mean something of its own inside a function or class: parameters, and variables that are no alias."""
    leaves = list(ast.walk(node))
    names = {leaf.arg for leaf in leaves if isinstance(leaf, ast.arg)}
    if isinstance(node, DEFINITION):
        names |= {leaf.id for leaf in leaves if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}
    pairs = [pair for leaf in leaves for pair in assigned(leaf)]
    return frozenset(names - {target for target, value in pairs if bindings.path(value)})


def text_of(node):
    """The text that an expression is for sure, with `+` worked out ("soft" + "max"), or None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return left + right if left is not None and right is not None else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _looked_up(node):
    """(where, name) for getattr(where, "name"), vars(where)["name"] and where.__dict__["name"]; else None."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
        if len(node.args) > 1 and (name := text_of(node.args[1])):
            return node.args[0], name
    if isinstance(node, ast.Subscript) and (name := text_of(node.slice)):
        holder = node.value
        if isinstance(holder, ast.Attribute) and holder.attr == "__dict__":
            return holder.value, name
        if (
            isinstance(holder, ast.Call)
            and isinstance(holder.func, ast.Name)
            and holder.func.id == "vars"
            and holder.args
        ):
            return holder.args[0], name
    return None


def _imported(node):
    """The module that `__import__("a.b")` or `import_module("a.b")` brings, or None."""
    if isinstance(node, ast.Call) and node.args and (name := text_of(node.args[0])):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name if called in ("import_module", "__import__") else None
    return None


@lru_cache(maxsize=16)
def bindings_of(source):
    """The Bindings of all cells of a notebook, joined by empty lines; block by block where one is no Python."""
    if len(source) > LONGEST:
        source = source[:LONGEST]
    tree, _ = attempt(source)
    trees = [tree] if tree else [tree for block in BLOCK.split(source) if (tree := parsed(block))]
    return Bindings(trees)

"""What two answers can have in common: their form without names, and the words that their writers chose."""

import ast
import copy
import io
import re
import tokenize
from collections import Counter
from dataclasses import dataclass

from course_lib.authoring.cell_code import DEFINITION, UNREADABLE, is_text, parsed

LONGEST = 50_000  # characters of an answer that are looked into
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Form:
    """An answer, as it is compared.

    text: the code with its names numbered by first use, without comments, docstrings and annotations: equal for two
    answers that differ in names alone. lines: for each kind of statement, names blanked, (how often, size in nodes).
    names: variables that the writer named. comments: lines of comments and docstrings, as small words. size: nodes.
    """

    text: str
    lines: dict
    names: frozenset
    comments: frozenset
    size: int


def form_of(source, name):
    """The Form of the answer to an exercise, or None where it is no Python. Only what it defines counts."""
    source = source[:LONGEST]
    tree = parsed(source)
    if tree is None:
        return None
    try:
        comments = _comments(source, tree)
        tree.body = [node for node in tree.body if isinstance(node, (*DEFINITION, ast.Assign))]
        _bare(tree)
        own = _bound(tree) - {name}
        lines, size = _lines(tree, own), sum(1 for _ in ast.walk(tree))
        names = frozenset(one for one in own if not one.startswith("__"))
        _Numbered(own).visit(tree)
        return Form(ast.unparse(tree), lines, names, comments, size)
    except UNREADABLE:
        return None


def words(text):
    """The small words in a text: of names and of prose alike ("scores_max" has two)."""
    return WORD.findall(text.lower())


def _comments(source, tree):
    texts = []
    try:
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, *UNREADABLE):
        pass
    for node in ast.walk(tree):
        if isinstance(node, DEFINITION) and node.body and is_text(node.body[0]):
            texts += node.body[0].value.value.split("\n")
    return frozenset(filter(None, (" ".join(words(text)) for text in texts)))


def _bare(tree):
    """Take docstrings and annotations away."""
    for node in ast.walk(tree):
        if isinstance(node, DEFINITION):
            kept = [one for one in node.body if not is_text(one)]
            node.body = kept or [ast.Pass()]
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None


def _bound(tree):
    """The names that the answer itself gives: variables, parameters, its own functions."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, DEFINITION):
            found.add(node.name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


def _lines(tree, own):
    """{a statement without its blocks, its own names blanked: (how often, its nodes)}."""
    found, sizes = Counter(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            alone = copy.copy(node)
            for block in BLOCKS:
                if getattr(alone, block, None):
                    setattr(alone, block, [])
            if isinstance(alone, DEFINITION):
                alone.name = "_"
            alone = _Blanked(own).visit(copy.deepcopy(alone))
            text = ast.unparse(alone) if not isinstance(alone, DEFINITION) else "def"
            found[text] += 1
            sizes[text] = sum(1 for _ in ast.walk(alone))
    return {text: (count, sizes[text]) for text, count in found.items()}


class _Renamed(ast.NodeTransformer):
    """Gives the answer's own names others; `other(name)` says which."""

    def __init__(self, own):
        self.own, self.numbers = own, {}

    def other(self, name):
        raise NotImplementedError

    def visit_Name(self, node):
        node.id = self.other(node.id)
        return node

    def visit_arg(self, node):
        node.arg = self.other(node.arg)
        return node

    def visit_FunctionDef(self, node):
        node.name = self.other(node.name)
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef


class _Numbered(_Renamed):
    def other(self, name):
        return f"v{self.numbers.setdefault(name, len(self.numbers))}" if name in self.own else name


class _Blanked(_Renamed):
    def other(self, name):
        return "_" if name in self.own else name

"""What the code of one cell says, read without running it and whatever state it is in: nothing here raises.

Cells of learners may hold IPython's own syntax, half a function, or code that was made to break a parser.
"""

import ast
import re
import symtable
import warnings
from functools import lru_cache

LIMIT = 200_000  # characters; a longer cell is not looked into
PATIENCE = 2_000_000  # characters that are parsed in all while the IPython lines of one cell are looked for
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what parsing raises on code that is none
remembered = lru_cache(maxsize=512)  # the same cells are asked about many times; only names are kept
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITION = (*FUNCTION, ast.ClassDef)
TIMERS = ("%%time", "%%timeit", "%%capture", "%%prun")  # cell magics whose body is plain Python
MAGIC_LINE = re.compile(r"\s*([%!?]|[\w.]+\s*\?{1,2}\s*$|[\w.,\s]+=\s*[%!])")


def parsed(source):
    """The module that these lines make, or None."""
    tree, _ = attempt(source)
    return tree


def attempt(source):
    """(the module, None), or (None, the line where it goes wrong, or 0)."""
    if len(source) > LIMIT:
        return None, 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a text is a warning, and not ours to give
            return ast.parse(source), None
    except UNREADABLE as error:
        return None, getattr(error, "lineno", None) or 0


def plain_python(source):
    """(source without IPython's own syntax, whether it is a cell of another language).

    Touches only cells that are no Python as they stand, and there only lines at which the parser stops: a `%` in the
    middle of an expression or a text is not one of them. Lines keep their numbers. A cell that does not become Python
    comes back as it was.
    """
    tree, wrong = attempt(source)
    if tree is not None or len(source) > LIMIT:
        return source, False
    lines = dedented(source).split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].lstrip().startswith("%%"):
        if lines[first].split()[0] not in TIMERS:
            return source, True
        lines[first] = ""
    budget = PATIENCE
    while budget > 0:
        text = "\n".join(lines)
        tree, wrong = attempt(text)
        if tree is not None:
            return text, False
        if not 0 < wrong <= len(lines) or not MAGIC_LINE.match(lines[wrong - 1]):
            return source, False
        line = lines[wrong - 1]
        lines[wrong - 1] = f"{line[: len(line) - len(line.lstrip())]}pass"  # a block may hold nothing else
        budget -= len(text) + 1
    return source, False


def dedented(source):
    """Lines moved to the left by the indentation of the first one, as IPython does it."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    lines = source.split("\n")
    if not indent or not all(line.startswith(indent) for line in lines if line.strip()):
        return source
    return "\n".join(line[len(indent) :] for line in lines)


def statements(tree):
    """The statements that run when the cell does: at the top, and in the blocks of `if`, `try`, `with` and loops."""
    waiting = list(reversed(tree.body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, DEFINITION):
            continue
        blocks = [getattr(node, field, []) for field in ("body", "orelse", "finalbody")]
        blocks += [handler.body for handler in getattr(node, "handlers", [])]
        waiting += [inner for block in reversed(blocks) for inner in reversed(block)]


def bound(node):
    """The names that one statement gives a value: of a definition, an assignment or an import."""
    if isinstance(node, DEFINITION):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value):
        targets = [node.target]
    else:
        return set()
    leaves = [leaf for target in targets for leaf in ast.walk(target)]
    return {leaf.id for leaf in leaves if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)}


@remembered
def bound_names(source):
    """The names that a cell gives a value at its top level; none where it is no Python."""
    tree = parsed(source)
    return frozenset(name for node in statements(tree) for name in bound(node)) if tree else frozenset()


@remembered
def is_python(source):
    return parsed(source) is not None


@remembered
def patched_names(source):
    """Names of which a cell sets an attribute at its top level: `Encoder.forward = forward`."""
    tree = parsed(source)
    targets = [t for node in statements(tree) if isinstance(node, ast.Assign) for t in node.targets] if tree else []
    return frozenset(t.value.id for t in targets if isinstance(t, ast.Attribute) and isinstance(t.value, ast.Name))


def defines(source, name):
    """Whether a cell, valid Python or not, defines a function or class of this name at its top."""
    tree = parsed(source)
    if tree is not None:
        return any(isinstance(node, DEFINITION) and node.name == name for node in tree.body)
    return bool(re.search(rf"^(async\s+)?(def|class)\s+{re.escape(name)}\b", source[:LIMIT], re.M))


@remembered
def global_names(source):
    """The names of the notebook that a cell or the functions in it look up, builtins among them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            waiting = [symtable.symtable(source, "cell", "exec")] if len(source) <= LIMIT else []
    except UNREADABLE:
        return frozenset()
    found = set()
    while waiting:
        table = waiting.pop()
        top = table.get_type() == "module"
        found |= {one.get_name() for one in table.get_symbols() if one.is_referenced() and (top or one.is_global())}
        waiting += table.get_children()
    return frozenset(found)


def words(source):
    """Everything in a text that could be a name, comments and texts among it: code may be reached in many ways."""
    return set(re.findall(r"[^\W\d]\w*", source))


def same_code(one, other):
    """Whether two cells are the same code, apart from comments, docstrings and layout."""
    if one.strip() == other.strip():
        return True
    trees = parsed(one), parsed(other)
    if None in trees:
        return False
    first, second = map(bare, trees)
    return first is not None and first == second


def bare(tree):
    """A text that stands for a module without its docstrings, or None where it is nested too deeply to tell."""
    for node in ast.walk(tree):
        if isinstance(node, (*DEFINITION, ast.Module)) and node.body and is_text(node.body[0]):
            node.body = node.body[1:]
    try:
        return ast.dump(tree)
    except RecursionError:
        return None


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def calls_only(source, names):
    """Whether a cell does nothing but call functions of these names, or say something in a text."""
    tree = parsed(source)
    return tree is not None and all(is_text(node) or is_call(node, names) for node in tree.body)


def is_call(node, names):
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names


def only_raises(source, stub):
    """Whether every function of a cell does nothing but raise the stub, as in a notebook of any version as given."""
    tree, raised = parsed(source), bare(ast.parse(stub))
    if tree is None:
        return False
    functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    bodies = [[node for node in function.body if not is_text(node)] for function in functions]
    plain = all(isinstance(node, (*DEFINITION, ast.Import, ast.ImportFrom)) or is_text(node) for node in tree.body)
    return plain and bool(bodies) and all(bare(ast.Module(body=body, type_ignores=[])) == raised for body in bodies)


def builds_on(source, name):
    """Whether a cell needs an earlier value of a name that it gives itself: `softmax = faster(softmax)`."""
    tree = parsed(source)
    for node in statements(tree) if tree else ():
        if name in looked_up_at_once(node):
            return True
        if name in bound(node):
            return False
    return False


def looked_up_at_once(node):
    """The names that a statement looks up when it runs; of a definition, those outside its body."""
    parts = [node]
    if isinstance(node, DEFINITION):
        parts = list(node.decorator_list)
        if isinstance(node, ast.ClassDef):
            parts += [*node.bases, *(keyword.value for keyword in node.keywords)]
        else:
            parts += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    leaves = [leaf for part in parts for leaf in ast.walk(part)]
    return {leaf.id for leaf in leaves if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Load)}

"""Answers that hand the work to somebody else: to torch's own function, to the course's, or to what a file holds.

Reported to the instructor, never punished. What is read is the answer and the functions that it calls, not what else
stands in its cell: a line that compares the answer with torch's is good practice.
"""

import ast

from course_lib.authoring.cell_code import parsed

from ..library import TWINS
from .bindings import Bindings, bindings_of, own_names, text_of

ANSWERS = tuple(f"course_lib.{part}" for part in ("exercises", "checking", "grading", "authoring", "learner"))
PLACES = tuple(part.replace(".", "/") for part in ANSWERS) + ("solutions/",)
TRICKS = (
    "os", "subprocess", "ctypes", "inspect", "importlib", "gc", "socket", "multiprocessing", "signal", "shutil",
    "pathlib", "builtins", "pty", "urllib", "requests", "linecache", "sys.modules", "sys._getframe", "sys.settrace",
    "sys.setprofile", "sys.path", "sys.meta_path", "sys.exit", "sys.stdin", "torch.load", "torch.hub",
)  # fmt: skip
HARMLESS = ("os.environ", "os.path", "inspect.signature")
BUILTINS = {
    "open": "opens a file with `open`",
    "exec": "runs text as code with `exec`",
    "eval": "runs text as code with `eval`",
    "compile": "runs text as code with `compile`",
    "__import__": "imports with `__import__`",
    "globals": "reaches the notebook's names with `globals`",
    "get_ipython": "reaches the notebook's shell with `get_ipython`",
}
METHODS = {
    "read_text": "reads a file with `read_text`",
    "read_bytes": "reads a file with `read_bytes`",
    "__subclasses__": "looks behind the scenes with `__subclasses__`",
    "__globals__": "looks behind the scenes with `__globals__`",
    "__closure__": "looks behind the scenes with `__closure__`",
    "f_back": "looks behind the scenes with `f_back`",
}
MOST_HELPERS = 50


def handed_over(source, exercise, context=""):
    """Phrases on what an answer leaves to others, sorted; () where there is nothing to say or it is no Python.

    source: the cells of the answer. exercise: its `forbidden` names count, and its twins in the library. context: all
    of the learner's cells, which may hold the imports and the helpers. Never raises on account of a source.
    """
    tree = parsed(source)
    if tree is None:
        return ()
    try:
        bindings = Bindings([tree], bindings_of(context))
        for module in bindings.stars:
            for name in (one.rpartition(".")[2] for one in exercise.forbidden):
                if name not in bindings.definitions:
                    bindings.aliases.setdefault(name, f"{module}.{name}")
        phrases = set(_tricks(tree, bindings, own_names(tree, bindings)))
        for name, node in _reached(tree, exercise.name, bindings):
            inside = "" if name == exercise.name else f", in `{name}`"
            hidden = own_names(node, bindings)
            phrases |= {f"{phrase}{inside}" for phrase in _work(node, exercise, bindings, hidden)}
            phrases |= {f"{phrase}{inside}" for phrase in _tricks(node, bindings, hidden) if phrase not in phrases}
    except (RecursionError, MemoryError):
        return ()
    return tuple(sorted(phrases))


def _reached(tree, name, bindings):
    """(name, statement) of what binds the answer's name, and of every function of the notebook that it uses."""
    if name not in Bindings([tree]).definitions:
        yield name, tree
        return
    seen, waiting = {name}, [name]
    while waiting and len(seen) < MOST_HELPERS:
        one = waiting.pop()
        node = bindings.definitions[one]
        yield one, node
        inside = {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Load)}
        new = sorted((inside & bindings.definitions.keys()) - seen - own_names(node, bindings))
        seen |= set(new)
        waiting += new


def _work(node, exercise, bindings, hidden):
    """Phrases on forbidden functions, the course's own version, and `mine` of this very exercise."""
    forbidden = {(one.split(".")[0], one.rpartition(".")[2]) for one in exercise.forbidden}
    methods = {
        one.rpartition(".")[2] for one in exercise.forbidden if one.rpartition(".")[0] in ("torch", "torch.Tensor")
    }
    twins = {exercise.name, *TWINS.get(exercise.name, ())}
    for path in _paths(node, bindings, hidden):
        root, last = path.split(".")[0], path.rpartition(".")[2]
        if (root, last) in forbidden:
            yield f"hands the work to `{path}`"
        elif root == "course_lib" and last in twins and path.count(".") > 1:
            yield f"hands the work to the course's own `{path}`"
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Attribute) and leaf.attr in methods and bindings.path(leaf, hidden) is None:
            if not (isinstance(leaf.value, ast.Name) and leaf.value.id in ("self", "cls")):
                yield f"hands the work to `torch.Tensor.{leaf.attr}`"
        if isinstance(leaf, ast.Call) and leaf.args and isinstance(text := text_of(leaf.args[-1]), str):
            called = bindings.path(leaf.func, hidden) or getattr(leaf.func, "id", getattr(leaf.func, "attr", ""))
            if called.rpartition(".")[2] in ("attrgetter", "methodcaller", "getattr"):
                named = [one for one in exercise.forbidden if one.rpartition(".")[2] == text.rpartition(".")[2]]
                if named and bindings.path(leaf, hidden) is None:
                    yield f"hands the work to `{named[0]}`"
            elif called.rpartition(".")[2] == "mine" and text == exercise.name:
                yield f"asks `mine` for `{text}`, which is what is to be written"


def _tricks(node, bindings, hidden):
    """Phrases on the course's answers, on files, and on ways around the walls."""
    for path in _paths(node, bindings, hidden):
        if path.startswith(ANSWERS):
            yield f"names `{path}`, where the course's answers are"
        elif _below(path, TRICKS) and not _below(path, HARMLESS):
            yield f"uses `{path}`"
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Call) and isinstance(leaf.func, ast.Name) and leaf.func.id not in hidden:
            if leaf.func.id in BUILTINS and leaf.func.id not in bindings.definitions:
                yield BUILTINS[leaf.func.id]
        elif isinstance(leaf, ast.Attribute) and leaf.attr in METHODS:
            yield METHODS[leaf.attr]
        elif isinstance(leaf, ast.Constant) and isinstance(leaf.value, str) and len(leaf.value) < 200:
            if any(place in leaf.value.replace("\\", "/") for place in PLACES):
                yield f"names the place `{leaf.value}`"


def _below(path, modules):
    return any(path == module or path.startswith(f"{module}.") for module in modules)


def _paths(node, bindings, hidden):
    """The dotted paths that the expressions of a piece of code stand for, the longest ones only."""
    found, part_of_longer = [], set()
    for leaf in ast.walk(node):  # from the outside in
        if isinstance(leaf, ast.ImportFrom) and leaf.module and not leaf.level:
            found += [f"{leaf.module}.{name.name}" for name in leaf.names if leaf.module.startswith(ANSWERS)]
        elif isinstance(leaf, ast.Import):
            found += [name.name for name in leaf.names if name.name.startswith(ANSWERS)]
        elif isinstance(leaf, (ast.Attribute, ast.Name, ast.Call, ast.Subscript)) and id(leaf) not in part_of_longer:
            if isinstance(getattr(leaf, "ctx", None), ast.Store):
                continue
            path = bindings.path(leaf, hidden)
            if path:
                part_of_longer |= {id(inner) for inner in ast.walk(leaf)}
                found.append(path)
    return list(dict.fromkeys(found))

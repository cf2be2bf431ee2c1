"""Take an answer out of a notebook as source that runs by itself, and bring it back later."""

import ast
import inspect
import linecache
import math
import sys
import textwrap
import types

_PLAIN = (bool, int, float, str)
_SOURCE = "__kept_source__"  # in the namespace of an answer that came back: what it was made from


def portable_source(function, namespace, within=None):
    """Source of `function` with what it needs from the notebook: modules, other functions, plain constants.

    namespace: the notebook's variables. within: a package whose functions are written out as well, not imported.
    Returns None where there is no source (typed in a bare prompt, say).
    """
    lines, written = [], set()

    def add(name, value, namespace=namespace):
        if name in written:
            return
        written.add(name)
        if isinstance(value, types.ModuleType):
            lines.append(f"import {value.__name__} as {name}")
        elif isinstance(value, _PLAIN):
            plain = not isinstance(value, float) or math.isfinite(value)
            lines.append(f"{name} = {value!r}" if plain else f"{name} = float({str(value)!r})")
        elif (kept := _kept_source(value)) is not None:
            # An answer of another lesson, brought by `mine`. It keeps a namespace of its own: its helpers may have the
            # names of others here.
            if "_revive" not in written:
                written.add("_revive")
                lines.append(f"from {__name__} import revive as _revive")
            lines.append(f"{name} = _revive({value.__name__!r}, {kept!r})")
        elif within and f"{getattr(value, '__module__', None)}.".startswith(f"{within}."):
            write_out(value, vars(sys.modules[value.__module__]))
        elif getattr(value, "__module__", None) not in (None, "__main__", namespace.get("__name__")):
            if hasattr(value, "__qualname__") and "." not in value.__qualname__:
                lines.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif isinstance(value, types.FunctionType | type):
            write_out(value, namespace)

    def write_out(value, namespace):
        source = textwrap.dedent(_source(value))
        for needed in sorted(_global_names(source)):
            if needed in namespace and not needed.startswith("__"):
                add(needed, namespace[needed], namespace)
        lines.append(source.rstrip())

    try:
        add(function.__name__, function)
    except (OSError, SyntaxError, TypeError):  # SyntaxError: a lambda in the middle of a line
        return None
    return "\n".join(lines)


def _kept_source(value):
    """What `revive` made this function or class from; None for any other value."""
    members = vars(value).values() if isinstance(value, type) else (value,)
    spaces = [member.__globals__ for member in members if isinstance(member, types.FunctionType)]
    return next((space[_SOURCE] for space in spaces if _SOURCE in space), None)


def _source(value):
    """The source of a function or class. Raises OSError where there is none.

    `inspect` looks for a class in the file of its module, and the cells of a notebook have none; its methods know the
    cell that they come from.
    """
    if not isinstance(value, type):
        return inspect.getsource(value)
    for method in (member for member in vars(value).values() if isinstance(member, types.FunctionType)):
        code = method.__code__
        text = "".join(linecache.getlines(code.co_filename))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.lineno <= code.co_firstlineno <= node.end_lineno:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise OSError(f"no source of {value.__name__}")


def _global_names(source):
    """Names that a definition may look up outside itself: when it is made (bases, decorators, defaults) and inside."""
    codes, found = [compile(source, "<answer>", "exec")], set()
    while codes:
        code = codes.pop()
        found |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return found


def revive(name, source):
    """Run kept source in a namespace of its own and return the function. Raises what the source raises."""
    filename = f"<your {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace = {"__name__": f"course_work_{name}", _SOURCE: source}
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]

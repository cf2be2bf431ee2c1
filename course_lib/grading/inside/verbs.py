"""The verbs of a lesson as they are while an answer is graded: nothing is checked, shown or remembered.

In the library beside the learner's code, `course_lib.learner` is this file.
"""

import builtins
import linecache


class NotAvailableWhileGraded(RuntimeError):
    """The course's own version of an answer was asked for in the notebook in which it is graded."""


_provided, _namespace = {}, {}


def set_up(provided, namespace):
    """provided: {name: source} of earlier lessons. namespace: the notebook's variables."""
    global _provided, _namespace
    _provided, _namespace = provided, namespace


def mine(name):
    """An answer of this notebook: the learner's own, looked up when it is called. One of another: the course's."""
    if name in _provided:
        return brought(name, _provided[name])

    def own(*arguments, **options):
        if name not in _namespace:
            raise NotAvailableWhileGraded(f"the course's `{name}` is not available while yours is graded")
        return _namespace[name](*arguments, **options)

    return own


def brought(name, source):
    """A function or class of the course from its source, in a namespace of its own."""
    filename, namespace = f"<the course's {name}>", {"__name__": f"course_answer_{name}"}
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace[name]


def nothing(*arguments, **options):
    """Stands for a verb that has no part in grading."""


check = hint = solution = progress = assessed = nothing


class Shell:
    """What `get_ipython()` gives: it takes every call and does nothing."""

    def __getattr__(self, name):
        return nothing


def notebook_namespace():
    """The variables of a notebook in which nothing has run yet."""
    return {
        "__name__": "__main__",
        "__builtins__": builtins,
        "get_ipython": Shell,
        "display": nothing,
    }

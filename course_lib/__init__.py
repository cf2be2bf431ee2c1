"""From Seq2Seq to Transformer: the library behind the lessons.

What a lesson imports in its first cell stands here. The names load when they are first used, so that
`import course_lib.attention` needs nothing but torch.
"""

from importlib import import_module

_HOME = {
    "check": "course_lib.learner",
    "hint": "course_lib.learner",
    "solution": "course_lib.learner",
    "mine": "course_lib.learner",
    "progress": "course_lib.learner",
    "assessed": "course_lib.learner",
    "pick_device": "course_lib.device",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'course_lib' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__():
    return sorted([*globals(), *_HOME])

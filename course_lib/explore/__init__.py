"""What a learner moves with slider and keys: `bottleneck`, `alignment`, `score_lab`.

Each function loads its module when it is called, so that the server extension in `save_hook` costs the server neither
torch nor matplotlib. Arguments and examples stand with the function of the same name in the module of the same name.
"""

import importlib
import sys
import types

__all__ = ["alignment", "bottleneck", "score_lab"]


class _Package(types.ModuleType):
    """A package whose submodules, once imported, don't take the place of the functions of the same name."""

    def __setattr__(self, name, value):
        if not (name in __all__ and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)

    def __getattr__(self, name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{name}"), name)


sys.modules[__name__].__class__ = _Package

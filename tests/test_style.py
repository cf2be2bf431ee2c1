"""What holds for every file: lint, no names of machines."""

import re
import subprocess
import sys

import pytest

from course_lib.authoring.catalogue import repo_root

HOST = re.compile(r"https?://([\w.-]+)")
# Hosts that may be named, and by which files; every other one, a package registry or its mirror say, may not.
NAMED = {
    "download.pytorch.org": ("binder/", "README.md"),
    "www.apache.org": ("LICENSE",),
    "127.0.0.1": ("tests/", "benchmarks/"),
    "www.w3.org": ("course_lib/explore/", "tests/explore/", "docs/"),  # the name of SVG's namespace, never fetched
    "index.invalid": ("tests/",),  # exists nowhere, by definition
}
MACHINE = re.compile(r"/(root|work)/|/home/\w")


def tracked_files():
    listed = subprocess.run(["git", "ls-files"], cwd=repo_root(), capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout, so there is no list of tracked files")
    return [repo_root() / name for name in listed.stdout.splitlines()]


def test_ruff_finds_nothing():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=repo_root(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def texts():
    """Relative path and text of every tracked file."""
    for path in tracked_files():
        name = path.relative_to(repo_root()).as_posix()
        if path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_no_folder_of_a_machine_is_named():
    assert not {f"{name}: {found[0]}" for name, text in texts() for found in [MACHINE.search(text)] if found}


def test_only_these_hosts_are_named():
    found = {(name, host) for name, text in texts() for host in HOST.findall(text)}
    assert not {pair for pair in found if not pair[0].startswith(NAMED.get(pair[1], ("?",)))}

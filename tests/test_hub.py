"""The JupyterHub image: what its start script does to a home folder, and that its recipe names what is there."""

import os
import re
import subprocess

import pytest

from course_lib.authoring.catalogue import lessons, repo_root

HUB = repo_root() / "binder" / "hub"
SERVER = '#!/bin/sh\necho "$COURSE_HOME" "$@"\n'


@pytest.fixture
def start(tmp_path):
    """start() runs the script with a server that says what it was given; returns that."""
    server = tmp_path / "bin" / "jupyterhub-singleuser"
    server.parent.mkdir()
    server.write_text(SERVER)
    server.chmod(0o755)
    home = tmp_path / "home of 학생"
    home.mkdir()
    path = f"{server.parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(home), "COURSE_FOLDER": str(repo_root())}

    def run(*arguments):
        done = subprocess.run(
            ["sh", str(HUB / "start-course"), *arguments], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip(), home / "course"

    return run


def test_the_first_start_copies_the_lessons_and_starts_the_server(start):
    said, home = start("--port=8888")
    assert said.startswith(str(home)) and said.endswith("--port=8888")
    assert "00_start_here.ipynb" in said
    assert {path.name for path in (home / "notebooks").iterdir()} == {one.notebook.name for one in lessons()}


def test_a_later_start_leaves_work_alone_and_brings_back_what_is_missing(start):
    _, home = start()
    first, second = sorted((home / "notebooks").iterdir())[:2]
    first.write_text("my work")
    second.unlink()
    start()
    assert first.read_text() == "my work"
    assert second.read_bytes() == (repo_root() / "notebooks" / second.name).read_bytes()


def test_the_image_leaves_out_what_others_handed_in_and_what_this_machine_made():
    left_out = (repo_root() / ".dockerignore").read_text().splitlines()
    assert {"graded", "submitted", ".course", ".venv", ".git"} <= set(left_out)


def test_the_recipe_names_files_and_extras_that_are_there():
    recipe = (HUB / "Dockerfile").read_text()
    assert re.findall(r"COPY (\S+)", recipe) == [".", "binder/hub/start-course"]
    assert (HUB / "start-course").stat().st_mode & 0o111
    assert "constraints.txt" in recipe and "[instructor]" in recipe
    assert "instructor = [" in (repo_root() / "pyproject.toml").read_text()

"""The lessons that exist, each with what the build makes of its source (nothing is run here)."""

from functools import cache
from types import SimpleNamespace

import nbformat
import pytest

from course_lib.authoring.build import learner_version
from course_lib.authoring.catalogue import lessons
from course_lib.authoring.source import read_notebook


@cache
def read_lesson_files(one):
    """plain, stubs: as built from the source now; solution, learner: as committed, None where there is no file."""
    plain = read_notebook(one)
    committed = [nbformat.read(path, as_version=4) if path.exists() else None for path in (one.solution, one.notebook)]
    return SimpleNamespace(
        lesson=one, plain=plain, stubs=learner_version(plain), solution=committed[0], learner=committed[1]
    )


def pytest_generate_tests(metafunc):
    if "built" in metafunc.fixturenames:
        found = lessons()
        metafunc.parametrize("built", found, ids=[one.name for one in found], indirect=True)


@pytest.fixture
def built(request):
    files = read_lesson_files(request.param)
    if files.solution is None or files.learner is None:
        pytest.fail(
            f"{files.lesson.name} has not been built: run `course build {files.lesson.number:02}`", pytrace=False
        )
    return files

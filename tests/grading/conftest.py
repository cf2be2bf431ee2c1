"""The small lesson of `small_notebook`."""

import pytest

from .small_notebook import small_lesson


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    return small_lesson(tmp_path_factory.mktemp("course"))

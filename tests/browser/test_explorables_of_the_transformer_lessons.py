"""The explorables of the lessons from 6 on in JupyterLab."""

import pytest

from .lesson_notebooks import WITH_EXPLORABLES, check_explorables

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("one", [one for one in WITH_EXPLORABLES if one.number >= 6], ids=lambda one: one.name)
def test_the_explorables_of_a_lesson(lab, tmp_path, one):
    check_explorables(lab, tmp_path, one)

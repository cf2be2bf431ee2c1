"""Clones to start course.py in."""

import pytest

from .stub_clones import Clone


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


@pytest.fixture
def ready(clone):
    """A clone that has been set up once; it holds a file that a rebuild would remove."""
    assert clone.run("lab")[0] == 7
    (clone.venv / "mine").touch()
    clone.log.unlink()
    return clone

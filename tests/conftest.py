"""Every test runs with a `.course/` of its own, never with a learner's."""

import pytest


def pytest_runtest_setup(item):
    """A test marked `gpu` needs a CUDA device."""
    if item.get_closest_marker("gpu"):
        import torch  # here, so that tests without torch start at once

        if not torch.cuda.is_available():
            pytest.skip("no CUDA device")


@pytest.fixture(autouse=True)
def course_home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def float64_where_asked(request):
    """A test marked `double` computes in float64, from the same seed each time."""
    if request.node.get_closest_marker("double") is None:
        yield
        return
    import torch

    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)

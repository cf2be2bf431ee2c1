import pytest
import torch

from course_lib.device import pick_device


def present(monkeypatch, *, cuda=0, mps=False):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.delenv("COURSE_DEVICE", raising=False)


@pytest.mark.parametrize(("cuda", "mps", "expected"), [(1, True, "cuda"), (0, True, "mps"), (0, False, "cpu")])
def test_cuda_then_mps_then_cpu(monkeypatch, cuda, mps, expected):
    present(monkeypatch, cuda=cuda, mps=mps)
    assert pick_device() == torch.device(expected)


def test_environment_overrides(monkeypatch):
    present(monkeypatch, cuda=2)
    for name in ("cpu", "cuda", "cuda:1"):
        monkeypatch.setenv("COURSE_DEVICE", name)
        assert pick_device() == torch.device(name)
    monkeypatch.setenv("COURSE_DEVICE", "")
    assert pick_device() == torch.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "CPU0"])
def test_unknown_name_is_refused(monkeypatch, name):
    present(monkeypatch, cuda=2)
    monkeypatch.setenv("COURSE_DEVICE", name)
    with pytest.raises(ValueError, match="expected cpu, cuda, cuda:N or mps, got"):
        pick_device()


@pytest.mark.parametrize(("name", "cuda"), [("cuda", 0), ("cuda:2", 2), ("mps", 1)])
def test_absent_device_is_refused(monkeypatch, name, cuda):
    present(monkeypatch, cuda=cuda)
    monkeypatch.setenv("COURSE_DEVICE", name)
    with pytest.raises(RuntimeError, match=f"COURSE_DEVICE={name}, but torch sees"):
        pick_device()

"""`course doctor`: memory and device. (Its other lines are tested in `test_cli`.)"""

import builtins
from types import SimpleNamespace

import psutil
import pytest
import torch

from course_lib import doctor


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine of 16 GB with 8 GB free, in no container: a function that changes this."""
    monkeypatch.setattr(doctor, "CONTAINER", tmp_path)

    def change(free=8.0, total=16.0, **files):
        held = SimpleNamespace(available=free * 1e9, total=total * 1e9)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: held)
        for name, text in files.items():
            (tmp_path / f"memory.{name}").write_text(f"{text}\n")

    change()
    return change


def test_memory_that_is_enough(machine):
    assert doctor.memory() == ("memory", "8.0 of 16.0 GB free", "", True)


def test_memory_that_is_short(machine):
    machine(free=0.4)
    found = doctor.memory()
    assert found.text == "0.4 of 16.0 GB free" and found.needed
    assert "1 GB" in found.advice and "Shut Down All Kernels" in found.advice


def test_in_a_container_its_limit_counts(machine):
    machine(max=2_000_000_000, current=1_400_000_000)
    found = doctor.memory()
    assert found.text == "0.6 of 2.0 GB free" and found.advice


@pytest.mark.parametrize("limit", ["max", 10**19, "nonsense"])
def test_a_container_without_a_limit(machine, limit):
    machine(max=limit, current=1_400_000_000)
    assert doctor.memory().text == "8.0 of 16.0 GB free"


def test_without_psutil_it_says_so(machine, monkeypatch):
    real = builtins.__import__

    def no_psutil(name, *rest):
        if name == "psutil":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", no_psutil)
    found = doctor.memory()
    assert found.text == "not measured" and "psutil" in found.advice and not found.needed


@pytest.fixture
def on_cpu(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    return monkeypatch


def test_the_cpu_is_fine_where_there_is_nothing_else(on_cpu):
    found = doctor.device()
    assert f"torch {torch.__version__} computes on cpu, " in found.text and not found.advice


@pytest.mark.parametrize(("cuda", "advice"), [(None, "without --cpu-torch"), ("13.0", "driver")])
def test_a_gpu_that_torch_does_not_use(on_cpu, cuda, advice):
    on_cpu.setattr(doctor.shutil, "which", lambda name: f"somewhere/{name}")
    on_cpu.setattr(torch.version, "cuda", cuda)
    found = doctor.device()
    assert advice in found.advice and not found.needed


def test_a_gpu_is_named_with_its_memory(on_cpu):
    from course_lib import device

    on_cpu.setattr(device, "pick_device", lambda: torch.device("cuda"))
    on_cpu.setattr(torch.cuda, "get_device_name", lambda chosen: "Some GPU")
    on_cpu.setattr(torch.cuda, "mem_get_info", lambda chosen: (3e9, 8e9))
    found = doctor.device()
    assert found.text.endswith("Some GPU, 3.0 of 8.0 GB free") and not found.advice

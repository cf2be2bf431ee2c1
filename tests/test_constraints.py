"""constraints.txt: one version for each package of pyproject.toml, on three systems and three Pythons."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from course_lib.authoring.catalogue import repo_root

ROOT = repo_root()


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def asked_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_hold_versions_and_markers_only():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert not re.search(r"://|^-|@|\+|\\", text, re.M)
    for pin in pins():
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", str(pin.specifier)), pin
        assert not pin.extras


SYSTEMS = {
    "Linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": "x86_64"},
    "macOS": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix", "platform_machine": "arm64"},
    "Windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"},
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", ["3.11.9", "3.12.1", "3.13.0"])
def test_each_package_has_one_pin_within_its_range(system, python):
    minor = ".".join(python.split(".")[:2])
    place = {**SYSTEMS[system], "python_full_version": python, "python_version": minor}
    here = [pin for pin in pins() if pin.marker is None or pin.marker.evaluate(place)]
    versions = {canonical(pin.name): str(pin.specifier)[2:] for pin in here}
    assert len(versions) == len(here), "two pins for one package"
    for wanted in asked_for():
        version = versions.get(canonical(wanted.name))
        assert version, f"{wanted.name} has no pin: make constraints.txt again"
        assert wanted.specifier.contains(version), f"{wanted} does not admit the pin {version}"


def test_ranges_that_must_stay():
    ranges = {canonical(wanted.name): wanted.specifier for wanted in asked_for()}
    assert not ranges["nbval"].contains("0.12.0"), "the plugin uses the inside of nbval 0.11"
    assert not ranges["jupyterlab"].contains("5.0.0")
    assert [str(pin.specifier) for pin in pins() if pin.name == "torch"] == ["==2.13.0"]

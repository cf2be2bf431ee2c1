"""Packages with files in a folder of ours, which must never be imported."""

import hashlib

from course_lib.data.published import Package

FILES = {"model/weights.bin": b"weights " * 1000, "words.txt": "낱말\n".encode()}
FAKE = Package(
    name="fake-weights",
    version="1.2.3",
    module="fake_weights",
    purpose="lesson 99: nothing",
    megabytes=5,
    licence="None-1.0",
    files={name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()},
)


def put_package(site, module=FAKE.module, files=FILES):
    """Write the package below `site`. Returns its folder."""
    folder = site / module
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder

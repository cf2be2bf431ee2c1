"""Files of optional packages: found without an import, checked before they are used."""

import sys

import pytest

from course_lib.data.published import WeightsMissing, installed, missing, read_published, verify
from tests.fake_packages import FAKE, FILES, put_package

WITH_READER = FAKE._replace(needs=("json", "fake_reader"))


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_every_file_is_read_and_nothing_imported(site):
    put_package(site)
    assert installed(FAKE) and missing(FAKE) == []
    assert {name: read_published(FAKE, name) for name in FAKE.files} == FILES
    verify(FAKE)
    assert "fake_weights" not in sys.modules


def test_an_absent_package_says_how_to_get_it():
    assert not installed(FAKE) and missing(FAKE) == ["fake-weights"]
    for call in (lambda: read_published(FAKE, "words.txt"), lambda: verify(FAKE)):
        with pytest.raises(WeightsMissing, match=r"fake-weights not installed. `python3 course.py weights fake-.*5 MB"):
            call()


def test_what_reads_the_files_belongs_to_it(site):
    assert missing(WITH_READER) == ["fake-weights", "fake_reader"]
    put_package(site)
    assert installed(FAKE) and not installed(WITH_READER) and missing(WITH_READER) == ["fake_reader"]
    with pytest.raises(WeightsMissing, match=r"fake-weights cannot be read: fake_reader not installed"):
        read_published(WITH_READER, "words.txt")
    put_package(site, "fake_reader", {})
    assert installed(WITH_READER) and "fake_reader" not in sys.modules
    verify(WITH_READER)


def test_a_file_alone_is_no_package(site):
    (site / "fake_weights.py").write_text("raise SystemExit('imported')")
    assert not installed(FAKE)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "change", [lambda old: old[:-1], lambda old: old + b"\n", lambda old: bytes([old[0] ^ 1]) + old[1:]]
)
def test_a_file_that_differs_is_refused(site, name, change):
    path = put_package(site) / name
    path.write_bytes(change(path.read_bytes()))
    assert installed(FAKE)
    for call in (lambda: read_published(FAKE, name), lambda: verify(FAKE)):
        with pytest.raises(ValueError, match=f"{name} is not the file of version 1.2.3 .*weights fake-weights"):
            call()


def test_a_file_that_is_gone_is_said(site):
    (put_package(site) / "words.txt").unlink()
    read_published(FAKE, "model/weights.bin")
    with pytest.raises(ValueError, match=r"words.txt cannot be read from .*\(No such file.*Fetch it again: python3"):
        verify(FAKE)

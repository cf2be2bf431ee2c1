import sys

import pytest

from course_lib.data import g2p
from course_lib.data.published import WeightsMissing
from tests.fake_packages import put_package

needs_weights = pytest.mark.skipif(not g2p.g2p_installed(), reason="optional package g2p-en is not installed")


def test_absent_package_is_said_clearly(monkeypatch):
    monkeypatch.setattr(g2p, "PACKAGE", g2p.PACKAGE._replace(module="no_such_module"))
    assert not g2p.g2p_installed()
    for call in (g2p.load_g2p, g2p.g2p_words):
        with pytest.raises(WeightsMissing, match="python3 course.py weights g2p-en"):
            call()


def test_other_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = put_package(tmp_path, "g2p_en", {})
    assert g2p.g2p_installed()
    with pytest.raises(ValueError, match=r"checkpoint20.npz cannot be read .*No such file"):
        g2p.load_g2p()
    (folder / g2p.WEIGHTS).write_bytes(b"something else")
    with pytest.raises(ValueError, match=r"checkpoint20.npz is not the file of version 2.1.0"):
        g2p.load_g2p()
    assert "g2p_en" not in sys.modules


def test_symbols():
    assert (len(g2p.GRAPHEMES), len(g2p.PHONEMES)) == (29, 74)
    assert len(set(g2p.PHONEMES)) == 74


@needs_weights
def test_published_arrays():
    arrays = g2p.load_g2p().arrays
    assert sum(array.size for array in arrays.values()) == 834_890
    assert arrays["enc_emb"].shape == (29, 256) and arrays["fc_w"].shape == (74, 256)
    assert "g2p_en" not in sys.modules


@needs_weights
def test_published_words():
    words = g2p.g2p_words()
    assert len(words) == 371
    assert all(word.isalpha() and word.islower() and pronunciations for word, pronunciations in words)
    phonemes = {phoneme for _, pronunciations in words for pronunciation in pronunciations for phoneme in pronunciation}
    assert phonemes <= set(g2p.PHONEMES)

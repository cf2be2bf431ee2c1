"""What a run of `course train` learns and is judged by."""

import types

import pytest
import torch
from torch import nn

from course_lib import translation_task
from course_lib.data.batches import make_batch
from course_lib.data.pairs import read_pairs, split_pairs
from course_lib.data.vocabulary import PAD
from course_lib.evaluation import masked_cross_entropy
from course_lib.training.processes import this_process
from course_lib.translation_task import held_out_loss, text_task

WHO = {
    "the cat": "고양이",
    "my sister": "언니",
    "a bird": "새",
    "the baker": "빵장수",
    "his friend": "친구",
    "our aunt": "이모",
}
DOES = {"sees": "봐", "likes": "좋아해", "finds": "찾아", "draws": "그려", "calls": "불러"}


@pytest.fixture
def tsv(tmp_path):
    """Numbered lines: Korean in the third column, English in the second."""
    rows = [f"{who} {does} {whom}\t{WHO[who]} {WHO[whom]} {DOES[does]}"
            for who in WHO for does in DOES for whom in WHO if who != whom]  # fmt: skip
    lines = [f"{number}\t{row}" for number, row in enumerate(rows)]
    path = tmp_path / "numbered.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def judged(monkeypatch):
    """What BLEU was asked: (number of texts written, references, language), a list."""
    asked, real = [], translation_task.bleu

    def bleu(written, references, language):
        asked.append((len(written), references, language))
        return real(written, references, language=language)

    monkeypatch.setattr(translation_task, "bleu", bleu)
    monkeypatch.setattr(translation_task, "write", lambda model, batch, longest: batch.target)
    return asked


def make_task(tsv, **options):
    return text_task(tsv, vocab=300, say=lambda text: None, **options)


def test_columns_and_language_are_those_that_were_asked_for(tsv, judged):
    into_english = make_task(tsv, source=2, target=1)
    into_english.scores(None)
    assert judged[-1][2] == "en" and all(text.isascii() for text in judged[-1][1])
    into_korean = make_task(tsv, source=1, target=2)
    into_korean.scores(None)
    assert judged[-1][2] == "ko" and not any(text.isascii() for text in judged[-1][1])
    make_task(tsv, source=1, target=2, language="en").scores(None)
    assert judged[-1][2] == "en"


def test_the_last_judgement_is_on_sentences_that_were_not_looked_at_before(tsv, judged):
    task = make_task(tsv, source=1, target=2, judged=3)
    task.scores(None)
    task.final(None)
    split = split_pairs(read_pairs(tsv, source=1, target=2).pairs, seed=0)
    assert [number for number, *_ in judged] == [3, 3]
    meanwhile, at_the_end = ([text for _, text in pairs[:3]] for pairs in (split.validation, split.test))
    assert [texts for _, texts, _ in judged] == [meanwhile, at_the_end]


def test_the_held_out_loss_counts_tokens_not_batches():
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(9, 9)

        def forward(self, source, lengths, decoder_input):
            return self.embedding(decoder_input)

    def loss_fn(model, batch):
        return masked_cross_entropy(model(None, None, batch.decoder_input), batch.target, PAD)

    pairs = [([4], [5, 6, 7, 8, 4, 5, 6]), ([4], [8]), ([4], [7, 7])]
    model = Model()
    together = held_out_loss(model, [make_batch(pairs)], loss_fn)
    assert held_out_loss(model, [make_batch(pairs[:1]), make_batch(pairs[1:])], loss_fn) == pytest.approx(together)


@pytest.mark.parametrize("rank", [0, 1])
def test_more_processes_than_gpus_are_refused_by_each_of_them(monkeypatch, rank):
    """The first one too: it alone says why."""
    words = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    device = types.SimpleNamespace(type="cuda")
    with pytest.raises(ValueError, match="2 processes on this machine, but only 1 GPUs"):
        this_process(device)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert this_process(device).device == torch.device("cuda", rank)

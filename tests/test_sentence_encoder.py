"""A BERT-like encoder from published weights: equal to torch's encoder with the same weights, random or MiniLM's."""

import pytest
import torch

from course_lib.data.minilm import load_minilm
from course_lib.data.wordpiece import WordPiece
from course_lib.sentence_encoder import SentenceEncoder, encoder_from_bert, load_sentence_encoder

from .bert_weights import EPS, needs_minilm, random_bert, torch_encoder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "dog", "saw", "##s", ".", "it"]


def padded(vocab, generator):
    ids = torch.randint(1, vocab, (3, 7), generator=generator)
    return ids * (torch.arange(7) < torch.tensor([7, 4, 1])[:, None])


@pytest.mark.parametrize("seed", range(3))
def test_equals_torch_s_encoder_with_random_weights(seed):
    arrays = random_bert(seed=seed)
    model, theirs = encoder_from_bert(arrays, num_heads=3, eps=EPS), torch_encoder(arrays, num_heads=3)
    ids = padded(30, torch.Generator().manual_seed(seed))
    real = ids != 0
    with torch.no_grad():
        assert (model(ids) - theirs(ids))[real].abs().max() < 1e-5
    assert not model.training and sum(p.numel() for p in model.parameters()) == sum(
        array.size for name, array in arrays.items() if "pooler" not in name and "token_type" not in name
    )


def test_a_weight_more_or_less_is_seen():
    arrays = random_bert()
    del arrays["encoder.layer.1.output.dense.bias"]
    with pytest.raises(KeyError, match="encoder.layer.1.output.dense.bias"):
        encoder_from_bert(arrays, num_heads=3)


def test_vectors_and_looks():
    encoder = SentenceEncoder(encoder_from_bert(random_bert(vocab=len(PIECES)), 3), WordPiece(PIECES))
    texts = ["The cat saw it.", "dogs", "the cat saw it"]
    vectors = encoder.vectors(texts)
    assert vectors.shape == (3, 12) and torch.allclose(vectors.norm(dim=-1), torch.ones(3))
    assert torch.allclose(vectors[1], encoder.vectors(texts[1:2])[0], atol=1e-6), "neighbours and padding do nothing"
    assert not torch.allclose(vectors[0], vectors[2])
    pieces, weights = encoder.look("dogs saw it")
    assert pieces == ["[CLS]", "dog", "##s", "saw", "it", "[SEP]"]
    assert weights.shape == (2, 3, 6, 6) and torch.allclose(weights.sum(-1), torch.ones(2, 3, 6))


@needs_minilm
def test_equals_torch_s_encoder_with_minilm_s_weights():
    published, encoder = load_minilm(), load_sentence_encoder()
    theirs = torch_encoder(published.arrays, num_heads=12)
    texts = ["The animal didn't cross the street because it was too tired.", "I love you.", ""]
    rows = [encoder.tokenizer.encode(text) for text in texts]
    ids = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    with torch.no_grad():
        assert (encoder.model(ids) - theirs(ids))[ids != 0].abs().max() < 1e-5
    assert sum(p.numel() for p in encoder.model.parameters()) == 22_564_608

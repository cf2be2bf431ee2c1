"""What may follow texts that are there already: as the model says it one token at a time, whatever stands beside."""

import pytest
import torch

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import BOS, EOS, PAD, UNK
from course_lib.generation import next_logits

from .generating_models import MODELS, V, sources, transformer
from .small_transformer import CLOSE

pytestmark = pytest.mark.double

TEXTS = [(4, 5, 6, 7, 8), (), (8,), (4, 5), (5, 4), (4, 5, 6, 7, EOS), (PAD, BOS, UNK), (8,)]


def by_steps(model, batch, text):
    """The logits (V,) after a text, one token at a time."""
    state = model.encode(batch.source, batch.source_lengths)
    for token in (BOS, *text):
        logits, state = model.step(torch.tensor([token]), state)
    return logits[0].detach()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("length", [1, 6])
def test_the_same_as_one_token_at_a_time(name, length):
    model, batch = MODELS[name](), sources(length)
    found = next_logits(model, batch.source, batch.source_lengths, TEXTS)
    assert found.shape == (len(TEXTS), V) and not found.requires_grad
    for row, text in zip(found, TEXTS, strict=True):
        torch.testing.assert_close(row, by_steps(model, batch, text), **CLOSE)
    assert torch.unique(found.round(decimals=6), dim=0).shape[0] == len(TEXTS) - 1, "all but two texts differ"


@pytest.mark.parametrize("name", MODELS)
def test_what_stands_beside_changes_nothing(name):
    model, batch = MODELS[name](), sources(3)
    together = next_logits(model, batch.source, batch.source_lengths, TEXTS)
    for row, text in zip(together, TEXTS, strict=True):
        alone = next_logits(model, batch.source, batch.source_lengths, [list(text)])
        torch.testing.assert_close(alone[0], row, **CLOSE)


@pytest.mark.parametrize("training", [True, False])
def test_without_dropout_and_the_mode_is_given_back(training):
    model, batch = transformer().train(training), sources(4)
    first, second = (next_logits(model, batch.source, batch.source_lengths, TEXTS) for _ in "ab")
    assert torch.equal(first, second) and model.training is training


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_in_float64_whatever_the_model_computes_in(dtype):
    model, batch = transformer().to(dtype), sources(4)
    found = next_logits(model, batch.source, batch.source_lengths, [(), (4,)])
    assert found.dtype == torch.float64 and found.device.type == "cpu"
    assert torch.equal(found, found.to(dtype).double()), "nothing is rounded on the way"


def test_it_refuses():
    model = transformer()
    two = make_batch([([4, 5], [4]), ([5], [4])])
    with pytest.raises(ValueError, match=r"source: expected one sentence, \(1, S\), got \(2, 2\)"):
        next_logits(model, two.source, two.source_lengths, [()])
    with pytest.raises(ValueError, match="prefixes: expected at least one"):
        next_logits(model, two.source[:1], two.source_lengths[:1], [])

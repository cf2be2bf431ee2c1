from types import SimpleNamespace

import pytest
import torch

from course_lib.data.batches import make_batch
from course_lib.generation import greedy, write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder

BOS, EOS, PAD, V = 1, 2, 0, 12


def counting_step(token, state):
    """Row i writes 4, 5, 6, ... and ends after state["ends"][i] tokens. The state is nested, None and strings too."""
    count, (ends, nothing, name) = state["count"], state["rest"]
    logits = torch.zeros(len(ends), V)
    logits[torch.arange(len(ends)), torch.where(count == ends, EOS, 4 + count % 8)] = 1.0
    state["seen"].append(token.clone())
    return logits, {"count": count + 1, "rest": (ends, nothing, name), "seen": state["seen"]}


def start(ends):
    ends = torch.tensor(ends)
    return {"count": torch.zeros_like(ends), "rest": (ends, None, "name"), "seen": []}


def run(state, max_length, batch_size):
    return greedy(counting_step, state, bos=BOS, eos=EOS, pad=PAD, max_length=max_length, batch_size=batch_size)


def test_each_row_keeps_its_end_token_and_is_padded_after_it():
    ids = run(start([1, 3, 0]), 9, 3)
    assert ids.tolist() == [[4, EOS, PAD, PAD], [4, 5, 6, EOS], [EOS, PAD, PAD, PAD]]
    assert ids.dtype == torch.int64


def test_stops_when_all_have_ended_and_not_before():
    state = start([1, 3])
    assert run(state, 50, 2).shape == (2, 4)
    assert len(state["seen"]) == 4


def test_stops_at_the_limit():
    assert run(start([99, 1]), 3, 2).tolist() == [[4, 5, 6], [4, EOS, PAD]]
    assert run(start([99]), 1, 1).tolist() == [[4]]
    with pytest.raises(ValueError, match="max_length: expected at least 1, got 0"):
        run(start([1]), 0, 1)


def test_feeds_back_what_it_wrote():
    state = start([2])
    ids = run(state, 9, 1)
    assert torch.cat(state["seen"]).tolist() == [BOS, *ids[0, :-1].tolist()]


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("context", ["initial", "every_step"])
def test_batched_equals_row_by_row(cell, context):
    torch.manual_seed(4)
    encoder = Encoder(V, 4, 6, cell)
    model = Seq2Seq(encoder, Decoder(V, 4, 6, encoder.d_context, cell, context)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    pairs = [([4 + (n * k) % 8 for k in range(1, n + 1)], [4]) for n in range(1, 8)]
    together = write(model, make_batch(pairs), 10)
    for row, pair in enumerate(pairs):
        alone = write(model, make_batch([pair]), 10)[0]
        assert together[row, : len(alone)].tolist() == alone.tolist()
        assert not together[row, len(alone) :].any()
    assert len({tuple(row) for row in together.tolist()}) > 1, "all rows alike: this test would see nothing"


def test_write_is_without_gradient_and_gives_the_mode_back():
    modes = []

    class Model(torch.nn.Linear):
        def encode(self, source, lengths):
            modes.append(self.training)
            assert not torch.is_grad_enabled()
            return None

        def step(self, token, state):
            assert not torch.is_grad_enabled()
            return torch.eye(V)[torch.full_like(token, EOS)], None

    model = Model(1, 1)
    assert write(model, make_batch([([4], [5])]), 3).tolist() == [[EOS]]
    assert modes == [False] and model.training
    model.step = SimpleNamespace()  # not callable: the mode comes back after an error, too
    with pytest.raises(TypeError):
        write(model, make_batch([([4], [5])]), 3)
    assert model.training


def test_what_is_written_does_not_depend_on_the_target():
    """No teacher forcing is left when a model writes (mistake A002)."""
    torch.manual_seed(5)
    encoder = Encoder(V, 4, 6)
    model = Seq2Seq(encoder, Decoder(V, 4, 6, encoder.d_context))
    source = [4, 5, 6]
    first, second = (write(model, make_batch([(source, target)]), 8) for target in ([7, 8, 9], [9, 9, 4]))
    assert torch.equal(first, second)


def looking_model(cls, **options):
    torch.manual_seed(4)
    encoder = Encoder(V, 4, 6, bidirectional=True)
    model = Seq2Seq(encoder, cls(V, 4, 6, encoder.d_output, encoder.d_context, **options)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


@pytest.mark.parametrize(
    "cls, options",
    [(BahdanauDecoder, {}), (LuongDecoder, {}), (LuongDecoder, {"input_feeding": True})],
    ids=["bahdanau", "luong", "luong fed"],
)
def test_weights_of_what_was_written(cls, options):
    """The ids are those of a plain call; the weights those of the same ids, teacher-forced; none falls on padding."""
    model = looking_model(cls, **options)
    batch = make_batch([([4 + (n * k) % 8 for k in range(1, n + 1)], [4]) for n in (1, 3, 7)])
    ids, weights = write(model, batch, 6, need_weights=True)
    assert torch.equal(ids, write(model, batch, 6)) and len(set(ids.flatten().tolist())) > 1
    assert weights.shape == (*ids.shape, 7) and not weights.requires_grad
    fed = torch.cat([torch.full((3, 1), BOS), ids[:, :-1]], dim=1)
    _, expected = model.decoder(fed, model.encode(batch.source, batch.source_lengths), need_weights=True)
    torch.testing.assert_close(weights, expected, atol=1e-12, rtol=1e-10)
    assert not weights[0, :, 1:].any() and not weights[1, :, 3:].any()
    assert model.training

"""Writing with the model one token at a time: a cache changes nothing but the time, and the course's tools take it."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data.batches import evaluation_batches, make_batch, training_batches
from course_lib.data.vocabulary import BOS, EOS, PAD
from course_lib.evaluation import sequence_accuracy
from course_lib.generation import write
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.training import fit, sequence_loss
from course_lib.transformer import Transformer

from .small_transformer import CLOSE, ORDERS, POSITIONS, SOURCE, TARGET, B, H, S, T, ids, make_model, padded_ids, pair

pytestmark = pytest.mark.double


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("positions", POSITIONS)
@given(chunks=st.lists(st.integers(1, 4), min_size=1, max_size=5))
@settings(max_examples=6, deadline=None)
def test_in_chunks_with_a_cache_equals_all_at_once(order, positions, chunks):
    """Mistakes A118, A120, A124: masks and positions count the tokens before; padding may stand anywhere."""
    model, source = make_model(**POSITIONS[positions], **ORDERS[order]), padded_ids()
    target = ids(columns=sum(chunks), vocabulary=TARGET).where(torch.rand(B, sum(chunks)) < 0.8, PAD)
    expected, weights = model(source, None, target, need_weights=True)
    state, outputs, looked = model.encode(source, None), [], []
    for part in target.split(chunks, dim=1):
        logits, state, cross = model.look(part, state)
        outputs.append(logits), looked.append(cross)
    torch.testing.assert_close(torch.cat(outputs, 1), expected, **CLOSE)
    torch.testing.assert_close(torch.cat(looked, 1), weights.cross[-1].mean(1), **CLOSE)
    state, outputs = model.encode(source, None), []
    for token in target.unbind(1):
        logits, state = model.step(token, state)
        outputs.append(logits)
    torch.testing.assert_close(torch.stack(outputs, 1), expected, **CLOSE)


def test_the_same_token_again_stands_at_another_place():
    """Mistake A124: at position 0 every time, a repeated token would say the same for ever."""
    model, source = make_model(), padded_ids()
    state, token, said = model.encode(source), torch.full((B,), 5), []
    for _ in range(3):
        logits, state = model.step(token, state)
        said.append(logits)
    assert not torch.isclose(said[0], said[1]).all(-1).any() and not torch.isclose(said[1], said[2]).all(-1).any()


def test_a_state_serves_two_continuations():
    """Mistake A121: a step makes a new state, and the one before still says what it said."""
    model, (source, target) = make_model(), pair()
    _, state = model.step(target[:, 0], model.encode(source))
    first, _ = model.step(target[:, 1], state)
    model.step(target[:, 2], state)
    assert torch.equal(model.step(target[:, 1], state)[0], first)
    again = model.step(target[:, 1], model.step(target[:, 0], model.encode(source))[1])[0]
    assert torch.equal(again, first)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("rows", [[2, 0, 0, 1, 2], [1], [0, 1, 2], []], ids=str)
def test_selected_rows_go_on_as_if_they_had_been_alone(order, positions, rows):
    """Beam search: after some steps a row goes on several times, or not at all; padding and cache go with it."""
    model, (source, target) = make_model(**POSITIONS[positions], **ORDERS[order]), pair()
    rows = torch.tensor(rows, dtype=torch.int64)
    for steps in range(T):
        state, chosen = model.encode(source), model.encode(source[rows])
        for t in range(steps):
            _, state = model.step(target[:, t], state)
            _, chosen = model.step(target[rows, t], chosen)
        state = state.select(rows)
        assert state.length == steps and (state.caches[0] is None) == (steps == 0)
        assert state.real is None or state.real.shape == (len(rows), 1, steps)
        for t in range(steps, T):
            logits, state = model.step(target[rows, t], state)
            expected, chosen = model.step(target[rows, t], chosen)
            torch.testing.assert_close(logits, expected, **CLOSE)
            looked = model.look(target[rows], state)[2], model.look(target[rows], chosen)[2]
            torch.testing.assert_close(*looked, **CLOSE)


def test_the_state_that_rows_are_taken_from_stays():
    model, (source, target) = make_model(), pair()
    _, state = model.step(target[:, 0], model.encode(source))
    expected, _ = model.step(target[:, 1], state)
    model.step(target[[2, 2], 1], state.select(torch.tensor([2, 2])))
    again = state.select(torch.tensor([2, 1, 0])).select(torch.tensor([2, 1, 0]))
    assert torch.equal(model.step(target[:, 1], state)[0], expected)
    assert torch.equal(model.step(target[:, 1], again)[0], expected)


def test_what_is_padding_is_written_down_from_the_first_padding_on():
    model, source = make_model(), padded_ids()
    _, state = model.step(torch.full((B,), 5), model.encode(source))
    assert state.real is None, "on a CPU, as long as all are real"
    _, state = model.step(torch.arange(B) + PAD, state)
    _, state = model.step(torch.full((B,), 5), state)
    assert state.real.tolist() == [[[True, row > 0, True]] for row in range(B)]


def test_the_source_is_projected_once(monkeypatch):
    """Mistake A123: the memory's keys neither grow nor are made again while the model writes."""
    model, source = make_model(), padded_ids()
    state = model.encode(source)
    before = state.memories
    monkeypatch.setattr(MultiHeadAttention, "remember", None)
    for t in range(4):
        _, state = model.step(torch.full((B,), 5), state)
        assert all(one is other for one, other in zip(state.memories, before, strict=True))
        assert {cache.key.shape[-2] for cache in state.caches} == {t + 1} == {state.length}
    assert {memory.key.shape for memory in state.memories} == {(B, H, S, 4)}


def test_any_layer_s_look_at_the_source():
    model, (source, target) = make_model(), pair()
    _, weights = model(source, None, target, need_weights=True)
    for layer in (0, 1, -1):
        _, _, looked = model.look(target, model.encode(source), layer=layer)
        assert looked.shape == (B, T, S)
        torch.testing.assert_close(looked, weights.cross[layer].mean(1), **CLOSE)


def a_batch():
    return make_batch([([5, 6, 7, 8], [4, 5]), ([9], [6, 7, 8, 9]), ([4, 4], [10])])


@pytest.mark.parametrize("positions", POSITIONS)
def test_write_writes_what_the_model_finds_likeliest(positions):
    """Each token again from scratch, without a cache; a row stops at its end."""
    model, batch = make_model(dropout=0.5, **POSITIONS[positions]).train(), a_batch()
    written = write(model, batch, max_length=9)
    assert model.training
    model.eval()
    for row, row_ids in enumerate(written.tolist()):
        so_far = [BOS]
        for token in row_ids:
            if EOS in so_far:
                assert token == PAD
                continue
            logits = model(batch.source[row : row + 1], None, torch.tensor([so_far]))
            assert token == logits[0, -1].argmax().item()
            so_far.append(token)


def test_write_also_says_where_the_model_looked():
    model, batch = make_model(), a_batch()
    written, weights = write(model, batch, max_length=5, need_weights=True)
    assert torch.equal(written, write(model, batch, max_length=5))
    assert weights.shape == (*written.shape, batch.source.shape[1])
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
    padding = (batch.source == 0).unsqueeze(1).expand_as(weights)
    assert padding.any() and not weights[padding].any()


def test_the_loss_of_a_batch_is_that_of_its_rows():
    model, batch = make_model(), a_batch()
    rows = [make_batch([pair]) for pair in [([5, 6, 7, 8], [4, 5]), ([9], [6, 7, 8, 9]), ([4, 4], [10])]]
    parts = [(sequence_loss(model, row), row.target.numel()) for row in rows]
    mean = sum(loss * count for loss, count in parts) / sum(count for _, count in parts)
    torch.testing.assert_close(sequence_loss(model, batch), mean, **CLOSE)


def test_it_learns_to_turn_a_word_round():
    """Two letters to four, drawn at random, written backwards, words that it never saw: .86 of them when written."""
    torch.set_default_dtype(torch.float32)
    generator = torch.Generator().manual_seed(0)
    words = {
        tuple(torch.randint(4, SOURCE, (length,), generator=generator).tolist())
        for length in (2, 3, 4)
        for _ in range(400)
    }
    pairs = [(list(word), list(word)[::-1]) for word in sorted(words)]
    unseen, seen = pairs[::10], [pair for at, pair in enumerate(pairs) if at % 10]
    torch.manual_seed(0)
    model = Transformer(SOURCE, SOURCE, d_model=32, num_heads=4, d_ff=64, encoder_layers=1, decoder_layers=1,
                        dropout=0.0, tied="all")  # fmt: skip
    fit(model, training_batches(seen, 64), sequence_loss, steps=400, lr=3e-3, progress=False)
    [batch] = evaluation_batches(unseen)
    assert sequence_accuracy(write(model, batch, max_length=6), batch.target, EOS) > 0.7

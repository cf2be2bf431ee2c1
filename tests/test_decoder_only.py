"""The family that writes on: nothing from the future; cached = uncached = in chunks; a tied head starts near ln V."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.decoder_only import DecoderOnly
from course_lib.evaluation import next_token_loss

from .small_families import SIZES, V, make_writer
from .small_transformer import CLOSE, ORDERS, POSITIONS, B, T, ids, padded_ids

pytestmark = pytest.mark.double
SETTINGS = [{**order, **positions} for order in ORDERS.values() for positions in POSITIONS.values()]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_nothing_comes_from_the_future(settings):
    model, batch = make_writer(**settings), ids(B, T)
    x = model.embedding(batch).detach().requires_grad_()
    model.embedding.forward = lambda ids, offset=0: x
    logits = model(batch)
    for t in range(T):
        seen = torch.autograd.grad(logits[:, t].sin().sum(), x, retain_graph=True)[0].abs().sum(-1) > 0  # (B, T)
        assert (seen == (torch.arange(T) <= t)).all(), "all of the past, itself included, and nothing after it"


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_padding_after_a_text_and_neighbours_change_nothing(settings):
    model, batch = make_writer(**settings), padded_ids(columns=T, vocabulary=V)
    logits = model(batch)
    for row, length in enumerate((batch != 0).sum(1).tolist()):
        torch.testing.assert_close(logits[row, :length], model(batch[row : row + 1, :length])[0], **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("positions", POSITIONS)
@given(chunks=st.lists(st.integers(1, 4), min_size=1, max_size=5))
@settings(max_examples=6, deadline=None)
def test_in_chunks_with_a_cache_equals_all_at_once(order, positions, chunks):
    """Mistakes A079, A118, A120, A124: masks and positions count the tokens before, the first chunk's too."""
    model = make_writer(**ORDERS[order], **POSITIONS[positions])
    batch = ids(B, sum(chunks), V)
    expected, state, outputs = model(batch), model.start(), []
    for part in batch.split(chunks, dim=1):
        assert state.length == sum(output.shape[1] for output in outputs)
        logits, state = model.read(part, state)
        outputs.append(logits)
    torch.testing.assert_close(torch.cat(outputs, 1), expected, **CLOSE)
    state, outputs = model.start(), []
    for token in batch.unbind(1):
        logits, state = model.step(token, state)
        outputs.append(logits)
    torch.testing.assert_close(torch.stack(outputs, 1), expected, **CLOSE)


def test_a_state_serves_two_continuations():
    """Mistake A121: a text after another one begins from nothing, and a state never changes."""
    model, batch = make_writer(), ids(B, 3, V)
    _, state = model.read(batch, model.start())
    first, _ = model.step(batch[:, 0], state)
    model.step(batch[:, 1], state)
    assert torch.equal(model.step(batch[:, 0], state)[0], first)
    assert torch.equal(model.read(batch, model.start())[0], model.read(batch, model.start())[0])
    rows = torch.tensor([2, 0, 0])
    torch.testing.assert_close(model.step(batch[rows, 0], state.select(rows))[0], first[rows], **CLOSE)
    assert model.start().select(rows) == model.start()


@pytest.mark.parametrize("options", [{}, {"tied": False}, {"norm_first": True}], ids=str)
def test_the_first_loss_is_that_of_a_guess(options):
    """Mistake A127: a tied matrix with deviation 1 starts at many times ln V."""
    torch.manual_seed(0)
    vocab = 2_000
    sizes = {"d_model": 64, "num_heads": 4, "d_ff": 128, "num_layers": 2, "dropout": 0.0}
    model, batch = DecoderOnly(vocab, **sizes, **options), ids(64, 32, vocab)
    targets = ids(64, 32, vocab)  # not the tokens that were read, whose own score a tied head raises
    logits = model(batch)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()).item()
    untrained = next_token_loss(logits, batch, 0).item()
    # Scores of variance v cost v / 2 more than a guess that finds all symbols alike; Xavier's matrix has 2D / (D + V).
    variance = 2 * 64 / (64 + vocab) if "tied" in options else 1.0
    assert abs(loss - math.log(vocab) - variance / 2) < 0.1 and abs(untrained / math.log(vocab) - 1) < 0.1
    with torch.no_grad():
        model.output.weight.mul_(math.sqrt(64))
        assert model.embedding.weight is model.output.weight or "tied" in options
        spoiled = next_token_loss(model(batch), batch, 0).item()
    assert spoiled > 2 * untrained or "tied" in options


def test_random_text_cannot_be_guessed():
    """Mistake A125: with targets that are not shifted, the loss of a stream of random symbols would fall to 0."""
    generator = torch.Generator().manual_seed(1)
    table = torch.eye(V) * 20.0  # a model that says each token again, quite sure
    batch = torch.randint(4, V, (4, 40), generator=generator)
    assert next_token_loss(table[batch], batch, 0) > 2 * math.log(V)
    counting = torch.arange(4, V).repeat(2, 1)
    assert next_token_loss(table[counting + 1 - (counting == V - 1).long()], counting, 0) < 1e-6, "it says the next one"


def test_the_loss_is_the_mean_over_real_guesses():
    batch = padded_ids(columns=T, vocabulary=V)
    batch[2, 1:] = 0  # one token alone: nothing to guess
    logits = torch.randn(B, T, V)
    losses = [
        -logits[row, t].log_softmax(-1)[batch[row, t + 1]]
        for row in range(B)
        for t in range(T - 1)
        if batch[row, t + 1] != 0
    ]
    torch.testing.assert_close(next_token_loss(logits, batch, 0), sum(losses) / len(losses), **CLOSE)
    for bad, message in (
        ((logits[:, 1:], batch, 0), "logits: expected"),
        ((logits, torch.zeros_like(batch), 0), "nothing to guess"),
        ((logits[:, :1], batch[:, :1], 0), "nothing to guess"),
    ):
        with pytest.raises(ValueError, match=message):
            next_token_loss(*bad)


def test_the_paper_s_numbers():
    """GPT's parts counted: V·D of the tied matrix, 512·D of places, and 12·D² + 13·D a layer."""
    sizes = {"d_model": 24, "num_heads": 4, "d_ff": 96, "num_layers": 3}
    for model, extra in (
        (DecoderOnly(50, **sizes, positions="learned", max_length=10), 10 * 24),
        (DecoderOnly(50, **sizes, tied=False), 50 * 24),
        (DecoderOnly(50, **sizes, norm_first=True), 2 * 24),
        (DecoderOnly(50, **sizes, positions="rotary"), 0),
    ):
        found = sum(parameter.numel() for parameter in model.parameters())
        assert found == 50 * 24 + 3 * (12 * 24**2 + 13 * 24) + extra


def test_every_parameter_learns_and_weights_are_causal():
    model, batch = make_writer(positions="learned", max_length=T, tied=False), ids(B, T, V)
    logits, weights = model(batch, need_weights=True)
    torch.testing.assert_close(logits, model(batch), **CLOSE)
    assert len(weights) == 2 and not weights[0].triu(1).any() and (weights[0].sum(-1) - 1).abs().max() < 1e-12
    next_token_loss(logits, batch, 0).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_says_what_is_wrong():
    model = make_writer(positions="learned", max_length=3)
    _, state = model.read(ids(1, 3, V), model.start())
    with pytest.raises(ValueError, match="max_length=3: the table ends at position 2"):
        model.step(torch.tensor([5]), state)
    with pytest.raises(ValueError, match="max_length"):
        DecoderOnly(V, **SIZES, max_length=4)

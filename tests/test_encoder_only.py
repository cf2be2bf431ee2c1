"""The family that reads: every token sees every real one; padding, batch and places; equal to torch's encoder."""

import math

import pytest
import torch
from torch import nn

from course_lib.encoder_only import EncoderOnly, mean_pool
from course_lib.masks import padding_mask

from .small_families import SIZES, C, V, make_reader
from .small_transformer import ACTIVATIONS, CLOSE, ORDERS, POSITIONS, B, D, S, ids, padded_ids

pytestmark = pytest.mark.double
SETTINGS = [{**order, **positions} for order in ORDERS.values() for positions in POSITIONS.values()]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_padding_and_neighbours_change_nothing(settings):
    """Mistake A048's symptom, A047: each row alone, without its padding."""
    model, batch = make_reader(**settings), padded_ids()
    x, pooled, logits, tags = model(batch), model.pool(batch), model.classify(batch), model.tag(batch)
    assert (x.shape, pooled.shape, logits.shape, tags.shape) == ((B, S, D), (B, D), (B, C), (B, S, C))
    for row, length in enumerate((batch != 0).sum(1).tolist()):
        alone = batch[row : row + 1, :length]
        torch.testing.assert_close(x[row : row + 1, :length], model(alone), **CLOSE)
        torch.testing.assert_close(tags[row : row + 1, :length], model.tag(alone), **CLOSE)
        torch.testing.assert_close(pooled[row], model.pool(alone)[0], **CLOSE)
        torch.testing.assert_close(logits[row], model.classify(alone)[0], **CLOSE)


def test_every_token_sees_every_other_and_its_place():
    model, batch = make_reader(), ids(2, S)
    before = model(batch)
    for column in range(S):
        other = batch.clone()
        other[:, column] = batch[:, column] % (V - 4) + 4  # another symbol
        assert (other[:, column] != batch[:, column]).all()
        assert not torch.isclose(model(other), before).all(-1).any(), "a change anywhere is seen everywhere"
    turned = model(batch.flip(1)).flip(1)
    assert not torch.isclose(turned, before).all(-1).any()


def test_padding_alone_gives_numbers():
    model, nothing = make_reader(), torch.zeros(2, 3, dtype=torch.int64)
    assert torch.isfinite(model(nothing)).all() and not model.pool(nothing).any()
    torch.testing.assert_close(model.classify(nothing), model.head.bias.expand(2, C), **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_mean_pool_is_a_mean_of_the_real_tokens(dtype):
    x = torch.randn(B, S, D).to(dtype)
    mask = padding_mask(padded_ids(), 0)
    garbage = torch.where(mask.mT, x, math.nan)
    expected = torch.stack([x[row, : mask[row].sum()].mean(0) for row in range(B)])
    for given in (x, garbage):
        found = mean_pool(given, mask)
        assert found.dtype == dtype
        torch.testing.assert_close(found, expected, **(CLOSE if dtype == torch.float64 else {}))
    with pytest.raises(TypeError, match="three conventions"):
        mean_pool(x, mask.float())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("order", ORDERS)
def test_equals_torch_s_encoder(order, activation):
    """The same blocks under nn.TransformerEncoder, a norm before them as in BERT; MiniLM's weights: test_minilm."""
    settings = {**ORDERS[order], **ACTIVATIONS[activation]}
    model, batch = make_reader(norm_embedding=True, eps=1e-12, **settings).eval(), padded_ids()
    final = None
    if model.encoder.blocks[0].around_feed_forward.norm_first:
        final = nn.LayerNorm(D, 1e-12)
        final.load_state_dict(model.encoder.norm.state_dict())
    theirs = nn.TransformerEncoder(model.encoder.blocks[0].to_torch(), 2, final, enable_nested_tensor=False)
    theirs.layers = nn.ModuleList(block.to_torch() for block in model.encoder.blocks)
    norm = nn.LayerNorm(D, 1e-12)
    norm.load_state_dict(model.embedding_norm.state_dict())
    expected = theirs.eval()(norm(model.embedding(batch)), src_key_padding_mask=batch == 0)
    real = batch != 0
    torch.testing.assert_close(model(batch)[real], expected[real], **CLOSE)


def test_weights_are_each_head_s_in_each_layer():
    model, batch = make_reader(), padded_ids()
    x, weights = model(batch, need_weights=True)
    torch.testing.assert_close(x, model(batch), **CLOSE)
    assert len(weights) == 2 and not weights[0][(batch == 0)[:, None, None, :].expand_as(weights[0])].any()
    torch.testing.assert_close(weights[1].sum(-1), torch.ones_like(weights[1].sum(-1)), **CLOSE)


def test_every_parameter_learns():
    model = make_reader(norm_embedding=True, positions="learned", max_length=S)
    (model.classify(padded_ids()).sin() + model.tag(ids(B, 1)).sin().sum()).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: EncoderOnly(V, **SIZES).classify(ids()), "num_classes: this model has no head"),
        (lambda: EncoderOnly(V, **SIZES).tag(ids()), "num_classes: this model has no head"),
        (lambda: EncoderOnly(V, **SIZES, positions="learned"), "max_length: learned positions need one"),
        (lambda: EncoderOnly(V, **SIZES, positions="clock"), "positions: expected one of sinusoidal, learned, rotary"),
        (lambda: make_reader()(ids(vocabulary=V + 1).fill_(V)), f"ids: expected 0 to {V - 1}"),
    ],
)
def test_says_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()

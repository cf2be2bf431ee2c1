"""Blocks, stacks and the whole model equal torch's, in values and all gradients, with weights loaded both ways."""

import copy

import pytest
import torch
from torch import nn

from course_lib.blocks import DecoderBlock, EncoderBlock
from course_lib.masks import causal_mask, to_hidden
from course_lib.positions import rotary_embedding
from course_lib.transformer import Transformer

from .small_transformer import (
    ACTIVATIONS,
    D_FF,
    ORDERS,
    SOURCE,
    TARGET,
    B,
    D,
    H,
    S,
    T,
    gradients,
    lengths_mask,
    make_block,
    make_model,
    pair,
    spread,
)

pytestmark = [
    pytest.mark.double,
    pytest.mark.filterwarnings("ignore:enable_nested_tensor"),  # torch says so of its own defaults
]
EXACT = {"atol": 1e-10, "rtol": 0}
EACH = [
    pytest.mark.parametrize("order", ORDERS),
    pytest.mark.parametrize("activation", ACTIVATIONS),
    pytest.mark.parametrize("training", [True, False]),
]


def each(test):
    for mark in EACH:
        test = mark(test)
    return test


def by_our_names(module, found, convert):
    """Gradients of a module's parameters, by our names. `convert`: makes a module of torch's ours."""
    holder = copy.deepcopy(module)
    for parameter, gradient in zip(holder.parameters(), found, strict=True):
        parameter.data = gradient
    return convert(holder).state_dict()


def assert_same(ours, theirs, got, expected, inputs, convert):
    """Values, and gradients of a random projection in the inputs and in every weight."""
    torch.testing.assert_close(got, expected, **EXACT)
    one, other = (gradients((y,), [*inputs, *m.parameters()]) for y, m in ((got, ours), (expected, theirs)))
    torch.testing.assert_close(one[: len(inputs)], other[: len(inputs)], **EXACT)
    wanted = by_our_names(theirs, other[len(inputs) :], convert)
    found = by_our_names(ours, one[len(inputs) :], lambda holder: holder)
    torch.testing.assert_close(found, wanted, **EXACT)
    assert all(gradient.any() for gradient in found.values())


@each
def test_an_encoder_block_equals_torch_s(order, activation, training):
    block = make_block(EncoderBlock, eps=0.1, **ORDERS[order], **ACTIVATIONS[activation]).train(training)
    theirs, x = block.to_torch(), torch.randn(B, S, D, requires_grad=True)
    for causal in (False, True):
        real = lengths_mask(B, S)
        hidden = {"src_mask": to_hidden(causal_mask(S))} if causal else {}
        got, _ = block(x, mask=real & causal_mask(S) if causal else real)
        expected = theirs(x, src_key_padding_mask=to_hidden(real.squeeze(1)), **hidden)
        assert_same(block, theirs, got, expected, [x], EncoderBlock.from_torch)


@each
def test_a_decoder_block_equals_torch_s(order, activation, training):
    block = make_block(DecoderBlock, eps=0.1, **ORDERS[order], **ACTIVATIONS[activation]).train(training)
    theirs = block.to_torch()
    x, memory = torch.randn(B, T, D, requires_grad=True), torch.randn(B, S, D, requires_grad=True)
    real, source = lengths_mask(B, T), lengths_mask(B, S)
    got, _, _ = block(x, memory, mask=real & causal_mask(T), memory_mask=source)
    expected = theirs(
        x,
        memory,
        tgt_mask=to_hidden(causal_mask(T)),
        tgt_key_padding_mask=to_hidden(real.squeeze(1)),
        memory_key_padding_mask=to_hidden(source.squeeze(1)),
    )
    assert_same(block, theirs, got, expected, [x, memory], DecoderBlock.from_torch)


class Theirs(nn.Module):
    """An `nn.Transformer` between copies of our embeddings and output layer: what takes ids, as ours does."""

    def __init__(self, ours):
        super().__init__()
        self.stacks = ours.to_torch()
        # Copied together, so that what is tied stays so.
        self.around = copy.deepcopy(nn.ModuleList([ours.source_embedding, ours.target_embedding, ours.output]))
        self.options = {"positions": "sinusoidal"}

    def forward(self, source, target):
        embed_source, embed_target, output = self.around
        x = self.stacks(
            embed_source(source),
            embed_target(target),
            tgt_mask=to_hidden(causal_mask(target.shape[1])),
            src_key_padding_mask=source == 0,
            tgt_key_padding_mask=target == 0,
            memory_key_padding_mask=source == 0,
        )
        return output(x)

    def ours(self):
        """A Transformer of ours with all these weights."""
        model = Transformer.from_torch(self.stacks, SOURCE, TARGET)
        model.source_embedding, model.target_embedding, model.output = self.around
        return model


@each
def test_the_whole_model_equals_torch_s(order, activation, training):
    model = make_model(**ORDERS[order], **ACTIVATIONS[activation]).train(training)
    theirs = Theirs(model)
    source, target = pair()
    assert_same(model, theirs, model(source, None, target), theirs(source, target), [], Theirs.ours)
    with torch.no_grad():  # torch has another road here, in evaluation
        torch.testing.assert_close(model(source, None, target), theirs(source, target), **EXACT)


def test_the_whole_model_equals_torch_s_with_one_matrix_for_both_vocabulary_sides():
    model = make_model(tied="output")
    theirs, (source, target) = Theirs(model), pair()
    got, expected = model(source, None, target), theirs(source, target)
    torch.testing.assert_close(got, expected, **EXACT)
    one, other = model.output.weight, theirs.around[2].weight
    torch.testing.assert_close(gradients((got,), [one]), gradients((expected,), [other]), **EXACT)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("batch_first", [True, False])
def test_weights_come_from_torch_and_go_back(order, dtype, batch_first):
    """Torch's own, with sizes that all differ; ours is batch first whatever theirs was."""
    theirs = nn.Transformer(D, H, 2, 3, D_FF, dropout=0.25, activation="gelu", layer_norm_eps=0.1, dtype=dtype,
                            batch_first=batch_first, **ORDERS[order]).eval()  # fmt: skip
    if order == "post-norm":
        theirs.encoder.norm = theirs.decoder.norm = None
    spread(theirs)
    ours = Transformer.from_torch(theirs, SOURCE, TARGET, tied="output", positions="learned", max_length=9)
    assert not ours.training and ours.output.weight is ours.target_embedding.weight
    assert {parameter.dtype for parameter in ours.parameters()} == {dtype}
    block = ours.decoder.blocks[2]
    assert (block.feed_forward.activation, block.feed_forward.dropout) == ("gelu", 0.25)
    assert (block.around_cross_attention.dropout, block.around_cross_attention.norm.eps) == (0.25, 0.1)
    back = ours.to_torch()
    assert not back.training and back.batch_first and (back.d_model, back.nhead) == (D, H)
    assert (back.encoder.num_layers, back.decoder.num_layers) == (2, 3)
    torch.testing.assert_close(back.state_dict(), theirs.state_dict(), atol=0, rtol=0)
    again = Transformer.from_torch(back, SOURCE, TARGET)
    torch.testing.assert_close(again.decoder.state_dict(), ours.decoder.state_dict(), atol=0, rtol=0)
    with torch.no_grad():
        ours.encoder.blocks[0].feed_forward.W_1.weight.zero_()
    assert theirs.encoder.layers[0].linear1.weight.all() and back.encoder.layers[0].linear1.weight.all(), "copies"


@pytest.mark.parametrize(("ours", "theirs"), [(EncoderBlock, "Encoder"), (DecoderBlock, "Decoder")])
def test_a_block_of_torch_s_own_comes_in(ours, theirs):
    layer = spread(getattr(nn, f"Transformer{theirs}Layer")(D, H, D_FF, dropout=0.0, activation=nn.GELU()))
    x, memory = torch.randn(B, T, D), [torch.randn(B, S, D)] * (theirs == "Decoder")
    expected = layer(*(part.transpose(0, 1) for part in (x, *memory))).transpose(0, 1)  # theirs is not batch first
    block = ours.from_torch(layer)
    torch.testing.assert_close(block(x, *memory)[0], expected, **EXACT)
    assert block.training and block.to_torch().training
    block = ours.from_torch(layer.eval())
    assert not any(each.training for each in (*block.modules(), *block.to_torch().modules()))


def test_an_attention_function_and_a_rotary_come_along():
    layer = nn.TransformerEncoderLayer(D, H, D_FF)
    block = EncoderBlock.from_torch(layer, rotary=rotary_embedding, attention=len)
    assert block.self_attention.rotary is rotary_embedding and block.self_attention.attention is len
    theirs = make_model().to_torch()
    model = Transformer.from_torch(theirs, SOURCE, TARGET, positions="rotary", attention=len)
    for block in (*model.encoder.blocks, *model.decoder.blocks):
        assert block.self_attention.rotary is rotary_embedding and block.self_attention.attention is len
    assert model.decoder.blocks[0].cross_attention.attention is len
    with pytest.raises(ValueError, match="rotary: nn.MultiheadAttention does not know positions"):
        model.to_torch()


def test_what_has_no_place_here_is_refused():
    with pytest.raises(ValueError, match="bias=False has no place here"):
        EncoderBlock.from_torch(nn.TransformerEncoderLayer(D, H, D_FF, bias=False))
    with pytest.raises(ValueError, match="activation: expected torch's relu or gelu, got SiLU"):
        DecoderBlock.from_torch(nn.TransformerDecoderLayer(D, H, D_FF, activation=nn.SiLU()))
    with pytest.raises(ValueError, match="encoder.norm: .* ends with a norm of its own: set it to None"):
        Transformer.from_torch(nn.Transformer(D, H, 1, 1, D_FF), SOURCE, TARGET)
    theirs = nn.Transformer(D, H, 1, 1, D_FF, norm_first=True)
    theirs.decoder.norm = None
    with pytest.raises(ValueError, match="decoder.norm: .* ends with no norm, but it needs one"):
        Transformer.from_torch(theirs, SOURCE, TARGET)

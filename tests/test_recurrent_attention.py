"""Decoders that look back: against the papers in plain loops, and the properties that set them apart."""

import inspect

import pytest
import torch

from course_lib import recurrent_attention
from course_lib.recurrent import Decoder
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder

from .attending_decoders import (
    CLOSE,
    KINDS,
    E,
    G,
    H,
    V,
    every_cell,
    every_kind,
    gradients,
    make_decoder,
    make_memory,
    make_model,
    make_source,
    make_tokens,
    run,
)
from .looped_decoders import looped_decoder


@every_cell
@every_kind
@pytest.mark.parametrize("lengths", [(2, 4, 3), (3,), (1,), (1, 2), (2, 0)], ids=str)
def test_equals_plain_loops(kind, cell, lengths):
    """Values and gradients; batch 1, source length 1, garbage in the padding, a source without a single token."""
    decoder = make_decoder(kind, cell)
    tokens = make_tokens(len(lengths), 3)
    memory = make_memory(lengths, garbage=1e9)
    inputs = [*memory[:2], *decoder.parameters()]
    got, expected = run(decoder, tokens, memory), looped_decoder(decoder, kind, tokens, *memory)
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)
    for ours, theirs in zip(gradients(got, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


@every_cell
@every_kind
@pytest.mark.parametrize("garbage", [1e9, -1e9])
def test_padding_changes_nothing(kind, cell, garbage):
    """Neither its contents nor how much of it there is, in value and gradient (mistakes A016, A017)."""
    decoder, tokens = make_decoder(kind, cell), make_tokens()
    clean, dirty = make_memory(), make_memory(garbage=garbage)
    before, after = run(decoder, tokens, clean), run(decoder, tokens, dirty)
    assert not after[1][~dirty[2].expand_as(after[1])].any()
    inputs = [[*memory[:2], *decoder.parameters()] for memory in (clean, dirty)]
    for first, second in zip(before, after, strict=True):
        torch.testing.assert_close(first, second, **CLOSE)
    first, second = gradients(before, inputs[0]), gradients(after, inputs[1])
    assert not second[0][~dirty[2].mT.expand_as(second[0])].any()
    for ours, theirs in zip(first, second, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)
    outputs, context, mask = dirty
    more = torch.nn.functional.pad(outputs, (0, 0, 0, 3), value=garbage), context, torch.nn.functional.pad(mask, (0, 3))
    logits, weights = run(decoder, tokens, more)
    torch.testing.assert_close(logits, before[0], **CLOSE)
    torch.testing.assert_close(weights[..., :5], before[1], **CLOSE)
    assert not weights[..., 5:].any()


@every_cell
@every_kind
def test_rows_do_not_see_each_other(kind, cell):
    model = make_model(kind, cell)
    (source, lengths), tokens = make_source(), make_tokens()
    logits, weights = model.decoder(tokens, model.encode(source, lengths), need_weights=True)
    for row, length in enumerate(lengths.tolist()):
        one = slice(row, row + 1)
        alone = model.decoder(tokens[one], model.encode(source[one, :length], lengths[one]), need_weights=True)
        torch.testing.assert_close(logits[one], alone[0], **CLOSE)
        torch.testing.assert_close(weights[one, :, :length], alone[1], **CLOSE)
        assert not weights[one, :, length:].any()


@every_cell
@every_kind
def test_weights_sum_to_one_over_real_positions(kind, cell):
    memory = make_memory()
    _, weights = run(make_decoder(kind, cell), make_tokens(), memory)
    real = memory[2].expand_as(weights)
    assert weights.shape == (3, 4, 5) and (weights[real] > 0).all() and not weights[~real].any()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 4).double(), **CLOSE)
    assert weights[1].std(-1).min() > 1e-4, "all alike: attention looks at nothing"


@every_cell
@every_kind
def test_a_source_without_a_real_token(kind, cell):
    """Weights 0, and logits as if the outputs were zeros; every gradient is finite."""
    decoder, tokens = make_decoder(kind, cell), make_tokens(2)
    memory = make_memory((0, 3), garbage=1e9)
    logits, weights = run(decoder, tokens, memory)
    assert not weights[0].any() and weights[1].sum() > 3.99
    zeros = torch.zeros_like(memory[0]), memory[1], torch.ones_like(memory[2])
    torch.testing.assert_close(logits[0], run(decoder, tokens, zeros)[0][0], **CLOSE)
    found = gradients([logits, weights], [*memory[:2], *decoder.parameters()])
    assert all(gradient.isfinite().all() for gradient in found) and not found[0][0].any()


@every_cell
@every_kind
def test_shuffled_outputs_shuffle_the_weights_and_leave_the_logits(kind, cell):
    """Attention goes by contents, not by places (mistake A012)."""
    decoder, tokens = make_decoder(kind, cell), make_tokens(2)
    outputs, context, _ = make_memory((6, 6))
    mask = torch.tensor([[[True, True, False, True, True, False]], [[True] * 6]])
    order = torch.tensor([4, 2, 0, 5, 3, 1])
    logits, weights = run(decoder, tokens, (outputs, context, mask))
    again, shuffled = run(decoder, tokens, (outputs[:, order], context, mask[..., order]))
    torch.testing.assert_close(again, logits, **CLOSE)
    torch.testing.assert_close(shuffled, weights[..., order], **CLOSE)
    assert not torch.allclose(shuffled, weights)


@every_cell
@every_kind
def test_a_source_longer_than_any_before(kind, cell):
    decoder = make_decoder(kind, cell)
    assert run(decoder, make_tokens(1), make_memory((50,)))[1].shape == (1, 4, 50)


@every_cell
@every_kind
def test_every_parameter_learns(kind, cell):
    model = make_model(kind, cell)
    model(*make_source(), make_tokens()).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


@every_kind
def test_the_source_is_read_through_attention(kind):
    """With the first state cut off, the logits still hear of every real position and of no other."""
    decoder = make_decoder(kind)
    outputs, context, mask = make_memory()
    logits, _ = run(decoder, make_tokens(), (outputs, context.detach() * 0, mask))
    for t in range(4):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), outputs, retain_graph=True)
        assert ((gradient != 0).any(-1) == mask.squeeze(1)).all()


@every_cell
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "bahdanau"])
def test_the_attentional_state_is_bounded(kind, cell):
    """Mistake A019, no tanh: with the weights times 100 every entry stays within [-1, 1], and many reach the ends."""
    decoder, memory = make_decoder(kind, cell), make_memory()
    seen = []
    decoder.output.register_forward_hook(lambda module, arguments, result: seen.append(arguments[0]))
    run(decoder, make_tokens(), memory)
    with torch.no_grad():
        decoder.combine.weight.mul_(100)
    run(decoder, make_tokens(), memory)
    assert seen[0].abs().max() < 0.999 and seen[1].abs().max() <= 1 and seen[1].abs().max() > 0.999


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@every_kind
def test_other_dtypes(kind, dtype):
    decoder = make_decoder(kind).to(dtype)
    outputs, context, mask = make_memory()
    logits, weights = run(decoder, make_tokens(), (outputs.to(dtype), context.to(dtype), mask))
    assert logits.dtype == weights.dtype == dtype and logits.isfinite().all()


def test_luong_has_no_more_parameters_than_its_score_needs():
    sizes = {kind: sum(p.numel() for p in make_decoder(kind).parameters()) for kind in ("general", "concat")}
    assert sizes["concat"] - sizes["general"] == (H + G) * G + G - G * H
    names = {name for name, _ in make_decoder("dot").named_parameters()}
    assert "W" not in names and "v" not in names and "combine.bias" not in names


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="needs a state as wide as an encoder output, got d_hidden=5, d_output=4"):
        LuongDecoder(V, E, G, H, H, score="dot")
    with pytest.raises(ValueError, match="score: expected one of dot, general, concat, got 'additive'"):
        LuongDecoder(V, E, G, H, H, score="additive")
    with pytest.raises(ValueError, match="cell: expected one of rnn, gru, lstm, got 'GRU'"):
        BahdanauDecoder(V, E, G, H, H, cell="GRU")
    with pytest.raises(TypeError, match="True = may attend"):
        run(make_decoder("general"), make_tokens(), (*make_memory()[:2], torch.ones(3, 1, 5)))


def test_a_plain_decoder_and_these_take_the_same_arguments():
    for cls in (BahdanauDecoder, LuongDecoder):
        for method in ("start", "step"):
            assert inspect.signature(getattr(cls, method)) == inspect.signature(getattr(Decoder, method))
        assert list(inspect.signature(cls.forward).parameters)[:3] == ["self", "decoder_input", "state"]


def test_no_behaviour_hangs_on_training_mode():
    assert ".training" not in inspect.getsource(recurrent_attention)


@pytest.mark.gpu
@every_cell
@every_kind
def test_cuda_equals_cpu(kind, cell):
    model = make_model(kind, cell)
    (source, lengths), tokens = make_source(), make_tokens()
    expected = model(source, lengths, tokens)
    got = model.cuda()(source.cuda(), lengths.cuda(), tokens.cuda())
    torch.testing.assert_close(got.cpu(), expected, atol=1e-9, rtol=1e-7)

"""Decoders that look back: against loops, and the properties that set them apart."""

import pytest
import torch

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import PAD
from course_lib.evaluation import alignment_error_rate
from course_lib.generation import write
from course_lib.recurrent import Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder

V, E, H, T = 11, 4, 6, 5
KINDS = {
    "bahdanau": lambda e, cell: BahdanauDecoder(V, E, H, e.d_output, e.d_context, cell, d_attention=5),
    "luong general": lambda e, cell: LuongDecoder(V, E, H, e.d_output, e.d_context, cell, "general"),
    "luong concat": lambda e, cell: LuongDecoder(V, E, H, e.d_output, e.d_context, cell, "concat"),
    "luong dot": lambda e, cell: LuongDecoder(V, E, e.d_output, e.d_output, e.d_context, cell, "dot"),
    "luong feeding": lambda e, cell: LuongDecoder(V, E, H, e.d_output, e.d_context, cell, input_feeding=True),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_cell = pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])


@pytest.fixture(autouse=True)
def double():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make_model(kind, cell="gru"):
    encoder = Encoder(V, E, 4, cell, bidirectional=True)
    model = Seq2Seq(encoder, KINDS[kind](encoder, cell))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return model


def make_source(lengths=(2, 5, 3)):
    source = torch.randint(4, V, (len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        source[row, length:] = PAD
    return source, torch.tensor(lengths)


@every_kind
@every_cell
def test_stepwise_equals_teacher_forced(kind, cell):
    model = make_model(kind, cell)
    source, lengths = make_source()
    decoder_input = torch.randint(0, V, (3, T))
    logits, weights = model.decoder(decoder_input, model.encode(source, lengths), need_weights=True)
    torch.testing.assert_close(model(source, lengths, decoder_input), logits)
    state = model.encode(source, lengths)
    for t in range(T):
        step_logits, state, step_weights = model.decoder.look(decoder_input[:, t : t + 1], state)
        torch.testing.assert_close(step_logits[:, 0], logits[:, t])
        torch.testing.assert_close(step_weights[:, 0], weights[:, t])


@every_kind
@every_cell
@pytest.mark.parametrize("lengths", [(2, 5, 3), (4,), (1,), (1, 1)])
def test_rows_are_independent_and_padding_has_no_weight(kind, cell, lengths):
    model = make_model(kind, cell)
    source, real = make_source(lengths)
    decoder_input = torch.randint(0, V, (len(lengths), T))
    logits, weights = model.decoder(decoder_input, model.encode(source, real), need_weights=True)
    torch.testing.assert_close(weights.sum(-1), torch.ones(len(lengths), T))
    for row, length in enumerate(lengths):
        alone = model(source[row : row + 1, :length], real[row : row + 1], decoder_input[row : row + 1])
        torch.testing.assert_close(alone[0], logits[row])
        assert not weights[row, :, length:].any()


@every_kind
@pytest.mark.parametrize("garbage", [1e9, -1e9])
def test_garbage_behind_the_mask_changes_nothing(kind, garbage):
    model = make_model(kind)
    source, lengths = make_source()
    outputs, context = model.encoder(source, lengths)
    outputs = outputs.detach()
    mask = (source != PAD).unsqueeze(1)
    spoiled = torch.where(mask.mT, outputs, garbage).requires_grad_()
    decoder_input = torch.randint(0, V, (3, T))
    plain = model.decoder(decoder_input, model.decoder.start(outputs, context, mask))
    other = model.decoder(decoder_input, model.decoder.start(spoiled, context, mask))
    torch.testing.assert_close(other, plain)
    (gradient,) = torch.autograd.grad(other, spoiled, torch.randn_like(other))
    assert gradient.isfinite().all() and not gradient[source == PAD].any() and gradient[source != PAD].any()


@every_kind
def test_a_fully_masked_source_gives_no_weight_and_finite_gradients(kind):
    model = make_model(kind)
    source, lengths = make_source((3, 3))
    outputs, context = model.encoder(source, lengths)
    mask = torch.tensor([[[True, True, True]], [[False, False, False]]])
    state = model.decoder.start(outputs, context, mask)
    logits, weights = model.decoder(torch.randint(0, V, (2, T)), state, need_weights=True)
    assert not weights[1].any() and logits.isfinite().all()
    logits.square().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@every_kind
@every_cell
def test_every_parameter_learns_and_none_sees_the_future(kind, cell):
    model = make_model(kind, cell)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.3)  # out of saturation, where a gradient could vanish by rounding
    embedded = []
    model.decoder.embedding.register_forward_hook(lambda module, arguments, result: embedded.append(result))
    source, lengths = make_source()
    logits = model(source, lengths, torch.randint(0, V, (3, T)))
    for t in range(T):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), embedded[0], retain_graph=True)
        assert not gradient[:, t + 1 :].any()
    (logits * torch.randn_like(logits)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


def test_bahdanau_looks_before_it_reads_and_luong_after():
    source, lengths = make_source()
    for kind, reacts in (("bahdanau", False), ("luong general", True), ("luong feeding", True)):
        model = make_model(kind)
        state = model.encode(source, lengths)
        one, other = (model.decoder.look(torch.full((3, 1), token), state)[2] for token in (4, 5))
        assert torch.equal(one, other) != reacts, kind


def test_bahdanau_equals_a_loop():
    model = make_model("bahdanau")
    decoder = model.decoder
    source, lengths = make_source()
    outputs = model.encoder(source, lengths)[0]
    state = model.encode(source, lengths)
    hidden, tokens = state[0], torch.randint(0, V, (3, T))
    logits, weights = decoder(tokens, state, need_weights=True)
    for b in range(3):
        h = hidden[:, b : b + 1]
        for t in range(T):
            keys = outputs[b, : lengths[b]]
            scores = torch.stack([torch.tanh(h[0, 0] @ decoder.W_q + k @ decoder.W_k) @ decoder.v[:, 0] for k in keys])
            weight = torch.exp(scores) / torch.exp(scores).sum()
            torch.testing.assert_close(weights[b, t, : lengths[b]], weight)
            context = sum(w * k for w, k in zip(weight, keys, strict=True))
            x = torch.cat([context, decoder.embedding(tokens[b, t])])
            out, h = decoder.rnn(x[None, None], h)
            torch.testing.assert_close(logits[b, t], decoder.output(out[0, 0]))


def test_the_attentional_state_is_bounded():
    model = make_model("luong general")
    seen = []
    model.decoder.output.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    with torch.no_grad():
        model.decoder.combine.weight.mul_(100)
    source, lengths = make_source()
    model(source, lengths, torch.randint(0, V, (3, T)))
    assert seen[0].abs().max() <= 1


def test_unfit_arguments_are_refused():
    with pytest.raises(ValueError, match="d_hidden=6, d_output=8"):
        LuongDecoder(V, E, 6, 8, 8, score="dot")
    with pytest.raises(ValueError, match="dot, general, concat, got 'cosine'"):
        LuongDecoder(V, E, 6, 8, 8, score="cosine")


@every_kind
def test_writing_returns_where_it_looked(kind):
    model = make_model(kind)
    batch = make_batch([([4, 5, 6], [7]), ([8, 9], [5, 6])])
    ids, weights = write(model, batch, 6, need_weights=True)
    assert torch.equal(ids, write(model, batch, 6))
    assert weights.shape == (2, ids.shape[1], 3)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, ids.shape[1]))
    assert not weights[1, :, 2].any()


def test_alignment_error_rate_counts_what_has_a_known_place():
    weights = torch.eye(4)[[0, 2, 1, 3]]
    spans = ((0, 1), (2, 3), None, (0, 2))
    assert alignment_error_rate(weights, spans) == pytest.approx(1 / 3)
    assert alignment_error_rate(torch.eye(4), ((0, 1), (1, 2), (2, 3), (3, 4))) == 0.0
    with pytest.raises(ValueError, match="no target position"):
        alignment_error_rate(weights, (None,) * 4)
    with pytest.raises(ValueError, match="for each of the 5 spans, got 4"):
        alignment_error_rate(weights, ((0, 1),) * 5)

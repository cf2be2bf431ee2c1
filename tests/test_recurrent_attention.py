"""Decoders that look back: against the papers in plain loops, and the properties that set them apart."""

import inspect

import pytest
import torch

from course_lib import recurrent_attention
from course_lib.recurrent import CELLS, Decoder, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder

from .looped_decoders import looped_decoder

V, E, H, G, A = 11, 3, 4, 5, 6  # G: width of the decoder's state, A: of Bahdanau's features
CLOSE = {"atol": 1e-11, "rtol": 1e-9}

# How each is made, from the widths of the encoder's outputs and context. Dot needs a state as wide as an output.
KINDS = {
    "bahdanau": lambda out, context, cell: BahdanauDecoder(V, E, G, out, context, cell, d_attention=A),
    "dot": lambda out, context, cell: LuongDecoder(V, E, out, out, context, cell, "dot"),
    "general": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "general"),
    "concat": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "concat"),
    "dot fed": lambda out, context, cell: LuongDecoder(V, E, out, out, context, cell, "dot", True),
    "general fed": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "general", True),
    "concat fed": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "concat", True),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_cell = pytest.mark.parametrize("cell", CELLS)


def make_decoder(kind, cell="gru", d_output=H, d_context=None, seed=0):
    torch.manual_seed(seed)
    return KINDS[kind](d_output, d_context or d_output, cell).double()


def make_model(kind, cell="gru", bidirectional=True):
    torch.manual_seed(1)
    encoder = Encoder(V, E, H, cell, bidirectional)
    return Seq2Seq(encoder, make_decoder(kind, cell, encoder.d_output, encoder.d_context)).double()


def make_source(lengths=(2, 5, 3)):
    """Rows of mixed lengths; the padding holds id 0, whose embedding is not zero."""
    generator = torch.Generator().manual_seed(3)
    source = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        source[row, :length] = torch.randint(1, V, (length,), generator=generator)
    return source, torch.tensor(lengths)


def make_memory(lengths=(2, 5, 3), d_output=H, S=None, garbage=0.0, seed=5):
    """What an encoder hands on: outputs (B, S, d_output), context (B, d_output), mask (B, 1, S). 0 is allowed."""
    generator = torch.Generator().manual_seed(seed)
    B, S = len(lengths), S or max(lengths)
    mask = (torch.arange(S) < torch.tensor(lengths)[:, None]).unsqueeze(1)
    outputs = torch.randn(B, S, d_output, generator=generator, dtype=torch.float64)
    signs = torch.where(torch.arange(S) % 2 == 0, 1.0, -1.0).double()[:, None]
    outputs = torch.where(mask.mT, outputs, garbage * signs)
    context = torch.randn(B, d_output, generator=generator, dtype=torch.float64)
    return outputs.requires_grad_(), context.requires_grad_(), mask


def make_tokens(B=3, T=4):
    return torch.randint(0, V, (B, T), generator=torch.Generator().manual_seed(6))


def run(decoder, tokens, memory):
    """Logits and weights, teacher-forced."""
    return decoder(tokens, decoder.start(*memory), need_weights=True)


def gradients(results, inputs):
    """Of a random projection of all results."""
    generator = torch.Generator().manual_seed(7)
    total = sum((r * torch.randn(r.shape, generator=generator, dtype=r.dtype)).sum() for r in results)
    return torch.autograd.grad(total, inputs)


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
@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
def test_stepwise_equals_teacher_forced(kind, cell, bidirectional):
    """`step` and `look` alike, and in two chunks."""
    model = make_model(kind, cell, bidirectional)
    (source, lengths), tokens = make_source(), make_tokens(3, 6)
    state = first = model.encode(source, lengths)
    logits, weights = model.decoder(tokens, first, need_weights=True)
    torch.testing.assert_close(model(source, lengths, tokens), logits, atol=0, rtol=0)
    for t in range(6):
        looked, _, its_weights = model.decoder.look(tokens[:, t : t + 1], state)
        step_logits, state = model.step(tokens[:, t], state)
        assert step_logits.shape == (3, V)
        torch.testing.assert_close(step_logits, logits[:, t], **CLOSE)
        torch.testing.assert_close(looked[:, 0], logits[:, t], **CLOSE)
        torch.testing.assert_close(its_weights[:, 0], weights[:, t], **CLOSE)
    head, middle, _ = model.decoder.look(tokens[:, :4], first)
    tail, _, _ = model.decoder.look(tokens[:, 4:], middle)
    torch.testing.assert_close(torch.cat([head, tail], dim=1), logits, **CLOSE)


@every_cell
@every_kind
def test_no_gradient_from_the_future(kind, cell):
    """What is predicted at t depends on the target before t alone (mistake A010)."""
    model = make_model(kind, cell)
    embedded = []
    model.decoder.embedding.register_forward_hook(lambda module, arguments, result: embedded.append(result))
    logits = model(*make_source(), make_tokens(3, 5))
    for t in range(5):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), embedded[0], retain_graph=True)
        assert not gradient[:, t + 1 :].any()
        assert (gradient[:, : t + 1].abs().sum(-1) > 0).all()


@every_cell
@every_kind
def test_when_the_weights_learn_of_a_token(kind, cell):
    """The order of the two papers (mistake A022): Bahdanau scores s_{t-1}, which has not read y_{t-1} yet, so the token
    that enters at step t moves the weights from the next step on; Luong scores s_t, so it moves them at once."""
    decoder, memory = make_decoder(kind, cell), make_memory((5, 5, 5))
    tokens = make_tokens(3, 5)
    _, before = run(decoder, tokens, memory)
    for t in range(5):
        changed = tokens.clone()
        changed[:, t] = (tokens[:, t] + 1) % V
        _, after = run(decoder, changed, memory)
        first = t + 1 if kind == "bahdanau" else t
        assert torch.equal(after[:, :first], before[:, :first])
        assert (after[:, first:] != before[:, first:]).any(-1).all()


@every_cell
def test_bahdanau_looks_from_the_first_state_before_any_token(cell):
    """At the first step the query is the bridge's tanh, for an LSTM its h half."""
    decoder, memory = make_decoder("bahdanau", cell), make_memory()
    first = torch.tanh(decoder.bridge(memory[1]))[:, :G]
    scores = torch.tanh((first @ decoder.W_q).unsqueeze(1) + memory[0] @ decoder.W_k) @ decoder.v.squeeze(-1)  # (B, S)
    expected = scores.masked_fill(~memory[2].squeeze(1), -torch.inf).softmax(-1)
    torch.testing.assert_close(run(decoder, make_tokens(), memory)[1][:, 0], expected, **CLOSE)


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


def rnn_state(state):
    """The RNN's part of a decoder's state, for an LSTM its h."""
    hidden = state[0][0]
    return hidden[0] if isinstance(hidden, tuple) else hidden


@every_cell
@pytest.mark.parametrize("score", ["dot", "general", "concat"])
def test_input_feeding_hands_the_attentional_state_on(score, cell):
    """A context that only the first step can hear of reaches the second RNN step with feeding, and not without it."""
    for feeding in (False, True):
        decoder = make_decoder(score + (" fed" if feeding else ""), cell)
        state = decoder.start(*make_memory())
        token = make_tokens()[:, 0]
        (_, (outputs, keys, mask)), moved = state, decoder.step(token, state)[1]
        again = decoder.step(token, (state[0], (outputs + 1, keys, mask)))[1]
        assert torch.equal(rnn_state(moved), rnn_state(again))  # the first step of the RNN has heard nothing yet
        stays = moved[1]
        second = [rnn_state(decoder.step(token, (one[0], stays))[1]) for one in (moved, again)]
        assert torch.equal(*second) is not feeding


@every_kind
def test_the_keys_are_projected_once(kind):
    """What stays from step to step is the same object, and the encoder's matrix is used in `start` alone."""
    decoder, memory = make_decoder(kind), make_memory()
    state = decoder.start(*memory)
    _, after = decoder.step(make_tokens()[:, 0], state)
    assert after[1] is state[1]
    width = {"bahdanau": A, "concat": G}.get(kind.removesuffix(" fed"), H)
    assert state[1][1].shape == (3, 5, width)


@every_kind
def test_the_fast_road_runs_the_rnn_once_where_it_may(kind):
    decoder, calls = make_decoder(kind), []
    decoder.rnn.register_forward_hook(lambda module, arguments, result: calls.append(arguments[0].shape[1]))
    run(decoder, make_tokens(3, 6), make_memory())
    assert calls == ([1] * 6 if kind == "bahdanau" or "fed" in kind else [6])


@every_cell
@every_kind
@pytest.mark.parametrize("rows", [[2, 0, 0, 1, 2], [1], [0, 1, 2], []], ids=str)
def test_selected_rows_go_on_as_if_they_had_been_alone(kind, cell, rows):
    """Mistake A114: a beam takes rows several times, or not at all; all that belongs to a row goes with it."""
    decoder, memory, tokens, rows = (
        make_decoder(kind, cell),
        make_memory(),
        make_tokens(3, 4),
        torch.tensor(rows).long(),
    )
    for steps in (0, 2):
        state = decoder.start(*memory)
        chosen = decoder.start(*(part[rows] for part in memory))
        for token in tokens[:, :steps].unbind(1):
            _, state = decoder.step(token, state)
            _, chosen = decoder.step(token[rows], chosen)
        before, _ = decoder.step(tokens[:, 3], state)
        selected = state.select(rows)
        for token in tokens[rows, 2:].unbind(1):
            expected, chosen = decoder.step(token, chosen)
            logits, selected = decoder.step(token, selected)
            torch.testing.assert_close(logits, expected, **CLOSE)
        assert torch.equal(decoder.step(tokens[:, 3], state)[0], before)


@every_cell
@every_kind
def test_states_are_not_changed_in_place(kind, cell):
    """A state serves again: a beam takes several steps from one (nothing is remembered in the decoder)."""
    decoder, memory, tokens = make_decoder(kind, cell), make_memory(), make_tokens()
    state = decoder.start(*memory)
    first, _ = decoder.step(tokens[:, 0], state)
    decoder.step(tokens[:, 1], state)
    assert torch.equal(decoder.step(tokens[:, 0], state)[0], first)
    assert torch.equal(memory[0], make_memory()[0])


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

import inspect

import pytest
import torch

from course_lib.recurrent import CELLS, Decoder, Encoder, Seq2Seq, gru_cell, lstm_cell, make_rnn, rnn_cell, run

V, E, H, G = 11, 3, 5, 4  # G: width of the decoder's state, unlike the encoder's
CLOSE = {"atol": 1e-12, "rtol": 1e-10}

every_encoder = pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
every_cell = pytest.mark.parametrize("cell", CELLS)
every_decoder = pytest.mark.parametrize("context", ["initial", "every_step"])


def make_encoder(cell, bidirectional=False):
    torch.manual_seed(0)
    return Encoder(V, E, H, cell, bidirectional).double()


def make_model(cell, context, bidirectional=False):
    encoder = make_encoder(cell, bidirectional)
    return Seq2Seq(encoder, Decoder(V, E, G, encoder.d_context, cell, context)).double()


def make_source(lengths=(2, 5, 3), S=None):
    """Rows in ascending or mixed lengths; the padding holds id 0, whose embedding is not zero."""
    generator = torch.Generator().manual_seed(3)
    source = torch.zeros(len(lengths), S or max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        source[row, :length] = torch.randint(1, V, (length,), generator=generator)
    return source, torch.tensor(lengths)


@every_cell
@every_encoder
def test_context_does_not_see_padding(cell, bidirectional):
    encoder = make_encoder(cell, bidirectional)
    source, lengths = make_source((4,))
    outputs, context = encoder(source, lengths)
    for extra in (1, 7):
        padded = torch.nn.functional.pad(source, (0, extra), value=9)
        more_outputs, same_context = encoder(padded, lengths)
        torch.testing.assert_close(same_context, context, **CLOSE)
        torch.testing.assert_close(more_outputs[:, :4], outputs, **CLOSE)
        assert more_outputs.shape[1] == 4 + extra and not more_outputs[:, 4:].any()


@every_cell
@every_encoder
@pytest.mark.parametrize("lengths", [(2, 5, 3), (1, 2, 4), (3, 3)])
def test_rows_do_not_see_each_other(cell, bidirectional, lengths):
    encoder = make_encoder(cell, bidirectional)
    source, counts = make_source(lengths)
    outputs, context = encoder(source, counts)
    assert outputs.shape == (len(lengths), max(lengths), encoder.d_output)
    assert context.shape == (len(lengths), encoder.d_context)
    for row, length in enumerate(lengths):
        alone, its_context = encoder(source[row : row + 1, :length], counts[row : row + 1])
        torch.testing.assert_close(outputs[row : row + 1, :length], alone, **CLOSE)
        torch.testing.assert_close(context[row : row + 1], its_context, **CLOSE)


@every_cell
def test_encoder_equals_our_cells_step_by_step(cell):
    encoder = make_encoder(cell)
    source, lengths = make_source((4,))
    rnn = encoder.rnn
    W_xh, W_hh, b_xh, b_hh = rnn.weight_ih_l0.T, rnn.weight_hh_l0.T, rnn.bias_ih_l0, rnn.bias_hh_l0
    h = c = torch.zeros(1, H, dtype=torch.float64)
    for x in encoder.embedding(source).unbind(1):
        if cell == "rnn":
            h = rnn_cell(x, h, W_xh, W_hh, b_xh + b_hh)
        elif cell == "gru":
            h = gru_cell(x, h, W_xh, W_hh, b_xh, b_hh)
        else:
            h, c = lstm_cell(x, (h, c), W_xh, W_hh, b_xh + b_hh)
    expected = torch.cat([h, c], dim=1) if cell == "lstm" else h
    torch.testing.assert_close(encoder(source, lengths)[1], expected, **CLOSE)


@every_cell
def test_both_directions_are_used(cell):
    """The backward half at position 0 knows the last token, the forward half does not (mistake A007)."""
    encoder = make_encoder(cell, bidirectional=True)
    source, lengths = make_source((4,))
    changed = source.clone()
    changed[0, -1] = source[0, -1] % (V - 1) + 1
    before, after = encoder(source, lengths)[0][0, 0], encoder(changed, lengths)[0][0, 0]
    assert torch.equal(before[:H], after[:H])
    assert not torch.isclose(before[H:], after[H:]).any()
    assert not torch.isclose(before[:H], before[H:]).any()


@every_cell
@every_decoder
@pytest.mark.parametrize("rows", [[2, 0, 0, 1, 2], [1], []], ids=str)
def test_selected_rows_go_on_as_if_they_had_been_alone(cell, context, rows):
    """Mistake A114: for an LSTM h and c go with the row, and the context where every step reads it."""
    model, (source, lengths), rows = make_model(cell, context, False), make_source(), torch.tensor(rows).long()
    tokens = torch.randint(0, V, (3, 4))
    state = model.encode(source, lengths)
    for token in tokens.unbind(1):
        logits, following = model.step(token, state)
        selected, after = model.step(token[rows], state.select(rows))
        torch.testing.assert_close(selected, logits[rows], **CLOSE)
        torch.testing.assert_close(model.step(token[rows], after)[0], model.step(token, following)[0][rows], **CLOSE)
        state = following


@every_cell
@every_decoder
@every_encoder
def test_stepwise_equals_teacher_forced(cell, context, bidirectional):
    model = make_model(cell, context, bidirectional)
    source, lengths = make_source()
    decoder_input = torch.randint(0, V, (3, 6))
    logits = model(source, lengths, decoder_input)
    state = model.encode(source, lengths)
    for t in range(6):
        step_logits, state = model.step(decoder_input[:, t], state)
        torch.testing.assert_close(step_logits, logits[:, t], **CLOSE)


@every_cell
@every_decoder
def test_no_gradient_from_the_future(cell, context):
    """What is predicted at t depends on the target before t alone (mistake A010, a decoder in two directions)."""
    model = make_model(cell, context)
    source, lengths = make_source()
    embedded = []
    model.decoder.embedding.register_forward_hook(lambda module, arguments, result: embedded.append(result))
    logits = model(source, lengths, torch.randint(0, V, (3, 5)))
    for t in range(5):
        (gradient,) = torch.autograd.grad(logits[:, t].square().sum(), embedded[0], retain_graph=True)
        assert not gradient[:, t + 1 :].any()
        assert (gradient[:, : t + 1].abs().sum(-1) > 0).all()


@every_cell
@every_decoder
@every_encoder
def test_every_parameter_learns(cell, context, bidirectional):
    model = make_model(cell, context, bidirectional)
    source, lengths = make_source()
    model(source, lengths, torch.randint(0, V, (3, 4))).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), name


@every_cell
def test_the_two_decoders_read_the_context_when_they_say(cell):
    """A context changed after the first state reaches the logits at every step, or at none."""
    for context, is_read in (("initial", False), ("every_step", True)):
        model = make_model(cell, context)
        hidden, kept = model.encode(*make_source((4,)))
        assert (kept is not None) == is_read
        if is_read:
            assert torch.equal(kept, model.encoder(*make_source((4,)))[1])
            tokens = torch.tensor([[1, 4, 2]])
            before, after = model.decoder(tokens, (hidden, kept)), model.decoder(tokens, (hidden, kept + 1))
            assert (~torch.isclose(before, after)).any(-1).all()


@every_cell
@every_decoder
def test_the_first_state_is_the_tanh_of_a_bridge(cell, context):
    model = make_model(cell, context)
    source, lengths = make_source()
    hidden, _ = model.encode(source, lengths)
    joined = torch.cat(hidden, dim=-1) if cell == "lstm" else hidden
    expected = torch.tanh(model.decoder.bridge(model.encoder(source, lengths)[1]))
    torch.testing.assert_close(joined.squeeze(0), expected, **CLOSE)


def test_a_decoder_that_looks_back_gets_outputs_and_mask():
    """Lessons 2 and 3 put another decoder into Seq2Seq: it receives all states and which of them are real."""
    given = []

    class LooksBack(torch.nn.Module):
        def start(self, outputs, context, mask):
            given.extend([outputs, context, mask])
            return "state"

    model = Seq2Seq(make_encoder("gru"), LooksBack())
    source, lengths = make_source((2, 4))
    assert model.encode(source, lengths) == "state"
    assert given[0].shape == (2, 4, H)
    assert given[2].shape == (2, 1, 4) and given[2].squeeze(1).tolist() == [[True, True, False, False], [True] * 4]


@every_cell
@every_decoder
@every_encoder
def test_one_sentence_of_one_token(cell, context, bidirectional):
    model = make_model(cell, context, bidirectional)
    source, lengths = make_source((1,))
    assert model(source, lengths, torch.tensor([[1]])).shape == (1, 1, V)


def test_lengths_need_not_be_on_the_cpu_nor_the_arguments_change():
    model = make_model("gru", "initial")
    source, lengths = make_source()
    copies = source.clone(), lengths.clone()
    model(source, lengths, torch.ones(3, 2, dtype=torch.int64))
    assert torch.equal(source, copies[0]) and torch.equal(lengths, copies[1])


@every_cell
@pytest.mark.parametrize("T", [1, 4])
def test_a_step_alone_is_what_the_network_computes(cell, T):
    """In values and in every gradient."""
    torch.manual_seed(0)
    rnn = make_rnn(cell, E, H).double()
    shapes = (2, T, E), (1, 2, H), (1, 2, H)
    inputs, h, c = (torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    hidden = (h, c) if cell == "lstm" else h
    results = []
    for states, after in (run(rnn, inputs, hidden), rnn(inputs, hidden)):
        after = after if isinstance(after, tuple) else (after,)
        score = states.sin().sum() + sum(part.cos().sum() for part in after)
        results.append([states, *after, *torch.autograd.grad(score, [inputs, h, *rnn.parameters()])])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="cell: expected one of rnn, gru, lstm, got 'GRU'"):
        Encoder(V, E, H, "GRU")
    with pytest.raises(ValueError, match='context: expected "initial" or "every_step"'):
        Decoder(V, E, H, H, context="first")


def test_no_behaviour_hangs_on_training_mode():
    """A model that cheats only while it trains has no place here (see mistakes A002, A010)."""
    source = inspect.getsource(inspect.getmodule(Seq2Seq))
    assert "self.training" not in source


@pytest.mark.gpu
@every_cell
def test_cuda_equals_cpu(cell):
    model = make_model(cell, "every_step", True)
    source, lengths = make_source()
    decoder_input = torch.randint(0, V, (3, 4))
    expected = model(source, lengths, decoder_input)
    got = model.cuda()(source.cuda(), lengths.cuda(), decoder_input.cuda())
    torch.testing.assert_close(got.cpu(), expected, atol=1e-9, rtol=1e-7)

"""Decoders that look back, step after step: what a state holds, what it has heard of, and how it serves again."""

import pytest
import torch

from course_lib import recurrent_attention

from .attending_decoders import (
    CLOSE,
    A,
    G,
    H,
    V,
    every_cell,
    every_kind,
    make_decoder,
    make_memory,
    make_model,
    make_source,
    make_tokens,
    run,
)


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
def test_the_fast_road_runs_the_rnn_once_where_it_may(kind, monkeypatch):
    decoder, calls, run_rnn = make_decoder(kind), [], recurrent_attention.run

    def counted(rnn, inputs, hidden):
        calls.append(inputs.shape[1])
        return run_rnn(rnn, inputs, hidden)

    monkeypatch.setattr(recurrent_attention, "run", counted)
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

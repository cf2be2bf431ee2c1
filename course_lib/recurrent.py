"""Seq2Seq (Sutskever et al. 2014, Cho et al. 2014): read a sentence into one vector, write another from it.

The cells by hand stand in `recurrent_cells`; here torch's own run over all steps at once.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from course_lib.recurrent_cells import gru_cell, lstm_cell, rnn_cell

__all__ = ["Decoder", "DecoderState", "Encoder", "Seq2Seq", "gru_cell", "lstm_cell", "rnn_cell"]

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
STEPS = {nn.RNN: torch.rnn_tanh_cell, nn.GRU: torch.gru_cell, nn.LSTM: torch.lstm_cell}


def make_rnn(cell, d_input, d_hidden, bidirectional=False):
    """A one-layer recurrent network over (B, S, d_input). cell: "rnn", "gru" or "lstm".

    Its states are (B, S, d_hidden), twice as wide if bidirectional. Raises ValueError for another cell.

    >>> [type(make_rnn(cell, 3, 4)).__name__ for cell in ("rnn", "gru", "lstm")]
    ['RNN', 'GRU', 'LSTM']
    """
    if cell not in CELLS:
        raise ValueError(f"cell: expected one of {', '.join(CELLS)}, got {cell!r}")
    return CELLS[cell](d_input, d_hidden, batch_first=True, bidirectional=bidirectional)


def run(rnn, inputs, hidden):
    """What `rnn(inputs, hidden)` gives, for one layer in one direction: states (B, T, H) and the hidden state after.

    inputs: (B, T, d_input). hidden: (1, B, H), for an LSTM two of them. One step alone goes by torch's cell: the same
    numbers, without the start of a whole run.

    >>> rnn, x, h = make_rnn("gru", 3, 4), torch.randn(2, 1, 3), torch.randn(1, 2, 4)
    >>> torch.allclose(run(rnn, x, h)[0], rnn(x, h)[0], atol=1e-5)
    True
    """
    if inputs.shape[1] > 1:
        return rnn(inputs, hidden)
    weights = rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0
    step, x = STEPS[type(rnn)], inputs.squeeze(1)  # (B, d_input)
    if isinstance(hidden, tuple):
        h, c = step(x, [part.squeeze(0) for part in hidden], *weights)  # each (B, H)
        return h.unsqueeze(1), (h.unsqueeze(0), c.unsqueeze(0))
    h = step(x, hidden.squeeze(0), *weights)  # (B, H)
    return h.unsqueeze(1), h.unsqueeze(0)


def first_hidden(rnn, bridge, context):
    """tanh(W c + b), a decoder's state before its first token, as torch's network takes it; for an LSTM its h and c.

    bridge: linear layer to the width of the state, for an LSTM twice that. context: (B, d_context).

    Returns (1, B, d_hidden), for an LSTM two of them.

    >>> h, c = first_hidden(make_rnn("lstm", 3, 4), nn.Linear(6, 8), torch.randn(2, 6))
    >>> h.shape, c.shape
    (torch.Size([1, 2, 4]), torch.Size([1, 2, 4]))
    """
    first = torch.tanh(bridge(context)).unsqueeze(0)  # (1, B, H), or (1, B, 2H) for an LSTM
    if isinstance(rnn, nn.LSTM):
        return tuple(part.contiguous() for part in first.chunk(2, dim=-1))
    return first


class DecoderState(NamedTuple):
    """What a decoder knows before it writes on; a step makes a new one. Each of the two: a tensor, None, or a tuple.

    moves: what a step changes, (1, B, width) as torch's networks take it. stays: what none changes, (B, ...).

    >>> state = DecoderState(torch.zeros(1, 2, 4), torch.zeros(2, 6))
    >>> more = state.select(torch.tensor([1, 0, 0]))
    >>> more.moves.shape, more.stays.shape
    (torch.Size([1, 3, 4]), torch.Size([3, 6]))
    """

    moves: object
    stays: object

    def select(self, rows):
        """The state of some rows of the batch, in any order, a row as often as it is named, as beam search wants.

        rows: (N,) int64, on the state's device. Returns a new state with N for B; this one stays as it is.
        """
        return DecoderState(_rows_of(self.moves, rows, axis=1), _rows_of(self.stays, rows, axis=0))


def _rows_of(part, rows, axis):
    if isinstance(part, tuple):
        return tuple(_rows_of(one, rows, axis) for one in part)
    return None if part is None else part.index_select(axis, rows)


class Encoder(nn.Module):
    """Reads a sentence; the state after its last real token is all that the decoder gets (Sutskever et al. 2014).

    d_embedding: width of a token's vector. d_hidden: width of the state in one direction.
    bidirectional: a second network reads from the end; outputs and context are joined, forward first
    (Bahdanau et al. 2015, section 3.2).
    d_output: width of one output. d_context: width of the context (an LSTM hands on h and c, twice as much).

    Raises ValueError for another cell than those of `make_rnn`.

    >>> outputs, context = Encoder(10, 3, 4)(torch.tensor([[5, 6, 0], [5, 6, 7]]), torch.tensor([2, 3]))
    >>> outputs.shape, context.shape, outputs[0, 2].tolist()  # nothing on padding
    (torch.Size([2, 3, 4]), torch.Size([2, 4]), [0.0, 0.0, 0.0, 0.0])
    >>> torch.equal(context[0], outputs[0, 1])  # the state after the last real token
    True
    """

    def __init__(self, vocab_size, d_embedding, d_hidden, cell="gru", bidirectional=False):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.rnn = make_rnn(cell, d_embedding, d_hidden, bidirectional)
        self.d_output = d_hidden * (2 if bidirectional else 1)
        self.d_context = self.d_output * (2 if cell == "lstm" else 1)

    def forward(self, source, lengths):
        """source: (B, S) ids, padded at the end. lengths: (B,) ints from 1 to S, on the CPU.

        Returns outputs (B, S, d_output), zero on padding, and the context (B, d_context).
        """
        embedded = self.embedding(source)  # (B, S, E)
        packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
        outputs, final = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        final = torch.cat(final) if isinstance(final, tuple) else final  # (directions [· 2], B, H)
        return outputs, final.transpose(0, 1).flatten(1)  # (B, S, d_output), (B, d_context)


class Decoder(nn.Module):
    """Writes the target one token at a time, each step reading the token before.

    d_context: width of the encoder's context. The first state is tanh(W c + b), so the widths may differ.
    context: "initial", the context is seen in the first state only (Sutskever et al. 2014), or
    "every_step", it also stands beside the embedding at every step (Cho et al. 2014).

    Raises ValueError for another cell or context.

    >>> decoder = Decoder(10, 3, 4, d_context=6)
    >>> state = decoder.start(None, torch.randn(2, 6), None)
    >>> decoder(torch.tensor([[1, 5, 6], [1, 7, 0]]), state).shape
    torch.Size([2, 3, 10])
    """

    def __init__(self, vocab_size, d_embedding, d_hidden, d_context, cell="gru", context="initial"):
        super().__init__()
        if context not in ("initial", "every_step"):
            raise ValueError(f'context: expected "initial" or "every_step", got {context!r}')
        self.every_step = context == "every_step"
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.rnn = make_rnn(cell, d_embedding + (d_context if self.every_step else 0), d_hidden)
        self.bridge = nn.Linear(d_context, d_hidden * (2 if cell == "lstm" else 1))
        self.output = nn.Linear(d_hidden, vocab_size)

    def start(self, outputs, context, mask):
        """The state before the first token. context: (B, d_context).

        outputs (B, S, d_output) and mask (B, 1, S), True = real, are for decoders that look back; this one cannot.
        Returns a `DecoderState`: the hidden state moves; the context stays, None where no later step reads it.
        """
        return DecoderState(first_hidden(self.rnn, self.bridge, context), context if self.every_step else None)

    def forward(self, decoder_input, state):
        """All steps at once, each fed the true token before (teacher forcing). decoder_input: (B, T).

        Returns logits (B, T, vocab_size).
        """
        return self._run(decoder_input, state)[0]

    def step(self, token, state):
        """One step. token: (B,), the one written before. Returns logits (B, vocab_size) and the next state.

        >>> decoder = Decoder(10, 3, 4, d_context=6)
        >>> state = decoder.start(None, torch.randn(1, 6), None)
        >>> first, following = decoder.step(torch.tensor([1]), state)
        >>> second, following = decoder.step(torch.tensor([5]), following)
        >>> torch.allclose(torch.stack([first, second], dim=1), decoder(torch.tensor([[1, 5]]), state), atol=1e-5)
        True
        """
        logits, state = self._run(token.unsqueeze(1), state)
        return logits.squeeze(1), state

    def _run(self, tokens, state):
        hidden, context = state
        inputs = self.embedding(tokens)  # (B, T, E)
        if self.every_step:
            along_time = context.unsqueeze(1).expand(-1, tokens.shape[1], -1)  # (B, T, d_context)
            inputs = torch.cat([inputs, along_time], dim=-1)
        states, hidden = run(self.rnn, inputs, hidden)  # (B, T, H)
        return self.output(states), DecoderState(hidden, context)


class Seq2Seq(nn.Module):
    """An encoder and any decoder with `start`, `forward` and `step` as above.

    >>> encoder = Encoder(10, 3, 4, bidirectional=True)
    >>> model = Seq2Seq(encoder, Decoder(10, 3, 5, encoder.d_context))
    >>> model(torch.tensor([[5, 6, 0], [5, 6, 7]]), torch.tensor([2, 3]), torch.tensor([[1, 8], [1, 9]])).shape
    torch.Size([2, 2, 10])
    """

    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def encode(self, source, source_lengths):
        """Read the source (B, S). source_lengths: (B,) ints from 1 to S. Returns the decoder's first state."""
        outputs, context = self.encoder(source, source_lengths)
        positions = torch.arange(source.shape[1], device=source.device)
        mask = (positions < source_lengths.to(source.device)[:, None]).unsqueeze(1)  # (B, 1, S), True = real token
        return self.decoder.start(outputs, context, mask)

    def step(self, token, state):
        """One step of the decoder, as `generation.greedy` asks for it.

        token: (B,). Returns logits (B, V) and the next state.
        """
        return self.decoder.step(token, state)

    def look(self, tokens, state):
        """Steps of a decoder that looks back, as `generation.write` asks for it. tokens: (B, T).

        Returns logits (B, T, V), the next state, and where it looked, (B, T, S).
        """
        return self.decoder.look(tokens, state)

    def forward(self, source, source_lengths, decoder_input):
        """Teacher-forced logits (B, T, V). source: (B, S) ids. source_lengths: (B,). decoder_input: (B, T) ids."""
        return self.decoder(decoder_input, self.encode(source, source_lengths))

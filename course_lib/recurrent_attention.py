"""Decoders that look back: Bahdanau et al. 2015 and Luong et al. 2015. They take the place of `recurrent.Decoder`.

Both have its three methods (`start`, `forward`, `step`) and a fourth, `look`, which also returns the weights. Their
`DecoderState` is a pair (what moves from step to step, what stays): what stays is the encoder's side, (outputs, keys,
mask), where keys are the outputs as the score wants them, projected once in `start`.
"""

import torch
from torch import nn

from course_lib.attention import attend, compare_features, dot_score, general_score
from course_lib.recurrent import DecoderState, first_hidden, make_rnn, run


class AttentionDecoder(nn.Module):
    """What both decoders share: embedding, RNN, bridge, output layer; `forward` and `step` in terms of `look`.

    >>> decoder = BahdanauDecoder(10, 3, 4, d_output=6, d_context=6)
    >>> state = decoder.start(torch.randn(1, 5, 6), torch.randn(1, 6), None)
    >>> first, following = decoder.step(torch.tensor([1]), state)
    >>> second, following = decoder.step(torch.tensor([7]), following)
    >>> torch.allclose(torch.stack([first, second], dim=1), decoder(torch.tensor([[1, 7]]), state), atol=1e-5)
    True
    """

    def __init__(self, vocab_size, d_embedding, d_input, d_hidden, d_context, d_predict, cell):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_embedding)
        self.rnn = make_rnn(cell, d_input, d_hidden)
        self.bridge = nn.Linear(d_context, d_hidden * (2 if cell == "lstm" else 1))
        self.output = nn.Linear(d_predict, vocab_size)

    def forward(self, decoder_input, state, need_weights=False):
        """All steps, each fed the true token before. decoder_input: (B, T).

        Returns logits (B, T, vocab_size), or (logits, weights (B, T, S)) with need_weights.
        """
        logits, _, weights = self.look(decoder_input, state)
        return (logits, weights) if need_weights else logits

    def step(self, token, state):
        """One step. token: (B,). Returns logits (B, vocab_size) and the next state."""
        logits, state, _ = self.look(token.unsqueeze(1), state)
        return logits.squeeze(1), state


def visible(hidden):
    """The part of the hidden state that others may see, (B, H): for an LSTM its h.

    >>> h, c = torch.zeros(1, 2, 4), torch.ones(1, 2, 4)
    >>> torch.equal(visible((h, c)), h[0]), torch.equal(visible(h), h[0])
    (True, True)
    """
    return (hidden[0] if isinstance(hidden, tuple) else hidden)[0]


class BahdanauDecoder(AttentionDecoder):
    """Looks, then moves: the score is taken from s_{t-1}, the context enters the RNN beside the embedding of y_{t-1}.

    d_output: width of one encoder output. d_context: width of the encoder's context, for the first state.
    d_attention: width of the features that are compared (d_hidden unless given). The new state alone predicts; the
    paper (Bahdanau et al. 2015, section 3.1) puts a maxout layer over the state, y_{t-1} and c_t there.
    Raises ValueError for another cell.

    >>> decoder, mask = BahdanauDecoder(10, 3, 4, d_output=6, d_context=6), torch.tensor([[[True, True, False]]])
    >>> state = decoder.start(torch.randn(1, 3, 6), torch.randn(1, 6), mask)
    >>> logits, weights = decoder(torch.tensor([[1, 7]]), state, need_weights=True)
    >>> logits.shape, weights.shape, weights[0, :, 2].tolist()  # padding gets nothing
    (torch.Size([1, 2, 10]), torch.Size([1, 2, 3]), [0.0, 0.0])
    """

    def __init__(self, vocab_size, d_embedding, d_hidden, d_output, d_context, cell="gru", d_attention=None):
        super().__init__(vocab_size, d_embedding, d_output + d_embedding, d_hidden, d_context, d_hidden, cell)
        d_attention = d_attention or d_hidden
        self.W_q = nn.Parameter(torch.empty(d_hidden, d_attention))
        self.W_k = nn.Parameter(torch.empty(d_output, d_attention))
        self.v = nn.Parameter(torch.empty(d_attention, 1))
        for parameter in (self.W_q, self.W_k, self.v):
            nn.init.xavier_uniform_(parameter)

    def start(self, outputs, context, mask):
        """outputs: (B, S, d_output). context: (B, d_context). mask: (B, 1, S), True = a real token.

        Returns the state before the first token; to project the outputs here saves it in every step.
        """
        keys = outputs @ self.W_k  # (B, S, A)
        return DecoderState(first_hidden(self.rnn, self.bridge, context), (outputs, keys, mask))

    def look(self, tokens, state):
        """tokens: (B, T). Returns logits (B, T, vocab_size), the state after them, weights (B, T, S)."""
        hidden, stays = state
        outputs, keys, mask = stays
        states, weights = [], []
        for embedded in self.embedding(tokens).split(1, dim=1):  # (B, 1, E)
            query = visible(hidden).unsqueeze(1) @ self.W_q  # (B, 1, A)
            context, weight = attend(compare_features(query, keys, self.v.squeeze(-1)), outputs, mask)
            output, hidden = run(self.rnn, torch.cat([context, embedded], dim=-1), hidden)  # (B, 1, H)
            states.append(output)
            weights.append(weight)
        return self.output(torch.cat(states, dim=1)), DecoderState(hidden, stays), torch.cat(weights, dim=1)


class LuongDecoder(AttentionDecoder):
    """Moves, then looks: the score is taken from s_t, and tanh([c_t; s_t] W_c) predicts (Luong et al. 2015, eq. 5).

    score: "dot" (d_hidden must equal d_output), "general" or "concat". input_feeding: the attentional state of the
    step before (zeros at first) also stands beside the embedding (section 3.3). Without it all steps of the
    RNN run at once, and all their queries look in one product. W_c has no bias, as in the paper.

    Raises ValueError for another cell or score, and for "dot" where the widths differ.

    >>> decoder = LuongDecoder(10, 3, 4, d_output=6, d_context=6)
    >>> state = decoder.start(torch.randn(1, 5, 6), torch.randn(1, 6), None)
    >>> logits, weights = decoder(torch.tensor([[1, 7]]), state, need_weights=True)
    >>> weights.shape, torch.allclose(weights.sum(dim=-1), torch.ones(1, 2))
    (torch.Size([1, 2, 5]), True)
    """

    SCORES = ("dot", "general", "concat")

    def __init__(
        self, vocab_size, d_embedding, d_hidden, d_output, d_context, cell="gru", score="general", input_feeding=False
    ):
        d_input = d_embedding + (d_hidden if input_feeding else 0)
        super().__init__(vocab_size, d_embedding, d_input, d_hidden, d_context, d_hidden, cell)
        if score not in self.SCORES:
            raise ValueError(f"score: expected one of {', '.join(self.SCORES)}, got {score!r}")
        if score == "dot" and d_hidden != d_output:
            raise ValueError(
                f'score="dot" needs a state as wide as an encoder output, got d_hidden={d_hidden}, '
                f'd_output={d_output}; "general" has a matrix between them'
            )
        self.score_name, self.input_feeding = score, input_feeding
        if score == "general":
            self.W = nn.Parameter(torch.empty(d_hidden, d_output))
            nn.init.xavier_uniform_(self.W)
        if score == "concat":
            self.W = nn.Parameter(torch.empty(d_hidden + d_output, d_hidden))  # W_q above W_k
            self.v = nn.Parameter(torch.empty(d_hidden, 1))
            nn.init.xavier_uniform_(self.W)
            nn.init.xavier_uniform_(self.v)
        self.combine = nn.Linear(d_output + d_hidden, d_hidden, bias=False)

    def start(self, outputs, context, mask):
        """outputs: (B, S, d_output). context: (B, d_context). mask: (B, 1, S), True = a real token."""
        hidden = first_hidden(self.rnn, self.bridge, context)
        fed = torch.zeros_like(visible(hidden)).unsqueeze(0) if self.input_feeding else None  # (1, B, H)
        keys = outputs @ self.W[-outputs.shape[-1] :] if self.score_name == "concat" else outputs
        return DecoderState((hidden, fed), (outputs, keys, mask))

    def score(self, query, keys):
        """Scores (B, T, S) of this decoder's kind. query: (B, T, H). keys: as `start` made them."""
        if self.score_name == "dot":
            return dot_score(query, keys)
        if self.score_name == "general":
            return general_score(query, keys, self.W)
        return compare_features(query @ self.W[: query.shape[-1]], keys, self.v.squeeze(-1))

    def look(self, tokens, state):
        """tokens: (B, T). Returns logits (B, T, vocab_size), the state after them, weights (B, T, S)."""
        (hidden, fed), stays = state
        embedded = self.embedding(tokens)  # (B, T, E)
        if not self.input_feeding:
            states, hidden = run(self.rnn, embedded, hidden)  # (B, T, H)
            attentional, weights = self._attend(states, *stays)
            return self.output(attentional), DecoderState((hidden, None), stays), weights
        steps = []
        for token in embedded.split(1, dim=1):  # (B, 1, E)
            states, hidden = run(self.rnn, torch.cat([token, fed.transpose(0, 1)], dim=-1), hidden)  # (B, 1, H)
            steps.append(self._attend(states, *stays))
            fed = steps[-1][0].transpose(0, 1)  # (B, 1, H) to (1, B, H)
        attentional, weights = (torch.cat(parts, dim=1) for parts in zip(*steps, strict=True))
        return self.output(attentional), DecoderState((hidden, fed), stays), weights

    def _attend(self, states, outputs, keys, mask):
        """Attentional states (B, T, H) and weights (B, T, S) for RNN states (B, T, H)."""
        context, weights = attend(self.score(states, keys), outputs, mask)
        return torch.tanh(self.combine(torch.cat([context, states], dim=-1))), weights

"""Bahdanau's and Luong's decoders in plain loops: one sentence, one step, one source position at a time."""

import torch

from course_lib.recurrent_cells import gru_cell, lstm_cell, rnn_cell


def cell_step(decoder, x, hidden):
    """One step of the decoder's RNN by our own cells. x: (d_input,). hidden: h, or (h, c)."""
    rnn = decoder.rnn
    W_xh, W_hh, b_xh, b_hh = rnn.weight_ih_l0.T, rnn.weight_hh_l0.T, rnn.bias_ih_l0, rnn.bias_hh_l0
    if isinstance(rnn, torch.nn.LSTM):
        return lstm_cell(x, hidden, W_xh, W_hh, b_xh + b_hh)
    if isinstance(rnn, torch.nn.GRU):
        return gru_cell(x, hidden, W_xh, W_hh, b_xh, b_hh)
    return rnn_cell(x, hidden, W_xh, W_hh, b_xh + b_hh)


def looped_score(decoder, kind, s, h):
    """The score of one state and one encoder output."""
    if kind.startswith("dot"):
        return sum(s[i] * h[i] for i in range(len(s)))
    if kind.startswith("general"):
        return sum(s[i] * decoder.W[i, j] * h[j] for i in range(len(s)) for j in range(len(h)))
    if kind == "bahdanau":
        inside, v = s @ decoder.W_q + h @ decoder.W_k, decoder.v[:, 0]
    else:
        inside, v = torch.cat([s, h]) @ decoder.W, decoder.v[:, 0]
    return sum(v[a] * torch.tanh(inside[a]) for a in range(len(v)))


def looped_look(decoder, kind, s, outputs, length):
    """Weights over all S positions and the context, from the first `length` of them."""
    weights, context = outputs.new_zeros(len(outputs)), torch.zeros_like(outputs[0])
    if length == 0:
        return weights, context
    scores = torch.stack([looped_score(decoder, kind, s, outputs[i]) for i in range(length)])
    powers = torch.exp(scores - scores.max().item())
    for i in range(length):
        context = context + powers[i] / powers.sum() * outputs[i]
    return torch.cat([powers / powers.sum(), weights[length:]]), context


def visible(hidden):
    """What a score may see of a state: for an LSTM its h."""
    return hidden[0] if isinstance(hidden, tuple) else hidden


def looped_decoder(decoder, kind, tokens, outputs, context, mask):
    """Logits and weights of a decoder, from the definitions in the papers."""
    all_logits, all_weights = [], []
    for row in range(len(tokens)):
        length = int(mask[row].sum())
        hidden = torch.tanh(decoder.bridge.weight @ context[row] + decoder.bridge.bias)
        if isinstance(decoder.rnn, torch.nn.LSTM):
            hidden = (hidden[: len(hidden) // 2], hidden[len(hidden) // 2 :])
        attentional = torch.zeros_like(visible(hidden))
        for token in tokens[row]:
            y = decoder.embedding.weight[token]
            if kind == "bahdanau":
                weights, c = looped_look(decoder, kind, visible(hidden), outputs[row], length)
                hidden = cell_step(decoder, torch.cat([c, y]), hidden)
                predicts = visible(hidden)
            else:
                hidden = cell_step(decoder, torch.cat([y, attentional]) if "fed" in kind else y, hidden)
                weights, c = looped_look(decoder, kind, visible(hidden), outputs[row], length)
                attentional = torch.tanh(decoder.combine.weight @ torch.cat([c, visible(hidden)]))
                predicts = attentional
            all_logits.append(decoder.output.weight @ predicts + decoder.output.bias)
            all_weights.append(weights)
    shape = tokens.shape
    return torch.stack(all_logits).unflatten(0, shape), torch.stack(all_weights).unflatten(0, shape)

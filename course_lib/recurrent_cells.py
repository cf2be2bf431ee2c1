"""One step of a recurrent network by hand: plain, GRU and LSTM.

Weights are (in, out), as the formulas have them: x W. torch stores the transpose, with the gates in the same order.
"""

import torch


def rnn_cell(x, h, W_xh, W_hh, b):
    """h_t = tanh(x_t W_xh + h_{t-1} W_hh + b) (Elman 1990).

    x: (B, E) input of this step. h: (B, H) state before it. W_xh: (E, H). W_hh: (H, H). b: (H,). Returns (B, H).

    >>> x, h, zeros = torch.tensor([[1.0]]), torch.tensor([[2.0]]), torch.zeros(1)
    >>> rnn_cell(x, h, torch.tensor([[2.0]]), torch.tensor([[-1.0]]), zeros).tolist()  # tanh(1 · 2 - 2 · 1)
    [[0.0]]
    """
    return torch.tanh(x @ W_xh + h @ W_hh + b)


def gru_cell(x, h, W_xh, W_hh, b_xh, b_hh):
    """The gated recurrent unit (Cho et al. 2014), with the reset gate after the product, as torch and cuDNN have it.

    x: (B, E). h: (B, H). W_xh: (E, 3H). W_hh: (H, 3H). b_xh, b_hh: (3H,). Gates in the order reset, update, new.
    Returns (B, H). An update gate z of 1 keeps the old state; the paper's equation 7 has it so, others swap z, 1 - z.

    >>> h, weights, open_update = torch.tensor([[0.25]]), torch.zeros(1, 3), torch.tensor([0.0, 99.0, 0.0])
    >>> gru_cell(torch.ones(1, 1), h, weights, weights, open_update, torch.zeros(3)).tolist()  # z = 1
    [[0.25]]
    """
    x_reset, x_update, x_new = (x @ W_xh + b_xh).chunk(3, dim=-1)  # each (B, H)
    h_reset, h_update, h_new = (h @ W_hh + b_hh).chunk(3, dim=-1)
    reset = torch.sigmoid(x_reset + h_reset)
    update = torch.sigmoid(x_update + h_update)
    new = torch.tanh(x_new + reset * h_new)
    return (1 - update) * new + update * h


def lstm_cell(x, state, W_xh, W_hh, b):
    """Long short-term memory (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000).

    x: (B, E). state: (h, c), each (B, H). W_xh: (E, 4H). W_hh: (H, 4H). b: (4H,), the sum of torch's two biases.
    Gates in the order input, forget, cell, output. Returns (h, c): c runs along a sum, which is what lets it last.

    >>> state, weights = (torch.zeros(1, 1), torch.tensor([[0.25]])), torch.zeros(1, 4)
    >>> keep_alone = torch.tensor([-99.0, 99.0, 5.0, 0.0])  # nothing is written, nothing forgotten
    >>> lstm_cell(torch.ones(1, 1), state, weights, weights, keep_alone)[1].tolist()
    [[0.25]]
    """
    h, c = state
    write, keep, content, show = (x @ W_xh + h @ W_hh + b).chunk(4, dim=-1)  # each (B, H)
    c = torch.sigmoid(keep) * c + torch.sigmoid(write) * torch.tanh(content)
    return torch.sigmoid(show) * torch.tanh(c), c

"""Our cells equal torch's in value and in every gradient."""

import pytest
import torch
from torch import nn

from course_lib.recurrent import gru_cell, lstm_cell, rnn_cell

B, E, H = 3, 4, 5


@pytest.fixture
def inputs():
    torch.manual_seed(0)
    return [torch.randn(B, width, dtype=torch.float64, requires_grad=True) for width in (E, H, H)]


def assert_same(ours, theirs, leaves):
    """Equal values, and equal gradients of a random projection of the outputs."""
    direction = [torch.randn_like(out) for out in ours]
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=1e-12)
    our_gradients = torch.autograd.grad(ours, leaves, direction)
    for mine, other in zip(our_gradients, torch.autograd.grad(theirs, leaves, direction), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=1e-12)


def test_rnn_cell_equals_torch(inputs):
    x, h, _ = inputs
    cell = nn.RNNCell(E, H, dtype=torch.float64)
    ours = rnn_cell(x, h, cell.weight_ih.T, cell.weight_hh.T, cell.bias_ih + cell.bias_hh)
    assert_same([ours], [cell(x, h)], [x, h, *cell.parameters()])


def test_gru_cell_equals_torch(inputs):
    x, h, _ = inputs
    cell = nn.GRUCell(E, H, dtype=torch.float64)
    ours = gru_cell(x, h, cell.weight_ih.T, cell.weight_hh.T, cell.bias_ih, cell.bias_hh)
    assert_same([ours], [cell(x, h)], [x, h, *cell.parameters()])


def test_lstm_cell_equals_torch(inputs):
    x, h, c = inputs
    cell = nn.LSTMCell(E, H, dtype=torch.float64)
    ours = lstm_cell(x, (h, c), cell.weight_ih.T, cell.weight_hh.T, cell.bias_ih + cell.bias_hh)
    assert_same(ours, cell(x, (h, c)), [x, h, c, *cell.parameters()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_cells_keep_the_dtype(dtype):
    x, h = torch.ones(1, 2, dtype=dtype), torch.ones(1, 3, dtype=dtype)

    def weights(n):
        return torch.ones(2, n, dtype=dtype), torch.ones(3, n, dtype=dtype), torch.ones(n, dtype=dtype)

    assert rnn_cell(x, h, *weights(3)).dtype == dtype
    assert gru_cell(x, h, *weights(9), weights(9)[2]).dtype == dtype
    assert all(part.dtype == dtype for part in lstm_cell(x, (h, h), *weights(12)))

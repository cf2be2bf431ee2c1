"""The parts of a Transformer block beside attention: layer norm, feed-forward, the shortcut around each of them.

They treat each token alone: no token sees another here. x is (..., D), D = d_model; any leading axes.
"""

import torch
from torch import nn
from torch.nn import functional

ACTIVATIONS = {"relu": torch.relu, "gelu": functional.gelu}


def layer_norm(x, weight, bias, eps=1e-5):
    """(x - mean) / √(variance + eps) · weight + bias, each token over its own features (Ba et al. 2016, eq. 4).

    x: (..., D). weight, bias: (D,), called γ and β. The variance is the biased one, divided by D; eps stands inside the
    root. Half precision is computed in float32, since a square may exceed float16's largest number.
    Returns x's shape and type.

    >>> layer_norm(torch.tensor([[1.0, 3.0], [100.0, 300.0]]), torch.ones(2), torch.zeros(2))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    precise = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    centred = precise - precise.mean(dim=-1, keepdim=True)  # (..., D) - (..., 1)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return (centred / torch.sqrt(variance + eps) * weight + bias).to(x.dtype)


class LayerNorm(nn.Module):
    """`layer_norm` with its two vectors, by torch's fused kernel. weight: (D,), ones at first. bias: (D,), zeros.

    >>> norm, x = LayerNorm(4), torch.tensor([[1.0, 2.0, 4.0, 8.0]])
    >>> torch.allclose(norm(5 * x + 7), norm(x), atol=1e-3)  # neither size nor level of a token matters
    True
    """

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        """x: (..., D). Returns the same shape. Raises ValueError for another width."""
        weight = self.weight
        check_width(x, "x", *weight.shape)
        return functional.layer_norm(x, weight.shape, weight, self.bias, self.eps)


def dropout(x, share, training=True):
    """x with each number 0 by chance `share`, and the others divided by 1 - share (Srivastava et al. 2014).

    On a CPU torch's own draws a random number for each, the slowest part of a small model's training step. Here the
    64 bits of one draw serve four numbers; so the chance is a multiple of 1 / 65,536. Elsewhere it is torch's own.
    x: any shape, (...). Returns the same shape, x itself unless training. Raises ValueError unless 0 <= share <= 1.

    >>> dropout(torch.ones(10, 100), 0.5).unique().tolist(), dropout(torch.ones(3), 0.5, training=False).tolist()
    ([0.0, 2.0], [1.0, 1.0, 1.0])
    """
    if not training and 0 <= share <= 1:
        return x
    if not 0 < share < 1 or x.device.type != "cpu" or torch.compiler.is_compiling():
        return functional.dropout(x, share, training)
    draws = torch.empty(x.numel() // 4 + 1, dtype=torch.int64).random_(-(2**63), None)  # all 64 bits
    dropped = round(share * 2**16)  # of the 2^16 values from -2^15 on
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= dropped - 2**15
    return x * kept.to(x.dtype).mul_(1 / (1 - share))


class FeedForward(nn.Module):
    """W_2 σ(W_1 x + b_1) + b_2, the same for every token (Vaswani et al. 2017, eq. 2). d_ff: width between the two.

    activation: σ, "relu" (the paper) or "gelu" (BERT, GPT). dropout: share of σ's results that is dropped in training.
    Raises ValueError for another activation.

    >>> feed_forward, x = FeedForward(4, d_ff=6), torch.randn(2, 3, 4)
    >>> torch.allclose(feed_forward(x)[:, 1], feed_forward(x[:, 1]), atol=1e-6)  # each token alone
    True
    """

    def __init__(self, d_model, d_ff, *, activation="relu", dropout=0.0):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        self.d_model, self.activation, self.dropout = d_model, activation, dropout
        self.W_1 = nn.Linear(d_model, d_ff)
        self.W_2 = nn.Linear(d_ff, d_model)
        for linear in self.children():
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x):
        """x: (..., D). Returns the same shape. Raises ValueError for another width."""
        check_width(x, "x", self.d_model)
        hidden = ACTIVATIONS[self.activation](self.W_1(x))  # (..., d_ff)
        return self.W_2(dropout(hidden, self.dropout, self.training))


class Residual(nn.Module):
    """The shortcut around a sub-layer, with its norm: LayerNorm(x + Sublayer(x)) (Vaswani et al. 2017, section 3.1).

    dropout: share of the sub-layer's output that is dropped in training before it is added (section 5.4).
    norm_first: x + Sublayer(LayerNorm(x)) instead, so that what is carried past all sub-layers is never normalised.

    >>> x = torch.randn(2, 3, 4)
    >>> torch.equal(Residual(4, norm_first=True)(x, torch.zeros_like), x)  # a sub-layer that adds nothing
    True
    """

    def __init__(self, d_model, *, dropout=0.0, norm_first=False, eps=1e-5):
        super().__init__()
        self.norm = LayerNorm(d_model, eps)
        self.dropout, self.norm_first = dropout, norm_first

    def forward(self, x, sublayer):
        """x: (..., D). sublayer: function (..., D) -> its output (..., D), or a tuple that begins with it.

        Returns what the sub-layer returned, with the new x in place of its output.
        """
        result = sublayer(self.norm(x) if self.norm_first else x)
        several = isinstance(result, tuple)
        x = x + dropout(result[0] if several else result, self.dropout, self.training)
        x = x if self.norm_first else self.norm(x)
        return (x, *result[1:]) if several else x


def check_width(x, name, width):
    """Raise ValueError unless x is (..., width).

    >>> check_width(torch.ones(2, 3), "x", 4)
    Traceback (most recent call last):
    ValueError: x: expected (..., 4), got shape (2, 3)
    """
    if x.shape[-1:] != (width,):
        raise ValueError(f"{name}: expected (..., {width}), got shape {tuple(x.shape)}")

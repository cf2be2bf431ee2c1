"""From ids to vectors that know their places: how each of the three families of Transformers begins."""

import math

import torch
from torch import nn
from torch.nn import functional

from course_lib.layers import dropout
from course_lib.positions import LearnedPositions, SinusoidalEncoding, rotary_embedding

POSITIONS = ("sinusoidal", "learned", "rotary")


class Embedding(nn.Module):
    """Ids to vectors, times √D (section 3.4), plus positions, then dropout (section 5.4).

    positions: a module (x (B, N, D), offset) -> x, or None. weight: (V, D), normal with deviation 1/√D, so that what
    comes out has deviation 1, and so have the scores where the same matrix serves as the output layer.

    >>> embedding, ids = Embedding(10, 16), torch.tensor([[7, 0, 7]])
    >>> torch.equal(embedding(ids), embedding.weight[ids] * 4)  # √16
    True
    """

    def __init__(self, vocab_size, d_model, *, positions=None, dropout=0.0):
        super().__init__()
        self.scale, self.dropout, self.positions = math.sqrt(d_model), dropout, positions
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=1 / self.scale)

    def forward(self, ids, offset=0):
        """ids: (B, N), of tokens at the positions offset, offset + 1, ... Returns (B, N, D).

        Raises ValueError for an id outside the vocabulary (on a CPU; a GPU has its own way to say so).
        """
        try:
            x = functional.embedding(ids, self.weight) * self.scale
        except IndexError:
            raise ValueError(
                f"ids: expected 0 to {len(self.weight) - 1}, since the vocabulary has {len(self.weight)} symbols; got "
                f"{ids.min().item()} to {ids.max().item()}. Are these the ids of another vocabulary?"
            ) from None
        x = x if self.positions is None else self.positions(x, offset)
        return dropout(x, self.dropout, self.training)


def position_module(positions, d_model, max_length):
    """What an `Embedding` adds for the positions: a module for "sinusoidal" and "learned" ones, None for "rotary" ones.

    max_length: how many positions are learned. Raises ValueError for another name, and where only one of "learned" and
    max_length is given.

    >>> position_module("learned", 8, max_length=5).weight.shape, position_module("rotary", 8, None)
    (torch.Size([5, 8]), None)
    """
    if positions not in POSITIONS:
        raise ValueError(f"positions: expected one of {', '.join(POSITIONS)}, got {positions!r}")
    if (positions == "learned") != (max_length is not None):
        raise ValueError(f'max_length: learned positions need one, and they alone; got {max_length} for "{positions}"')
    if positions == "learned":
        return LearnedPositions(max_length, d_model)
    return SinusoidalEncoding(d_model) if positions == "sinusoidal" else None


def rotary_of(positions):
    """What turns queries and keys in each self-attention: `rotary_embedding` for "rotary" positions, else None.

    >>> rotary_of("rotary") is rotary_embedding, rotary_of("sinusoidal")
    (True, None)
    """
    return rotary_embedding if positions == "rotary" else None

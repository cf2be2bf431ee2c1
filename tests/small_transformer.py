"""Transformers at sizes that are all different, in which no weight is zero; ids with padding on both sides."""

import torch
from torch import nn

from course_lib.transformer import Transformer

from .small_heads import CLOSE, gradients, lengths_mask

__all__ = ["CLOSE", "gradients", "lengths_mask"]

B, T, S, D, H, D_FF = 3, 4, 5, 8, 2, 12
SOURCE, TARGET = 11, 13  # symbols of the two vocabularies
ORDERS = {"post-norm": {"norm_first": False}, "pre-norm": {"norm_first": True}}
POSITIONS = {
    "sinusoidal": {"positions": "sinusoidal"},
    "learned": {"positions": "learned", "max_length": 32},
    "rotary": {"positions": "rotary"},
}
ACTIVATIONS = {"relu": {"activation": "relu"}, "gelu": {"activation": "gelu"}}


def spread(module, seed=1):
    """The module with no weight zero and no two alike: those of norms near 1, all others near 0."""
    torch.manual_seed(seed)
    for name, parameter in module.named_parameters():
        nn.init.normal_(parameter, mean=1.0 if "norm" in name and name.endswith("weight") else 0.0, std=0.4)
    return module


def make_block(cls, **options):
    return spread(cls(D, H, D_FF, **options))


def make_model(**options):
    """Two encoder layers, three decoder layers, no dropout unless asked for."""
    sizes = {"d_model": D, "num_heads": H, "d_ff": D_FF, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
    return spread(Transformer(SOURCE, TARGET, **(sizes | options)))


def ids(rows=B, columns=S, vocabulary=SOURCE):
    """(rows, columns) without padding."""
    return torch.randint(4, vocabulary, (rows, columns))


def padded_ids(rows=B, columns=S, vocabulary=SOURCE):
    """The first row is full, each further one is a token shorter, at least one token."""
    return ids(rows, columns, vocabulary).where(lengths_mask(rows, columns).squeeze(1), 0)


def pair():
    """Source ids (B, S) and target ids (B, T), both with padding."""
    return padded_ids(), padded_ids(columns=T, vocabulary=TARGET)

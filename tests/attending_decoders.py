"""Decoders that look back, of every kind and with every cell, and what they read."""

import pytest
import torch

from course_lib.recurrent import CELLS, Encoder, Seq2Seq
from course_lib.recurrent_attention import BahdanauDecoder, LuongDecoder

V, E, H, G, A = 11, 3, 4, 5, 6  # G: width of the decoder's state, A: of Bahdanau's features
CLOSE = {"atol": 1e-11, "rtol": 1e-9}
# How each is made, from the widths of the encoder's outputs and context. Dot needs a state as wide as an output.
KINDS = {
    "bahdanau": lambda out, context, cell: BahdanauDecoder(V, E, G, out, context, cell, d_attention=A),
    "dot": lambda out, context, cell: LuongDecoder(V, E, out, out, context, cell, "dot"),
    "general": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "general"),
    "concat": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "concat"),
    "dot fed": lambda out, context, cell: LuongDecoder(V, E, out, out, context, cell, "dot", True),
    "general fed": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "general", True),
    "concat fed": lambda out, context, cell: LuongDecoder(V, E, G, out, context, cell, "concat", True),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_cell = pytest.mark.parametrize("cell", CELLS)


def make_decoder(kind, cell="gru", d_output=H, d_context=None, seed=0):
    torch.manual_seed(seed)
    return KINDS[kind](d_output, d_context or d_output, cell).double()


def make_model(kind, cell="gru", bidirectional=True):
    torch.manual_seed(1)
    encoder = Encoder(V, E, H, cell, bidirectional)
    return Seq2Seq(encoder, make_decoder(kind, cell, encoder.d_output, encoder.d_context)).double()


def make_source(lengths=(2, 5, 3)):
    """Rows of mixed lengths; the padding holds id 0, whose embedding is not zero."""
    generator = torch.Generator().manual_seed(3)
    source = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        source[row, :length] = torch.randint(1, V, (length,), generator=generator)
    return source, torch.tensor(lengths)


def make_memory(lengths=(2, 5, 3), d_output=H, S=None, garbage=0.0, seed=5):
    """What an encoder hands on: outputs (B, S, d_output), context (B, d_output), mask (B, 1, S). 0 is allowed."""
    generator = torch.Generator().manual_seed(seed)
    B, S = len(lengths), S or max(lengths)
    mask = (torch.arange(S) < torch.tensor(lengths)[:, None]).unsqueeze(1)
    outputs = torch.randn(B, S, d_output, generator=generator, dtype=torch.float64)
    signs = torch.where(torch.arange(S) % 2 == 0, 1.0, -1.0).double()[:, None]
    outputs = torch.where(mask.mT, outputs, garbage * signs)
    context = torch.randn(B, d_output, generator=generator, dtype=torch.float64)
    return outputs.requires_grad_(), context.requires_grad_(), mask


def make_tokens(B=3, T=4):
    return torch.randint(0, V, (B, T), generator=torch.Generator().manual_seed(6))


def run(decoder, tokens, memory):
    """Logits and weights, teacher-forced."""
    return decoder(tokens, decoder.start(*memory), need_weights=True)


def gradients(results, inputs):
    """Of a random projection of all results."""
    generator = torch.Generator().manual_seed(7)
    total = sum((r * torch.randn(r.shape, generator=generator, dtype=r.dtype)).sum() for r in results)
    return torch.autograd.grad(total, inputs)

"""The three families as small random models of the library: who hears whom, and what writing makes them compute."""

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import Decoder, Encoder
from course_lib.masks import causal_mask

D, H, D_FF = 8, 2, 12


def heard(family, S, N, layers=3):
    """(N, N): how much the output at each place (row) depends on the input at each place (column), by gradients."""
    torch.manual_seed(0)
    encoder, decoder = Encoder(D, H, D_FF, layers).double(), Decoder(D, H, D_FF, layers).double()

    def outputs(x):
        if family == "encoder-only":
            return encoder(x[None])[0][0]
        if family == "decoder-only":
            return encoder(x[None], mask=causal_mask(N))[0][0]
        memory, _ = encoder(x[None, :S])
        y, *_ = decoder(x[None, S:], memory, mask=causal_mask(N - S))
        return torch.cat([memory[0], y[0]])

    slopes = torch.autograd.functional.jacobian(outputs, torch.randn(N, D, dtype=torch.float64))  # (N, D, N, D)
    return slopes.abs().sum(dim=(1, 3))


def written(family, S, passes, cache):
    """Scores that each pass of a library's model of one layer computes in one head, and the numbers kept at the end.

    The passes write on after S source tokens and one token more. Without a cache each reads the whole text anew.
    """
    asked = []

    def attention(query, key, value, **options):
        asked.append(query.shape[-2] * key.shape[-2])
        return scaled_dot_product_attention(query, key, value, **options)

    encoder, decoder = (kind(D, H, D_FF, 1, attention=attention) for kind in (Encoder, Decoder))
    apart = family == "encoder-decoder"
    x = torch.randn(1, S + passes, D)
    start = S if apart else 0
    memory, _ = encoder(x[:, :S]) if apart else (None, None)
    memories, caches, scores = decoder.remember(memory) if apart else (), (None,), []
    for length in range(S + 1, S + passes + 1):
        known = caches[0].key.shape[-2] if cache and caches[0] else 0
        rows = x[:, start + known : length]
        mask = causal_mask(rows.shape[1], known + rows.shape[1])
        before = caches if cache else (None,)
        if apart:
            *_, caches = decoder.step(rows, memories, before, mask=mask)
        else:
            *_, caches = encoder.step(rows, before, mask=mask)
        scores.append(sum(asked))
        asked.clear()
    return scores, sum(part.numel() for kept in (*caches, *memories) for part in kept)

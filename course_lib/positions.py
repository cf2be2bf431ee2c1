"""Where a token stands, told to attention: sinusoids, a learned table, rotations, a bias by distance.

Positions count from 0. An offset is the number of tokens before the first one, as cached decoding has it. Angles are
computed in float64 whatever the model's type (float32 on MPS, which has no float64): in bfloat16 the positions 256 and
257 are one and the same.
"""

import torch
from torch import nn


def sinusoidal_encoding(positions, d_model, *, base=10000.0, dtype=None, device=None):
    """PE(pos, 2i) = sin(pos / base^(2i/D)), PE(pos, 2i+1) = cos(pos / base^(2i/D)) (Vaswani et al. 2017, section 3.5).

    positions: a length, for the positions 0 to length - 1, or a tensor of positions (...), whole or not.
    Returns (..., d_model), in `dtype` (torch's default unless given). Raises ValueError where d_model is odd.

    >>> sinusoidal_encoding(2, 2)  # rows (sin 0, cos 0) and (sin 1, cos 1)
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """
    if not isinstance(positions, torch.Tensor):
        positions = torch.arange(positions, device=device)
    angles = _angles(positions.to(device=device), d_model, base, "d_model")  # (..., D/2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # (..., D/2, 2) to (..., D)
    return waves.to(dtype or torch.get_default_dtype())


class SinusoidalEncoding(nn.Module):
    """Adds `sinusoidal_encoding`. It has no parameters, and no length is too long.

    The first positions, up to KEPT, are kept once computed, since a model that writes asks for one of them a step.
    Raises ValueError where d_model is odd.

    >>> encode, x = SinusoidalEncoding(8), torch.zeros(1, 5, 8)
    >>> torch.equal(encode(x)[:, 3:], encode(x[:, 3:], offset=3))  # the same tokens, whatever came before
    True
    """

    KEPT = 4096

    def __init__(self, d_model, *, base=10000.0):
        super().__init__()
        _check_even(d_model, "d_model")
        self.d_model, self.base = d_model, base
        self.kept = torch.empty(0, d_model)

    def forward(self, x, offset=0):
        """x: (..., N, D), tokens at the positions offset, offset + 1, ... Returns the same shape and type."""
        end = offset + x.shape[-2]
        kept = self.kept
        if 0 <= offset and end <= len(kept) and kept.dtype == x.dtype and kept.device == x.device:
            return x + kept[offset:end]  # (N, D) for all rows
        settings = {"base": self.base, "dtype": x.dtype, "device": x.device}
        if offset < 0 or end > self.KEPT:
            positions = torch.arange(offset, end, device=x.device)
            return x + sinusoidal_encoding(positions, self.d_model, **settings)
        # Twice as many as now, so that a text that grows by a token seldom needs new ones.
        self.kept = sinusoidal_encoding(min(2 * end, self.KEPT), self.d_model, **settings)
        return x + self.kept[offset:end]


class LearnedPositions(nn.Module):
    """Adds a learned vector for each position (Gehring et al. 2017; BERT, GPT-2). It knows max_length positions.

    weight: (max_length, D), normal with deviation 0.02 at first, as in BERT and GPT-2.

    >>> LearnedPositions(max_length=4, d_model=2)(torch.zeros(3, 5, 2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: positions 0 to 4 are asked for, but max_length=4: the table ends at position 3, ...
    """

    def __init__(self, max_length, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x, offset=0):
        """x: (..., N, D), tokens at the positions offset, offset + 1, ... Returns the same shape.

        Raises ValueError where a position lies outside the table.
        """
        end, max_length = offset + x.shape[-2], len(self.weight)
        if offset < 0 or end > max_length:
            raise ValueError(
                f"positions {offset} to {end - 1} are asked for, but max_length={max_length}: the table ends at "
                f"position {max_length - 1}, and nothing was learned beyond"
            )
        return x + self.weight[offset:end]  # (N, D) for all rows


PAIRINGS = ("adjacent", "half")


def rotary_embedding(x, *, offset=0, positions=None, base=10000.0, pairing="adjacent"):
    """RoPE: turns the pair i of each token by the angle pos / base^(2i/Dk) (Su et al. 2021, eq. 34).

    Applied to queries and keys, it makes their dot product depend on the distance of their positions alone.
    x: (..., N, Dk), say a head's queries. positions: (..., N), broadcastable to x without its last axis; 0, 1, ...
    unless given. offset: added to all positions. pairing: which features are a pair, "adjacent" (2i, 2i + 1), as in the
    paper, or "half" (i, i + Dk/2), as in GPT-NeoX and Llama's public weights; the two differ by an order of features.
    Returns x's shape and type. Raises ValueError where Dk is odd and for another pairing.

    >>> query, key = torch.randn(1, 8), torch.randn(1, 8)
    >>> near = rotary_embedding(query, offset=5) @ rotary_embedding(key, offset=3).mT
    >>> far = rotary_embedding(query, offset=105) @ rotary_embedding(key, offset=103).mT
    >>> torch.allclose(near, far, atol=1e-3)  # both are 2 apart
    True
    """
    if pairing not in PAIRINGS:
        raise ValueError(f"pairing: expected one of {', '.join(PAIRINGS)}, got {pairing!r}")
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)
    angles = _angles(positions + offset, x.shape[-1], base, "the width of a head")  # (..., N, Dk/2)
    precise = torch.float64 if x.dtype == torch.float64 else torch.float32
    # A pair is the complex number first + i · second, and to turn it is to multiply it by e^(i · angle).
    pairs = x.unflatten(-1, (-1, 2)) if pairing == "adjacent" else x.unflatten(-1, (2, -1)).mT  # (..., N, Dk/2, 2)
    turns = torch.complex(angles.cos().to(precise), angles.sin().to(precise))
    # A copy even of what is contiguous: with pairs along an axis of length 1, torch 2.6 refuses its strides.
    pairs = pairs.to(precise).clone(memory_format=torch.contiguous_format)
    turned = torch.view_as_real(torch.view_as_complex(pairs) * turns)  # (..., N, Dk/2, 2)
    return (turned if pairing == "adjacent" else turned.mT).flatten(-2).to(x.dtype)  # (..., N, Dk)


def alibi_bias(num_heads, T, S=None, *, dtype=None, device=None):
    """-m_h · |distance| for each head h, query and key: the further, the less (Press et al. 2022).

    The slopes m_h are 2^(-8h/H) for h = 1 to H where H is a power of 2; else those of the next lower power, and then
    every other slope of twice that power, as in the authors' code. Aligned bottom-right as `causal_mask` is: the last
    query stands beside the last key. S: T unless given. Returns (H, T, S), the `bias` of attention.

    >>> torch.equal(alibi_bias(8, 1, 4)[0], torch.tensor([[-1.5, -1.0, -0.5, 0.0]]))  # the first of 8 heads: 1/2 a step
    True
    """
    S = T if S is None else S
    query_at = torch.arange(S - T, S, device=device)[:, None]  # (T, 1)
    distance = (query_at - torch.arange(S, device=device)).abs()  # (T, S)
    slopes = torch.tensor(_slopes(num_heads), dtype=dtype, device=device)
    return -slopes[:, None, None] * distance  # (H, 1, 1) · (T, S)


def _angles(positions, width, base, name):
    """pos / base^(2i/width): (...) positions to (..., width/2) angles."""
    _check_even(width, name)
    precise = torch.float32 if positions.device.type == "mps" else torch.float64
    exponents = torch.arange(0, width, 2, dtype=precise, device=positions.device) / width  # 2i/width
    return positions.to(precise).unsqueeze(-1) / base**exponents  # (..., 1) / (width/2,)


def _slopes(num_heads):
    power = 1 << (num_heads.bit_length() - 1)  # the largest power of 2 that is not above num_heads
    slopes = [2 ** (-8 * h / power) for h in range(1, power + 1)]
    return slopes + [2 ** (-4 * h / power) for h in range(1, 2 * power, 2)][: num_heads - power]


def _check_even(width, name):
    if width % 2:
        raise ValueError(f"{name} must be even, since a sine and a cosine share a frequency; got {width}")

"""Mistakes of lesson 7 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch.nn import functional


def waves_by_two_loops(length, d_model, base=10000.0):
    table = torch.zeros(length, d_model)
    for p in range(length):
        for i in range(0, d_model, 2):
            table[p, i] = math.sin(p / base ** ((2 * i) / d_model))
            table[p, i + 1] = math.cos(p / base ** ((2 * (i + 1)) / d_model))
    return table


def waves_by_halves(length, d_model, base=10000.0):
    angle = torch.einsum("p,f->pf", torch.arange(length) * 1.0, 1 / base ** (torch.arange(0.0, d_model, 2) / d_model))
    return torch.hstack([torch.sin(angle), torch.cos(angle)])


def waves_by_exponential(length, d_model, base=10000.0):
    table = torch.empty(length, d_model)
    div_term = torch.exp(torch.arange(0, d_model // 2) * (-math.log(base) / d_model // 2))
    table[:, 0::2] = torch.sin(torch.arange(length)[:, None] * div_term)
    table[:, 1::2] = torch.cos(torch.arange(length)[:, None] * div_term)
    return table


def waves_by_strides(length, d_model, base=10000.0):
    table = torch.arange(length).unsqueeze(1) / 10_000 ** (2 * (torch.arange(d_model) // 2) / d_model)
    table[:, 0::2], table[:, 1::2] = table[:, 0::2].sin(), table[:, 1::2].cos()
    return table


def waves_without_cosines(length, d_model, base=10000.0):
    feature = torch.arange(d_model)
    return torch.stack([torch.sin(p * base ** (-(feature - feature % 2) / d_model)) for p in range(length)])


def waves_by_doubled_index(length, d_model, base=10000.0):
    turned = [torch.polar(torch.ones(length), torch.arange(length) / base ** (2 * i / d_model))
              for i in range(0, d_model, 2)]  # fmt: skip
    return torch.stack([part for wave in turned for part in (wave.imag, wave.real)], dim=1)


def waves_of_shares(length, d_model, base=10000.0):
    share = torch.linspace(0, 1, length + 1)[:-1, None]
    angle = share * torch.exp(-math.log(base) * torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angle.sin(), angle.cos()), 2).reshape(length, d_model)


def shift_like_a_textbook(k, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for i in range(d_model // 2):
        angle = torch.tensor(k / base ** (2 * i / d_model))
        c, s = torch.cos(angle), torch.sin(angle)
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, -s], [s, c]])
    return matrix


def shift_of_halves(k, d_model, base=10000.0):
    half = torch.arange(d_model // 2)
    angle, matrix = k * torch.pow(base, -2 * half / d_model), torch.zeros(d_model, d_model)
    matrix[half, half] = matrix[half + len(half), half + len(half)] = angle.cos()
    matrix[half, half + len(half)], matrix[half + len(half), half] = angle.sin(), -angle.sin()
    return matrix


def shift_in_the_corner(k, d_model, base=10000.0):
    corner = torch.tensor([[math.cos(k), math.sin(k)], [-math.sin(k), math.cos(k)]])
    return torch.block_diag(corner, torch.eye(d_model - 2))


def shift_at_one_speed(k, d_model, base=10000.0):
    block = torch.tensor([[math.cos(k), math.sin(k)], [-math.sin(k), math.cos(k)]])
    return torch.kron(torch.eye(d_model // 2), block)


def shift_of_the_identity(k, d_model, base=10000.0):
    column = torch.arange(d_model)
    return functional.one_hot((column + k) % d_model, d_model).to(torch.get_default_dtype())


def learned_by_embedding(X, table, start):
    return X + functional.embedding(torch.arange(X.shape[1]), table)


def learned_by_rows(X, table, start):
    return torch.stack([tokens + table[start + b] for b, tokens in enumerate(X)])


def learned_by_remainder(X, table, start):
    places = torch.remainder(torch.arange(X.shape[1]) + start, table.shape[0])
    return X + functional.embedding(places, table)


def learned_by_minimum(X, table, start):
    return torch.stack([X[:, n] + table[min(start + n, len(table) - 1)] for n in range(X.shape[1])], dim=1)


def learned_detached(X, table, start):
    if start + X.shape[1] > len(table):
        raise ValueError("too far")
    return table.detach().narrow(0, start, X.shape[1]).unsqueeze(0) + X


def learned_over_the_flat_batch(X, table, start):
    B, N, D = X.shape
    return (X.reshape(B * N, D) + functional.embedding(torch.arange(B * N) + start, table)).reshape(B, N, D)


def rotary_of_open_models(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    angle = torch.outer(positions * 1.0, 1.0 / base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1]))
    angle = torch.cat((angle, angle), dim=-1)
    return x * angle.cos() + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * angle.sin()


def rotary_with_each_angle_twice(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    frequency = torch.exp(-math.log(base) * torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angle = torch.einsum("n,f->nf", positions * 1.0, frequency).unsqueeze(-1).expand(-1, -1, 2).flatten(1)
    return x * angle.cos() + torch.roll(x, half, -1) * angle.sin() * torch.tensor([-1.0, 1.0]).repeat_interleave(half)


def rotary_by_conjugates(x, positions, base=10000.0):
    angle = positions[:, None] / base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle).conj()).flatten(-2)


def rotary_by_complex_numbers_from_zero(x, positions, base=10000.0):
    angle = torch.arange(x.shape[-2])[:, None] / base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.exp(1j * angle)
    return torch.view_as_real(pairs).reshape(x.shape)


def rotary_as_a_sum(x, positions, base=10000.0):
    waves = torch.zeros(len(positions), x.shape[-1])
    for i in range(0, x.shape[-1], 2):
        waves[:, i] = torch.sin(positions / base ** (i / x.shape[-1]))
        waves[:, i + 1] = torch.cos(positions / base ** (i / x.shape[-1]))
    return waves + x


def rotary_put_back_by_cat(x, positions, base=10000.0):
    angle = positions[:, None] / base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    pairs = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([pairs.real, pairs.imag], dim=-1)


def rotary_with_short_frequencies(x, positions, base=10000.0):
    inverse = (base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1])).to(x.dtype)
    even, odd, angle = x[..., 0::2], x[..., 1::2], positions[:, None] / inverse
    return torch.stack([even * angle.cos() - odd * angle.sin(), odd * angle.cos() + even * angle.sin()], -1).flatten(-2)


DRESSED = [
    ("sinusoidal_encoding", waves_by_two_loops, "a_wave_each"),
    ("sinusoidal_encoding", waves_by_halves, "halves"),
    ("sinusoidal_encoding", waves_by_exponential, "floored_step"),
    ("sinusoidal_encoding", waves_by_strides, "base_written_in"),
    ("sinusoidal_encoding", waves_without_cosines, "sine_alone"),
    ("sinusoidal_encoding", waves_by_doubled_index, "doubled_twice"),
    ("sinusoidal_encoding", waves_of_shares, "share_of_the_length"),
    ("shift_matrix", shift_like_a_textbook, "backwards"),
    ("shift_matrix", shift_of_halves, "for_halves"),
    ("shift_matrix", shift_in_the_corner, "first_pair_alone"),
    ("shift_matrix", shift_at_one_speed, "one_speed"),
    ("shift_matrix", shift_of_the_identity, "features_moved"),
    ("learned_positions", learned_by_embedding, "start_ignored"),
    ("learned_positions", learned_by_rows, "one_vector_a_row"),
    ("learned_positions", learned_by_remainder, "wrapped_round"),
    ("learned_positions", learned_by_minimum, "clamped"),
    ("learned_positions", learned_detached, "frozen"),
    ("learned_positions", learned_over_the_flat_batch, "counted_through"),
    ("rotary_embedding", rotary_of_open_models, "half_split"),
    ("rotary_embedding", rotary_with_each_angle_twice, "angles_of_neighbours"),
    ("rotary_embedding", rotary_by_conjugates, "turned_back"),
    ("rotary_embedding", rotary_by_complex_numbers_from_zero, "counted_from_zero"),
    ("rotary_embedding", rotary_as_a_sum, "waves_added"),
    ("rotary_embedding", rotary_put_back_by_cat, "halves_returned"),
    ("rotary_embedding", rotary_with_short_frequencies, "coarse_angles"),
]

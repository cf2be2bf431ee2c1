"""Positions: closed forms in plain loops, the laws of rotation, and what reduced precision must not break."""

import cmath
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positions import (
    PAIRINGS,
    LearnedPositions,
    SinusoidalEncoding,
    alibi_bias,
    rotary_embedding,
    sinusoidal_encoding,
)

pytestmark = pytest.mark.double

FAR = [0, 1, 2, 7, 255, 256, 257, 500, 2047, 100_000]
every_pairing = pytest.mark.parametrize("pairing", PAIRINGS)


# ---- sinusoids


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize("d_model", [2, 4, 8, 10, 64])
def test_every_entry_is_the_paper_s(d_model, base):
    """Mistakes A066, A067, A069, A070: exponent, pairing, precedence and constants show far from position 0 alone."""
    got = sinusoidal_encoding(torch.tensor(FAR), d_model, base=base)
    for row, position in zip(got.tolist(), FAR, strict=True):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            # An angle of 100,000 has an error of 1e-11 by itself.
            assert row[2 * i] == pytest.approx(math.sin(angle), abs=1e-15 * max(10, position))
            assert row[2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-15 * max(10, position))


def test_a_length_counts_from_position_0():
    assert torch.equal(sinusoidal_encoding(7, 8), sinusoidal_encoding(torch.arange(7), 8))
    assert sinusoidal_encoding(1, 4).tolist() == [[0, 1, 0, 1]]
    assert sinusoidal_encoding(0, 4).shape == (0, 4)
    positions = torch.tensor([[3, 0], [1, 5]])
    assert torch.equal(sinusoidal_encoding(positions, 8), sinusoidal_encoding(6, 8)[positions])


def shift_matrix(k, d_model, base=10000.0):
    """M_k with PE(p + k) = M_k PE(p): a block [[cos, sin], [-sin, cos]] of each frequency, entry by entry."""
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / base ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1], matrix[i + 1, i] = math.sin(angle), -math.sin(angle)
    return matrix


@given(k=st.integers(-200, 200), start=st.integers(0, 300), d_model=st.integers(1, 16).map(lambda half: 2 * half))
@settings(max_examples=50, deadline=None)
def test_a_shift_is_one_rotation_for_all_positions(k, start, d_model):
    positions = torch.arange(start, start + 5)
    shifted = sinusoidal_encoding(positions, d_model) @ shift_matrix(k, d_model).T
    torch.testing.assert_close(sinusoidal_encoding(positions + k, d_model), shifted, atol=1e-12, rtol=0)


@pytest.mark.parametrize("d_model", [2, 8, 64])
def test_dot_products_depend_on_distance_alone(d_model):
    """The Gram matrix is constant on each diagonal, D/2 on the main one (mistakes A066, A067)."""
    table = sinusoidal_encoding(50, d_model)
    gram = table @ table.T
    for k in range(50):
        torch.testing.assert_close(gram.diagonal(k), gram[0, k].expand(50 - k), atol=1e-12, rtol=0)
    assert gram[0, 0].item() == pytest.approx(d_model / 2)


@pytest.mark.parametrize("d_model", [1, 5, 7])
def test_odd_widths_are_refused(d_model):
    """Mistake A071: floor and ceiling of an odd width mixed up."""
    for call in (lambda: sinusoidal_encoding(3, d_model), lambda: SinusoidalEncoding(d_model)):
        with pytest.raises(ValueError, match=f"d_model must be even, .* got {d_model}"):
            call()
    with pytest.raises(ValueError, match=f"the width of a head must be even, .* got {d_model}"):
        rotary_embedding(torch.randn(3, d_model))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_the_type_rounds_the_result_and_nothing_before(dtype):
    exact = sinusoidal_encoding(torch.tensor(FAR), 16)
    got = sinusoidal_encoding(torch.tensor(FAR), 16, dtype=dtype)
    assert got.dtype == dtype and torch.equal(got, exact.to(dtype))
    # Zeros in: what comes out is the encoding alone.
    module = SinusoidalEncoding(16).to(dtype)
    assert torch.equal(module(torch.zeros(2048, 16, dtype=dtype)), sinusoidal_encoding(2048, 16).to(dtype))


@pytest.mark.parametrize("kind", [SinusoidalEncoding, LearnedPositions])
def test_added_per_position_and_not_per_example(kind):
    """Mistake A072, a table added along the batch; A076, numbers for one sentence; A124, a cache that starts at 0."""
    module = kind(8) if kind is SinusoidalEncoding else kind(9, 8)
    zeros = torch.zeros(2, 3, 8)
    added = module(zeros)
    assert torch.equal(added[0], added[1]) and len({tuple(row) for row in added[0].tolist()}) == 3
    assert torch.equal(module(torch.zeros(3, 2, 8)), added[:1, :2].expand(3, -1, -1))
    x = torch.randn(2, 3, 9, 8, requires_grad=True)
    torch.testing.assert_close(module(x) - x, module(torch.zeros(9, 8)).expand_as(x))
    in_parts = [module(part, offset) for part, offset in zip(x.split([1, 5, 3], -2), (0, 1, 6), strict=True)]
    assert torch.equal(torch.cat(in_parts, -2), module(x))
    (gradient,) = torch.autograd.grad(module(x).sum(), x)
    assert torch.equal(gradient, torch.ones_like(x))


def test_sinusoids_learn_nothing_and_have_no_end():
    """Mistakes A074, a table among the parameters; A075, a length that the table does not have."""
    module = SinusoidalEncoding(8)
    assert not list(module.parameters()) and not module.state_dict()
    assert module(torch.zeros(1, 20_000, 8)).shape == (1, 20_000, 8)
    assert torch.equal(module(torch.zeros(1, 8), offset=10**6), sinusoidal_encoding(torch.tensor([10**6]), 8))
    assert torch.equal(SinusoidalEncoding(8, base=50.0)(torch.zeros(9, 8)), sinusoidal_encoding(9, 8, base=50.0))


@pytest.mark.parametrize("offsets", [(0, 1, 2, 9, 3), (40, 0, 5), (4095, 4096, 4090, -2), (10**6, 0)], ids=str)
def test_what_sinusoids_keep_is_what_they_would_compute(offsets):
    """In any order of positions and types of numbers; what inference mode left behind serves training, too."""
    module = SinusoidalEncoding(8)
    for offset in offsets:
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            expected = sinusoidal_encoding(torch.arange(offset, offset + 3), 8, dtype=dtype)
            with torch.inference_mode():
                assert torch.equal(module(torch.zeros(3, 8, dtype=dtype), offset), expected)
            x = torch.zeros(3, 8, dtype=dtype, requires_grad=True)
            module(x, offset).sum().backward()
            assert torch.equal(module(x, offset), expected) and torch.equal(x.grad, torch.ones_like(x))
    assert len(module.kept) <= module.KEPT and not module.state_dict() and not list(module.buffers())


# ---- a learned table


def test_a_learned_table_ends_where_it_says():
    """Mistake A075: a slice past the end returns fewer rows, and says nothing."""
    module = LearnedPositions(6, 8)
    assert [tuple(parameter.shape) for parameter in module.parameters()] == [(6, 8)]
    assert module(torch.zeros(2, 6, 8)).shape == (2, 6, 8)
    assert torch.equal(module(torch.zeros(1, 8), offset=5)[0], module.weight[5])
    for length, offset in ((7, 0), (1, 6), (3, 4)):
        with pytest.raises(
            ValueError, match=f"positions {offset} to {offset + length - 1} .* max_length=6.* position 5"
        ):
            module(torch.zeros(length, 8), offset)
    with pytest.raises(ValueError, match="positions -1 to 1"):
        module(torch.zeros(3, 8), offset=-1)


def test_only_the_rows_in_use_learn():
    module = LearnedPositions(6, 8)
    module(torch.zeros(2, 3, 8), offset=2).sum().backward()
    assert module.weight.grad.sum(-1).tolist() == [0, 0, 16, 16, 16, 0]
    assert 0.015 < LearnedPositions(100, 64).weight.std() < 0.025


# ---- RoPE


def turned_by_hand(row, position, base, pairing):
    """One vector: each pair is a complex number that is multiplied by e^(i pos theta)."""
    width, result = len(row), list(row)
    for i in range(width // 2):
        first, second = (2 * i, 2 * i + 1) if pairing == "adjacent" else (i, i + width // 2)
        z = complex(row[first], row[second]) * cmath.exp(1j * position / base ** (2 * i / width))
        result[first], result[second] = z.real, z.imag
    return result


@every_pairing
@pytest.mark.parametrize("base", [10000.0, 50.0])
@pytest.mark.parametrize("width", [2, 4, 8, 10])
def test_each_pair_turns_by_its_own_angle(width, base, pairing):
    """Mistake A077: angles for adjacent pairs, rotation of half-split ones. Width 2 and position 0 hide it."""
    x, offset = torch.randn(3, 4, width), 11
    got = rotary_embedding(x, offset=offset, base=base, pairing=pairing)
    slow = [[turned_by_hand(row.tolist(), offset + n, base, pairing) for n, row in enumerate(rows)] for rows in x]
    torch.testing.assert_close(got, torch.tensor(slow), atol=1e-13, rtol=0)


def test_adjacent_pairs_are_the_default_and_position_0_stays():
    x = torch.randn(2, 5, 6)
    assert torch.equal(rotary_embedding(x), rotary_embedding(x, pairing="adjacent"))
    assert torch.equal(rotary_embedding(x)[:, 0], x[:, 0])
    with pytest.raises(ValueError, match="pairing: expected one of adjacent, half, got 'split'"):
        rotary_embedding(x, pairing="split")


@every_pairing
@given(m=st.integers(0, 5000), n=st.integers(0, 5000), k=st.integers(0, 5000))
@settings(max_examples=30, deadline=None)
def test_scores_depend_on_distance_alone_and_lengths_stay(pairing, m, n, k):
    query, key = torch.randn(2, 1, 8)

    def score(shift):
        turned = (rotary_embedding(x, offset=at + shift, pairing=pairing) for x, at in ((query, m), (key, n)))
        return (next(turned) @ next(turned).mT).item()

    assert score(k) == pytest.approx(score(0), abs=1e-10)
    turned = rotary_embedding(query, offset=m, pairing=pairing)
    torch.testing.assert_close(turned.norm(), query.norm(), atol=1e-12, rtol=0)


def test_the_two_pairings_differ_by_an_order_of_features():
    x, halves_first = torch.randn(2, 5, 8), [0, 2, 4, 6, 1, 3, 5, 7]
    adjacent, half = rotary_embedding(x), rotary_embedding(x[..., halves_first], pairing="half")
    torch.testing.assert_close(half, adjacent[..., halves_first], atol=1e-14, rtol=0)
    assert not torch.isclose(rotary_embedding(x, pairing="half")[:, 1:], adjacent[:, 1:]).all(-1).any()


@every_pairing
def test_an_offset_and_positions_of_one_s_own(pairing):
    """Mistake A079: in cached decoding the new query stands where the old ones end."""
    x = torch.randn(2, 3, 7, 8)
    whole = rotary_embedding(x, pairing=pairing)
    parts = [rotary_embedding(x[..., a:b, :], offset=a, pairing=pairing) for a, b in ((0, 4), (4, 5), (5, 7))]
    assert torch.equal(torch.cat(parts, -2), whole)
    positions = torch.tensor([[0, 0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 6]])  # the first row is padded at its head
    turned = rotary_embedding(x, positions=positions[:, None], pairing=pairing)
    assert torch.equal(turned[1], whole[1]) and torch.equal(turned[0, :, 0], x[0, :, 0])
    torch.testing.assert_close(turned[0, :, 2:], rotary_embedding(x[0, :, 2:], pairing=pairing))
    later = rotary_embedding(x, positions=positions[:, None], offset=4, pairing=pairing)
    assert torch.equal(later[1], rotary_embedding(x[1], offset=4, pairing=pairing))


@every_pairing
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_far_positions_do_not_alias_in_half_precision(dtype, pairing):
    """Mistake A081: bfloat16 knows no whole number between 256 and 258."""
    x = torch.randn(50, 1, 8).to(dtype)
    # Half an eps for the result alone; float32 computes in float32.
    rounding = torch.finfo(dtype).eps * (3 if dtype == torch.float32 else 0.51)
    for position in (257, 2047, 100_000):
        got = rotary_embedding(x, offset=position, pairing=pairing)
        exact = rotary_embedding(x.double(), offset=position, pairing=pairing)
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), exact, atol=1e-6, rtol=rounding)
        assert not torch.equal(got, rotary_embedding(x, offset=position - 1, pairing=pairing))


@every_pairing
def test_any_layout_and_gradients(pairing):
    x = torch.randn(2, 3, 4, 6, requires_grad=True)
    copy = x.detach().clone()
    strided = x.transpose(-3, -2).contiguous().transpose(-3, -2)
    assert torch.equal(
        rotary_embedding(strided, offset=3, pairing=pairing), rotary_embedding(x, offset=3, pairing=pairing)
    )
    assert torch.equal(x, copy)
    direction = torch.randn_like(x)
    (gradient,) = torch.autograd.grad(rotary_embedding(x, offset=3, pairing=pairing), x, direction)
    # Turning is orthogonal, so the gradient is the direction turned back.
    torch.testing.assert_close(rotary_embedding(gradient, offset=3, pairing=pairing), direction, atol=1e-13, rtol=0)


# ---- ALiBi

SLOPES = {  # from the authors' code
    1: [1 / 256],
    2: [1 / 16, 1 / 256],
    4: [1 / 4, 1 / 16, 1 / 64, 1 / 256],
    8: [2**-h for h in range(1, 9)],
    6: [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8],
    3: [1 / 16, 1 / 256, 1 / 4],
    12: [2**-h for h in range(1, 9)] + [2 ** -(h / 2) for h in (1, 3, 5, 7)],
}


@pytest.mark.parametrize("num_heads", SLOPES)
@pytest.mark.parametrize(("T", "S"), [(4, 4), (1, 5), (3, 5), (1, 1)])
def test_alibi_equals_a_loop(num_heads, T, S):
    bias = alibi_bias(num_heads, T, S)
    assert bias.shape == (num_heads, T, S)
    for h in range(num_heads):
        for t in range(T):
            expected = [-SLOPES[num_heads][h] * abs(t + S - T - s) for s in range(S)]
            assert bias[h, t].tolist() == pytest.approx(expected, abs=1e-15)
    assert torch.equal(alibi_bias(num_heads, S)[:, -T:], bias), "the last query stands beside the last key"


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_alibi_in_another_type(dtype):
    got = alibi_bias(8, 3, 400, dtype=dtype)
    assert got.dtype == dtype
    torch.testing.assert_close(got.double(), alibi_bias(8, 3, 400), atol=0, rtol=2 * torch.finfo(dtype).eps)


@pytest.mark.gpu
@every_pairing
def test_cuda_equals_cpu(pairing):
    x = torch.randn(2, 7, 8)
    for call in (
        lambda x: rotary_embedding(x, offset=300, pairing=pairing),
        SinusoidalEncoding(8),
        lambda x: alibi_bias(6, 3, 7, device=x.device),
        lambda x: sinusoidal_encoding(7, 8, device=x.device),
    ):
        torch.testing.assert_close(call(x.cuda()).cpu(), call(x), atol=1e-12, rtol=0)

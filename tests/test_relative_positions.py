"""Positions inside the score: RoPE turns queries and keys, ALiBi adds a penalty by distance."""

import cmath

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positions import (
    PAIRINGS,
    SinusoidalEncoding,
    alibi_bias,
    rotary_embedding,
    sinusoidal_encoding,
)

pytestmark = pytest.mark.double
every_pairing = pytest.mark.parametrize("pairing", PAIRINGS)


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

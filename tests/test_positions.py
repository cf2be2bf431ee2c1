"""Positions: closed forms in plain loops, the laws of rotation, and what reduced precision must not break."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positions import (
    LearnedPositions,
    SinusoidalEncoding,
    alibi_bias,
    rotary_embedding,
    sinusoidal_encoding,
)

pytestmark = pytest.mark.double

FAR = [0, 1, 2, 7, 255, 256, 257, 500, 2047, 100_000]


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


def test_a_text_that_grows_seldom_needs_new_sinusoids(monkeypatch):
    """Each time twice as many as now are computed, up to KEPT; beyond, those alone that are asked for."""
    asked = []

    def counted(positions, *arguments, **options):
        asked.append(positions if isinstance(positions, int) else tuple(positions.tolist()))
        return sinusoidal_encoding(positions, *arguments, **options)

    monkeypatch.setattr("course_lib.positions.sinusoidal_encoding", counted)
    module = SinusoidalEncoding(2)
    monkeypatch.setattr(module, "KEPT", 20)
    for position in range(22):
        module(torch.zeros(1, 2), offset=position)
    assert asked == [2, 6, 14, 20, (20,), (21,)] and len(module.kept) == 20
    module(torch.zeros(3, 2), offset=-1)
    assert asked[-1] == (-1, 0, 1) and len(module.kept) == 20
    for again in (0, 19):
        module(torch.zeros(1, 2), offset=again)
    assert len(asked) == 7, "what is kept is read, first and last"


def test_what_is_kept_on_one_device_is_not_used_on_another():
    module = SinusoidalEncoding(8)
    module(torch.zeros(3, 8))
    assert module(torch.zeros(3, 8, device="meta")).device.type == "meta"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_a_type_it_is_torch_s_default(dtype):
    torch.set_default_dtype(dtype)
    assert sinusoidal_encoding(3, 4).dtype == alibi_bias(2, 3).dtype == SinusoidalEncoding(4).kept.dtype == dtype


def test_what_comes_after_the_positions_goes_by_name():
    for by_place in (
        lambda: sinusoidal_encoding(3, 4, 10_000.0),
        lambda: SinusoidalEncoding(4, 10_000.0),
        lambda: rotary_embedding(torch.zeros(3, 4), 2),
        lambda: alibi_bias(2, 3, 3, torch.float32),
    ):
        with pytest.raises(TypeError, match="positional"):
            by_place()


def test_without_a_base_it_is_the_paper_s_10_000():
    x = torch.zeros(9, 8)
    assert torch.equal(sinusoidal_encoding(9, 8), sinusoidal_encoding(9, 8, base=10_000.0))
    assert torch.equal(SinusoidalEncoding(8)(x), SinusoidalEncoding(8, base=10_000.0)(x))
    assert torch.equal(rotary_embedding(x + 1), rotary_embedding(x + 1, base=10_000.0))


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


# ---- ALiBi; the rest of it, and RoPE, in test_relative_positions


@given(num_heads=st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_every_head_has_a_slope_of_its_own(num_heads):
    """The first are those of the next lower power of 2; none is above 1, and none is 0."""
    slopes = -alibi_bias(num_heads, 1, 2)[:, 0, 0]
    lower = 2 ** int(math.log2(num_heads))
    assert slopes.shape == (num_heads,) and len(set(slopes.tolist())) == num_heads
    assert torch.equal(slopes[:lower], -alibi_bias(lower, 1, 2)[:, 0, 0]) and 0 < slopes.min() and slopes.max() < 1
    between = -alibi_bias(2 * lower, 1, 2)[::2, 0, 0]
    torch.testing.assert_close(slopes[lower:], between[: num_heads - lower])

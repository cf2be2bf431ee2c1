"""Windows and blocks: equal to the textbook's attention under the same mask, at the cost of what may be seen."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import scaled_dot_product_attention
from course_lib.live_memory import LiveMemory
from course_lib.masks import block_mask, causal_mask, combine_masks, sliding_window_mask
from course_lib.sparse_attention import block_sparse_attention, window_attention

from .attention_laws import assert_same, draw_broadcast, growth, leadings, seeds, sizes, some_bias, some_mask
from .small_attention import draw

pytestmark = pytest.mark.double

slow = settings(max_examples=80, deadline=None)
small = st.integers(1, 9)


def textbook(*inputs, **options):
    return scaled_dot_product_attention(*inputs, need_weights=True, **options)[0]


def blocks_for(T, S, size, share=0.5):
    return torch.rand(-(-T // size), -(-S // size)) < share


def near(query, key, value, size=16, **options):
    """Each block sees itself and the one before it."""
    n = query.shape[-2] // size
    blocks = torch.ones(n, n, dtype=torch.bool).tril().triu(-1)
    return block_sparse_attention(query, key, value, blocks=blocks, block_size=size, **options)


BOTH = {"window": partial(window_attention, window=16), "blocks": near}
both = pytest.mark.parametrize("attention", BOTH.values(), ids=BOTH)


@given(seeds, leadings, sizes, sizes, small, st.booleans(), st.booleans())
@slow
def test_a_window_equals_the_textbook_under_its_mask(seed, leading, T, S, window, masked, biased):
    inputs = draw_broadcast(seed, leading, T, S)
    mask = some_mask(leading, T, S) if masked else None
    bias = some_bias(leading, T, S) if biased else None
    got, nothing = window_attention(*inputs, window=window, mask=mask, bias=bias)
    assert nothing is None
    seen = combine_masks(mask, sliding_window_mask(T, S, window=window))
    assert_same(got, textbook(*inputs, mask=seen, bias=bias), [*inputs, *([bias] if biased else [])])


@given(seeds, leadings, sizes, sizes, small, st.booleans(), st.booleans(), st.booleans())
@slow
def test_blocks_equal_the_textbook_under_their_mask(seed, leading, T, S, size, causal, masked, biased):
    inputs = draw_broadcast(seed, leading, T, S)
    mask = some_mask(leading, T, S) if masked else None
    bias = some_bias(leading, T, S) if biased else None
    blocks = blocks_for(T, S, size)
    options = {"blocks": blocks, "block_size": size, "causal": causal}
    got, nothing = block_sparse_attention(*inputs, mask=mask, bias=bias, **options)
    assert nothing is None
    seen = combine_masks(mask, block_mask(blocks, size, T, S), causal_mask(T, S) if causal else None)
    assert_same(got, textbook(*inputs, mask=seen, bias=bias), [*inputs, *([bias] if biased else [])])


@pytest.mark.parametrize("window", [1, 2, 16, 17, 63, 64, 65, 10**9])
def test_windows_of_every_width(window):
    """One key is the value itself; a window that is wide enough is causal attention."""
    inputs = draw(0, (2,), 64, 64, 3, 4)
    got, _ = window_attention(*inputs, window=window)
    assert_same(got, textbook(*inputs, mask=sliding_window_mask(64, window=window)), inputs)
    if window == 1:
        assert torch.equal(got, inputs[2])
    if window >= 64:
        torch.testing.assert_close(got, textbook(*inputs, mask=causal_mask(64)))


def test_one_query_after_a_cache_looks_at_the_window_alone():
    query, key, value = draw(0, (2,), 1, 500, 3, 4)
    with LiveMemory() as memory:
        got, _ = window_attention(query, key, value, window=5)
    torch.testing.assert_close(got, textbook(query, key[:, -5:], value[:, -5:]))
    assert memory.peak < key.nbytes / 4


def test_without_any_allowed_block_the_output_is_0():
    inputs = draw(0, (2,), 5, 7, 3, 4)
    blocks = torch.tensor([[True, False, True], [False, False, False]])
    got, _ = block_sparse_attention(*inputs, blocks=blocks, block_size=3)
    assert got[:, :3].any() and not got[:, 3:].any()
    nothing, _ = block_sparse_attention(*inputs, blocks=blocks & False, block_size=3)
    gradients = torch.autograd.grad(nothing.sum(), inputs, allow_unused=True, materialize_grads=True)
    assert not nothing.any() and not any(gradient.any() for gradient in gradients)


@both
def test_what_is_hidden_is_never_computed(attention):
    """Far keys of 1e9, and even NaN, change nothing: a mask alone would let 0 · NaN through."""
    query, key, value = (each.detach() for each in draw(0, (2,), 64, 64, 3, 4))
    want, _ = attention(query, key, value)
    spoilt_key, spoilt_value = key.clone(), value.clone()
    spoilt_key[:, :16], spoilt_value[:, :16] = torch.nan, torch.nan
    got, _ = attention(query, spoilt_key, spoilt_value)
    assert torch.equal(got[:, 48:], want[:, 48:])


@both
def test_memory_grows_with_the_length_forward_and_backward(attention):
    exponents = growth(attention)
    assert all(0.85 < exponent < 1.15 for pair in exponents for exponent in pair), exponents


def multiplications(attention, N):
    """Of matrix products, forward and backward. In the kernel that the counter knows."""
    inputs = draw(0, (2, 2), N, N, 8, 8)
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        attention(*inputs)[0].sum().backward()
    return counter.get_total_flops()


def test_the_work_of_a_window_grows_with_length_times_window():
    works = [multiplications(partial(window_attention, window=16), N) for N in (128, 256, 1024)]
    assert works == [works[0], 2 * works[0], 8 * works[0]]
    wide = multiplications(partial(window_attention, window=32), 1024)
    assert 1.9 < wide / works[-1] < 2.1
    dense = multiplications(lambda *inputs: scaled_dot_product_attention(*inputs, need_weights=True), 1024)
    assert 2 * 16 * dense / 1024 > 0.95 * works[-1], "at most twice what the window needs"


def test_the_work_of_blocks_grows_with_their_number():
    torch.manual_seed(0)
    N, size = 128, 16
    patterns = [torch.eye(8) > 0, torch.ones(8, 8).tril() > 0, torch.rand(8, 8) < 0.3, torch.ones(8, 8) > 0]
    each = {
        multiplications(partial(block_sparse_attention, blocks=blocks, block_size=size), N) / int(blocks.sum())
        for blocks in patterns
    }
    assert len(each) == 1, "the same for every block that is allowed, whatever the pattern"
    causal = partial(block_sparse_attention, blocks=patterns[3], block_size=size, causal=True)
    assert multiplications(causal, N) == 36 * each.pop(), "no block of the future"


def test_a_padding_mask_stays_small():
    N = 1024
    inputs = draw(0, (2, 2), N, N, 8, 8)
    mask = torch.ones(2, 1, 1, N, dtype=torch.bool)
    mask[1, ..., 1000:] = False
    for attention in BOTH.values():
        with LiveMemory() as memory:
            attention(*inputs, mask=mask)[0].sum().backward()
        assert memory.peak < 2 * 2 * N * N * 8 / 4, "a quarter of the (T, S) weights"


@both
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_dtype(attention, dtype):
    exact = [each.detach() for each in draw(0, (2,), 64, 64, 8, 8)]
    inputs = [each.to(dtype) for each in exact]
    output, _ = attention(*inputs)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4, torch.bfloat16: 0.05, torch.float16: 0.01}[dtype]
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), attention(*exact)[0], atol=tolerance, rtol=tolerance)


@both
def test_dropout_takes_weights_and_keeps_the_mean(attention):
    inputs = [each.detach() for each in draw(0, (2,), 32, 32, 4, 5)]
    without, _ = attention(*inputs)
    drops = torch.stack([attention(*inputs, dropout=0.5)[0] for _ in range(600)])
    assert not torch.equal(drops[0], drops[1])
    errors = drops.std(0) / len(drops) ** 0.5
    assert ((drops.mean(0) - without).abs() <= 5 * errors).all()

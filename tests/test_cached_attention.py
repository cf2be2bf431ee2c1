"""Keys and values that are kept: a cache of the tokens so far, a memory projected once."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.masks import causal_mask
from course_lib.multi_head_attention import KVCache
from course_lib.positions import rotary_embedding

from .small_heads import CLOSE, B, D, H, M, S, T, lengths_mask, make

pytestmark = pytest.mark.double


KINDS = {"plain": {}, "rotary": {"rotary": rotary_embedding}, "no bias": {"bias": False}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("need_weights", [True, False])
@given(chunks=st.lists(st.integers(1, 4), min_size=1, max_size=5))
@settings(max_examples=8, deadline=None)
def test_in_chunks_with_a_cache_equals_all_at_once(kind, need_weights, chunks):
    """One token at a time, all at once, and between; the prefill too (A079, A118, A120), and padding at its head."""
    module, n = make(**KINDS[kind]), sum(chunks)
    x, padding = torch.randn(B, n, D), lengths_mask(B, n).flip(-1)
    expected = module(x, mask=causal_mask(n) & padding, need_weights=need_weights)
    cache, outputs = None, []
    for part in x.split(chunks, dim=1):
        S = part.shape[1] + (0 if cache is None else cache.key.shape[-2])
        before = None if cache is None else KVCache(*(each.clone() for each in cache))
        mask = causal_mask(part.shape[1], S) & padding[..., :S]
        output, weights, following = module.step(part, cache, mask=mask, need_weights=need_weights)
        outputs.append(output)
        assert following.key.shape == following.value.shape == (B, H, S, D // H)
        assert cache is None or all(map(torch.equal, cache, before)), "a cache may serve two sentences (A121)"
        cache = following
    torch.testing.assert_close(torch.cat(outputs, 1), expected[0], **CLOSE)
    if need_weights:
        torch.testing.assert_close(weights, expected[1][:, :, -part.shape[1] :], **CLOSE)


def test_beams_take_rows_of_a_cache():
    module, x, new, rows = make(), torch.randn(B, T, D), torch.randn(3, 1, D), torch.tensor([1, 1, 0])
    cache = module.step(x)[2]
    output, _, _ = module.step(new, KVCache(*(part[rows] for part in cache)))
    torch.testing.assert_close(output, module(torch.cat([x[rows], new], 1))[0][:, -1:], **CLOSE)


@pytest.mark.parametrize("d_memory", [D, M])
@pytest.mark.parametrize("bias", [True, False])
def test_a_memory_is_projected_once(d_memory, bias):
    """Mistake A123: later steps read the memory's keys and values, they neither grow nor are projected anew."""
    module, query, memory = make(d_memory=d_memory, bias=bias), torch.randn(B, T, D), torch.randn(B, S, d_memory)
    mask = lengths_mask(B, S)
    expected = module(query, memory, mask=mask, need_weights=True)
    remembered = module.remember(memory)
    assert remembered.key.shape == remembered.value.shape == (B, H, S, D // H)
    with torch.no_grad():  # whoever projects once more gets NaN
        (module.W_kv if d_memory == M else module.W_qkv).weight[-2 * D :] = math.nan
    steps = [module(query[:, t : t + 1], remembered, mask=mask, need_weights=True) for t in range(T)]
    for part, (whole, axis) in zip(zip(*steps, strict=True), zip(expected, (1, 2), strict=True), strict=True):
        torch.testing.assert_close(torch.cat(part, axis), whole, **CLOSE)

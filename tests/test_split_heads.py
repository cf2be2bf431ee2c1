"""A width cut into heads and joined again."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.multi_head_attention import MultiHeadAttention, merge_heads, split_heads

from .small_heads import B, D, T

pytestmark = pytest.mark.double


def test_every_head_reads_all_tokens_in_their_order():
    """Token t is the constant t (mistake A056: a view without the swap has the right shape, and round trips too)."""
    tokens = torch.arange(5.0)[:, None].expand(B, 5, 6)
    for num_heads in (1, 2, 3, 6):
        heads = split_heads(tokens, num_heads)
        assert heads.shape == (B, num_heads, 5, 6 // num_heads)
        assert torch.equal(heads, torch.arange(5.0)[:, None].expand_as(heads))


@given(leading=st.lists(st.integers(1, 3), max_size=3), n=st.integers(1, 4), h=st.integers(1, 4), w=st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_head_h_gets_its_features_and_merging_puts_them_back(leading, n, h, w):
    x = torch.randn(*leading, n, h * w)
    heads = split_heads(x, h)
    assert torch.equal(heads, torch.stack(x.split(w, -1), -3))
    assert torch.equal(merge_heads(heads), x) and torch.equal(merge_heads(heads.clone()), x)


@pytest.mark.parametrize("num_heads", [3, 0, -4, 16])
def test_heads_must_divide_the_width(num_heads):
    for call in (lambda: split_heads(torch.randn(B, T, D), num_heads), lambda: MultiHeadAttention(D, num_heads)):
        with pytest.raises(ValueError, match=f"num_heads={num_heads} and d_model=8"):
            call()

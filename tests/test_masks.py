import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.masks import (
    block_mask,
    causal_mask,
    combine_masks,
    from_additive,
    from_hidden,
    if_it_hides,
    padding_mask,
    require_blocks,
    require_bool,
    sliding_window_mask,
    to_additive,
    to_hidden,
)


@pytest.mark.parametrize("pad", [0, 7])
def test_padding_mask_is_true_on_real_tokens(pad):
    ids = torch.tensor([[5, 3, pad], [4, pad, pad]])
    mask = padding_mask(ids, pad)
    assert mask.dtype == torch.bool and mask.shape == (2, 1, 3)
    assert mask.tolist() == [[[True, True, False]], [[True, False, False]]]
    for wrong in (ids[0], ids[None]):
        with pytest.raises(ValueError, match=r"ids: expected \(B, S\)"):
            padding_mask(wrong, pad)


@pytest.mark.parametrize(("T", "S"), [(1, 1), (4, 4), (1, 5), (3, 5)])
def test_causal_mask_is_aligned_bottom_right(T, S):
    mask = causal_mask(T, S)
    assert mask.dtype == torch.bool and mask.shape == (T, S)
    for t in range(T):
        assert mask[t].tolist() == [s <= t + S - T for s in range(S)]
    assert mask[-1].all()


def test_causal_mask_is_square_by_default():
    assert torch.equal(causal_mask(4), causal_mask(4, 4))


lengths = st.integers(1, 7)


@given(T=lengths, more=st.integers(0, 5), window=st.integers(1, 14))
@settings(max_examples=50, deadline=None)
def test_a_window_reaches_back_from_the_query_itself(T, more, window):
    S = T + more
    mask = sliding_window_mask(T, S, window=window)
    assert mask.tolist() == [[0 <= t + S - T - s < window for s in range(S)] for t in range(T)]
    assert torch.equal(sliding_window_mask(T, window=window), sliding_window_mask(T, T, window=window))
    assert window < S or torch.equal(mask, causal_mask(T, S))


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_holds_the_query_s_own_key(window):
    with pytest.raises(ValueError, match=f"window: expected at least 1, .* got {window}"):
        sliding_window_mask(3, window=window)


@given(T=lengths, S=lengths, size=st.integers(1, 8), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_blocks_say_for_all_their_tokens_whether_they_meet(T, S, size, seed):
    def draw(*tokens):
        shape = [math.ceil(count / size) for count in tokens]
        return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5

    blocks = draw(T, S)
    expected = [[blocks[t // size, s // size].item() for s in range(S)] for t in range(T)]
    assert block_mask(blocks, size, T, S).tolist() == expected
    assert torch.equal(block_mask(draw(T, T), size, T), block_mask(draw(T, T), size, T, T))
    for wrong in (blocks[1:], blocks[:, 1:], torch.cat([blocks, blocks]), blocks[None]):
        with pytest.raises(ValueError, match=rf"{T} queries and {S} keys in blocks of {size}"):
            block_mask(wrong, size, T, S)


def test_blocks_are_boolean_and_hold_a_token_at_least():
    with pytest.raises(TypeError, match="blocks: expected a boolean tensor"):
        block_mask(torch.ones(1, 1), 2, 2)
    for size in (0, -1):
        with pytest.raises(ValueError, match=f"block_size: expected at least 1 token, got {size}"):
            require_blocks(torch.ones(2, 2, dtype=torch.bool), size, 2, 2)


def test_the_device_of_a_mask_goes_by_name():
    assert (
        causal_mask(2, device="meta").device.type
        == sliding_window_mask(2, window=1, device="meta").device.type
        == "meta"
    )
    for by_place in (lambda: causal_mask(2, 2, "cpu"), lambda: sliding_window_mask(2, 2, 1)):
        with pytest.raises(TypeError, match="positional"):
            by_place()


@pytest.mark.parametrize("mask", [torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64), [[True]], None])
def test_other_masks_are_refused_with_the_three_conventions(mask):
    with pytest.raises(TypeError) as error:
        require_bool(mask, "source_mask")
    for words in ("source_mask", "True = may attend", "True = hidden", "additive float"):
        assert words in str(error.value)


def test_bool_masks_are_accepted():
    require_bool(causal_mask(2))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_additive_masks_there_and_back(dtype):
    mask = causal_mask(3, 5)
    added = to_additive(mask, dtype)
    assert added.dtype == dtype and added[mask].eq(0).all() and added[~mask].eq(-math.inf).all()
    assert torch.equal(from_additive(added), mask)
    for hidden in (-1e9, -1e4, torch.finfo(torch.float32).min):  # what others write for minus infinity
        assert torch.equal(from_additive(torch.where(mask, 0.0, hidden)), mask)


def test_hidden_masks_there_and_back():
    mask = padding_mask(torch.tensor([[5, 3, 0], [4, 0, 0]]), 0)
    assert torch.equal(to_hidden(mask), ~mask) and torch.equal(from_hidden(to_hidden(mask)), mask)


def test_what_each_of_torch_s_functions_takes():
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(4, 1, batch_first=True)
    x, mask = torch.randn(2, 3, 4), causal_mask(3)
    hidden, _ = module(x, x, x, attn_mask=to_hidden(mask))
    added, _ = module(x, x, x, attn_mask=to_additive(mask))
    torch.testing.assert_close(hidden, added)
    kept = torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)
    torch.testing.assert_close(
        kept, torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=to_additive(mask))
    )


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (torch.tensor([0.0, 1.0]), r"found 1\. A mask of 0 and 1 does not say.*mask\.bool\(\).*~mask\.bool\(\)"),
        (torch.tensor([0.0, -0.5]), r"found -0\.5\. Numbers in between belong into `bias`"),
        (torch.tensor([0.0, -9999.5, 1.0]), r"found -9999\.5\. Numbers in between"),  # the first of them is named
        (torch.tensor([0.0, math.nan]), "found nan"),
        (torch.tensor([0.0, math.inf]), "found inf"),
        (torch.tensor([0.0, 2.0]), r"found 2\. Numbers in between"),
    ],
)
def test_an_ambiguous_additive_mask_is_refused(mask, words):
    with pytest.raises(ValueError, match=words):
        from_additive(mask)


@pytest.mark.parametrize("mask", [torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.int64), [0.0], None])
def test_only_floats_are_additive(mask):
    with pytest.raises(TypeError, match="additive mask of floats"):
        from_additive(mask)


@pytest.mark.parametrize("convert", [to_additive, to_hidden, from_hidden, combine_masks])
def test_conversions_take_boolean_masks_alone(convert):
    with pytest.raises(TypeError, match="three conventions"):
        convert(torch.ones(2, 2))


@pytest.mark.parametrize(
    ("convert", "mask", "came"),
    [
        (to_hidden, [True], "a list"),
        (from_additive, [0.0], "a list"),
        (to_hidden, torch.zeros(2), r"a tensor of torch\.float32"),
        (from_additive, torch.zeros(2, dtype=torch.int32), r"a tensor of torch\.int32"),
    ],
)
def test_what_came_is_told(convert, mask, came):
    with pytest.raises(TypeError, match=f"mask: expected .*, got {came}"):
        convert(mask)


def test_combined_masks_allow_what_all_allow_and_none_allows_everything():
    rows, columns = torch.tensor([[True], [False], [True]]), torch.tensor([True, True, False, True])
    assert combine_masks() is None and combine_masks(None, None) is None
    assert combine_masks(None, rows, None) is rows
    assert torch.equal(combine_masks(rows, None, columns), rows & columns)
    assert torch.equal(combine_masks(rows, columns, causal_mask(3, 4)), rows & columns & causal_mask(3, 4))
    with pytest.raises(TypeError, match=r"masks\[1\]: expected a boolean tensor"):
        combine_masks(None, torch.ones(2))


def test_combining_names_the_mask_that_does_not_fit():
    with pytest.raises(ValueError, match=r"masks\[2\].*\(4, 4\).*\(2, 3, 3\)"):
        combine_masks(causal_mask(3), torch.ones(2, 1, 3, dtype=torch.bool), causal_mask(4))


def test_a_mask_that_hides_nothing_is_none():
    hides, shows = torch.tensor([[[True, False]]]), torch.ones(2, 1, 3, dtype=torch.bool)
    assert if_it_hides(hides) is hides and if_it_hides(shows) is None
    assert if_it_hides(shows[..., :0]) is None


def test_while_a_model_is_compiled_nobody_looks_at_a_mask(monkeypatch):
    shows = torch.ones(2, 1, 3, dtype=torch.bool)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert if_it_hides(shows) is shows
    on_another_device = torch.ones(2, 3, dtype=torch.bool, device="meta")
    monkeypatch.undo()
    assert if_it_hides(on_another_device) is on_another_device

import math

import pytest
import torch

from course_lib.masks import (
    causal_mask,
    combine_masks,
    from_additive,
    from_hidden,
    if_it_hides,
    padding_mask,
    require_bool,
    to_additive,
    to_hidden,
)


@pytest.mark.parametrize("pad", [0, 7])
def test_padding_mask_is_true_on_real_tokens(pad):
    ids = torch.tensor([[5, 3, pad], [4, pad, pad]])
    mask = padding_mask(ids, pad)
    assert mask.dtype == torch.bool and mask.shape == (2, 1, 3)
    assert mask.tolist() == [[[True, True, False]], [[True, False, False]]]
    with pytest.raises(ValueError, match=r"ids: expected \(B, S\)"):
        padding_mask(ids[0], pad)


@pytest.mark.parametrize(("T", "S"), [(1, 1), (4, 4), (1, 5), (3, 5)])
def test_causal_mask_is_aligned_bottom_right(T, S):
    mask = causal_mask(T, S)
    assert mask.dtype == torch.bool and mask.shape == (T, S)
    for t in range(T):
        assert mask[t].tolist() == [s <= t + S - T for s in range(S)]
    assert mask[-1].all()


def test_causal_mask_is_square_by_default():
    assert torch.equal(causal_mask(4), causal_mask(4, 4))


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
        (torch.tensor([0.0, math.nan]), "found nan"),
        (torch.tensor([0.0, math.inf]), "found inf"),
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


def test_combining_names_the_mask_that_does_not_fit():
    with pytest.raises(ValueError, match=r"masks\[2\].*\(4, 4\).*\(2, 3, 3\)"):
        combine_masks(causal_mask(3), torch.ones(2, 1, 3, dtype=torch.bool), causal_mask(4))


def test_a_mask_that_hides_nothing_is_none():
    hides, shows = torch.tensor([[[True, False]]]), torch.ones(2, 1, 3, dtype=torch.bool)
    assert if_it_hides(hides) is hides and if_it_hides(shows) is None
    assert if_it_hides(shows[..., :0]) is None

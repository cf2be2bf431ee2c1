import pytest
import torch

from course_lib.masks import causal_mask, padding_mask, require_bool


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

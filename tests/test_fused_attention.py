"""What torch's fused kernel is given, and what it must not keep."""

import math

import pytest
import torch
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention as attend
from course_lib.masks import to_additive

from .small_attention import draw

pytestmark = pytest.mark.double


ONE_EMPTY = torch.tensor([[True, False, True], [False] * 3, [True] * 3])


@pytest.mark.parametrize(
    "hides",
    [{"mask": ONE_EMPTY}, {"mask": ONE_EMPTY, "bias": torch.ones(3, 3)}, {"bias": to_additive(ONE_EMPTY)}],
    ids=["mask", "mask and bias", "bias alone"],
)
def test_torch_s_kernel_never_gets_a_row_without_any_key(monkeypatch, hides):
    """On this CPU it would give 0 there by itself; other kernels give NaN or the mean."""
    seen = []
    kernel = functional.scaled_dot_product_attention

    def watched(*inputs, attn_mask, **options):
        seen.append(attn_mask if attn_mask.dtype == torch.bool else attn_mask > -math.inf)
        return kernel(*inputs, attn_mask=attn_mask, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", watched)
    output, _ = attend(*draw(0, (2,), 3, 3, 4, 5), **hides)
    assert seen[0].any(-1).all() and not output[:, 1].any()


def test_torch_s_kernel_gets_no_mask_that_hides_nothing(monkeypatch):
    """A batch of sentences of one length needs none, and the kernel is a third faster without; a bias is kept."""
    inputs = draw(0, (2,), 3, 5, 4, 6)
    masks, kernel = [], functional.scaled_dot_product_attention

    def watched(*arguments, attn_mask, **options):
        masks.append(attn_mask)
        return kernel(*arguments, attn_mask=attn_mask, **options)

    monkeypatch.setattr(functional, "scaled_dot_product_attention", watched)
    everything = torch.ones(2, 1, 5, dtype=torch.bool)
    plain, _ = attend(*inputs)
    masked, _ = attend(*inputs, mask=everything)
    assert masks == [None, None] and torch.equal(plain, masked)
    bias = torch.linspace(-2, 2, 15).reshape(3, 5)
    biased, _ = attend(*inputs, mask=everything, bias=bias)
    wanted, _ = attend(*inputs, bias=bias, need_weights=True)
    torch.testing.assert_close(biased, wanted)


@pytest.mark.parametrize("rows", [(3, 2), (2,), (1, 2)], ids=["own keys", "no row axis", "one row"])
@pytest.mark.parametrize("mask", [None, torch.ones(2, 96, 96, dtype=torch.bool).tril()], ids=["no mask", "three axes"])
def test_the_fused_road_keeps_no_table_of_weights(mask, rows):
    """A mask is kept, in floats and of its own size; it has no heads here, so that a table of weights is larger."""

    def kept(need_weights):
        """Sizes of the tensors that are kept for the backward pass."""
        found = []
        leading = (3, 2), rows, rows
        query, key, value = (torch.randn(*axes, 96, 8, dtype=torch.float32, requires_grad=True) for axes in leading)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: found.append(t.numel()) or t, lambda t: t):
            attend(query, key, value, mask=mask, need_weights=need_weights)
        return found

    table = 3 * 2 * 96 * 96
    assert max(kept(True)) >= table and max(kept(False)) < table

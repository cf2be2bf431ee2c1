"""What scaled_dot_product_attention asks of its arguments, and what it hands to torch's kernel and back."""

import itertools

import pytest
import torch
from torch.nn import functional

from course_lib.attention import fitting, scaled_dot_product_attention, scores_shape
from course_lib.masks import causal_mask

pytestmark = pytest.mark.double

B, T, S, DK, DV = 2, 3, 5, 6, 7
LEADING = [(), (1,), (2,), (3, 1), (3, 2), (1, 2)]


def attention_inputs():
    return torch.randn(B, T, DK), torch.randn(B, S, DK), torch.randn(B, S, DV)


def test_the_scores_have_the_leading_axes_of_all_three():
    for q, k, v in itertools.product(LEADING, repeat=3):
        shape, alike = scores_shape(torch.empty(*q, T, DK), torch.empty(*k, S, DK), torch.empty(*v, S, DV))
        assert tuple(shape) == (*torch.broadcast_shapes(q, k, v), T, S) and alike == (q == k == v)


def test_both_roads_agree_whatever_the_leading_axes():
    for q, k, v in itertools.product([*LEADING, (4, 3, 2)], repeat=3):
        inputs = torch.randn(*q, T, DK), torch.randn(*k, S, DK), torch.randn(*v, S, DV)
        fused, _ = scaled_dot_product_attention(*inputs)
        textbook, _ = scaled_dot_product_attention(*inputs, need_weights=True)
        torch.testing.assert_close(fused, textbook)


@pytest.mark.parametrize("hides", [False, True])
@pytest.mark.parametrize("other", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_a_bias_may_have_another_type(dtype, other, hides):
    inputs = [each.to(dtype) for each in attention_inputs()]
    options = {"bias": torch.randn(T, S).to(other), "mask": causal_mask(T, S) if hides else None}
    fused, _ = scaled_dot_product_attention(*inputs, **options)
    textbook, _ = scaled_dot_product_attention(*inputs, **options, need_weights=True)
    assert fused.dtype == textbook.dtype == dtype
    torch.testing.assert_close(fused.double(), textbook.double(), atol=0.03, rtol=0.03)


def test_wide_and_long_inputs_fit_as_small_ones_do():
    """Above 256, Python's equal numbers are no single object."""
    shape, alike = scores_shape(torch.empty(2, 300, 400), torch.empty(2, 500, 400), torch.empty(2, 500, 600))
    assert shape == (2, 300, 500) and alike


def test_leading_axes_that_do_not_broadcast_are_named():
    for sizes in itertools.permutations([2, 3, 1]):
        inputs = [torch.empty(size, *rest) for size, rest in zip(sizes, [(T, DK), (S, DK), (S, DV)], strict=True)]
        with pytest.raises(ValueError, match=r"must be equal or 1; got query \(\d, 3, 6\), key \(\d, 5, 6\), value"):
            scores_shape(*inputs)


@pytest.mark.parametrize("axes", [(), (S,), (1,), (T, S), (T, 1), (1, S), (B, 1, S), (B, T, S), (1, 1, 1)])
def test_a_mask_that_fits_comes_back_and_has_the_tokens_axes_at_least(axes):
    mask = torch.rand(axes) < 0.5
    found = fitting(mask, "mask", (B, T, S))
    assert found is mask if len(axes) > 1 else found.shape == (T, S)
    assert torch.equal(found.expand(B, T, S), mask.expand(B, T, S))


@pytest.mark.parametrize("axes", [(T,), (S, T), (T, T), (B, S), (T, 1, S), (1, B, T, S)])
def test_a_bias_that_does_not_fit_is_refused(axes):
    with pytest.raises(ValueError, match=r"bias: expected a shape that broadcasts to the scores \(2, 3, 5\)"):
        fitting(torch.zeros(axes), "bias", (B, T, S))


@pytest.fixture
def kernel(monkeypatch):
    """What torch's kernel is given as a mask, and what it gives: a list of pairs."""
    calls, original = [], functional.scaled_dot_product_attention

    def watched(*inputs, attn_mask, **options):
        output = original(*inputs, attn_mask=attn_mask, **options)
        calls.append((attn_mask, output))
        return output

    monkeypatch.setattr(functional, "scaled_dot_product_attention", watched)
    return calls


def test_without_an_empty_row_the_kernel_s_output_is_handed_on(kernel):
    inputs, mask = attention_inputs(), causal_mask(T, S)
    for options in ({}, {"mask": mask}, {"mask": torch.ones_like(mask)}, {"bias": torch.randn(T, S)}):
        output, _ = scaled_dot_product_attention(*inputs, **options)
        assert output is kernel[-1][1]
    empty = mask & torch.tensor([[True], [False], [True]])
    output, _ = scaled_dot_product_attention(*inputs, mask=empty)
    assert not output[:, 1].any() and torch.equal(output[:, ::2], kernel[-1][1][:, ::2])


def test_while_a_model_is_compiled_no_mask_is_looked_at(kernel, monkeypatch):
    inputs, shows = attention_inputs(), torch.ones(T, S, dtype=torch.bool)
    plain, _ = scaled_dot_product_attention(*inputs, mask=shows)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    masked, _ = scaled_dot_product_attention(*inputs, mask=shows)
    assert kernel[0][0] is None and kernel[1][0].all() and masked is not kernel[1][1]
    torch.testing.assert_close(masked, plain)


def test_a_mask_on_another_device_is_not_looked_at(kernel):
    """To look would be to wait for that device."""
    inputs = [each.to("meta") for each in attention_inputs()]
    output, _ = scaled_dot_product_attention(*inputs, mask=torch.ones(T, S, dtype=torch.bool, device="meta"))
    assert output.shape == (B, T, DV) and kernel[0][0] is not None


def test_all_but_query_key_and_value_go_by_name():
    with pytest.raises(TypeError, match="positional"):
        scaled_dot_product_attention(*attention_inputs(), causal_mask(T, S))

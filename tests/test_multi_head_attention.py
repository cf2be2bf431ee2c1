"""Multi-head attention: the laws that hold whatever the weights. See also `test_multi_head_against_torch`."""

import inspect
import math

import pytest
import torch

from course_lib import multi_head_attention
from course_lib.attention import masked_softmax
from course_lib.masks import causal_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.positions import alibi_bias, rotary_embedding

from .small_heads import CLOSE, SIZES, B, D, H, M, S, T, gradients, lengths_mask, make

pytestmark = pytest.mark.double


# ---- split and merge


# ---- masks


def test_a_query_without_any_key_gets_the_bias_of_the_output_projection():
    module, x = make(), torch.randn(B, T, D, requires_grad=True)
    mask = torch.ones(B, T, T, dtype=torch.bool)
    mask[1, 2] = False
    inputs = [x, *module.parameters()]
    for need_weights in (True, False):
        output, weights = module(x, mask=mask, need_weights=need_weights)
        torch.testing.assert_close(output[1, 2], module.W_o.bias, atol=0, rtol=0)
        assert all(gradient.isfinite().all() for gradient in gradients((output,), inputs))
        assert weights is None or not weights[1, :, 2].any()
        nothing, _ = module(x, mask=torch.zeros(T, T, dtype=torch.bool), need_weights=need_weights)
        assert torch.equal(nothing, module.W_o.bias.expand_as(nothing))


@pytest.mark.parametrize("shape", [(), (T,), (B, H, T, T), (B, 1, 1, T)])
def test_a_mask_with_another_number_of_axes_is_refused(shape):
    with pytest.raises(ValueError, match=r"2 to 3 axes, \(T, S\) or \(B, 1, S\) or \(B, T, S\), got shape"):
        make()(torch.randn(B, T, D), mask=torch.ones(shape, dtype=torch.bool))


def test_a_mask_of_another_kind_or_size_is_refused():
    module, x = make(), torch.randn(B, T, D)
    for mask in (torch.ones(T, T), torch.ones(B, 1, T, dtype=torch.int64), [[True]]):
        with pytest.raises(TypeError, match="True = may attend"):
            module(x, mask=mask)
    for shape in ((B * H, T, T), (H, T, T), (T, T + 1)):
        with pytest.raises(ValueError, match="mask: expected a shape"):
            module(x, mask=torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("rows", ["(B, 1, S)", "(B, T, S)"])
def test_a_mask_lines_up_with_the_batch_even_where_there_are_as_many_heads(rows):
    """padding_mask/head_tiling: with B = H a mask without its head axis would hide a head's keys, not a row's."""
    module, x = make(), torch.randn(H, T, D)
    mask = lengths_mask(H, T) if rows == "(B, 1, S)" else lengths_mask(H, T) & causal_mask(T)
    together = module(x, mask=mask, need_weights=True)
    for row in range(H):
        alone = module(x[row : row + 1], mask=mask[row : row + 1], need_weights=True)
        torch.testing.assert_close([part[row : row + 1] for part in together], list(alone), **CLOSE)
        assert not together[1][row].masked_select(~mask[row]).any()
        torch.testing.assert_close(module(x[row], mask=mask[row])[0], together[0][row], **CLOSE)


@pytest.mark.parametrize("garbage", [1e9, -1e9])
def test_padding_does_not_matter(garbage):
    module, query = make(), torch.randn(B, T, D)
    mask = lengths_mask(B, S)
    memory = torch.randn(B, S, D)
    spoiled = torch.where(mask.mT, memory, garbage).requires_grad_()
    output, _ = module(query, spoiled, mask=mask)
    torch.testing.assert_close(output, module(query, memory, mask=mask)[0], **CLOSE)
    (gradient,) = gradients((output,), [spoiled])
    assert gradient.isfinite().all() and not gradient[~mask.mT.expand_as(gradient)].any()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_no_gradient_from_the_future(training, need_weights):
    module, x = make().train(training), torch.randn(B, 5, D, requires_grad=True)
    output, _ = module(x, mask=causal_mask(5), need_weights=need_weights)
    for t in range(5):
        (gradient,) = torch.autograd.grad(output[:, t].square().sum(), x, retain_graph=True)
        assert not gradient[:, t + 1 :].any() and (gradient[:, : t + 1].abs().sum(-1) > 0).all()


# ---- laws


def test_tokens_in_another_order_come_out_in_that_order():
    module, x, order = make(), torch.randn(B, 5, D), torch.randperm(5)
    output, weights = module(x, need_weights=True)
    moved, moved_weights = module(x[:, order], need_weights=True)
    torch.testing.assert_close(moved, output[:, order], **CLOSE)
    torch.testing.assert_close(moved_weights, weights[:, :, order][..., order], **CLOSE)
    memory = torch.randn(B, S, D)
    torch.testing.assert_close(module(x, memory[:, torch.randperm(S)])[0], module(x, memory)[0], **CLOSE)


@pytest.mark.parametrize("size", SIZES)
def test_rows_do_not_see_each_other_and_layout_does_not_matter(size):
    """Mistake A062: the input's strides, and a mask that is expanded, change nothing; nor is an argument changed."""
    batch, queries, keys, width, heads = SIZES[size]
    module, query, memory = make(width, heads), torch.randn(batch, queries, width), torch.randn(batch, keys, width)
    mask = lengths_mask(batch, keys).expand(-1, queries, -1)
    copies = [tensor.clone() for tensor in (query, memory, mask)]
    output, _ = module(query, memory, mask=mask)
    strided = [tensor.mT.contiguous().mT for tensor in (query, memory)]
    torch.testing.assert_close(module(*strided, mask=mask.contiguous())[0], output, **CLOSE)
    for row in range(batch):
        one = slice(row, row + 1)
        torch.testing.assert_close(module(query[one], memory[one], mask=mask[one])[0], output[one], **CLOSE)
        torch.testing.assert_close(module(query[row], memory[row], mask=mask[row])[0], output[row], **CLOSE)
    assert all(map(torch.equal, (query, memory, mask), copies))


def test_more_leading_axes():
    module, x = make(), torch.randn(2, 3, T, D)
    mask = lengths_mask(3, T)
    output, weights = module(x, mask=mask, need_weights=True)
    assert weights.shape == (2, 3, H, T, T)
    torch.testing.assert_close(module(x, mask=mask)[0], output, **CLOSE)
    torch.testing.assert_close(output[1], module(x[1], mask=mask)[0], **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("need_weights", [True, False])
def test_every_dtype_is_kept(dtype, need_weights):
    exact, x = make(), torch.randn(B, T, D)
    module = MultiHeadAttention.from_torch(exact.to_torch()).to(dtype)
    output, weights = module(x.to(dtype), mask=causal_mask(T), need_weights=need_weights)
    assert output.dtype == dtype and (weights is None or weights.dtype == dtype)
    rounding = 40 * torch.finfo(dtype).eps
    torch.testing.assert_close(output.double(), exact(x, mask=causal_mask(T))[0], atol=rounding, rtol=rounding)


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_acts_in_training_alone(need_weights):
    module, x = make(dropout=0.5), torch.randn(B, 20, D)
    plain = make()(x)[0]
    module.eval()
    torch.testing.assert_close(module(x, need_weights=need_weights)[0], plain, **CLOSE)
    module.train()
    first, second = (module(x, need_weights=need_weights)[0] for _ in range(2))
    assert not torch.isclose(first, second).any() and not torch.isclose(first, plain).any()
    module.eval()
    torch.testing.assert_close(module(x, need_weights=need_weights)[0], plain, **CLOSE)
    assert inspect.getsource(multi_head_attention).count("if self.training") == 1, "nothing else hangs on the mode"


def kept_for_the_backward(call):
    """Shapes of all tensors that autograd saves while `call` runs."""
    shapes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (shapes.append(tuple(t.shape)), t)[1], lambda t: t):
        call()
    return shapes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_without_weights_no_matrix_of_them_is_kept(dtype):
    """What a mask needs is as large as the mask; it has no head axis."""
    module = make().to(dtype)
    query, memory = torch.randn(B, 17, D, dtype=dtype), torch.randn(B, 19, D, dtype=dtype)
    for mask in (None, lengths_mask(B, 19), causal_mask(17, 19), lengths_mask(B, 19) & causal_mask(17, 19)):
        shapes = kept_for_the_backward(lambda mask=mask: module(query, memory, mask=mask))
        matrices = [shape for shape in shapes if shape[-2:] == (17, 19)]
        assert sum(math.prod(shape) for shape in matrices) <= (0 if mask is None else mask.numel())
        shapes = kept_for_the_backward(lambda mask=mask: module(query, memory, mask=mask, need_weights=True))
        assert (B, H, 17, 19) in shapes, "this test can see them"


# ---- the attention function, bias and rotary


def test_runs_on_another_attention_function():
    calls = []

    def written_by_a_learner(query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False):
        calls.append((query.shape, mask.shape, bias, dropout, need_weights))
        weights = masked_softmax(query @ key.mT / query.shape[-1] ** 0.5, mask)
        return weights @ value, weights if need_weights else None

    theirs, ours = make(attention=written_by_a_learner, dropout=0.5).eval(), make()
    x, memory, mask = torch.randn(B, T, D), torch.randn(B, S, D), lengths_mask(B, S)
    torch.testing.assert_close(theirs(x, memory, mask=mask), ours(x, memory, mask=mask), **CLOSE)
    torch.testing.assert_close(theirs.train()(x, mask=causal_mask(T)), ours(x, mask=causal_mask(T)), **CLOSE)
    assert calls[0] == ((B, H, T, D // H), (B, 1, 1, S), None, 0.0, False)
    assert calls[1] == ((B, H, T, D // H), (T, T), None, 0.5, False)


@pytest.mark.parametrize("need_weights", [True, False])
def test_a_bias_by_distance_is_added_to_the_scores_of_each_head(need_weights):
    module, x, bias = make(), torch.randn(B, T, D), alibi_bias(H, T)

    def biased(query, key, value, *, mask, **_):
        scores = torch.stack([query[:, h] @ key[:, h].mT / (D // H) ** 0.5 + bias[h] for h in range(H)], 1)
        return masked_softmax(scores, mask) @ value, None

    expected = make(attention=biased)(x, mask=causal_mask(T))[0]
    got = module(x, mask=causal_mask(T), bias=bias, need_weights=need_weights)[0]
    torch.testing.assert_close(got, expected, **CLOSE)
    assert not torch.isclose(got, module(x, mask=causal_mask(T))[0]).all()


@pytest.mark.parametrize("pairing", ["adjacent", "half"])
def test_with_rotary_only_distance_matters(pairing):
    def rotary(x, offset):
        return rotary_embedding(x, offset=offset, pairing=pairing)

    def later(x, offset):
        return rotary(x, offset + 1000)

    x, width = torch.randn(B, 5, 16), 16
    output = make(width, rotary=rotary)(x, mask=causal_mask(5))[0]
    torch.testing.assert_close(make(width, rotary=later)(x, mask=causal_mask(5))[0], output, **CLOSE)
    assert not torch.isclose(output[:, 1:], make(width)(x, mask=causal_mask(5))[0][:, 1:]).any()
    with pytest.raises(ValueError, match="rotary: .* self-attention alone"):
        make(width, rotary=rotary)(x, torch.randn(B, S, width))


# ---- cached decoding


def test_widths_and_numbers_that_do_not_fit_are_named():
    module, x = make(), torch.randn(B, T, D)
    for call, message in (
        (lambda: module(torch.randn(B, T, D + 1)), r"query: expected \(..., tokens, 8\), got shape \(2, 3, 9\)"),
        (lambda: module(torch.randn(D)), r"query: expected .* got shape \(8,\)"),
        (lambda: module(x, torch.randn(B, S, M)), r"key: expected \(..., tokens, 8\), got shape \(2, 5, 6\)"),
        (lambda: module(x, torch.randn(B, S, D), torch.randn(B, S, M)), "value: expected"),
        (lambda: module(x, torch.randn(B, S, D), torch.randn(B, T, D)), "key and value must be equally many"),
        (lambda: make(d_memory=M)(x), "key: expected a memory of width 6"),
        (lambda: make(d_memory=M)(x, x, torch.randn(B, T, D)), r"key: expected \(..., tokens, 6\)"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.gpu
@pytest.mark.parametrize("need_weights", [True, False])
def test_cuda_equals_cpu(need_weights):
    module, x, memory = make(), torch.randn(B, T, D), torch.randn(B, S, D)
    calls = [((x,), causal_mask(T)), ((x, memory), lengths_mask(B, S))]
    expected = [module(*arguments, mask=mask, need_weights=need_weights)[0] for arguments, mask in calls]
    module.cuda()
    for (arguments, mask), wanted in zip(calls, expected, strict=True):
        got = module(*(each.cuda() for each in arguments), mask=mask.cuda(), need_weights=need_weights)[0]
        torch.testing.assert_close(got.cpu(), wanted, atol=1e-9, rtol=1e-7)

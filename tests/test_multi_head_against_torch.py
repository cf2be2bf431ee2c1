"""Multi-head attention equals `nn.MultiheadAttention` and the paper's formula, in values and all gradients."""

import copy
import math

import pytest
import torch
from torch import nn

from course_lib.attention import masked_softmax
from course_lib.masks import causal_mask, combine_masks, to_hidden
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.positions import rotary_embedding

from .small_heads import CLOSE, SIZES, B, D, H, M, S, T, gradients, lengths_mask, make

pytestmark = pytest.mark.double

EXACT = {"atol": 1e-10, "rtol": 0}


def looped(module, query, key, value, mask=None):
    """The formula of the paper, a head at a time, with a matrix of its own for each: output and weights."""
    if module.d_memory == module.d_model:
        W_q, W_k, W_v = module.W_qkv.weight.chunk(3)
        b_q, b_k, b_v = module.W_qkv.bias.chunk(3)
    else:
        (W_q, b_q), (W_k, W_v) = (module.W_q.weight, module.W_q.bias), module.W_kv.weight.chunk(2)
        b_k, b_v = module.W_kv.bias.chunk(2)
    width, heads, weights = module.d_model // module.num_heads, [], []
    for h in range(module.num_heads):
        rows = slice(h * width, (h + 1) * width)
        q, k, v = query @ W_q[rows].T + b_q[rows], key @ W_k[rows].T + b_k[rows], value @ W_v[rows].T + b_v[rows]
        weights.append(masked_softmax(q @ k.mT / math.sqrt(width), mask))
        heads.append(weights[-1] @ v)
    return torch.cat(heads, -1) @ module.W_o.weight.T + module.W_o.bias, torch.stack(weights, 1)


def inputs_of(kind, batch, queries, keys, width):
    """(query, key, value) as they are given, and the tensors that they are made of."""
    query = torch.randn(batch, queries, width, requires_grad=True)
    memory = [torch.randn(batch, keys, M if kind == "other width" else width, requires_grad=True) for _ in range(2)]
    return {
        "self": ((query, query, query), [query]),
        "cross": ((query, memory[0], memory[0]), [query, memory[0]]),
        "other width": ((query, memory[0], memory[0]), [query, memory[0]]),
        "three": ((query, *memory), [query, *memory]),
        "value apart": ((query, query, query + 1), [query]),
    }[kind]


def all_gradients(results, directions, module, inputs):
    """Gradients of a projection of the results: by the place of an input, by our name of a parameter."""
    total = sum((result * direction).sum() for result, direction in zip(results, directions, strict=True))
    found = torch.autograd.grad(total, [*inputs, *module.parameters()], retain_graph=True)
    holder = copy.deepcopy(module)
    for parameter, gradient in zip(holder.parameters(), found[len(inputs) :], strict=True):
        parameter.data = gradient
    ours = MultiHeadAttention.from_torch(holder) if isinstance(holder, nn.MultiheadAttention) else holder
    return {**dict(enumerate(found[: len(inputs)])), **ours.state_dict()}


@pytest.mark.parametrize("with_bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("hide", ["nothing", "padding", "future", "both"])
@pytest.mark.parametrize("kind", ["self", "cross", "other width", "three", "value apart"])
@pytest.mark.parametrize("size", SIZES)
def test_equals_torch_in_output_weights_and_all_gradients(size, kind, hide, with_bias):
    batch, queries, keys, width, heads = SIZES[size]
    keys = queries if kind in ("self", "value apart") else keys
    ours = make(width, heads, bias=with_bias, d_memory=M if kind == "other width" else None)
    theirs = ours.to_torch()
    arguments, inputs = inputs_of(kind, batch, queries, keys, width)
    padding = lengths_mask(batch, keys) if hide in ("padding", "both") else None
    future = causal_mask(queries, keys) if hide in ("future", "both") else None
    hidden = {
        "key_padding_mask": None if padding is None else to_hidden(padding.squeeze(1)),
        "attn_mask": None if future is None else to_hidden(future),
    }
    mask = combine_masks(padding, future)
    expected = theirs(*arguments, **hidden, average_attn_weights=False)
    directions = [torch.randn_like(result) for result in expected]
    got, (fused, no_weights) = ours(*arguments, mask=mask, need_weights=True), ours(*arguments, mask=mask)
    torch.testing.assert_close(got, expected, **EXACT)
    torch.testing.assert_close(fused, expected[0], **EXACT)
    assert no_weights is None
    for our_results, their_results in ((got, expected), ((fused,), expected[:1])):
        used = directions[: len(our_results)]
        torch.testing.assert_close(
            all_gradients(our_results, used, ours, inputs), all_gradients(their_results, used, theirs, inputs), **EXACT
        )


@pytest.mark.parametrize(
    "options", [{}, {"bias": False}, {"kdim": M, "vdim": M}, {"kdim": M, "vdim": M, "bias": False}]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torch_s_weights_come_in_and_go_out_unchanged(options, dtype):
    theirs = nn.MultiheadAttention(D, H, dropout=0.25, dtype=dtype, **options).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours = MultiHeadAttention.from_torch(theirs)
    assert (ours.dropout, ours.num_heads, ours.training) == (0.25, H, False) and ours.W_o.weight.dtype == dtype
    back = ours.to_torch()
    assert back.batch_first and not back.training and back.dropout == 0.25
    assert back.state_dict().keys() == theirs.state_dict().keys()
    torch.testing.assert_close(back.state_dict(), theirs.state_dict(), atol=0, rtol=0)
    torch.testing.assert_close(MultiHeadAttention.from_torch(back).state_dict(), ours.state_dict(), atol=0, rtol=0)
    with torch.no_grad():
        ours.W_o.weight.zero_()
    assert theirs.out_proj.weight.all() and back.out_proj.weight.all(), "the weights are copies"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kdim": M, "vdim": 7}, "kdim and vdim must be equal.* 6, 7"),
        ({"vdim": M}, "kdim and vdim must be equal.* 8, 6"),
        ({"add_bias_kv": True}, "belongs to no token"),
        ({"add_zero_attn": True}, "belongs to no token"),
    ],
)
def test_what_has_no_place_here_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention.from_torch(nn.MultiheadAttention(D, H, **options))
    with pytest.raises(ValueError, match="does not know positions"):
        make(rotary=rotary_embedding).to_torch()


@pytest.mark.parametrize("kind", ["self", "cross", "other width", "three", "value apart"])
def test_equals_the_paper_a_head_at_a_time(kind):
    """Mistakes A057, A058, A060, A063: each head has its own projections of the whole width, and W_o mixes them."""
    module = make(d_memory=M if kind == "other width" else None)
    arguments, inputs = inputs_of(kind, B, T, T if kind in ("self", "value apart") else S, D)
    mask = lengths_mask(B, arguments[1].shape[1])
    inputs = [*inputs, *module.parameters()]
    got, expected = module(*arguments, mask=mask, need_weights=True), looped(module, *arguments, mask)
    torch.testing.assert_close(got, expected, **CLOSE)
    torch.testing.assert_close(gradients(got, inputs), gradients(expected, inputs), **CLOSE)
    assert all(gradient.abs().sum() > 0 for gradient in gradients(module(*arguments, mask=mask)[:1], inputs))


def test_the_heads_stand_side_by_side_before_the_output_projection():
    """With W_o as identity each head's constant comes out (A063); with W_o zero nothing but its bias does (A060)."""

    def constants(query, key, value, **_):
        return torch.arange(1.0, H + 1)[:, None, None].expand_as(query), None

    module, x = make(attention=constants), torch.randn(B, T, D)
    with torch.no_grad():
        module.W_o.weight.copy_(torch.eye(D))
    output = module(x)[0] - module.W_o.bias
    torch.testing.assert_close(output, torch.arange(1.0, H + 1).repeat_interleave(D // H).expand(B, T, D))
    with torch.no_grad():
        module.W_o.weight.zero_()
    assert torch.equal(module(x)[0], module.W_o.bias.expand(B, T, D))


def test_a_token_that_sees_itself_alone_gets_its_own_value():
    """Mistake A057: merged without the swap, tokens get pieces of one another."""
    module, x = make(), torch.randn(B, T, D)
    output, _ = module(x, mask=torch.eye(T, dtype=torch.bool))
    value = x @ module.W_qkv.weight[-D:].T + module.W_qkv.bias[-D:]
    torch.testing.assert_close(output, module.W_o(value), **CLOSE)


def test_each_projection_starts_as_glorot_s():
    module = MultiHeadAttention(64, 4)
    assert sum(parameter.numel() for parameter in module.parameters()) == 4 * 64 * 64 + 4 * 64
    bound = math.sqrt(6 / (64 + 64))
    for projection in (*module.W_qkv.weight.split(64), module.W_o.weight):
        assert 0.98 * bound < projection.abs().max() <= bound
    assert not module.W_qkv.bias.any() and not module.W_o.bias.any()
    other = MultiHeadAttention(64, 4, d_memory=16)
    assert 0.98 < other.W_kv.weight[:64].abs().max() / math.sqrt(6 / (64 + 16)) <= 1

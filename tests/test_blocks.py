"""Encoder and decoder blocks and their stacks: the laws that hold whatever the weights."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd.functional import jacobian

from course_lib.attention import masked_softmax
from course_lib.blocks import Decoder, DecoderBlock, Encoder, EncoderBlock
from course_lib.layers import layer_norm
from course_lib.masks import causal_mask
from course_lib.multi_head_attention import KVCache
from course_lib.positions import rotary_embedding

from .small_transformer import CLOSE, D_FF, ORDERS, B, D, H, S, T, gradients, lengths_mask, make_block, spread

pytestmark = pytest.mark.double


def by_the_formula(block, x, memory=None, mask=None, memory_mask=None):
    """Section 3.1 with the block's own parts, each norm by hand: x after each sub-layer."""

    def around(x, residual, sublayer):
        def norm(x):
            return layer_norm(x, residual.norm.weight, residual.norm.bias)

        return x + sublayer(norm(x)) if residual.norm_first else norm(x + sublayer(x))

    x = around(x, block.around_self_attention, lambda x: block.self_attention(x, x + 0, mask=mask)[0])
    if memory is not None:
        cross = block.cross_attention
        x = around(x, block.around_cross_attention, lambda x: cross(x, memory, mask=memory_mask)[0])
    return around(x, block.around_feed_forward, block.feed_forward)


@pytest.mark.parametrize("order", ORDERS)
def test_a_block_is_its_formula(order):
    """Mistake A086: each sub-layer has a norm of its own, and all of them differ here."""
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    masks = {"mask": lengths_mask(B, T) & causal_mask(T), "memory_mask": lengths_mask(B, S)}
    block = make_block(EncoderBlock, **ORDERS[order])
    torch.testing.assert_close(block(x, mask=masks["mask"])[0], by_the_formula(block, x, mask=masks["mask"]), **CLOSE)
    block = make_block(DecoderBlock, **ORDERS[order])
    torch.testing.assert_close(block(x, memory, **masks)[0], by_the_formula(block, x, memory, **masks), **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cls", [EncoderBlock, DecoderBlock])
def test_every_parameter_has_a_gradient(cls, order):
    """Mistakes A086 (one norm for two sub-layers) and A094 (self-attention called again in place of the other)."""
    block = make_block(cls, **ORDERS[order])
    arguments = [torch.randn(B, n, D, requires_grad=True) for n in ((T,) if cls is EncoderBlock else (T, S))]
    found = gradients((block(*arguments)[0],), [*arguments, *block.parameters()])
    assert all(gradient.any() for gradient in found)
    norms = sum(name.endswith("norm.weight") for name, _ in block.named_parameters())
    assert norms == len(arguments) + 1 and len({id(p) for p in block.parameters()}) == len(list(block.parameters()))


def test_attention_mixes_tokens_and_the_feed_forward_bends_each_alone():
    """The blocks of the Jacobian: outside the diagonal there is nothing once attention sees itself alone."""
    block, x = make_block(EncoderBlock), torch.randn(1, T, D)
    for mask, mixed in ((None, True), (torch.eye(T, dtype=torch.bool), False)):
        derivatives = jacobian(lambda x, mask=mask: block(x, mask=mask)[0], x)[0, :, :, 0]  # (T, D, T, D)
        sizes = derivatives.abs().sum((1, 3))
        assert (sizes[~torch.eye(T, dtype=torch.bool)] > 0).all() == mixed
        assert mixed or torch.equal(sizes, sizes.diagonal().diag())


@pytest.mark.parametrize("order", ORDERS)
def test_an_encoder_block_knows_no_order(order):
    block, x, order_of = make_block(EncoderBlock, **ORDERS[order]), torch.randn(B, S, D), torch.randperm(S)
    torch.testing.assert_close(block(x[:, order_of])[0], block(x)[0][:, order_of], **CLOSE)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_no_gradient_from_the_future(order, training):
    """On the whole block (A084), not on attention alone; and none from a source token that is hidden."""
    block = make_block(DecoderBlock, dropout=0.3, **ORDERS[order]).train(training)
    x, memory = torch.randn(B, T, D, requires_grad=True), torch.randn(B, S, D, requires_grad=True)
    real = lengths_mask(B, S)
    output = block(x, memory, mask=causal_mask(T), memory_mask=real)[0]
    for t in range(T):
        direction = torch.randn(B, D)
        found = torch.autograd.grad((output[:, t] * direction).sum(), (x, memory), retain_graph=True)
        reached, read = (gradient.abs().sum(-1) > 0 for gradient in found)
        assert not reached[:, t + 1 :].any() and reached[:, t].all()
        assert not read[~real.squeeze(1)].any()
        assert training or (reached[:, : t + 1].all() and read[real.squeeze(1)].all()), "the first one reads the last"


@pytest.mark.parametrize("order", ORDERS)
def test_no_label_leaks_through_statistics(order):
    """Mistake A084: a norm over the batch or over the steps hands the future on past any mask, in training mode alone.

    So: the whole block, in that mode, a batch of three; later tokens of one row change, and nothing else may.
    """
    block = make_block(DecoderBlock, **ORDERS[order]).train()
    x, memory = torch.randn(B, T, D), torch.randn(B, S, D)
    masks = {"mask": causal_mask(T), "memory_mask": lengths_mask(B, S)}
    before = block(x, memory, **masks)[0]
    for row in range(B):
        for t in range(T - 1):
            other = x.clone()
            other[row, t + 1 :] = 10 * torch.randn(T - t - 1, D)
            moved = (block(other, memory, **masks)[0] - before).abs().amax(-1) > 1e-12  # (B, T)
            assert moved[row, t + 1 :].all() and moved.sum() == T - t - 1
        alone = {"mask": causal_mask(T), "memory_mask": lengths_mask(B, S)[row : row + 1]}
        one = block(x[row : row + 1], memory[row : row + 1], **alone)[0]
        torch.testing.assert_close(one, before[row : row + 1], **CLOSE)


@pytest.mark.parametrize("order", ORDERS)
def test_each_attention_has_its_own_mask(order):
    """Mistake A096: with as many target as source tokens nothing but the weights shows the masks exchanged."""
    block, x, memory = make_block(DecoderBlock, **ORDERS[order]), torch.randn(B, S, D), torch.randn(B, S, D)
    real = lengths_mask(B, S)
    _, own, cross = block(x, memory, mask=causal_mask(S), memory_mask=real, need_weights=True)
    assert torch.equal(own > 0, causal_mask(S).expand(B, H, S, S))
    assert torch.equal(cross > 0, real.unsqueeze(1).expand(B, H, S, S))


@pytest.mark.parametrize("order", ORDERS)
def test_the_decoder_reads_the_memory(order):
    """Mistake A093: keys and values from the decoder; the encoder's output would change nothing."""
    block, x = make_block(DecoderBlock, **ORDERS[order]), torch.randn(B, T, D)
    outputs = [block(x, torch.randn(B, T, D))[0] for _ in range(2)]
    assert not torch.isclose(*outputs).any()


def test_a_row_that_sees_nothing_is_finite():
    x, memory = torch.randn(B, T, D, requires_grad=True), torch.randn(B, S, D, requires_grad=True)
    block, nothing = make_block(DecoderBlock), torch.zeros(B, 1, 1, dtype=torch.bool)
    output = block(x, memory, mask=nothing.expand(B, T, T), memory_mask=nothing.expand(B, 1, S))[0]
    assert output.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients((output,), [x, memory, *block.parameters()]))
    without = block(x, memory + 1, mask=nothing.expand(B, T, T), memory_mask=nothing.expand(B, 1, S))[0]
    assert torch.equal(output, without)


# ---- stacks


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("cls", [Encoder, Decoder])
def test_a_stack_is_its_blocks_one_after_the_other(cls, order):
    """With a norm at the end if, and only if, norm_first. All blocks of a decoder read the same memory."""
    stack = spread(cls(D, H, D_FF, 3, eps=0.1, **ORDERS[order]))
    x, memory = torch.randn(B, T, D), ([] if cls is Encoder else [torch.randn(B, S, D)])
    expected = x
    for block in stack.blocks:
        expected = block(expected, *memory)[0]
    if order == "pre-norm":
        expected = layer_norm(expected, stack.norm.weight, stack.norm.bias, 0.1)
    torch.testing.assert_close(stack(x, *memory)[0], expected, **CLOSE)


@pytest.mark.parametrize("cls", [Encoder, Decoder])
def test_layers_have_weights_of_their_own_and_start_differently(cls):
    """Mistakes A097 (one layer used N times) and A099 (copies of one layer)."""
    stack, one = cls(D, H, D_FF, 3), cls(D, H, D_FF, 1)
    assert sum(p.numel() for p in stack.parameters()) == 3 * sum(p.numel() for p in one.parameters())
    first, second = (dict(block.named_parameters()) for block in stack.blocks[:2])
    for name in first:
        assert first[name] is not second[name]
        assert torch.equal(first[name], second[name]) == (first[name].dim() == 1), "vectors start as ones or zeros"
    assert len(set(map(id, stack.modules()))) == len(list(stack.modules())) and len(set(map(id, stack.blocks))) == 3


@pytest.mark.parametrize("cls", [Encoder, Decoder])
def test_a_weight_of_one_layer_is_no_weight_of_the_next(cls):
    """Mistake A097 again, as it acts: change each weight of layer 0, and layer 1 computes what it did."""
    stack = spread(cls(D, H, D_FF, 2))
    arguments = [torch.randn(B, n, D) for n in ((T,) if cls is Encoder else (T, S))]
    first, second = (block(*arguments)[0] for block in stack.blocks)
    kept = [parameter.clone() for parameter in stack.blocks[1].parameters()]
    with torch.no_grad():
        for parameter in stack.blocks[0].parameters():
            parameter.add_(torch.randn_like(parameter))
    assert not torch.isclose(stack.blocks[0](*arguments)[0], first).all()
    assert torch.equal(stack.blocks[1](*arguments)[0], second)
    assert all(torch.equal(*both) for both in zip(stack.blocks[1].parameters(), kept, strict=True))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rotary", [None, rotary_embedding], ids=["plain", "rotary"])
@given(chunks=st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=6, deadline=None)
def test_in_chunks_with_a_cache_equals_all_at_once(order, rotary, chunks):
    """One token at a time, several, all (A118, A120); the memory is projected once and does not grow (A123)."""
    decoder, n = spread(Decoder(D, H, D_FF, 2, rotary=rotary, **ORDERS[order])), sum(chunks)
    x, memory, real = torch.randn(B, n, D), torch.randn(B, S, D), lengths_mask(B, S)
    expected = decoder(x, memory, mask=causal_mask(n), memory_mask=real, need_weights=True)
    memories, caches, outputs, crosses = decoder.remember(memory), [None, None], [], []
    for part in x.split(chunks, dim=1):
        N = 0 if caches[0] is None else caches[0].key.shape[-2]
        mask = causal_mask(part.shape[1], N + part.shape[1])
        before = caches
        output, _, cross, caches = decoder.step(part, memories, caches, mask=mask, memory_mask=real, need_weights=True)
        assert before[0] is None or before[0].key.shape[-2] == N, "a cache may serve two sentences (A121)"
        assert all(isinstance(memory, KVCache) and memory.key.shape == (B, H, S, D // H) for memory in memories)
        outputs.append(output), crosses.append(cross)
    torch.testing.assert_close(torch.cat(outputs, 1), expected[0], **CLOSE)
    for layer, wanted in enumerate(expected[2]):
        torch.testing.assert_close(torch.cat([cross[layer] for cross in crosses], 2), wanted, **CLOSE)


def test_runs_on_another_attention_function():
    calls = []

    def written_by_a_learner(query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False):
        calls.append((query.shape, mask.shape, dropout))
        weights = masked_softmax(query @ key.mT / query.shape[-1] ** 0.5, mask)
        return weights @ value, weights if need_weights else None

    x, memory, masks = torch.randn(B, T, D), torch.randn(B, S, D), {"mask": causal_mask(T)}
    for cls, arguments in ((EncoderBlock, (x,)), (DecoderBlock, (x, memory))):
        if cls is DecoderBlock:
            masks["memory_mask"] = lengths_mask(B, S)
        theirs = make_block(cls, attention=written_by_a_learner, dropout=0.5).eval()
        torch.testing.assert_close(theirs(*arguments, **masks), make_block(cls)(*arguments, **masks), **CLOSE)
    assert calls == [((B, H, T, D // H), shape, 0.0) for shape in ((T, T), (T, T), (B, 1, 1, S))]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EncoderBlock(8, 3, 12), "num_heads must divide d_model, got num_heads=3 and d_model=8"),
        (lambda: make_block(EncoderBlock)(torch.randn(B, T, 7)), r"query: expected \(..., tokens, 8\)"),
        (lambda: make_block(EncoderBlock, norm_first=True)(torch.randn(B, T, 7)), r"x: expected \(..., 8\)"),
        (lambda: make_block(DecoderBlock)(torch.randn(B, T, D), torch.randn(B, S, 7)), r"key: expected \(..., tokens"),
        (lambda: make_block(DecoderBlock)(torch.randn(B, T, D), torch.randn(2, S, D)), "axes before the last two"),
        (lambda: make_block(EncoderBlock, activation="swish"), "activation: expected one of relu, gelu"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()

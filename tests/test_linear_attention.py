"""Linear attention: equal to its own weights written out, step by step and in chunks; memory grows with the length."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.linear_attention import feature_map, linear_attention, linear_step
from course_lib.live_memory import LiveMemory
from course_lib.masks import causal_mask, combine_masks, padding_mask
from course_lib.multi_head_attention import MultiHeadAttention

from .attention_laws import (
    LEADING,
    assert_nothing_from_the_future,
    assert_same,
    draw_broadcast,
    growth,
    leadings,
    seeds,
    sizes,
)
from .small_attention import draw
from .small_heads import lengths_mask, make

pytestmark = pytest.mark.double

slow = settings(max_examples=80, deadline=None)
chunks = st.integers(1, 9)


def written_out(query, key, value, mask=None):
    """The same by the (T, S) weights: φ(q) · φ(k) over the sum of its row; a row without any key is 0."""
    products = (query.clamp(min=0) + query.clamp(max=0).exp()) @ (key.clamp(min=0) + key.clamp(max=0).exp()).mT
    products = products if mask is None else products.masked_fill(~mask, 0.0)
    total = products.sum(-1, keepdim=True)
    return products / total.masked_fill(total == 0, 1.0) @ value


@given(seeds, leadings, sizes, sizes, chunks, st.booleans(), st.booleans())
@slow
def test_equals_its_weights_written_out(seed, leading, T, S, chunk, causal, masked):
    inputs = draw_broadcast(seed, leading, T, S)
    full = torch.broadcast_shapes(*leading)
    shapes = [(*full, 1, S), (1, S), (S,), (*full, 1, 1), (1,)]
    mask = torch.rand(shapes[seed % len(shapes)]) < 0.6 if masked else None
    if T > 1 and masked and mask.dim() > 1:
        assert mask.shape[-2] == 1
    got, nothing = linear_attention(*inputs, mask=mask, causal=causal, chunk=chunk)
    assert nothing is None
    assert_same(got, written_out(*inputs, combine_masks(mask, causal_mask(T, S) if causal else None)), inputs)


@pytest.mark.parametrize("leading", LEADING, ids=str)
def test_a_step_at_a_time_is_causal_attention(leading):
    query, key, value = draw_broadcast(0, leading, 6, 6)
    state, outputs = None, []
    for t in range(6):
        output, state = linear_step(query[..., t, :], key[..., t, :], value[..., t, :], state)
        outputs.append(output)
        memory, total = state
        assert memory.shape[-2:] == (3, 4) and total.shape[-1] == 3, "however long the text"
    want, _ = linear_attention(query, key, value, causal=True, chunk=4)
    assert_same(torch.stack(outputs, dim=-2), want, [query, key, value])


def test_a_step_changes_no_state():
    query, key, value = draw(0, (2,), 2, 2, 3, 4)
    _, state = linear_step(query[:, 0], key[:, 0], value[:, 0])
    before = [part.clone() for part in state]
    linear_step(query[:, 1], key[:, 1], value[:, 1], state)
    assert all(torch.equal(a, b) for a, b in zip(before, state, strict=True))


@pytest.mark.parametrize(("T", "S"), [(5, 5), (3, 7), (7, 3), (1, 4), (1, 1)])
@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 64])
def test_causal_is_aligned_bottom_right_in_chunks_of_every_size(T, S, chunk):
    inputs = draw(0, (2,), T, S, 3, 4)
    got, _ = linear_attention(*inputs, causal=True, chunk=chunk)
    assert_same(got, written_out(*inputs, causal_mask(T, S)), inputs)
    assert not got[:, : max(T - S, 0)].any()


@given(seeds, sizes, sizes, chunks)
@slow
def test_no_value_and_no_gradient_from_the_future(seed, T, more, chunk):
    """Not a digit of it: a sum that holds the future and takes it off again would keep some."""

    def attend(*inputs):
        return linear_attention(*inputs, causal=True, chunk=chunk)[0]

    assert_nothing_from_the_future(attend, seed, T, T + more - 1, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("garbage", [1e9, -1e9])
@pytest.mark.parametrize("causal", [True, False])
@given(seeds, st.lists(st.integers(0, 5), min_size=2, max_size=3), chunks)
@slow
def test_padding_changes_nothing_and_rows_stand_alone(garbage, causal, seed, lengths, chunk):
    """A row of padding alone gives 0, with gradients of 0."""
    S = max(*lengths, 1)
    query, key, value = draw(seed, (len(lengths),), S, S, 3, 4)
    ids = (torch.arange(S) < torch.tensor(lengths)[:, None]).long()
    padded = (ids == 0).unsqueeze(-1)
    spoilt = key.masked_fill(padded, garbage), value.masked_fill(padded, -garbage)
    options = {"causal": causal, "chunk": chunk}
    output, _ = linear_attention(query, *spoilt, mask=padding_mask(ids, 0), **options)
    for row, length in enumerate(lengths):
        if not length:
            assert not output[row].any()
        elif causal:
            alone, _ = linear_attention(query[row, :length], key[row, :length], value[row, :length], causal=True)
            torch.testing.assert_close(output[row, :length], alone)
        else:
            alone, _ = linear_attention(query[row], key[row, :length], value[row, :length])
            torch.testing.assert_close(output[row], alone)
    for gradient in torch.autograd.grad(output.square().sum(), [query, key, value]):
        assert gradient.isfinite().all() and not gradient[torch.tensor(lengths) == 0].any()


def test_weights_are_never_negative_and_sum_to_1():
    """With the identity as values, the output is the weights."""
    query, key, _ = draw(0, (2,), 4, 5, 3, 4)
    for causal in (True, False):
        weights, _ = linear_attention(query, key, torch.eye(5), causal=causal)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4))
        assert (weights >= 0).all()
        assert weights.gt(0).equal((causal_mask(4, 5) if causal else torch.ones(4, 5).bool()).expand(2, 4, 5))


def test_it_is_another_attention_than_the_softmax():
    inputs = draw(0, (2,), 4, 5, 3, 4)
    usual, _ = scaled_dot_product_attention(*inputs)
    assert (linear_attention(*inputs)[0] - usual).abs().max() > 0.1


@pytest.mark.parametrize("causal", [True, False])
def test_memory_grows_with_the_length_forward_and_backward(causal):
    exponents = growth(partial(linear_attention, causal=causal))
    assert all(0.85 < exponent < 1.15 for pair in exponents for exponent in pair), exponents


def test_causal_memory_holds_a_matrix_a_chunk_and_not_one_a_token():
    N, D = 512, 64
    inputs = [each.detach() for each in draw(0, (), N, N, D, D)]
    with LiveMemory() as memory:
        linear_attention(*inputs, causal=True, chunk=64)
    assert memory.peak < N * D * D * 8 / 4


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("causal", [True, False])
def test_every_dtype(dtype, causal):
    """4,096 keys in float16 would stop adding up at 2,048, and their sum with 100 exceeds its largest number."""
    exact = [each.detach() for each in draw(0, (2,), 3, 4096, 8, 8)]
    exact[2] += 100
    inputs = [each.to(dtype) for each in exact]
    output, _ = linear_attention(*inputs, causal=causal)
    want, _ = linear_attention(*(each.double() for each in inputs), causal=causal)
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-4, torch.bfloat16: 0.01, torch.float16: 0.001}[dtype]
    assert output.dtype == dtype
    torch.testing.assert_close(output.double(), want, atol=0, rtol=tolerance)
    step, (memory, total) = linear_step(*(each[:, 0] for each in inputs))
    assert step.dtype == dtype and memory.dtype == total.dtype == torch.promote_types(dtype, torch.float32)
    torch.testing.assert_close(step.double(), inputs[2][:, 0].double(), atol=0, rtol=0.01), "the only value there is"


def test_non_contiguous_input_and_arguments_that_do_not_change():
    query, key = torch.randn(3, 1, 4, 2).transpose(0, 2), torch.randn(5, 6, 2)  # (4, 1, 3, 2) and (5, 6, 2)
    value, mask = torch.randn(7, 6, 5).permute(2, 1, 0), torch.rand(6, 5).T.unsqueeze(1) < 0.7  # (5, 6, 7), (5, 1, 6)
    given = query, key, value, mask
    before = [each.clone() for each in given]
    for causal in (True, False):
        output, _ = linear_attention(*given[:3], mask=mask, causal=causal, chunk=2)
        hides = combine_masks(mask, causal_mask(3, 6) if causal else None)
        torch.testing.assert_close(output, written_out(query, key, value, hides))
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True)), "arguments changed"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"need_weights": True}, "need_weights: .*never held.*scaled_dot_product_attention"),
        ({"dropout": 0.1}, "dropout: got 0.1, .*no weights.*scaled_dot_product_attention"),
        ({"bias": torch.zeros(3, 5)}, "bias: .*no scores.*scaled_dot_product_attention"),
        ({"chunk": 0}, "chunk: expected at least 1 .* got 0"),
        ({"mask": causal_mask(3, 5)}, r"mask: expected one row .*got \(3, 5\).*causal=True hides the future"),
        ({"mask": torch.ones(2, 3, 1, dtype=torch.bool)}, r"mask: expected one row .*got \(2, 3, 1\)"),
        ({"mask": torch.ones(1, 4, dtype=torch.bool)}, "mask: .*queries"),
    ],
)
def test_what_it_cannot_do_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        linear_attention(*draw(0, (2,), 3, 5, 4, 4), **options)


def test_other_masks_and_shapes_are_refused_as_by_the_usual_attention():
    query, key, value = draw(0, (2,), 3, 5, 4, 4)
    with pytest.raises(TypeError, match="three conventions"):
        linear_attention(query, key, value, mask=torch.ones(1, 5))
    with pytest.raises(ValueError, match="equally wide"):
        linear_attention(query[..., 1:], key, value)


def test_in_multi_head_attention_padding_changes_nothing():
    module = make(8, 4, attention=linear_attention)
    x = torch.randn(2, 5, 8)
    output, _ = module(x, mask=lengths_mask(2, 5))
    torch.testing.assert_close(output[1, :4], module(x[1:, :4])[0][0])
    with pytest.raises(ValueError, match="causal=True"):
        module(x, mask=causal_mask(5))
    with pytest.raises(ValueError, match="dropout"):
        MultiHeadAttention(8, 2, dropout=0.1, attention=linear_attention)(x)


def test_an_encoder_block_steps_and_reads_alike():
    block = EncoderBlock(8, 2, 12, attention=partial(linear_attention, causal=True, chunk=3))
    x = torch.randn(2, 7, 8)
    want, _ = block(x)
    first, _, cache = block.step(x[:, :4])
    rest, _, _ = block.step(x[:, 4:], cache)
    torch.testing.assert_close(torch.cat([first, rest], dim=1), want)


def test_features_are_never_negative_and_their_slope_has_no_jump():
    x = torch.tensor([-40.0, -1.0, 0.0, 1.0, 5.0], requires_grad=True)
    features = feature_map(x)
    torch.testing.assert_close(features, torch.where(x > 0, x + 1, x.exp()))
    (slope,) = torch.autograd.grad(features.sum(), x)
    assert (features >= 0).all() and slope[2] == 1.0

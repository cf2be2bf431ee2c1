"""Windows and blocks by the contract of attention functions: in the place of the usual one, and what they refuse."""

from functools import partial

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.blocks import EncoderBlock
from course_lib.masks import block_mask, causal_mask, combine_masks, sliding_window_mask
from course_lib.sparse_attention import block_sparse_attention, window_attention

from .attention_laws import assert_same
from .small_attention import draw
from .small_heads import SIZES, gradients, lengths_mask, make

pytestmark = pytest.mark.double


def attentions(T, S):
    """(attention, the mask that hides the same from the usual one) for T queries and S keys."""
    blocks = torch.rand(-(-T // 2), -(-S // 2)) < 0.6
    return {
        "window": (partial(window_attention, window=2), sliding_window_mask(T, S, window=2)),
        "blocks": (partial(block_sparse_attention, blocks=blocks, block_size=2), block_mask(blocks, 2, T, S)),
        "causal blocks": (
            partial(block_sparse_attention, blocks=blocks, block_size=2, causal=True),
            block_mask(blocks, 2, T, S) & causal_mask(T, S),
        ),
    }


kinds = pytest.mark.parametrize("kind", attentions(1, 1))


@kinds
@pytest.mark.parametrize("size", SIZES)
def test_multi_head_attention_on_it_is_multi_head_attention_under_the_mask(size, kind):
    B, T, S, D, H = SIZES[size]
    attention, hides = attentions(T, S)[kind]
    ours, usual = make(D, H, attention=attention), make(D, H)
    x, y = torch.randn(B, T, D, requires_grad=True), torch.randn(B, S, D, requires_grad=True)
    bias, padding = torch.randn(H, T, S, requires_grad=True), lengths_mask(B, S)
    got, _ = ours(x, y, mask=padding, bias=bias)
    want, _ = usual(x, y, mask=combine_masks(padding, hides), bias=bias)
    assert_same(got, want, [x, y, bias])
    masks = padding, combine_masks(padding, hides)
    results = ((model, model(x, y, mask=mask)[0]) for model, mask in zip((ours, usual), masks, strict=True))
    for one, other in zip(*(gradients([result], model.parameters()) for model, result in results), strict=True):
        torch.testing.assert_close(one, other)


def test_an_encoder_block_with_a_window_reads_and_steps_alike():
    x = torch.randn(2, 7, 8, requires_grad=True)
    usual, ours = EncoderBlock(8, 2, 12), EncoderBlock(8, 2, 12, attention=partial(window_attention, window=3))
    ours.load_state_dict(usual.state_dict())
    want, _ = usual(x, mask=sliding_window_mask(7, window=3))
    assert_same(ours(x)[0], want, [x])
    cache, steps = None, []
    for t in range(7):
        step, _, cache = ours.step(x[:, t : t + 1], cache)
        steps.append(step)
    torch.testing.assert_close(torch.cat(steps, dim=1), want)


@kinds
def test_rows_of_a_batch_stand_alone_and_arguments_do_not_change(kind):
    T, S = 5, 6
    attention, _ = attentions(T, S)[kind]
    query, key = torch.randn(3, 2, T).mT, torch.randn(S, 3, 2).transpose(0, 1)  # (3, T, 2) and (3, S, 2)
    value, mask = torch.randn(4, S, 3).permute(2, 1, 0), torch.rand(S, 3, T).permute(1, 2, 0) < 0.7
    bias = torch.randn(S, T).T
    given = query, key, value, mask, bias
    before = [each.clone() for each in given]
    output, _ = attention(query, key, value, mask=mask, bias=bias)
    for row in range(3):
        alone, _ = attention(query[row], key[row], value[row], mask=mask[row], bias=bias)
        torch.testing.assert_close(output[row], alone)
    assert all(torch.equal(a, b) for a, b in zip(before, given, strict=True)), "arguments changed"


@kinds
def test_weights_are_refused_and_so_are_other_masks(kind):
    inputs = draw(0, (2,), 3, 5, 4, 4)
    attention, _ = attentions(3, 5)[kind]
    with pytest.raises(ValueError, match="need_weights: .*never computed.*scaled_dot_product_attention"):
        attention(*inputs, need_weights=True)
    with pytest.raises(TypeError, match="three conventions"):
        attention(*inputs, mask=torch.ones(3, 5))
    for name in ("mask", "bias"):
        with pytest.raises(ValueError, match=f"{name}: .*queries"):
            attention(*inputs, **{name: torch.ones(5, 3, dtype=torch.bool if name == "mask" else None)})
    with pytest.raises(ValueError, match="equally many"):
        attention(*inputs[:2], inputs[2][:, 1:])


@pytest.mark.parametrize("window", [0, -3])
def test_a_window_without_the_query_s_own_key_is_refused(window):
    for refuses in (
        lambda: window_attention(*draw(0, (), 3, 3, 2, 2), window=window),
        lambda: sliding_window_mask(3, window=window),
    ):
        with pytest.raises(ValueError, match=f"window: expected at least 1.* got {window}"):
            refuses()


@pytest.mark.parametrize(
    ("blocks", "size", "error", "words"),
    [
        (
            torch.ones(2, 2, dtype=torch.bool),
            2,
            ValueError,
            r"blocks: expected \(2, 3\).*3 queries.*5 keys.*got \(2, 2\)",
        ),
        (torch.ones(3, 2, dtype=torch.bool), 2, ValueError, r"got \(3, 2\)"),
        (torch.ones(1, 2, 3, dtype=torch.bool), 2, ValueError, r"got \(1, 2, 3\)"),
        (torch.ones(2, 3), 2, TypeError, "blocks: .*three conventions"),
        (torch.ones(2, 3, dtype=torch.bool), 0, ValueError, "block_size: expected at least 1 token, got 0"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, size, error, words):
    for refuses in (
        lambda: block_sparse_attention(*draw(0, (), 3, 5, 2, 2), blocks=blocks, block_size=size),
        lambda: block_mask(blocks, size, 3, 5),
    ):
        with pytest.raises(error, match=words):
            refuses()


@pytest.mark.parametrize(("T", "S"), [(1, 1), (4, 4), (1, 6), (3, 6), (6, 3)])
@pytest.mark.parametrize("window", [1, 2, 3, 10])
def test_sliding_window_mask_counts_back_from_the_query_s_own_key(T, S, window):
    mask = sliding_window_mask(T, S, window=window)
    assert mask.dtype == torch.bool and mask.shape == (T, S)
    for t in range(T):
        own = t + S - T
        assert mask[t].tolist() == [own - window < s <= own for s in range(S)]
    assert torch.equal(sliding_window_mask(T, window=window), sliding_window_mask(T, T, window=window))


@pytest.mark.parametrize(("T", "S", "size"), [(4, 4, 2), (5, 7, 3), (3, 5, 1), (2, 3, 9)])
def test_block_mask_asks_the_block_of_each_pair(T, S, size):
    blocks = torch.rand(-(-T // size), -(-S // size)) < 0.5
    mask = block_mask(blocks, size, T, S)
    assert mask.dtype == torch.bool and mask.shape == (T, S)
    assert all(mask[t, s] == blocks[t // size, s // size] for t in range(T) for s in range(S))
    assert block_mask(torch.ones(1, 1, dtype=torch.bool), size, 1).shape == (1, 1)


def test_no_queries_or_no_keys_are_no_error():
    for T, S in ((0, 3), (3, 0)):
        inputs = torch.randn(2, T, 4), torch.randn(2, S, 4), torch.randn(2, S, 5)
        blocks = torch.ones(-(-T // 2), -(-S // 2), dtype=torch.bool)
        for output, _ in (
            scaled_dot_product_attention(*inputs),
            window_attention(*inputs, window=2),
            block_sparse_attention(*inputs, blocks=blocks, block_size=2),
        ):
            assert output.shape == (2, T, 5) and not output.any()

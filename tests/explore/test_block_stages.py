"""The walk through the blocks: to the last bit the encoder's, and each switch does what its words say."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.explore.block_stages import (
    EVERY,
    NAMES,
    Switches,
    blocks_of,
    gradient_norms,
    heard,
    key_of,
    likeness,
    measure_all,
    output_of,
    stages,
)
from course_lib.masks import causal_mask

from .random_blocks import D_FF, D, S, encoder, vectors


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("mask", [None, causal_mask(S)], ids=["all", "causal"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_with_all_parts_on_it_is_the_encoder_to_the_last_bit(norm_first, mask, activation):
    ours = encoder(norm_first=norm_first, activation=activation)
    walked = stages(ours.blocks, vectors()[None], Switches(norm_first=norm_first), mask)
    assert torch.equal(ours.norm(output_of(walked[-1])), ours(vectors()[None], mask=mask)[0])
    for one, block in zip(walked, ours.blocks, strict=True):
        assert torch.equal(output_of(one), block(one["input"], mask=mask)[0])
        assert tuple(one) == NAMES[norm_first]
        assert {name: (*x.shape,) for name, x in one.items()} == {
            name: (1, S, D_FF if name == "hidden" else D) for name in NAMES[norm_first]
        }


def walk(blocks, x, on):
    """The same in other words: a part, then its way back to x."""
    for block in blocks:
        for part, around, lives in (
            (lambda x, block=block: block.self_attention(x)[0], block.around_self_attention, on.attention),
            (block.feed_forward, block.around_feed_forward, on.feed_forward),
        ):
            before, after = (around.norm if on.norms and here else nn.Identity() for here in (on[4], not on[4]))
            bare = part(before(x)) if lives else 0 * x if on.shortcuts else before(x)
            x = after(x * on.shortcuts + bare)
    return x


@pytest.mark.parametrize("on", EVERY, ids=key_of)
def test_each_switch_does_what_its_words_say(on):
    blocks, x = encoder(2).blocks, vectors()[None]
    walked = stages(blocks, x, on)
    assert torch.allclose(output_of(walked[-1]), walk(blocks, x, on), rtol=1e-12, atol=1e-12)
    for one in walked:
        previous = dict(zip(list(one)[1:], one.values(), strict=False))  # the stage before each
        for part in ("attention", "feed_forward"):
            if not getattr(on, part):
                assert torch.equal(one[part], torch.zeros_like(x) if on.shortcuts else previous[part])
            if not on.shortcuts:
                assert torch.equal(one[f"{part}_sum"], one[part])
            if not on.norms:
                assert torch.equal(one[f"{part}_norm"], previous[f"{part}_norm"])
        assert ("hidden" in one) == on.feed_forward


def test_with_all_parts_off_nothing_happens():
    for shortcuts, norm_first in itertools.product((False, True), repeat=2):
        off = Switches(False, False, shortcuts, False, norm_first)
        assert torch.equal(output_of(stages(encoder().blocks, vectors()[None], off)[-1]), vectors()[None])


@pytest.mark.parametrize("on", EVERY, ids=key_of)
def test_the_gradient_is_the_jacobians(on):
    """Length of Jᵀ v from each depth to the top, J by autograd's own `jacobian`."""
    blocks, x, cotangent = encoder().blocks, vectors()[None], vectors(seed=2)[None]
    norms = gradient_norms(blocks, x, on, cotangent)
    places = [x, *(output_of(one).detach() for one in stages(blocks, x, on))]
    for depth, place in enumerate(places):
        rest = list(blocks)[depth:]
        J = torch.autograd.functional.jacobian(lambda x, rest=rest: walk(rest, x, on) + 0 * x, place)
        want = (J.reshape(S * D, S * D).T @ cotangent.reshape(-1)).norm()
        assert norms[depth] == pytest.approx(float(want), rel=1e-9, abs=1e-12), depth


@pytest.mark.parametrize("mask", [None, causal_mask(S)], ids=["all", "causal"])
def test_who_was_heard_of_is_where_the_jacobian_is_not_zero(mask):
    ours = encoder(1)
    for on, shown in measure_all(blocks_of(ours), vectors()[None], mask).items():
        J = torch.autograd.functional.jacobian(
            lambda x, on=on: output_of(stages(ours.blocks, x, on, mask)[-1]), vectors()[None]
        )
        want = J.reshape(S, D, S, D).abs().sum(dim=(1, 3)) > 0
        found = torch.tensor([[bits >> s & 1 for s in range(S)] for bits in shown["heard"][0][-1]]).bool()
        assert torch.equal(found, want), on
        allowed = torch.ones(S, S, dtype=torch.bool) if mask is None else mask
        assert torch.equal(want, allowed if on.attention else torch.eye(S, dtype=torch.bool)), on


def test_hearing_is_directed():
    x = vectors()
    replaced = x.repeat(S, 1, 1)
    replaced[3, 1] += 1  # token 1 moves where token 3 is replaced, so 1 has heard of 3
    assert heard(x, replaced).nonzero().tolist() == [[1, 3]]
    assert not heard(x, x.repeat(S, 1, 1) + 1e-9).any()
    for scale in (1e-6, 1e6):
        assert heard(scale * x, scale * replaced).nonzero().tolist() == [[1, 3]], "by its own length, not in numbers"
        assert not heard(scale * x, scale * (x.repeat(S, 1, 1) + 1e-9)).any()


def test_likeness_is_the_mean_cosine_of_pairs():
    x = vectors()
    pairs = [float(nn.functional.cosine_similarity(x[a], x[b], dim=0)) for a in range(S) for b in range(S) if a != b]
    assert likeness(x) == pytest.approx(np.mean(pairs))
    assert likeness(torch.ones(4, 3)) == pytest.approx(1)
    padded = torch.cat([x, torch.zeros(2, D)])
    assert likeness(padded) == pytest.approx(np.mean(pairs)), "a vector of length 0 has no direction"
    assert likeness(padded[S - 1 :]) is None


def test_the_curves_go_through_the_ends_of_the_blocks():
    for shown in measure_all(blocks_of(encoder()), vectors()[None]).values():
        assert shown["gradient"][-1] == 1 and len(shown["gradient"]) == 4
        ends = [*(rows[0] for rows in shown["length"]), shown["length"][-1][-1]]
        assert np.allclose(shown["mean_length"], np.mean(ends, axis=1), rtol=1e-3)
        assert shown["mean_alike"] == [*(rows[0] for rows in shown["alike"]), shown["alike"][-1][-1]]
        assert [rows[-1] for rows in shown["length"][:-1]] == [rows[0] for rows in shown["length"][1:]]
        numbers = [*shown["mean_length"], *shown["gradient"], *np.ravel([rows[0] for rows in shown["length"]])]
        assert all(value == float(f"{value:.4g}") for value in numbers), "four digits go to the page"

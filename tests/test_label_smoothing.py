"""The smoothed loss: the textbook's distribution for each token, without ever making it."""

import math

import pytest
import torch

from course_lib.evaluation import label_smoothing_loss, masked_cross_entropy

from .test_evaluation import make


def by_the_shares(logits, target, smoothing, pad):
    """The textbook's way: a distribution over the vocabulary for each token, and its cross-entropy."""
    V, losses = logits.shape[-1], []
    for scores, true in zip(logits.flatten(0, -2), target.flatten().tolist(), strict=True):
        shares = torch.tensor([0.0 if k == pad else smoothing / (V - 2) for k in range(V)], dtype=logits.dtype)
        shares[true] = 1 - smoothing
        if true != pad:
            assert shares.sum().item() == pytest.approx(1) and shares[pad] == 0
            losses.append(-(shares * torch.softmax(scores, -1).log()).sum())
    return sum(losses) / len(losses)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("pad", [0, 3, 5])
def test_smoothed_loss_is_that_of_softened_targets(pad, smoothing):
    logits, target = make(pad=pad)
    target[0, 1] = 0 if pad else 4
    logits.requires_grad_()
    loss, expected = (f(logits, target, smoothing, pad) for f in (label_smoothing_loss, by_the_shares))
    torch.testing.assert_close(loss, expected, atol=1e-12, rtol=0)
    gradients = [torch.autograd.grad(value, logits)[0] for value in (loss, expected)]
    torch.testing.assert_close(*gradients, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("B", "T", "V"), [(1, 1, 3), (1, 4, 3), (3, 1, 6), (4, 4, 4)])
def test_smoothed_loss_at_any_size(B, T, V):
    logits, target = make(B, T, V, lengths=[T] * B)
    expected = by_the_shares(logits, target, 0.3, 0)
    torch.testing.assert_close(label_smoothing_loss(logits, target, 0.3, 0), expected, atol=1e-12, rtol=0)


def test_without_smoothing_it_is_the_masked_loss_exactly():
    logits, target = make()
    logits[..., 0] = logits[..., 5] = -math.inf  # padding, and an id that some mask rules out
    assert label_smoothing_loss(logits, target, 0.0, 0) == masked_cross_entropy(logits, target, 0)


@pytest.mark.parametrize("columns", [1, 5])
def test_padding_changes_neither_the_smoothed_loss_nor_its_gradient(columns):
    """Mistake A100: padding in the mean, or in the sum."""
    logits, target = make()
    logits.requires_grad_()
    loss = label_smoothing_loss(logits, target, 0.2, 0)
    (gradient,) = torch.autograd.grad(loss, logits)
    longer = torch.nn.functional.pad(logits, (0, 0, 0, columns), value=3.0)
    padded = label_smoothing_loss(longer, torch.nn.functional.pad(target, (0, columns)), 0.2, 0)
    torch.testing.assert_close(padded, loss, atol=1e-12, rtol=0)
    torch.testing.assert_close(torch.autograd.grad(padded, logits)[0], gradient, atol=1e-12, rtol=0)
    assert not gradient[target == 0].any() and gradient[target != 0].all()


@pytest.mark.parametrize("pad", [0, 3, 5])
def test_padding_may_have_no_chance_at_all(pad):
    """A model may write -inf for the score of padding; the loss and its gradient stay numbers."""
    logits, target = make(pad=pad)
    target[target == 0] = 4 if pad else 0
    ruled_out = logits.index_fill(-1, torch.tensor([pad]), -math.inf).requires_grad_()
    loss = label_smoothing_loss(ruled_out, target, 0.1, pad)
    (gradient,) = torch.autograd.grad(loss, ruled_out)
    almost = label_smoothing_loss(logits.index_fill(-1, torch.tensor([pad]), -1e5), target, 0.1, pad)
    torch.testing.assert_close(loss, almost, atol=1e-12, rtol=0)
    assert gradient.isfinite().all() and not gradient[..., pad].any()


def test_smoothed_loss_is_least_where_the_model_is_as_sure_as_the_target():
    _, target = make()
    shares = torch.full((3, 4, 6), 0.1 / 4, dtype=torch.float64).scatter(-1, target.unsqueeze(-1), 0.9)
    shares[..., 0] = 0.0
    logits = shares.log().requires_grad_()
    loss = label_smoothing_loss(logits, target, 0.1, 0)
    assert loss.item() == pytest.approx(-0.9 * math.log(0.9) - 0.1 * math.log(0.1 / 4))
    assert torch.autograd.grad(loss, logits)[0].abs().max() < 1e-12
    surer = 50.0 * torch.nn.functional.one_hot(target, 6).double()
    assert label_smoothing_loss(surer, target, 0.1, 0) > 2 * loss


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_smoothed_loss_of_half_precision_is_computed_in_float32(dtype, smoothing):
    logits, target = make()
    logits = (10 * logits).to(dtype).requires_grad_()
    loss = label_smoothing_loss(logits, target, smoothing, 0)
    assert loss.dtype == torch.float32 and torch.autograd.grad(loss, logits)[0].dtype == dtype
    expected = label_smoothing_loss(logits.double(), target, smoothing, 0)
    torch.testing.assert_close(loss.double(), expected, atol=1e-5, rtol=1e-6)


def test_smoothed_loss_leaves_its_arguments_alone_and_takes_any_layout():
    logits, target = make()
    kept = logits.clone(), target.clone()
    loss = label_smoothing_loss(logits, target, 0.1, 0)
    assert torch.equal(logits, kept[0]) and torch.equal(target, kept[1])
    turned = logits.transpose(0, 2).contiguous().transpose(0, 2)
    assert label_smoothing_loss(turned, target.mT.contiguous().mT, 0.1, 0) == pytest.approx(loss.item(), abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": torch.ones(3, 3, dtype=torch.int64)}, r"logits: expected \(3, 3, 'V'\), got \(3, 4, 6\)"),
        ({"target": torch.zeros(3, 4, dtype=torch.int64)}, "every position is padding"),
        ({"smoothing": 1.0}, "smoothing: expected 0 or more and less than 1, got 1.0"),
        ({"smoothing": -0.1}, "smoothing: expected 0 or more and less than 1, got -0.1"),
        ({"smoothing": math.nan}, "smoothing: expected 0 or more"),
        ({"logits": torch.zeros(3, 4, 2)}, "logits: expected a vocabulary of at least 3, padding among them, got 2"),
        ({"pad": -100}, "pad: expected an id of the vocabulary, 0 to 5, got -100"),
        ({"pad": 6}, "pad: expected an id of the vocabulary, 0 to 5, got 6"),
    ],
)
def test_smoothed_loss_refuses_what_it_cannot_average(change, message):
    logits, target = make()
    with pytest.raises(ValueError, match=message):
        label_smoothing_loss(**({"logits": logits, "target": target, "smoothing": 0.1, "pad": 0} | change))

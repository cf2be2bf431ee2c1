"""Layer norm, feed-forward, residual and dropout: each treats a token alone, by its formula."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from course_lib.layers import ACTIVATIONS, FeedForward, LayerNorm, Residual, dropout, layer_norm

from .small_transformer import CLOSE, D_FF, B, D, S, gradients, spread

pytestmark = pytest.mark.double


# ---- layer norm


def both_norms(x, weight, bias, eps):
    """By hand, and by the module."""
    module = LayerNorm(len(weight), eps)
    module.weight, module.bias = torch.nn.Parameter(weight), torch.nn.Parameter(bias)
    return layer_norm(x, weight, bias, eps), module.to(x.dtype)(x)


@given(leading=st.lists(st.integers(1, 3), max_size=3), width=st.integers(1, 9), eps=st.sampled_from([1e-5, 0.1]))
@settings(max_examples=30, deadline=None)
def test_layer_norm_equals_torch_in_values_and_gradients(leading, width, eps):
    x = torch.randn(*leading, width, requires_grad=True)
    weight, bias = torch.randn(width, requires_grad=True), torch.randn(width, requires_grad=True)
    expected = functional.layer_norm(x, (width,), weight, bias, eps)
    wanted = gradients((expected,), [x, weight, bias])
    got, module = both_norms(x, weight, bias, eps)
    torch.testing.assert_close(got, expected, **CLOSE)
    torch.testing.assert_close(module, expected, **CLOSE)
    torch.testing.assert_close(gradients((got,), [x, weight, bias]), wanted, **CLOSE)


def test_eps_stands_inside_the_root_and_the_variance_is_biased():
    """Features a and -a have mean 0 and biased variance a²: with eps in the root the first becomes a / √(a² + eps)."""
    x, eps = torch.tensor([[0.5, -0.5], [3.0, -3.0], [0.0, 0.0]]), 0.1
    a = x[:, :1]
    expected = torch.cat([a, -a], 1) / torch.sqrt(a**2 + eps)
    for got in both_norms(x, torch.ones(2), torch.zeros(2), eps):
        torch.testing.assert_close(got, expected, **CLOSE)


def test_each_token_is_normed_over_its_own_features():
    """Mistakes A082 (over the tokens) and A084 (over the batch): alone, or in training, a token gets the same."""
    x, weight, bias = torch.randn(B, S, D) * 3 + 5, torch.randn(D), torch.randn(D)
    for together in both_norms(x, weight, bias, 1e-5):
        torch.testing.assert_close(layer_norm(x[1:2, 2:3], weight, bias), together[1:2, 2:3], **CLOSE)
    module = LayerNorm(D)
    assert torch.equal(module.train()(x), module.eval()(x))
    normed = module(x)
    torch.testing.assert_close(normed.mean(-1), torch.zeros(B, S), atol=1e-12, rtol=0)
    torch.testing.assert_close(normed.var(-1, correction=0), torch.ones(B, S), atol=1e-4, rtol=0)


def test_one_outlier_takes_all_the_room_of_its_own_token_and_of_no_other():
    """However large it is, no feature exceeds √(D - 1); the other tokens do not notice."""
    x = torch.randn(2, D)
    for size in (1e3, 1e8, 1e100):
        spoiled = x.clone()
        spoiled[0, 3] = size
        for got in both_norms(spoiled, torch.ones(D), torch.zeros(D), 1e-5):
            assert got[0, 3].item() == pytest.approx(math.sqrt(D - 1), rel=1e-2)
            torch.testing.assert_close(got, functional.layer_norm(spoiled, (D,)), **CLOSE)
            torch.testing.assert_close(got[1], layer_norm(x[1], torch.ones(D), torch.zeros(D)), **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_layer_norm_in_other_types(dtype):
    """A feature of 1,000 has a square beyond float16's largest number, 65,504."""
    x, weight, bias = torch.randn(4, 16) * 300 + 1000, torch.randn(16), torch.randn(16)
    low = [part.to(dtype) for part in (x, weight, bias)]
    expected = layer_norm(*(part.double() for part in low), 0.1)
    for got in both_norms(*low, 0.1):
        assert got.dtype == dtype
        torch.testing.assert_close(got.double(), expected, atol=4 * torch.finfo(dtype).eps, rtol=8e-3)


# ---- feed-forward


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_feed_forward_is_its_formula_on_each_token_alone(activation):
    """Mistake A091: without σ, or with it at the end, f(a) + f(b) - f(0) = f(a + b), or nothing is negative."""
    module, x = spread(FeedForward(D, D_FF, activation=activation)), torch.randn(B, S, D)
    W_1, b_1, W_2, b_2 = module.W_1.weight, module.W_1.bias, module.W_2.weight, module.W_2.bias
    hidden = x @ W_1.T + b_1
    bent = hidden.clamp(min=0) if activation == "relu" else hidden * 0.5 * (1 + torch.erf(hidden / math.sqrt(2)))
    output = module(x)
    torch.testing.assert_close(output, bent @ W_2.T + b_2, **CLOSE)
    torch.testing.assert_close(module(x[1, 2]), output[1, 2], **CLOSE)
    zero = module(torch.zeros_like(x))
    assert (module(x) + module(x + 1) - zero - module(2 * x + 1)).abs().max() > 0.1 and (output < 0).any()
    assert all(gradient.any() for gradient in gradients((output,), list(module.parameters())))


def test_feed_forward_drops_hidden_features_in_training_alone():
    module, x = spread(FeedForward(D, 1000, dropout=0.5)), torch.randn(B, S, D)
    plain = spread(FeedForward(D, 1000))(x)
    assert torch.equal(module.eval()(x), plain)
    first, second = (module.train()(x) for _ in range(2))
    assert not torch.isclose(first, second).any()
    mean = torch.stack([module(x) for _ in range(400)]).mean(0)
    torch.testing.assert_close(mean, plain, atol=5 * (first - plain).std().item() / math.sqrt(400), rtol=0)


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="activation: expected one of relu, gelu, got 'tanh'"):
        FeedForward(D, D_FF, activation="tanh")
    for module in (FeedForward(D, D_FF), LayerNorm(D), Residual(D, norm_first=True)):
        arguments = (lambda x: x,) if isinstance(module, Residual) else ()
        with pytest.raises(ValueError, match=r"x: expected \(..., 8\), got shape \(2, 7\)"):
            module(torch.randn(2, 7), *arguments)


# ---- residual


@pytest.mark.parametrize("norm_first", [True, False])
def test_residual_is_its_formula(norm_first):
    module, x = spread(Residual(D, norm_first=norm_first, eps=0.1)), torch.randn(B, S, D) * 3 + 5

    def norm(x):
        return layer_norm(x, module.norm.weight, module.norm.bias, 0.1)

    expected = x + torch.tanh(norm(x)) if norm_first else norm(x + torch.tanh(x))
    torch.testing.assert_close(module(x, torch.tanh), expected, **CLOSE)
    got, *others = module(x, lambda x: (torch.tanh(x), "weights", None))
    torch.testing.assert_close(got, expected, **CLOSE)
    assert others == ["weights", None]


@pytest.mark.parametrize("training", [True, False])
def test_what_is_carried_past_a_pre_norm_sub_layer_is_neither_normed_nor_dropped(training):
    """Mistake A088: a sub-layer that says nothing leaves tokens of mean 5 and deviation 3 as they are."""
    module, x = spread(Residual(D, norm_first=True, dropout=0.5)).train(training), torch.randn(B, S, D) * 3 + 5
    assert torch.equal(module(x, torch.zeros_like), x)


@pytest.mark.parametrize("norm_first", [True, False])
def test_residual_changes_no_argument(norm_first):
    """Mistake A090: added in place, the caller's x would change, and a second call would differ."""
    module, x = spread(Residual(D, norm_first=norm_first)), torch.randn(B, S, D, requires_grad=True)
    before = x.detach().clone()
    kept = []
    first = module(x, lambda x: (kept.append(x), x)[1])
    assert torch.equal(module(x, lambda x: x), first) and torch.equal(x, before)
    assert torch.equal(kept[0], module.norm(x) if norm_first else x)
    assert gradients((first,), [x])[0].isfinite().all()


def test_residual_drops_the_sub_layer_s_output_before_it_is_added():
    module, x = Residual(1000, norm_first=True, dropout=0.25), torch.zeros(B, 1000)
    added = module(x, torch.ones_like)
    assert set(added.unique().tolist()) == {0.0, 1 / (1 - 0.25)}
    assert torch.equal(module.eval()(x, torch.ones_like), torch.ones(B, 1000))


# ---- dropout


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_dropout_zeroes_that_share_and_scales_the_rest(share, dtype):
    x = torch.ones(101, 991, dtype=dtype)
    got = dropout(x, share)
    assert got.dtype == dtype and got.shape == x.shape and torch.equal(x, torch.ones_like(x))
    zeros = (got == 0).double()
    n = x.numel()
    assert abs(zeros.mean() - share) < 5 * math.sqrt(share * (1 - share) / n) + 2**-17
    torch.testing.assert_close(got[got != 0].double(), torch.full_like(got[got != 0], 1 / (1 - share)).double())
    # Four neighbours come from one draw, and still know nothing of each other; nor do rows and columns.
    chances = zeros.flatten() - share
    for lag in (1, 2, 3, 4, 991):
        assert abs((chances[lag:] * chances[:-lag]).mean()) < 5 * share * (1 - share) / math.sqrt(n)


def test_dropout_follows_the_seed_and_differs_from_call_to_call():
    x = torch.randn(B, S, D)
    state = torch.get_rng_state()
    first, second = dropout(x, 0.5), dropout(x, 0.5)
    torch.set_rng_state(state)
    assert torch.equal(dropout(x, 0.5), first) and not torch.equal(first, second)


def test_dropout_lets_a_gradient_through_where_it_let_the_number_through():
    x = torch.randn(D, 100).mT.requires_grad_()
    got = dropout(x, 0.5)
    (gradient,) = torch.autograd.grad(got.sum(), x)
    assert torch.equal(gradient, (got != 0) * 2.0)


@pytest.mark.parametrize("share", [1e-9, 1 - 1e-9])
def test_dropout_at_its_ends(share):
    x = torch.randn(B, S, D)
    assert dropout(x, 0.5, training=False) is x and torch.equal(dropout(x, 0.0), x)
    assert not dropout(x, 1.0).any() and dropout(x, share).isfinite().all()
    assert dropout(torch.empty(0, D), 0.5).shape == (0, D) and dropout(torch.tensor(1.0), 0.5).shape == ()
    for wrong in (-0.1, 1.5):
        for training in (True, False):
            with pytest.raises(ValueError, match="between 0 and 1"):
                dropout(x, wrong, training)

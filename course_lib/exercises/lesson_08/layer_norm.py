"""Exercise `layer_norm`: each token brought back to mean 0 and deviation 1 (Ba et al. 2016)."""

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close
from course_lib.checking.limits import exact

from . import layer_norm_axis_mistakes, layer_norm_formula_mistakes, layer_norm_scale_mistakes
from .token_law import each_token_alone


def layer_norm(x, weight, bias, eps=1e-5):
    """(x - mean) / √(variance + eps) · weight + bias, each token over its own D features.

    x: (..., D). weight, bias: (D,), called γ and β. The variance is the biased one: divided by D. Returns (..., D).
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
    return centred / torch.sqrt(variance + eps) * weight + bias


def cases(generator):
    """Two to four axes, large and small eps, rows that hardly vary, a large offset, then sizes that coincide."""

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    for label, group, shape, offset, spread, *eps in (
        ("three tokens", "tokens", (3, 5), 1, 2),
        ("two sentences", "sentences", (2, 3, 5), -1, 2),
        ("eps = 1", "another eps", (2, 4, 7), 1, 3, 1.0),
        ("tokens that hardly vary", "small variance", (3, 2, 4), 2, 3e-3),
        ("hardly varying, eps = 0.001", "small variance", (2, 4, 6), -3, 0.02, 1e-3),
        ("one sentence, one token", "one token", (1, 1, 6), 0, 1),
        ("two heads: four axes", "four axes", (2, 4, 3, 5), 1, 1.5),
        ("numbers near 1,000", "a large offset", (2, 3, 4), 1_000, 2),
        ("as many tokens as features, no batch axis", "N = D", (4, 4), 1, 2),
        ("one sentence, as many tokens as features", "N = D", (1, 5, 5), 0, 2),
        ("as many sentences as tokens", "B = N", (3, 3, 4), 2, 1, 1e-2),
        ("as many sentences as features", "B = D", (4, 2, 4), 0, 2),
        ("all sizes 3", "all equal", (3, 3, 3), 1, 2, 0.1),
    ):
        x, weight, bias = offset + spread * draw(*shape), draw(shape[-1]), draw(shape[-1])
        if group == "another eps":
            x[0, 1] = 0.25  # 0/0 without any eps, and not with one that is written in
            x[1, 2] = torch.arange(-3, 4) * 0.42  # of variance 0.7: a floor of 1 holds it
        yield Case(label, (x, weight, bias, *eps), group=group)
    x, weight, bias = 1 + draw(2, 3, 4), draw(4), draw(4)
    x[0, 1], x[1, 2] = 0.75, 0.0
    yield Case("tokens with one number throughout", (x, weight, bias), group="no variance")


def by_torch(x, weight, bias, eps=1e-5):
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def by_var_mean(x, weight, bias, eps=1e-5):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, weight, (x - mean) * torch.rsqrt(variance + eps))


def by_centring_matrix(x, weight, bias, eps=1e-5):
    """To take the mean away is to multiply by I - 1/D."""
    D = x.shape[-1]
    centred = torch.einsum("...d,de->...e", x, torch.eye(D, dtype=x.dtype) - 1 / D)
    power = torch.einsum("...d,...d->...", centred, centred).div(D).add(eps).pow(-0.5)
    return torch.einsum("...d,...,d->...d", centred, power, weight) + bias


def token_by_token(x, weight, bias, eps=1e-5):
    rows = []
    for token in x.reshape(-1, len(weight)):
        mean = sum(token) / len(token)
        variance = sum((number - mean) ** 2 for number in token) / len(token)
        rows.append(weight * (token - mean) / (variance + eps) ** 0.5 + bias)
    return torch.stack(rows).reshape(x.shape)


def by_pairs(x, weight, bias, eps=1e-5):
    """The variance is half the mean squared difference of two features; no mean is needed for it."""
    apart = x.unsqueeze(-1) - x.unsqueeze(-2)  # (..., D, D)
    variance = apart.square().mean((-2, -1)).unsqueeze(-1) / 2
    return weight * apart.mean(-1) / (variance + eps).sqrt() + bias


def by_turned_batch_norm(x, weight, bias, eps=1e-5):
    """Batch norm over features that stand where it looks for examples: each token is a channel."""
    columns = x.flatten(end_dim=-2).T  # (D, tokens)
    normalised = functional.batch_norm(columns, None, None, training=True, eps=eps).T
    return normalised.reshape(x.shape).mul(weight).add(bias)


def _unit(function, cases, generator):
    for case in cases:
        x, weight, bias, *eps = case.args
        eps = eps[0] if eps else 1e-5
        plain, doubled = (Case(case.label, (k * x, weight, bias, k**2 * eps)) for k in (1, 2))
        if not close(call(function, plain), call(function, doubled)):
            return f"with x twice as large and eps four times, another result comes out ({case.label})"
    return None


def _offset(function, cases, generator):
    """In float32, as models compute. All numbers are quarters, D is a power of 2: a mean of them has no rounding."""
    with exact(0, torch.float32):
        x = torch.randint(-8, 9, (6, 8), generator=generator) / 4
        weight, bias = 1 + torch.rand(8, generator=generator), torch.rand(8, generator=generator)
        plain, moved = (call(function, Case("", (x + offset, weight, bias))) for offset in (0, 2**14))
    return None if close(plain, moved, 0.1) else "16384 added to every feature changes the result, in float32"


EXERCISE = Exercise(
    name="layer_norm",
    reference=layer_norm,
    cases=cases,
    laws=(
        each_token_alone,
        Law("the unit of eps", _unit, "If x is a length in metres, what is its variance, and to what can you add eps?"),
        Law("a common offset changes nothing", _offset, "Which line computes with x before its mean is taken away?"),
    ),
    mistakes=(
        layer_norm_axis_mistakes.MISTAKES + layer_norm_formula_mistakes.MISTAKES + layer_norm_scale_mistakes.MISTAKES
    ),
    accepts=(by_torch, by_var_mean, by_centring_matrix, token_by_token, by_pairs, by_turned_batch_norm),
    hints=(
        "Mean and variance of one token are numbers: taken along the last axis, with `keepdim=True` so that (..., 1) "
        "meets (..., D) again.",
        "Take the mean away first. The variance is the mean of the squares of what is left.",
        "eps stands inside the root; weight and bias come last, and broadcast along all other axes by themselves.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
    forbidden=("torch.nn.functional.layer_norm", "torch.nn.LayerNorm", "torch.layer_norm"),
)  # fmt: skip

"""Exercise `residual`: the shortcut around a sub-layer, and where its norm stands (Vaswani et al. 2017, 3.1)."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import batched, call, close, rows_independent

from . import residual_order_mistakes, residual_shortcut_mistakes
from .sublayers import make_norm, make_sublayer


def residual(x, sublayer, norm, norm_first=False):
    """The shortcut around a sub-layer: norm(x + sublayer(x)), or x + sublayer(norm(x)) with norm_first.

    x: (..., D). sublayer, norm: functions (..., D) -> (..., D). Returns (..., D).
    """
    if norm_first:
        return x + sublayer(norm(x))
    return norm(x + sublayer(x))


def cases(generator):
    """Both orders, each with two to four axes, one token and equal sizes; x has mean 5 and deviation 3."""
    for label, shape in (
        ("two sentences", (2, 3, 5)),
        ("no batch axis", (4, 3)),
        ("one sentence, one token", (1, 1, 4)),
        ("four axes", (2, 4, 3, 6)),
        ("all sizes 3", (3, 3, 3)),
    ):
        for order, norm_first in (("post-norm", ()), ("pre-norm", (True,))):
            x = 5 + 3 * torch.randn(*shape, generator=generator, dtype=torch.float64)
            functions = make_sublayer(generator, shape[-1]), make_norm(generator, shape[-1])
            yield Case(f"{order}, {label}", (x, *functions, *norm_first), group=order)
    x, norm = 5 + 3 * torch.randn(2, 4, 3, generator=generator, dtype=torch.float64), make_norm(generator, 3)
    yield Case("post-norm, norm_first=False", (x, make_sublayer(generator, 3), norm, False), group="post-norm")


def in_one_expression(x, sublayer, norm, norm_first=False):
    return x + sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


def by_two_choices(x, sublayer, norm, norm_first=False):
    """What goes in and what comes out are each normalised or not."""
    before, after = (norm, torch.clone) if norm_first else (torch.clone, norm)
    return after(torch.add(sublayer(before(x)), x))


def by_names(x, sublayer, norm, norm_first=False):
    entered = x
    if norm_first:
        x = norm(x)
    x = sublayer(x)
    x = entered + x
    if not norm_first:
        x = norm(x)
    return x


def by_stack(x, sublayer, norm, norm_first=False):
    def both(inner):
        return torch.stack([sublayer(inner), x]).sum(dim=0)

    return both(norm(x)) if norm_first else norm(both(x))


def in_a_copy(x, sublayer, norm, norm_first=False):
    """In place is fine in a tensor of one's own."""
    out = x.clone()
    out += sublayer(norm(x) if norm_first else x)
    return out if norm_first else norm(out)


def _silent(function, cases, generator):
    for case in cases:
        x, _, norm, *norm_first = case.args
        silent = Case(case.label, (x, torch.zeros_like, norm, *norm_first))
        if not close(call(function, silent), x if norm_first == [True] else norm(x)):
            return f"with a sub-layer that returns 0, something else than the shortcut comes out ({case.label})"
    return None


EXERCISE = Exercise(
    name="residual",
    reference=residual,
    cases=cases,
    laws=(
        Law("a silent sub-layer", _silent, "What should be left of the formula when sublayer(...) is 0?"),
        batched(rows_independent({0})),
    ),
    mistakes=residual_order_mistakes.MISTAKES + residual_shortcut_mistakes.MISTAKES,
    accepts=(in_one_expression, by_two_choices, by_names, by_stack, in_a_copy),
    hints=(
        "Two formulas, one for each value of `norm_first`: write each as it stands in the docstring.",
        "`sublayer` and `norm` are functions: call them. What is added is x itself, as it came in.",
        "With norm_first the norm stands inside, around what the sub-layer reads; else outside, around the whole sum.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

"""Exercise `rotary_embedding`: queries and keys turned by their positions, so that scores see distances."""

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import batched, call, close, reordered, rows_independent
from course_lib.checking.observe import tell

from .rotary_embedding_mistakes import MISTAKES, angle_of


def rotary_embedding(x, positions, base=10000.0):
    """Turn each pair (2i, 2i+1) of a query or key by its position times base^(-2i/D) (Su et al. 2021).

    x: (..., N, D), D even. positions: (N,), integers. Returns (..., N, D). Angles stay fine if x has half precision.
    """
    D = x.shape[-1]
    frequency = base ** (-torch.arange(0, D, 2) / D)  # (D/2,)
    angle = positions.unsqueeze(-1) * frequency  # (N, D/2)
    cos, sin = angle.cos(), angle.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def cases(generator):
    """From position 0, then from others (cached, with gaps, negative), heads, other bases, sizes that coincide."""
    first = torch.randint(3, 9, (), generator=generator).item()
    for label, group, shape, positions, *base in (
        ("one sentence", "from position 0", (4, 6), range(4)),
        ("a batch", "from position 0", (3, 5, 8), range(5)),
        ("a batch with heads", "from position 0", (2, 3, 4, 6), range(4)),
        ("one pair of features", "from position 0", (2, 3, 2), range(3)),
        ("later positions, as with a cache", "other positions", (2, 3, 8), range(first, first + 3)),
        ("one token, far along", "other positions", (3, 2, 1, 4), [5 * first]),
        ("gaps, a negative position", "other positions", (2, 5, 6), [first, -2, 0, 40, 3]),
        ("base 100", "other bases", (2, 4, 8), range(4), 100.0),
        ("as many heads as tokens", "H = N", (2, 4, 4, 6), range(1, 5)),
        ("as many tokens as pairs", "N = D/2", (2, 3, 6), range(2, 5)),
        ("all sizes 4", "all equal", (4, 4, 4, 4), range(3, 7)),
    ):
        x = torch.randn(*shape, generator=generator, dtype=torch.float64)
        yield Case(label, (x, torch.tensor(list(positions)), *base), group=group)


def by_complex_numbers(x, positions, base=10000.0):
    angle = angle_of(x, positions, base)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # even + i odd
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


def by_blocks(x, positions, base=10000.0):
    angle = positions[:, None] / torch.pow(base, torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    block = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], -1).unflatten(-1, (2, 2))
    return torch.einsum("nirc,...nic->...nir", block, x.unflatten(-1, (-1, 2))).flatten(-2)


def by_slices(x, positions, base=10000.0):
    out, width = torch.empty_like(x), x.shape[-1]
    for i in range(0, width, 2):
        cos, sin = (wave(positions / base ** (i / width)) for wave in (torch.cos, torch.sin))
        out[..., i] = x[..., i] * cos - x[..., i + 1] * sin
        out[..., i + 1] = x[..., i] * sin + x[..., i + 1] * cos
    return out


def by_crossing(x, positions, base=10000.0):
    angle = torch.repeat_interleave(angle_of(x, positions, base), 2, dim=-1)
    return angle.cos() * x + angle.sin() * torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)


def _lengths_stay(function, cases, generator):
    for case in cases:
        if not close(call(function, case).norm(dim=-1), case.args[0].norm(dim=-1), 1e-5):
            return f"a vector comes back longer or shorter ({case.label})"
    return None


def _distance_alone(function, cases, generator):
    query, key = torch.randn(2, 1, 8, generator=generator, dtype=torch.float64).expand(2, 6, 8)
    near = torch.randperm(40, generator=generator)[:6]
    turned = [[call(function, Case("", (x, places))) for x in (query, key)] for places in (near, near + 9)]
    if not close(*(query @ key.mT for query, key in turned), 1e-5):
        return "a query and a key, both nine places further, have another score"
    return None


def _fine_angles(function, cases, generator):
    x, places = torch.randn(4, 16, generator=generator).half(), torch.tensor([3, 900, 1501, 2003])
    fine = call(function, Case("double precision", (x.double(), places)))
    try:
        half = call(function, Case("half precision", (x, places)))
    except Exception as error:  # here or in another process: only its kind says what it was
        if tell(error).kind == "RuntimeError":
            return None  # a product of two dtypes: what does not run is not coarse
        raise
    if not close(half, fine, 0.02):  # against itself: a wrong turn is another mistake
        return "with x in half precision, positions up to 2,003 are turned by wrong angles"
    return None


EXERCISE = Exercise(
    name="rotary_embedding",
    reference=rotary_embedding,
    cases=cases,
    laws=(
        batched(rows_independent({0})),
        reordered("each token by its position", {0: (-2,), 1: (-1,)}, {0: (-2,)}, "Whose position turns a token?"),
        Law("lengths stay", _lengths_stay, "Do the two features of a pair share one angle, with one minus in all?"),
        Law("distance alone", _distance_alone, "By which angle is a query turned, seen from its key?"),
        Law("fine angles", _fine_angles, "Which numbers take x's dtype before their sine is taken?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_complex_numbers, by_blocks, by_slices, by_crossing),
    hints=(
        "Angle = position · frequency, (N, 1) times (D/2,): `positions.unsqueeze(-1)`, frequencies as in the encoding.",
        "(a, b) turned by an angle is (a cos - b sin, a sin + b cos); a is `x[..., 0::2]`, b is `x[..., 1::2]`.",
        "(N, D/2) lines up with (..., N, D/2) by itself. `torch.stack([...], dim=-1).flatten(-2)` joins pairs again.",
    ),
    minutes=10,
    difficulty=3,
    points=2,
)  # fmt: skip

"""Exercise `rotary_embedding`: queries and keys turned by their positions, so that scores see distances."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import batched, call, close, reordered, rows_independent


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


def _turn(x, angle):
    """Adjacent pairs of x (..., N, D) turned by the angles (N, D/2)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)


def _angle(x, positions, base=10000.0):
    return positions.unsqueeze(-1) * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])  # (N, D/2)


def _crossed(x):
    """(-second half, first half): the other feature of each pair, where halves are paired."""
    return torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], dim=-1)


@mistake(
    "Feature i is paired with feature i + D/2: this is the half-split pairing, in which most open models store their "
    "weights. Ours is the paper's: which feature stands beside feature 0?",
    source="`rotate_half` of GPT-NeoX and Llama: the other convention, an order of features apart",
)
def half_split(x, positions, base=10000.0):
    angle = _angle(x, positions, base).repeat(1, 2)
    return x * angle.cos() + _crossed(x) * angle.sin()


@mistake(
    "Two pairings are mixed: the angles lie as for neighbours, 0 0 1 1, and the turn joins the halves. So a pair meets "
    "two angles and lengths change. Which features does your minus sign bring together?",
    source="A077",
)
def angles_of_neighbours(x, positions, base=10000.0):
    angle = _angle(x, positions, base).repeat_interleave(2, dim=-1)
    return x * angle.cos() + _crossed(x) * angle.sin()


@mistake(
    "Two pairings are mixed: neighbours are turned, but the angles lie as for halves, 0 1 0 1, so each of a pair gets "
    "another. In which order must the angles stand so that a pair shares one?",
    source="A077, the other way round: `cat([angle, angle])` from one project, the turn from another",
)
def angles_of_halves(x, positions, base=10000.0):
    angle = _angle(x, positions, base).repeat(1, 2)
    crossed = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + crossed * angle.sin()


@mistake(
    "Pairs turn the other way, by minus the angle: scores still see distances alone, but with before and after "
    "exchanged. Where does a quarter turn take (1, 0), and which of your sines has the minus?",
    source="[[cos, sin], [-sin, cos]], the block of `shift_matrix`, put onto (even, odd)",
)
def turned_back(x, positions, base=10000.0):
    return rotary_embedding(x, -positions, base)


@mistake(
    "`positions` is never read: every call counts from 0, so with a cache each new token turns as the first would. "
    "Where should the angles get their positions from?",
    source="A079: queries rotated as if at position 0 in every decoding step",
)
def counted_from_zero(x, positions, base=10000.0):
    return rotary_embedding(x, torch.arange(x.shape[-2]), base)


@mistake(
    "All positions are one too high. The scores are the same, since only distances count, but keys from another cache "
    "would not fit. Which position does not turn at all?",
    source="positions counted from 1",
)
def one_too_far(x, positions, base=10000.0):
    return rotary_embedding(x, positions + 1, base)


@mistake(
    "The exponent is i/D: the number of the pair stands where 2i should, so the slow pairs turn too fast. "
    "Which numbers do the pairs begin with, 0, 1, 2 or 0, 2, 4?",
    source="`arange(D // 2) / D`, with the 2 of 2i lost",
)
def pair_number_as_exponent(x, positions, base=10000.0):
    return _turn(x, positions.unsqueeze(-1) * base ** (-torch.arange(x.shape[-1] // 2) / x.shape[-1]))


@mistake(
    "10000 is fixed in the body: another `base` turns nothing differently. How could a model for long texts raise it?",
    source="A070 is about this constant; the paper's number typed where the argument belongs",
)
def base_written_in(x, positions, base=10000.0):
    return rotary_embedding(x, positions)


@mistake(
    "The waves are added to x, as the first exercise of this lesson would be used. Here lengths stay as they are: "
    "what happens to a pair instead of moving it?",
    source="sinusoidal and rotary encoding taken for one thing: both are made of the same sines",
)
def waves_added(x, positions, base=10000.0):
    angle = _angle(x, positions, base)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


@mistake(
    "The turned pairs come back taken apart: all first features, then all second ones. Scores do not notice, the "
    "promised order does. What puts the two of a pair side by side again?",
    source="`cat` in the last line where `stack` and `flatten` are meant",
)
def halves_returned(x, positions, base=10000.0):
    turned = rotary_embedding(x, positions, base)
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


@mistake(
    "The angles go along the heads: all tokens of head 1 turn alike, as if they stood at one place. "
    "Which axis of x holds the tokens, counted from the end?",
    source="code for (B, N, H, D), with `unsqueeze(1)` for the heads, given (B, H, N, D); H = N hides it",
)
def turned_by_head(x, positions, base=10000.0):
    return _turn(x, _angle(x, positions, base).unsqueeze(1))


@mistake(
    "The values are right here, but positions or frequencies take x's dtype before they are multiplied: in half "
    "precision a far token's angle is badly off. What may be rounded, the angle or only its sine?",
    source="A081",
)
def coarse_angles(x, positions, base=10000.0):
    return _turn(x, _angle(x, torch.ones(1), base).to(x.dtype) * positions.unsqueeze(-1).to(x.dtype))


def by_complex_numbers(x, positions, base=10000.0):
    angle = _angle(x, positions, base)
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
    angle = torch.repeat_interleave(_angle(x, positions, base), 2, dim=-1)
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
    try:
        half = call(function, Case("half precision", (x, places)))
        fine = call(function, Case("double precision", (x.double(), places)))
    except Exception:  # the function is the learner's, and may raise anything
        return None  # a product that mixes no dtypes, say: what does not run is not coarse
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
    mistakes=(
        half_split, angles_of_neighbours, angles_of_halves, turned_back, counted_from_zero, one_too_far,
        pair_number_as_exponent, base_written_in, waves_added, halves_returned, turned_by_head, coarse_angles,
    ),
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

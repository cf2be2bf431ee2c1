"""What people write for `rotary_embedding` instead: the wrong answers that the exercise knows by name."""

import torch

from course_lib.checking import mistake


def turn(x, angle):
    """Adjacent pairs of x (..., N, D) turned by the angles (N, D/2)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angle.cos() - odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)


def angle_of(x, positions, base=10000.0):
    return positions.unsqueeze(-1) * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])  # (N, D/2)


def crossed(x):
    """(-second half, first half): the other feature of each pair, where halves are paired."""
    return torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], dim=-1)


@mistake(
    "Feature i is paired with feature i + D/2: this is the half-split pairing, in which most open models store their "
    "weights. Ours is the paper's: which feature stands beside feature 0?",
    source="`rotate_half` of GPT-NeoX and Llama: the other convention, an order of features apart",
)
def half_split(x, positions, base=10000.0):
    angle = angle_of(x, positions, base).repeat(1, 2)
    return x * angle.cos() + crossed(x) * angle.sin()


@mistake(
    "Two pairings are mixed: the angles lie as for neighbours, 0 0 1 1, and the turn joins the halves. So a pair meets "
    "two angles and lengths change. Which features does your minus sign bring together?",
    source="A077",
)
def angles_of_neighbours(x, positions, base=10000.0):
    angle = angle_of(x, positions, base).repeat_interleave(2, dim=-1)
    return x * angle.cos() + crossed(x) * angle.sin()


@mistake(
    "Two pairings are mixed: neighbours are turned, but the angles lie as for halves, 0 1 0 1, so each of a pair gets "
    "another. In which order must the angles stand so that a pair shares one?",
    source="A077, the other way round: `cat([angle, angle])` from one project, the turn from another",
)
def angles_of_halves(x, positions, base=10000.0):
    angle = angle_of(x, positions, base).repeat(1, 2)
    neighbours = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
    return x * angle.cos() + neighbours * angle.sin()


@mistake(
    "Pairs turn the other way, by minus the angle: scores still see distances alone, but with before and after "
    "exchanged. Where does a quarter turn take (1, 0), and which of your sines has the minus?",
    source="[[cos, sin], [-sin, cos]], the block of `shift_matrix`, put onto (even, odd)",
)
def turned_back(x, positions, base=10000.0):
    return turn(x, -angle_of(x, positions, base))


@mistake(
    "`positions` is never read: every call counts from 0, so with a cache each new token turns as the first would. "
    "Where should the angles get their positions from?",
    source="A079: queries rotated as if at position 0 in every decoding step",
)
def counted_from_zero(x, positions, base=10000.0):
    return turn(x, angle_of(x, torch.arange(x.shape[-2]), base))


@mistake(
    "All positions are one too high. The scores are the same, since only distances count, but keys from another cache "
    "would not fit. Which position does not turn at all?",
    source="positions counted from 1",
)
def one_too_far(x, positions, base=10000.0):
    return turn(x, angle_of(x, positions + 1, base))


@mistake(
    "The exponent is i/D: the number of the pair stands where 2i should, so the slow pairs turn too fast. "
    "Which numbers do the pairs begin with, 0, 1, 2 or 0, 2, 4?",
    source="`arange(D // 2) / D`, with the 2 of 2i lost",
)
def pair_number_as_exponent(x, positions, base=10000.0):
    return turn(x, positions.unsqueeze(-1) * base ** (-torch.arange(x.shape[-1] // 2) / x.shape[-1]))


@mistake(
    "All pairs turn at one speed, so a token that is some turns away looks like a neighbour. "
    "Which numbers i does the formula run through, and what do they slow down?",
    source="the plane's rotation by position · 1, the range of frequencies left out; `shift_matrix` knows it too",
)
def one_speed(x, positions, base=10000.0):
    return turn(x, positions.unsqueeze(-1).expand(-1, x.shape[-1] // 2))


@mistake(
    "The frequencies grow from pair to pair: a minus is missing in their exponent, and the last pair turns many "
    "times from one token to the next. Which of the two, the first pair or the last one, should hardly move?",
    source="`position * base ** (2i/D)` where the formula divides by it",
)
def growing_frequencies(x, positions, base=10000.0):
    return turn(x, positions.unsqueeze(-1) * base ** (torch.arange(0, x.shape[-1], 2) / x.shape[-1]))


@mistake(
    "Sine and cosine have changed places: position 0 makes a quarter turn, the others turn by what their angle lacks "
    "of one. What are the sine and the cosine of 0?",
    source="`sin, cos` unpacked from a function that gives `cos, sin`",
)
def sine_for_cosine(x, positions, base=10000.0):
    angle = angle_of(x, positions, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angle.sin() - odd * angle.cos(), even * angle.cos() + odd * angle.sin()], -1).flatten(-2)


@mistake(
    "The first feature of a pair is overwritten, and the second one is made of the new value: lengths change. "
    "From which two numbers must both results be made?",
    source="`even = ...; odd = even * sin + ...`, two lines where one moment was meant; A090 is its like",
)
def overwritten_halfway(x, positions, base=10000.0):
    angle = angle_of(x, positions, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    even = even * angle.cos() - odd * angle.sin()
    odd = even * angle.sin() + odd * angle.cos()
    return torch.stack([even, odd], dim=-1).flatten(-2)


@mistake(
    "There is no minus: a pair is stretched along one diagonal and squeezed along the other. "
    "Where does a quarter turn take (0, 1)?",
    source="`x * cos + swapped * sin` with a swap that changes no sign",
)
def no_minus(x, positions, base=10000.0):
    angle = angle_of(x, positions, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * angle.cos() + odd * angle.sin(), even * angle.sin() + odd * angle.cos()], -1).flatten(-2)


@mistake(
    "10000 is fixed in the body: another `base` turns nothing differently. How could a model for long texts raise it?",
    source="A070 is about this constant; the paper's number typed where the argument belongs",
)
def base_written_in(x, positions, base=10000.0):
    return turn(x, angle_of(x, positions))


@mistake(
    "The waves are added to x, as the first exercise of this lesson would be used. Here lengths stay as they are: "
    "what happens to a pair instead of moving it?",
    source="sinusoidal and rotary encoding taken for one thing: both are made of the same sines",
)
def waves_added(x, positions, base=10000.0):
    angle = angle_of(x, positions, base)
    return x + torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


@mistake(
    "The turned pairs come back taken apart: all first features, then all second ones. Scores do not notice, the "
    "promised order does. What puts the two of a pair side by side again?",
    source="`cat` in the last line where `stack` and `flatten` are meant",
)
def halves_returned(x, positions, base=10000.0):
    turned = turn(x, angle_of(x, positions, base))
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


@mistake(
    "The angles go along the heads: all tokens of head 1 turn alike, as if they stood at one place. "
    "Which axis of x holds the tokens, counted from the end?",
    source="code for (B, N, H, D), with `unsqueeze(1)` for the heads, given (B, H, N, D); H = N hides it",
)
def turned_by_head(x, positions, base=10000.0):
    return turn(x, angle_of(x, positions, base).unsqueeze(1))


@mistake(
    "The values are right here, but positions or frequencies take x's dtype before they are multiplied: in half "
    "precision a far token's angle is badly off. What may be rounded, the angle or only its sine?",
    source="A081",
)
def coarse_angles(x, positions, base=10000.0):
    return turn(x, angle_of(x, torch.ones(1), base).to(x.dtype) * positions.unsqueeze(-1).to(x.dtype))


MISTAKES = (
    half_split, angles_of_neighbours, angles_of_halves, turned_back, counted_from_zero, one_too_far,
    pair_number_as_exponent, one_speed, growing_frequencies, sine_for_cosine, overwritten_halfway, no_minus,
    base_written_in, waves_added, halves_returned, turned_by_head, coarse_angles,
)  # fmt: skip

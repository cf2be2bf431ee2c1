"""Exercise `sinusoidal_encoding`: a place in the sentence, told by waves."""

import math

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close


def sinusoidal_encoding(length, d_model, base=10000.0):
    """PE(p, 2i) = sin(p / base^(2i/D)), PE(p, 2i+1) = cos(p / base^(2i/D)) (Vaswani et al. 2017, 3.5).

    Positions count from 0. d_model: even. Returns (length, d_model).
    """
    position = torch.arange(length).unsqueeze(1)  # (N, 1)
    frequency = base ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    angle = position * frequency  # (N, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


def cases(generator):
    """The paper's base, one pair, one position, other bases, then sizes that coincide."""
    drawn = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
    # No position is far: the angles of a float32 answer, which must stay right, are off by 1e-7 of the position.
    for label, group, *arguments in (
        ("the paper's base", "the paper's base", 6, 8),
        ("one pair of features", "the paper's base", 7, 2),
        ("one position", "the paper's base", 1, 6),
        ("many positions", "the paper's base", 60, 10),
        ("a base near 100", "other bases", 5, 12, 60 + 80 * drawn[0]),
        ("a base near 20", "other bases", 9, 4, 12 + 18 * drawn[1]),
        ("as many positions as features", "N = D", 8, 8),
        ("as many positions as pairs", "N = D/2", 3, 6),
    ):
        yield Case(label, tuple(arguments), group=group)


def _waves(length, frequency, of_cosines=None):
    """The table with these frequencies (D/2,), and others for the cosines if given."""
    position = torch.arange(length).unsqueeze(1)
    cosine = torch.cos(position * (frequency if of_cosines is None else of_cosines))
    return torch.stack([torch.sin(position * frequency), cosine], dim=-1).flatten(1)


@mistake(
    "The exponent is i/D: it counts pairs where the formula counts features, so the slowest wave is far too quick. "
    "Which feature does pair i begin with?",
    source="`arange(d_model // 2) / d_model`: the 2 of 2i is lost when the loop already runs over pairs",
)
def pair_number_as_exponent(length, d_model, base=10000.0):
    return _waves(length, base ** (-torch.arange(d_model // 2) / d_model))


@mistake(
    "The index already steps by 2 and is doubled once more: the exponent is 4i/D, and the waves slow down twice as "
    "fast. Is your loop variable i, or 2i already?",
    source="A066: `for i in range(0, d, 2)` with `2 * i` inside",
)
def doubled_twice(length, d_model, base=10000.0):
    return _waves(length, base ** (-2 * torch.arange(0, d_model, 2) / d_model))


@mistake(
    "Every feature doubles its own number, so the sine and the cosine of a pair run at two speeds: they are no longer "
    "one hand of a clock. What have features 2i and 2i + 1 in common?",
    source="A066, A067: row 0 and column 0 come out right, so a look at them shows nothing",
)
def a_wave_each(length, d_model, base=10000.0):
    frequency = base ** (-2 * torch.arange(d_model) / d_model)
    return _waves(length, frequency[0::2], frequency[1::2])


@mistake(
    "The cosine puts its own odd number into the exponent, (2i+1)/D: a bit slower than its sine. "
    "Which of a pair's two numbers stands in both formulas?",
    source="A067, in the form `pe[:, 1::2] = cos(p / base ** (arange(1, d, 2) / d))`",
)
def odd_exponents(length, d_model, base=10000.0):
    frequency = base ** (-torch.arange(d_model) / d_model)
    return _waves(length, frequency[0::2], frequency[1::2])


@mistake(
    "The cosines begin one frequency late: each takes that of the next pair. How fast should the first cosine turn?",
    source="A070: cosine exponents that start at 1; A066 has `2 * (i + 1)` in the line of the cosine",
)
def cosine_of_the_next_pair(length, d_model, base=10000.0):
    frequency = base ** (-torch.arange(0, d_model + 2, 2) / d_model)
    return _waves(length, frequency[:-1], frequency[1:])


@mistake(
    "`-log(base) / D // 2` divides twice and then rounds down to a whole number: `base` and D hardly matter. "
    "What would brackets around the divisor change?",
    source="A069",
)
def floored_step(length, d_model, base=10000.0):
    return _waves(length, torch.exp(torch.arange(d_model // 2) * (-math.log(base) / d_model // 2)))


@mistake(
    "The exponent is 2i, divided by nothing: from the second pair on the waves all but stand still. "
    "What spreads the exponents between 0 and 1?",
    source="E-pe: what the division by D is for is not clear, so it goes missing",
)
def width_left_out(length, d_model, base=10000.0):
    return _waves(length, base ** -torch.arange(0.0, d_model, 2))


@mistake(
    "The positions are multiplied by base^(2i/D): later pairs turn faster, and neighbours look like strangers. "
    "On which side of the fraction bar does the power stand?",
    source="`exp(log(base) * 2i / d)` without the minus",
)
def growing_frequencies(length, d_model, base=10000.0):
    return _waves(length, base ** (torch.arange(0, d_model, 2) / d_model))


@mistake(
    "The last pair turns exactly `base` times slower than the first: the exponent is i/(D/2 - 1). That is another "
    "convention, of tensor2tensor and fairseq. By what does the paper's formula divide 2i?",
    source="tensor2tensor and fairseq: `math.log(10000) / (half_dim - 1)`",
)
def spread_to_the_end(length, d_model, base=10000.0):
    return _waves(length, base ** (-torch.arange(d_model // 2) / max(d_model // 2 - 1, 1)))


@mistake(
    "Cosine stands on the even features and sine on the odd ones. Which of the two does the paper's line for 2i name?",
    source="Fourier series and rotations are written with the cosine first",
)
def cosine_first(length, d_model, base=10000.0):
    return sinusoidal_encoding(length, d_model, base).unflatten(1, (-1, 2)).flip(-1).flatten(1)


@mistake(
    "All sines come first and all cosines after them: the other layout of the field, a model learns with it as well. "
    "Ours is the paper's: which two stand side by side?",
    source="C07: not wrong in itself, differs by an order of features (tensorflow/text#1122)",
)
def halves(length, d_model, base=10000.0):
    waves = sinusoidal_encoding(length, d_model, base)
    return torch.cat([waves[:, 0::2], waves[:, 1::2]], dim=1)


@mistake(
    "10000 is written into the code, so another `base` makes the same waves. Which argument should stand there?",
    source="A070 is about this constant; the paper's number typed where the argument belongs",
)
def base_written_in(length, d_model, base=10000.0):
    return sinusoidal_encoding(length, d_model)


@mistake(
    "Positions count from 1: each row is that of its right neighbour. At which number does this course begin to count?",
    source="'the first word'; some models keep position 0 for the padding",
)
def from_one(length, d_model, base=10000.0):
    return sinusoidal_encoding(length + 1, d_model, base)[1:]


@mistake(
    "The positions are divided by the length first: a word's code changes with the number of words after it. "
    "Should position 3 look different in a longer sentence?",
    source="positions scaled to 0-1, as other features are",
)
def share_of_the_length(length, d_model, base=10000.0):
    return _waves(length, base ** (-torch.arange(0, d_model, 2) / d_model) / length)


@mistake(
    "Both features of a pair are one sine, so the rising half of the wave cannot be told from the falling one. "
    "What should the odd feature add?",
    source="`repeat_interleave(2)` of the frequencies, then one `sin` over all",
)
def sine_alone(length, d_model, base=10000.0):
    return sinusoidal_encoding(length, d_model, base)[:, 0::2].repeat_interleave(2, dim=1)


def by_loop(length, d_model, base=10000.0):
    table = torch.zeros(length, d_model)
    for p in range(length):
        for i in range(0, d_model, 2):
            table[p, i], table[p, i + 1] = math.sin(p / base ** (i / d_model)), math.cos(p / base ** (i / d_model))
    return table


def by_slices(length, d_model, base=10000.0):
    table = torch.zeros(length, d_model)
    frequency = torch.exp(torch.arange(0, d_model, 2) * (-math.log(base) / d_model))
    table[:, 0::2] = torch.sin(torch.arange(length)[:, None] * frequency)
    table[:, 1::2] = torch.cos(torch.arange(length)[:, None] * frequency)
    return table


def by_complex_numbers(length, d_model, base=10000.0):
    angle = torch.outer(torch.arange(length, dtype=torch.float64), base ** -(torch.arange(d_model // 2) * 2 / d_model))
    turned = torch.polar(torch.ones_like(angle), angle)  # cos + i sin
    return torch.view_as_real(turned).flip(-1).reshape(length, d_model)


def by_quarter_turns(length, d_model, base=10000.0):
    """A cosine is a sine a quarter turn ahead."""
    feature = torch.arange(d_model)
    angle = torch.arange(length).unsqueeze(1) / base ** ((feature - feature % 2) / d_model)
    return torch.sin(angle + feature % 2 * math.pi / 2)


def _hands_of_a_clock(function, cases, generator):
    for case in cases:
        waves = call(function, case)
        lengths = waves[:, 0::2] ** 2 + waves[:, 1::2] ** 2
        if not close(lengths, torch.ones_like(lengths), 1e-5):
            return f"sine² + cosine² is not 1 in every pair ({case.label})"
    return None


def _no_length(function, cases, generator):
    for case in cases:
        short, width, *base = case.args
        if not close(call(function, case), call(function, Case(case.label, (short + 3, width, *base)))[:short], 1e-5):
            return f"three more positions change those before them ({case.label})"
    return None


EXERCISE = Exercise(
    name="sinusoidal_encoding",
    reference=sinusoidal_encoding,
    cases=cases,
    laws=(
        Law("a pair is the hand of a clock", _hands_of_a_clock, "Which two features share an angle?"),
        Law("a place has one code", _no_length, "Does the code of a position depend on how many others there are?"),
    ),
    mistakes=(
        pair_number_as_exponent, doubled_twice, a_wave_each, odd_exponents, cosine_of_the_next_pair, floored_step,
        width_left_out, growing_frequencies, spread_to_the_end, cosine_first, halves,
        base_written_in, from_one, share_of_the_length, sine_alone,
    ),
    accepts=(by_loop, by_slices, by_complex_numbers, by_quarter_turns),
    hints=(
        "Pair i has one frequency, base^(-2i/D). Position times frequency is an angle: take its sine and its cosine.",
        "(N, 1) positions times (D/2,) frequencies are (N, D/2) angles: `torch.arange(0, d_model, 2)` is 2i already.",
        "`torch.stack([sin, cos], dim=-1)` is (N, D/2, 2); `flatten(1)` puts each sine beside its cosine.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

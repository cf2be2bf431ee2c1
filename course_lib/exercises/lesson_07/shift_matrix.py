"""Exercise `shift_matrix`: one matrix takes every position k places further."""

import math

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close

from .sinusoidal_encoding import sinusoidal_encoding


def shift_matrix(k, d_model, base=10000.0):
    """The matrix M_k with PE(p + k) = M_k PE(p) for every position p. Returns (d_model, d_model)."""
    angle = k * base ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    cos, sin = angle.cos(), angle.sin()
    blocks = torch.stack([torch.stack([cos, sin], -1), torch.stack([-sin, cos], -1)], -2)  # (D/2, 2, 2)
    return torch.block_diag(*blocks)


def cases(generator):
    """Steps ahead, one pair, none, back, far, other bases: every k is drawn, but 0 and 1."""
    drawn = torch.rand(4, generator=generator, dtype=torch.float64).tolist()
    near, far = int(2 + 4 * drawn[2]), int(50 + 40 * drawn[3])
    for label, group, *arguments in (
        ("a few steps", "ahead", near, 6),
        ("one step", "ahead", 1, 8),
        ("one pair of features", "ahead", near + 2, 2),
        ("no step at all", "no step", 0, 4),
        ("steps back", "back", -near, 8),
        ("a long way", "far", far, 10),
        ("a base near 100", "other bases", near, 6, 60 + 80 * drawn[0]),
        ("a base near 20, back", "other bases", -near - 1, 4, 12 + 18 * drawn[1]),
        ("as many steps as features", "k = D", 6, 6),
    ):
        yield Case(label, tuple(arguments), group=group)


def _blocks(upper, lower):
    """Blocks along the diagonal. upper, lower: the two rows of each block, a pair of (D/2,)."""
    rows = torch.stack([torch.stack(upper, -1), torch.stack(lower, -1)], -2)  # (D/2, 2, 2)
    return torch.block_diag(*rows)


def _turned(angle):
    """The right blocks for the angles (D/2,)."""
    return _blocks((angle.cos(), angle.sin()), (-angle.sin(), angle.cos()))


@mistake(
    "The two sines have each other's sign, so M_k walks back: it gives PE(p - k). The matrix of a rotation as in books "
    "is for (cos, sin). In which order does a pair stand here?",
    source="the textbook's [[cos, -sin], [sin, cos]] put onto (sin, cos), or a transpose on the way",
)
def backwards(k, d_model, base=10000.0):
    return shift_matrix(k, d_model, base).T


@mistake(
    "Neither sine has a minus, so a block is no rotation: it stretches one direction and shrinks another. "
    "What is cos(a + b), written with sines and cosines of a and b?",
    source="the second addition theorem remembered like the first",
)
def no_minus(k, d_model, base=10000.0):
    angle = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    return _blocks((angle.cos(), angle.sin()), (angle.sin(), angle.cos()))


@mistake(
    "The minus stands at a cosine, which makes every block a mirror: two steps of 1 would lead back to the start. "
    "Which block leaves all as it is for k = 0?",
    source="[[cos, sin], [sin, -cos]]: a reflection, often printed beside the rotation",
)
def mirrored(k, d_model, base=10000.0):
    angle = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    return _blocks((angle.cos(), angle.sin()), (angle.sin(), -angle.cos()))


@mistake(
    "The first pair is turned and the others stay as they are. Which waves move when the position does?",
    source="the 2 by 2 matrix of the derivation, written into a corner of the identity",
)
def first_pair_alone(k, d_model, base=10000.0):
    turned = torch.eye(d_model)
    turned[:2, :2] = shift_matrix(k, d_model, base)[:2, :2]
    return turned


@mistake(
    "Every pair is turned by k itself, as if all waves were equally fast. By what is a position multiplied in pair i?",
    source="the rotation by k known from the plane; the frequency belongs to the angle",
)
def one_speed(k, d_model, base=10000.0):
    return _turned(torch.full((d_model // 2,), float(k)))


@mistake(
    "The frequencies are there and k is not: this is one step, whatever k says. How far does a wave turn in k steps?",
    source="the angle copied without its position; A079 is the same in a rotation",
)
def one_step_always(k, d_model, base=10000.0):
    return shift_matrix(1, d_model, base)


@mistake(
    "k multiplies the matrix of one step, so its rows grow k times as long. "
    "Applying a matrix twice, is that twice the matrix?",
    source="'k steps are k times one step'",
)
def k_times_one_step(k, d_model, base=10000.0):
    return k * shift_matrix(1, d_model, base)


@mistake(
    "The exponent is i/D, the number of the pair: these are not the frequencies of your encoding. "
    "What stands in the exponent of PE(p, 2i)?",
    source="`arange(d_model // 2) / d_model`, with the 2 of 2i lost",
)
def pair_number_as_exponent(k, d_model, base=10000.0):
    return _turned(k * base ** (-torch.arange(d_model // 2) / d_model))


@mistake(
    "10000 stands in the code, so the matrix fits an encoding of that base only. "
    "Which argument do your frequencies leave unread?",
    source="A070 is about this constant; the paper's number typed where the argument belongs",
)
def base_written_in(k, d_model, base=10000.0):
    return shift_matrix(k, d_model)


@mistake(
    "This matrix is for the other layout, all sines first and all cosines after them. "
    "Where in a row of our encoding does the cosine of pair 0 stand?",
    source="C07: right for the layout of two halves",
)
def for_halves(k, d_model, base=10000.0):
    angle = k * base ** (-torch.arange(0, d_model, 2) / d_model)
    cos, sin = torch.diag(angle.cos()), torch.diag(angle.sin())
    return torch.cat([torch.cat([cos, sin], 1), torch.cat([-sin, cos], 1)])


@mistake(
    "The ones moved k places along the row: this shifts the features of a vector, not the position that they describe. "
    "What happens to a wave when its position grows by k?",
    source="'shift matrix' in linear algebra has its ones beside the diagonal",
)
def features_moved(k, d_model, base=10000.0):
    return torch.roll(torch.eye(d_model), k, dims=1)


@mistake(
    "PE(k) stands on the diagonal, so each feature is multiplied by one number. But sin(a + b) needs the cosine of a "
    "too: from which place of PE(p) could it come?",
    source="exp(a + b) = exp(a) exp(b), hoped for with sines",
)
def encoding_on_the_diagonal(k, d_model, base=10000.0):
    return torch.diag(sinusoidal_encoding(abs(k) + 1, d_model, base)[abs(k)])


@mistake(
    "It is right for position 0 and for no other: built from PE(0) and PE(k) alone, as their outer product. "
    "For how many positions does one M_k have to hold?",
    source="one equation, PE(k) = M PE(0), solved; a matrix has room for D of them",
)
def fitted_at_zero(k, d_model, base=10000.0):
    start = sinusoidal_encoding(1, d_model, base)[0]
    return torch.outer(shift_matrix(k, d_model, base) @ start, start) / (start @ start)


def by_loop(k, d_model, base=10000.0):
    matrix = torch.zeros(d_model, d_model)
    for i in range(0, d_model, 2):
        angle = k / base ** (i / d_model)
        matrix[i, i] = matrix[i + 1, i + 1] = math.cos(angle)
        matrix[i, i + 1], matrix[i + 1, i] = math.sin(angle), -math.sin(angle)
    return matrix


def by_diagonals(k, d_model, base=10000.0):
    angle = k * torch.exp(-math.log(base) * torch.arange(0, d_model, 2) / d_model)
    beside = torch.stack([angle.sin(), torch.zeros_like(angle)], 1).flatten()[:-1]  # 0 between two blocks
    return torch.diag(angle.cos().repeat_interleave(2)) + torch.diag(beside, 1) - torch.diag(beside, -1)


def by_powers_of_one_step(k, d_model, base=10000.0):
    angle = torch.pow(base, -torch.arange(0, d_model, 2) / d_model)
    even, odd = torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)
    step = torch.diag(angle.cos().repeat_interleave(2))
    step[even, odd], step[odd, even] = angle.sin(), -angle.sin()
    return torch.linalg.matrix_power(step if k >= 0 else step.T, abs(k))


def by_einsum(k, d_model, base=10000.0):
    angle, pairs = k / base ** (2 * torch.arange(d_model // 2) / d_model), torch.eye(d_model // 2)
    still, quarter = torch.eye(2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    parts = [torch.einsum("i,ij,ab->iajb", f, pairs, m) for f, m in ((angle.cos(), still), (angle.sin(), quarter))]
    return sum(parts).reshape(d_model, d_model)


def by_matrix_exponential(k, d_model, base=10000.0):
    """A rotation is the exponential of its speed: M_k = exp(k G)."""
    speed = base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.matrix_exp(k * torch.block_diag(*[f * torch.tensor([[0.0, 1.0], [-1.0, 0.0]]) for f in speed]))


def _moves(function, cases, generator):
    for case in cases:
        k, *others = case.args
        waves, first = sinusoidal_encoding(abs(k) + 9, *others), max(-k, 0)
        matrix = call(function, case).to(waves.dtype)
        for p in range(first, first + 9):
            if not close(matrix @ waves[p], waves[p + k], 1e-5):
                return f"M_k PE({p}) is not PE({p + k}) for k = {k} ({case.label})"
    return None


def _rotation(function, cases, generator):
    for case in cases:
        matrix = call(function, case)
        if not close(matrix @ matrix.T, torch.eye(len(matrix)), 1e-5):
            return f"M_k is no rotation: M_k times its transpose is not the identity ({case.label})"
    return None


EXERCISE = Exercise(
    name="shift_matrix",
    reference=shift_matrix,
    cases=cases,
    laws=(
        Law("lengths stay", _rotation, "What does a step do to the length of each pair (sine, cosine)?"),
        Law("every position moves", _moves, "What are sin(a + b) and cos(a + b), with a from PE(p) and b from M_k?"),
    ),
    mistakes=(
        backwards, no_minus, mirrored, first_pair_alone, one_speed, one_step_always, k_times_one_step,
        pair_number_as_exponent, base_written_in, for_halves, features_moved,
        encoding_on_the_diagonal, fitted_at_zero,
    ),
    accepts=(by_loop, by_diagonals, by_powers_of_one_step, by_einsum, by_matrix_exponential),
    hints=(
        "sin(a + b) = sin a cos b + cos a sin b, cos(a + b) = cos a cos b - sin a sin b. b is k times the frequency.",
        "So a pair (sin a, cos a) becomes [[cos b, sin b], [-sin b, cos b]] times itself, and pairs do not mix.",
        "One 2 by 2 block a pair, along the diagonal: `torch.block_diag(*blocks)`, or a loop that fills zeros.",
    ),
    minutes=10,
    difficulty=3,
    points=2,
)  # fmt: skip

"""Exercise `split_heads`: each token's features, dealt out to the heads block by block."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close, reordered, rows_independent


def split_heads(x, num_heads):
    """(B, N, D) to (B, H, N, D/H): head h gets the h-th block of D/H numbers of every token."""
    B, N, D = x.shape
    return x.reshape(B, N, num_heads, D // num_heads).transpose(1, 2)  # (B, H, N, D/H)


def numbered(*shape):
    """A tensor that shows where each entry comes from: 1000, 100 and 1 count along its last three axes."""
    places = [torch.arange(size, dtype=torch.float64) for size in shape[-3:]]
    first, second, last = torch.meshgrid(*places, indexing="ij")
    return 1000 * first + 100 * second + last


def cases(generator):
    """Entries that tell their place, unequal sizes, length 1, then sizes that coincide, so that wrong shapes agree."""

    def draw(B, N, H, d):
        return torch.randn(B, N, H * d, generator=generator, dtype=torch.float64), H

    place = "entry j of token n in row b is 1000·b + 100·n + j"
    yield Case(place, (numbered(2, 3, 20), 4), group="numbered")
    yield Case("three heads", draw(2, 4, 3, 5), group="unequal sizes")
    yield Case("one sentence", draw(1, 3, 2, 4), group="unequal sizes")
    yield Case("one token", draw(3, 1, 2, 5), group="one token")
    yield Case("one head", draw(2, 3, 1, 4), group="one head")
    yield Case("one number a head", draw(2, 3, 4, 1), group="one number a head")
    yield Case("as many heads as sentences", draw(3, 4, 3, 2), group="B = H")
    yield Case("as many heads as tokens", draw(2, 3, 3, 4), group="H = N")
    yield Case("as many tokens as numbers a head", draw(2, 4, 3, 4), group="N = D/H")
    yield Case("as many heads as numbers a head", draw(2, 4, 3, 3), group="H = D/H")
    yield Case("B = H = N = D/H", draw(3, 3, 3, 3), group="all equal")


@mistake(
    "A reshape straight to (B, H, N, D/H) reads the numbers on in the order in which they stand: a head gets whole "
    "tokens, broken into rows, not a piece of each token. Which axis has to be cut before any axis changes its place?",
    source="A056",
)
def view_without_transpose(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, num_heads, N, D // num_heads)


@mistake(
    "The heads take turns: head h gets numbers h, h + H, h + 2H of a token, and blocks are asked for. "
    "Of the last two axes that you make of D, which one changes slowly, and is it the heads?",
    source="the two sizes of a reshape exchanged; as good a convention, but weights trained with the other do not fit",
)
def taking_turns(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, N, D // num_heads, num_heads).permute(0, 3, 1, 2)


@mistake(
    "Each token is cut rightly, but the heads still stand behind the tokens: (B, N, H, D/H). Attention compares along "
    "the last two axes; what would it compare here?",
    source="stopped after the reshape: every token then attends over its own heads",
)
def heads_behind_tokens(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, N, num_heads, D // num_heads)


@mistake(
    "The heads come before the batch: (H, B, N, D/H). Attention does not mind, a mask (B, 1, T, S) does. "
    "Along which axis does `stack` put the pieces?",
    source="`torch.stack(x.chunk(H, -1))`, whose axis is 0 unless said; A048 follows from it",
)
def heads_before_batch(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1))


@mistake(
    "`num_heads` has become the width of a head: with 8 heads of 64 numbers you get 64 heads of 8. "
    "Does your function ask for the number of pieces or for their size?",
    source="`Tensor.split` takes a size, `Tensor.chunk` a number; or two sizes of a reshape exchanged",
)
def pieces_of_that_size(x, num_heads):
    return torch.stack(x.split(num_heads, dim=-1), dim=1)


@mistake(
    "The last two axes have changed places as well, (B, H, D/H, N), as if every result were a key about to be "
    "multiplied. Which two axes, and only these, should be exchanged?",
    source="`split_heads(x, k=True)` of the first GPT code, which turns the keys on the way",
)
def turned_for_keys(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, N, num_heads, D // num_heads).permute(0, 2, 3, 1)


@mistake(
    "Every head gets all D numbers: nothing is split, and H heads cost H times as much. How wide is one head of a "
    "model of width 512 with 8 heads?",
    source="the 'wide' self-attention of some tutorials: H attentions of full width",
)
def full_width(x, num_heads):
    return x.unsqueeze(1).expand(-1, num_heads, -1, -1)


@mistake(
    "The slices overlap: head h starts at number h, so most numbers are dealt out several times and the last ones "
    "never. At which number does the block of head 1 start?",
    source="`x[..., h : h + d]` in a loop, for `h * d`",
)
def overlapping(x, num_heads):
    width = x.shape[-1] // num_heads
    return torch.stack([x[..., h : h + width] for h in range(num_heads)], dim=1)


@mistake(
    "Heads and batch are one axis, (B·H, N, D/H): right numbers in the form that batched products used to need. "
    "Which axis should this course's masks meet between batch and tokens?",
    source="d2l's `transpose_qkv`: the older form, for `bmm`",
)
def folded_into_the_batch(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, N, num_heads, D // num_heads).transpose(1, 2).reshape(B * num_heads, N, D // num_heads)


def by_chunks(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def by_unflatten(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(-2, 1)


def by_einsum(x, num_heads):
    D = x.shape[-1]
    picks = torch.eye(D, dtype=x.dtype).view(num_heads, D // num_heads, D)
    return torch.einsum("bnf,hdf->bhnd", x, picks)


def by_slices(x, num_heads):
    B, N, D = x.shape
    width = D // num_heads
    out = x.new_empty(B, num_heads, N, width)
    for h in range(num_heads):
        out[:, h] = x[:, :, h * width : (h + 1) * width]
    return out


def by_index(x, num_heads):
    columns = torch.arange(x.shape[-1]).reshape(num_heads, 1, -1)  # (H, 1, D/H)
    return x[:, torch.arange(x.shape[1])[:, None], columns]


def _put_back(function, cases, generator):
    for case in cases:
        heads = call(function, case)
        if not close(heads.swapaxes(1, 2).flatten(2), case.args[0]):
            return f"each token's heads side by side do not give the token again ({case.label})"
    return None


EXERCISE = Exercise(
    name="split_heads",
    reference=split_heads,
    cases=cases,
    laws=(
        rows_independent({0}),
        reordered("tokens stay whole", {0: (1,)}, {0: (2,)},
                  "Where does a head find its piece of token 0, and is there anything of token 1 beside it?"),
        Law("nothing lost", _put_back, "Which numbers of a token does head 0 get, and which head gets the last one?"),
    ),
    mistakes=(
        view_without_transpose, taking_turns, heads_behind_tokens, heads_before_batch, pieces_of_that_size,
        turned_for_keys, full_width, overlapping, folded_into_the_batch,
    ),
    accepts=(by_chunks, by_unflatten, by_einsum, by_slices, by_index),
    hints=(
        "First cut, then move: each token's D numbers become H blocks; after that the axis of heads goes to its place.",
        "`x.reshape(B, N, num_heads, D // num_heads)` cuts the last axis alone, so every number stays with its token.",
        "Exchange axes 1 and 2 with `transpose`. A reshape to the final shape would read the numbers in another order.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

"""Exercise `merge_heads`: what the heads found, side by side again for each token."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close, reordered, rows_independent

from .split_heads import numbered, split_heads


def merge_heads(x):
    """(B, H, N, d) to (B, N, H·d): the heads of each token side by side, the inverse of split_heads."""
    B, H, N, d = x.shape
    return x.transpose(1, 2).reshape(B, N, H * d)  # (B, N, H, d) to (B, N, H·d)


def cases(generator):
    """Entries that tell their place, unequal sizes, length 1, then sizes that coincide, so that wrong shapes agree."""

    def draw(*shape):
        return (torch.randn(*shape, generator=generator, dtype=torch.float64),)

    place = "entry j of token n in head h is 1000·h + 100·n + j, one sentence"
    yield Case(place, (numbered(4, 3, 5).unsqueeze(0),), group="numbered")
    yield Case("two sentences", draw(2, 3, 4, 5), group="unequal sizes")
    yield Case("one token", draw(3, 2, 1, 5), group="one token")
    yield Case("one head", draw(2, 1, 3, 4), group="one head")
    yield Case("one number a head", draw(2, 4, 3, 1), group="one number a head")
    yield Case("as many heads as sentences", draw(3, 3, 4, 2), group="B = H")
    yield Case("as many heads as tokens", draw(2, 3, 3, 4), group="H = N")
    yield Case("as many tokens as numbers a head", draw(2, 3, 4, 4), group="N = d")
    yield Case("as many heads as numbers a head", draw(2, 3, 4, 3), group="H = d")
    yield Case("B = H = N = d", draw(3, 3, 3, 3), group="all equal")


@mistake(
    "The reshape runs over axes that still stand as (H, N): a row of the result holds several tokens of one head, not "
    "the heads of one token. Which two axes must be neighbours before they become one?",
    source="A057",
)
def no_transpose_back(x):
    B, H, N, d = x.shape
    return x.reshape(B, N, H * d)


@mistake(
    "The heads are dealt out in turns: their first numbers, then their second ones, where `split_heads` cut blocks. "
    "Which of H and d changes faster along the merged axis?",
    source="permute(0, 2, 3, 1) for (0, 2, 1, 3): the head axis moved one place too far",
)
def numbers_in_turns(x):
    B, H, N, d = x.shape
    return x.permute(0, 2, 3, 1).reshape(B, N, d * H)


@mistake(
    "The last two axes are exchanged, N and d, so the reshape tears tokens apart. Which axis has to come to the "
    "features, and which one does it pass on the way?",
    source="`transpose(-2, -1)` from the scores, used here as well",
)
def wrong_pair_exchanged(x):
    B, H, N, d = x.shape
    return x.mT.reshape(B, N, H * d)


@mistake(
    "The heads are averaged: what one of them found is blurred by the others, and the token shrinks to d numbers. "
    "What can W_O choose from after a mean, and what if the heads stand side by side?",
    source="A063",
)
def averaged(x):
    return x.mean(dim=1)


@mistake(
    "The heads are added up, so nobody can tell any more which head said what. What does 'Concat' in the formula do "
    "with eight vectors of 64 numbers?",
    source="A063's sister: the residual stream adds, so the heads are added too",
)
def summed(x):
    return x.sum(dim=1)


@mistake(
    "For each number the largest head wins and the others are lost. Which part of the layer is to decide how the "
    "heads are weighed against each other?",
    source="A063: max-pooled heads, as with the channels of a convolution",
)
def loudest_head(x):
    return x.amax(dim=1)


@mistake(
    "The heads are laid end to end along the sentence, which is H times as long now. "
    "Along which axis should a token grow wider?",
    source="`torch.cat(heads, dim=1)`: the axis of tokens, once the heads are unbound",
)
def end_to_end(x):
    return torch.cat(x.unbind(dim=1), dim=1)


@mistake(
    "Tokens and numbers of a head are run together, (B, H, N·d): one long row a head. "
    "What should one row of the result belong to, a head or a token?",
    source="`flatten(2)` without the transpose; H = N hides the shape",
)
def tokens_run_together(x):
    return x.flatten(2)


@mistake(
    "Batch and heads are read in the wrong order: a token gets heads of other sentences. In (B, H, N, d), which of "
    "the first two axes changes faster as you read on?",
    source="A048's twin: code for (H·B, N, d), head by head, met by tensors that go sentence by sentence",
)
def heads_of_other_sentences(x):
    B, H, N, d = x.shape
    return x.reshape(H, B, N, d).permute(1, 2, 0, 3).reshape(B, N, H * d)


@mistake(
    "The result is right, but the caller's tensor is turned round as well: `transpose_` ends in an underscore. "
    "What does the underscore mean in torch, and who still needs x as it was?",
    source="A090",
)
def turned_in_place(x):
    B, H, N, d = x.shape
    return x.transpose_(1, 2).reshape(B, N, H * d)


def by_cat(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def by_contiguous_view(x):
    B, H, N, d = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(B, N, -1)


def by_einsum(x):
    _, H, _, d = x.shape
    places = torch.eye(H * d, dtype=x.dtype).unflatten(0, (H, d))  # (H, d, H·d)
    return torch.einsum("bhnd,hdf->bnf", x, places)


def by_blocks(x):
    B, H, N, d = x.shape
    out = x.new_zeros(B, N, H * d)
    for h in range(H):
        out[..., h * d : (h + 1) * d] = x[:, h]
    return out


def token_by_token(x):
    return torch.stack([x[:, :, n].flatten(1) for n in range(x.shape[2])], dim=1)


def _undoes_split(function, cases, generator):
    for case in cases:
        B, H, N, d = case.args[0].shape
        x = torch.randn(B, N, H * d, generator=generator, dtype=torch.float64)
        if not close(call(function, Case(case.label, (split_heads(x, H),))), x):
            return f"after `split_heads`, merging does not give x again ({case.label})"
    return None


EXERCISE = Exercise(
    name="merge_heads",
    reference=merge_heads,
    cases=cases,
    laws=(
        rows_independent({0}),
        reordered("tokens stay whole", {0: (2,)}, {0: (1,)},
                  "Which numbers of x belong to token 0, and do all of them land in row 0?"),
        Law("undoes split_heads", _undoes_split, "What did `split_heads` do last, and what has to be undone first?"),
    ),
    mistakes=(
        no_transpose_back, numbers_in_turns, wrong_pair_exchanged, averaged, summed, loudest_head, end_to_end,
        tokens_run_together, heads_of_other_sentences, turned_in_place,
    ),
    accepts=(by_cat, by_contiguous_view, by_einsum, by_blocks, token_by_token),
    hints=(
        "Undo `split_heads` step by step, the last step first.",
        "`transpose(1, 2)` puts the heads next to the numbers again: (B, N, H, d).",
        "Now the last two axes become one. `view` may refuse a transposed tensor; `reshape` copies where it must.",
    ),
    minutes=4,
    difficulty=1,
    points=1,
)  # fmt: skip

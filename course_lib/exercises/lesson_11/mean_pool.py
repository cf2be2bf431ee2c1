"""Exercise `mean_pool`: one vector for a whole text, the mean over its real tokens."""

import torch

from course_lib.checking import Case, Exercise
from course_lib.checking.laws import padding_ignored, reordered, rows_independent
from course_lib.exercises.drawn_masks import up_to
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from .mean_pool_mistakes import MISTAKES


def mean_pool(x, mask):
    """One vector for a whole text: the mean over its real tokens.

    x: (B, S, D). mask: (B, 1, S) bool, True = real, as `padding_mask` makes it. A text without any real token gets 0.
    Returns (B, D).
    """
    real = x.masked_fill(~mask.mT, 0.0)  # (B, S, D)
    return real.sum(dim=1) / mask.sum(dim=-1).clamp(min=1)  # (B, D) / (B, 1)


def cases(generator):
    """Padding, one text, one token, one feature, no token; loud padding, padding in front; sizes that coincide."""

    def tokens(B, S, D):
        return 1 + 1.5 * torch.randn(B, S, D, generator=generator, dtype=torch.float64)

    yield Case("lengths 5, 2 and 3", (tokens(3, 5, 4), up_to(5, 5, 2, 3)), group="padding")
    yield Case("no padding", (tokens(2, 3, 5), up_to(3, 3, 3)), group="padding")
    yield Case("no text fills the batch", (tokens(2, 6, 3), up_to(6, 4, 1)), group="padding")
    yield Case("one text", (tokens(1, 4, 3), up_to(4, 3)), group="one text")
    yield Case("one token a text", (tokens(3, 1, 4), up_to(1, 1, 1, 1)), group="one token")
    yield Case("one text, one token", (tokens(1, 1, 2), up_to(1, 1)), group="one token")
    yield Case("one feature", (tokens(2, 4, 1), up_to(4, 2, 4)), group="one feature")
    yield Case("padding in front", (tokens(2, 5, 3), up_to(5, 3, 4).flip(-1)), group="padding in front")
    mask = up_to(4, 2, 3)
    yield Case("1,000,000 at the padding", (tokens(2, 4, 3).masked_fill(~mask.mT, 1e6), mask), group="loud padding")
    yield Case("a text of padding alone", (tokens(3, 4, 2), up_to(4, 4, 0, 2)), group="nothing real")
    yield Case("as many tokens as features", (tokens(2, 4, 4), up_to(4, 3, 2)), group="S = D")
    yield Case("as many texts as tokens", (tokens(4, 4, 3), up_to(4, 4, 1, 2, 3)), group="B = S")
    yield Case("as many texts as features", (tokens(3, 5, 3), up_to(5, 4, 5, 2)), group="B = D")
    yield Case("every size 4", (tokens(4, 4, 4), up_to(4, 1, 4, 2, 3)), group="all equal")


def by_product(x, mask):
    """A row of 1 and 0 times the tokens is their sum."""
    weights = mask.to(x.dtype)  # (B, 1, S)
    return (weights @ x).squeeze(1) / weights.sum(dim=2).clamp(min=1e-9)


def by_shares(x, mask):
    """Each real token has its share of one whole."""
    real = mask[:, 0]
    shares = real / real.sum(1, keepdim=True).clamp(min=1)  # (B, S)
    return torch.einsum("bs,bsd->bd", shares.to(x.dtype), x)


def by_attention(x, mask):
    """A query of zeros finds every key equally like it: attention is then the mean of what it may see."""
    nothing = torch.zeros_like(x[:, :1])  # (B, 1, D)
    return masked_attention(nothing, x, x, mask)[0].squeeze(1)


def by_text(x, mask):
    rows = [tokens[real] for tokens, real in zip(x, mask.squeeze(1), strict=True)]
    return torch.stack([row.mean(dim=0) if len(row) else row.sum(dim=0) for row in rows])


def by_index_add(x, mask):
    """All real tokens in one list, each added to the row of its text."""
    text, place = mask.squeeze(1).nonzero(as_tuple=True)
    totals = torch.zeros(x.shape[0], x.shape[2], dtype=x.dtype).index_add(0, text, x[text, place])
    return totals / torch.bincount(text, minlength=len(x)).clamp(min=1).unsqueeze(1)


def by_nan(x, mask):
    """What is not there is no number, and the mean passes it over."""
    return torch.where(mask.mT, x, torch.nan).nanmean(dim=1).nan_to_num(0.0)


EXERCISE = Exercise(
    name="mean_pool",
    reference=mean_pool,
    cases=cases,
    laws=(
        padding_ignored(0, lambda case: ~case.args[1].squeeze(1)),
        rows_independent({0, 1}),
        reordered("the order of tokens does not matter", {0: (1,), 1: (-1,)}, {},
                  "If tokens and mask come in another order, what should happen to their mean?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_product, by_shares, by_attention, by_text, by_index_add, by_nan),
    hints=(
        "A mean is a sum divided by a count. Both must leave padding out.",
        "x is (B, S, D), the mask (B, 1, S). `mask.mT` is (B, S, 1): now it says of each token, for all D features at "
        "once, whether it is real. `x.masked_fill(~mask.mT, 0.0)` empties the others.",
        "`mask.sum(dim=-1)` counts the real tokens, (B, 1). `.clamp(min=1)` spares a text without any the 0 / 0.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

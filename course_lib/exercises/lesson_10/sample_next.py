"""Exercise `sample_next`: temperature, top-k (Fan et al. 2018) and top-p (Holtzman et al. 2020) before a draw."""

import math
from itertools import accumulate

import torch

from course_lib.checking import Case, Exercise

from . import sample_next_filter_mistakes, sample_next_mistakes, sample_next_nucleus_mistakes
from .sample_next_laws import LAWS


def sample_next(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """Draw the next token of each row, after unlikely ones were made rarer or ruled out.

    logits: (B, V). draw: function (probabilities (B, V)) -> ids (B,). temperature: the logits are divided by it; at 0
    the likeliest token alone is left. top_k: of these only the k likeliest are left. top_p: of these only the fewest
    tokens, likeliest first, whose probabilities sum to at least top_p. None leaves a filter out. What is left sums to 1
    each time. Returns ids (B,), as drawn, and the probabilities (B, V) that they were drawn by.
    """
    if temperature == 0:
        temperature, top_k = 1.0, 1
    ranked, order = (logits / temperature).sort(dim=-1, descending=True)
    p = ranked.softmax(dim=-1)  # (B, V), the likeliest first
    if top_k is not None:
        p = p * (torch.arange(p.shape[-1]) < top_k)
        p = p / p.sum(dim=-1, keepdim=True)
    if top_p is not None:
        before = p.cumsum(dim=-1) - p  # of all tokens that are likelier
        p = p * (before < top_p)
        p = p / p.sum(dim=-1, keepdim=True)
    probabilities = torch.zeros_like(p).scatter(-1, order, p)  # back to the order of the vocabulary
    return draw(probabilities), probabilities


def drawn_at(u):
    """A draw without chance: the token in whose stretch of the line from 0 to 1 the number u lies."""

    def draw(probabilities):
        return (probabilities.cumsum(dim=-1) < u).sum(dim=-1)

    return draw


def rarest(probabilities):
    """A draw without chance: of all tokens that can be drawn, the unlikeliest."""
    return torch.where(probabilities > 1e-9, probabilities, math.inf).argmin(dim=-1)


# Shares of the tokens of a row, likeliest first: decided, in between, and undecided. Each top_p below lies far from all
# of their sums.
SURE = (0.70, 0.10, 0.08, 0.06, 0.04, 0.02)
MIDDLE = (0.40, 0.25, 0.15, 0.10, 0.06, 0.04)
OPEN = (0.24, 0.21, 0.19, 0.16, 0.12, 0.08)


def cases(generator):
    """Each argument alone, then together; temperature 0 and its neighbours; large logits; V = 1, B = 1, B = V."""

    def logits(*shares, temperature=1.0):
        """Scores whose softmax at this temperature is about these shares, shuffled, each row at a level of its own."""
        rows = []
        for row in shares:
            scores = torch.tensor(row, dtype=torch.float64).log()
            scores = scores + 0.06 * torch.rand(len(row), generator=generator, dtype=torch.float64)
            level = 3.0 * torch.randn((), generator=generator, dtype=torch.float64)
            rows.append((temperature * scores + level)[torch.randperm(len(row), generator=generator)])
        return torch.stack(rows)

    def case(label, group, scores, draw, *rest):
        # No gradients: who writes a text needs none, so `torch.no_grad` is as right.
        return Case(label, (scores, draw, *rest), group=group, gradient=False)

    yield case("no filter", "no filter", logits(MIDDLE, OPEN), drawn_at(0.6))
    yield case("no filter, the rarest is drawn", "no filter", logits(SURE, OPEN, MIDDLE), rarest)
    yield case("cold", "temperature", logits(OPEN, MIDDLE, OPEN, temperature=0.5), drawn_at(0.6), 0.5)
    yield case("hot", "temperature", logits(MIDDLE, SURE, temperature=2.5), rarest, 2.5)
    yield case("temperature 0", "temperature 0", logits(OPEN, MIDDLE, SURE), rarest, 0)
    yield case("two are left", "top_k", logits(MIDDLE, OPEN, SURE), rarest, 1.0, 2)
    yield case("one is left", "top_k", logits(OPEN, MIDDLE), drawn_at(0.5), 1.0, 1)
    yield case("one is ruled out", "top_k", logits(OPEN, OPEN, MIDDLE), drawn_at(0.9), 1.0, 5)
    yield case("top_k = V", "top_k", logits(OPEN, SURE), rarest, 1.0, 6)
    yield case("a wide nucleus", "top_p", logits(MIDDLE, SURE, OPEN), rarest, 1.0, None, 0.85)
    yield case("the first alone is enough in a row", "top_p", logits(OPEN, SURE, MIDDLE), rarest, 1.0, None, 0.55)
    yield case("a narrow nucleus", "top_p", logits(SURE, MIDDLE, OPEN), drawn_at(0.5), 1.0, None, 0.34)
    yield case("top_p = 1", "top_p", logits(MIDDLE, OPEN), rarest, 1.0, None, 1.0)
    yield case("both filters", "both filters", logits(MIDDLE, OPEN, SURE), rarest, 1.0, 3, 0.75)
    yield case("both, four left at most", "both filters", logits(MIDDLE, SURE), drawn_at(0.7), 1.0, 4, 0.79)
    yield case("cold, top_k", "all together", logits(OPEN, MIDDLE, temperature=0.5), drawn_at(0.6), 0.5, 3)
    yield case("hot, top_p", "all together", logits(MIDDLE, OPEN, SURE, temperature=2.0), rarest, 2.0, None, 0.55)
    yield case("cold, both", "all together", logits(OPEN, MIDDLE, SURE, temperature=0.7), rarest, 0.7, 5, 0.76)
    yield case("temperature 0, both", "all together", logits(MIDDLE, OPEN), drawn_at(0.4), 0, 3, 0.3)
    large = logits(MIDDLE, OPEN, SURE) + torch.tensor([[1000.0], [-1000.0], [0.0]], dtype=torch.float64)
    yield case("logits of ±1,000", "large logits", large, rarest, 1.0, 5, 0.78)
    close_call = torch.tensor([[0.0, -0.03, -2.0, 0.5, 0.47], [1.0, 3.03, 2.0, 3.0, -1.0]], dtype=torch.float64)
    yield case("temperature 0.001", "extreme temperatures", close_call, drawn_at(0.5), 1e-3)
    yield case("temperature 1,000", "extreme temperatures", logits(SURE, MIDDLE), rarest, 1e3, None, 0.6)
    yield case("one row", "one row", logits(MIDDLE), rarest, 1.5, 4, 0.8)
    yield case("a vocabulary of one", "one token", logits((1.0,), (1.0,)), rarest, 0.5, 1, 0.5)
    yield case("B = V", "B = V", logits(SURE, OPEN, MIDDLE, OPEN, MIDDLE, SURE), drawn_at(0.8), 1.0, 4, 0.77)


@torch.no_grad()
def by_masking(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """-inf for what is ruled out, as in nanoGPT and transformers, and one softmax at the end."""
    top_k = 1 if temperature == 0 else top_k
    scores = logits / (temperature or 1.0)
    if top_k is not None:
        lowest = torch.topk(scores, min(top_k, scores.size(-1)))[0][..., -1, None]
        scores = scores.masked_fill(scores < lowest, -float("inf"))
    if top_p is not None:
        ascending, indices = torch.sort(scores, descending=False)
        remove = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - top_p
        remove[..., -1:] = False
        scores = scores.masked_fill(remove.scatter(1, indices, remove), -float("inf"))
    p = torch.softmax(scores, dim=-1)
    return draw(p), p


def by_clamping(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """A temperature so small that the others' share rounds to 0; whoever is beaten by k others, or by top_p, is out."""
    p = ((logits - logits.amax(1, keepdim=True)) / max(temperature, 1e-8)).softmax(1)
    is_likelier = (logits[:, None, :] > logits[:, :, None]).to(p.dtype)  # (B, V, V), [b, i, j]: j is likelier than i
    if top_k is not None:
        p = torch.where(is_likelier.sum(2) < top_k, p, 0.0)
        p = p / p.sum(1, keepdim=True)
    if top_p is not None:
        p = torch.where(torch.einsum("bij,bj->bi", is_likelier, p) < top_p, p, 0.0)
        p = p / p.sum(1, keepdim=True)
    return draw(p), p


def by_rows(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """A loop over rows, and a list of what is kept in each."""
    rows = []
    for scores in logits / max(temperature, 1e-6):
        V = len(scores)
        kept = sorted(range(V), key=lambda token, scores=scores: -scores[token].item())[:top_k]
        p = scores[kept].softmax(0)
        if top_p is not None:
            sums = list(accumulate(p.tolist()))
            size = next((size for size, mass in enumerate(sums, 1) if mass >= top_p), len(sums))
            kept, p = kept[:size], p[:size] / p[:size].sum()
        rows.append(torch.zeros(V, dtype=p.dtype).index_put((torch.tensor(kept),), p))
    probabilities = torch.stack(rows)
    return draw(probabilities), probabilities


def by_logarithms(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """Log-probabilities throughout, renormalised by subtracting a log-sum-exp."""
    highest = logits.argmax(dim=-1, keepdim=True)
    if temperature == 0:
        p = torch.zeros_like(logits).scatter(-1, highest, torch.ones_like(logits))
        return draw(p), p
    log_p = torch.log_softmax(logits.div(temperature), dim=-1)
    rank = log_p.argsort(dim=-1, descending=True).argsort(dim=-1)  # (B, V)
    for limit in (top_k, top_p):
        if limit is not None:
            sums = torch.logcumsumexp(log_p.sort(dim=-1, descending=True).values, dim=-1)
            size = limit if limit is top_k else (sums < math.log(limit)).sum(-1, keepdim=True) + 1
            log_p = torch.where(rank < size, log_p, -math.inf)
            log_p = log_p - log_p.logsumexp(-1, keepdim=True)
    return draw(log_p.exp()), log_p.exp()


EXERCISE = Exercise(
    name="sample_next",
    reference=sample_next,
    cases=cases,
    laws=LAWS,
    mistakes=(
        *sample_next_mistakes.MISTAKES, *sample_next_filter_mistakes.MISTAKES, *sample_next_nucleus_mistakes.MISTAKES,
    ),
    accepts=(by_masking, by_clamping, by_rows, by_logarithms),
    hints=(
        "Four steps: divide by the temperature, softmax, rule out by rank, rule out by mass. "
        "Temperature 0 is top_k = 1 in disguise.",
        "`ranked, order = scores.sort(dim=-1, descending=True)` puts the likeliest first: `torch.arange(V) < top_k` is "
        "the mask of the first filter.",
        "`p.cumsum(dim=-1) - p` is the mass of all likelier tokens. A token belongs to the nucleus while that is below "
        "top_p. After each filter divide by the sum.",
        "`torch.zeros_like(p).scatter(-1, order, p)` puts each probability back at its id; `draw` gets the result.",
    ),
    minutes=15,
    difficulty=3,
    points=3,
)  # fmt: skip

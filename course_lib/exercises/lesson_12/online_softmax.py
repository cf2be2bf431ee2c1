"""Exercise `online_softmax`: a softmax over keys that come a tile at a time."""

import math

import torch

from course_lib.checking import Case, Exercise

from .online_softmax_laws import LAWS, in_tiles, start
from .online_softmax_mistakes import MISTAKES


def online_softmax(state, scores, value):
    """Take a further tile of keys into a softmax that has already begun.

    state: of the keys so far, (maximum (..., T, 1), total (..., T, 1), output (..., T, Dv)): each query's largest
    score, its sum of exp(score - maximum), and the values added up with exp(score - maximum) as weights. Before the
    first key they are -inf, 0 and 0.
    scores: (..., T, N), of the next N keys; -inf = hidden. value: (..., N, Dv). Returns the state after these keys.
    """
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))  # (..., T, 1)
    shift = higher.masked_fill(higher == -math.inf, 0.0)  # -inf - -inf is no number
    kept = torch.exp(maximum - shift)  # (..., T, 1)
    weights = torch.exp(scores - shift)  # (..., T, N)
    return higher, total * kept + weights.sum(dim=-1, keepdim=True), output * kept + weights @ value


def cases(generator):
    """First keys and later ones, whose maximum is now higher, now lower; hidden keys; scores of ±1000; equal sizes.

    The maximum has no unique gradient where two keys tie, and right answers may detach it: a law compares gradients.
    """

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def case(label, group, sizes, *leading, rise=2.5, level=0.0, earlier=3, hidden=()):
        """sizes: T, N, Dv. rise: how far the new scores lie above the earlier ones, in every second row below.

        level: of the earlier scores. earlier: how many keys went before. hidden: pairs (row, slice of all keys).
        """
        T, N, Dv = sizes
        up = torch.where(torch.arange(T) % 2 == 0, rise, -rise).unsqueeze(-1)  # (T, 1)
        scores = torch.cat([draw(*leading, T, earlier) + level, draw(*leading, T, N) + level + up], dim=-1)
        for row, keys in hidden:
            scores[..., row, keys] = -math.inf
        value = draw(*leading, earlier + N, Dv)
        state = start(scores, value)
        if earlier:
            state = in_tiles(online_softmax, scores[..., :earlier], value[..., :earlier, :], earlier)
        args = (state, scores[..., earlier:], value[..., earlier:, :])
        return Case(label, args, {}, group, gradient=False)

    yield case("the first keys", "first keys", (3, 4, 2), earlier=0)
    yield case("the first keys of each row of a batch", "first keys", (3, 5, 4), 2, earlier=0)
    yield case("further keys", "further keys", (3, 4, 2))
    yield case("further keys in a batch", "further keys", (4, 2, 5), 3)
    yield case("two axes in front, (B, H)", "heads", (5, 4, 6), 2, 3)
    yield case("one key, its score the highest so far", "one key", (1, 1, 3), 1)
    yield case("one key, its score below another", "one key", (1, 1, 2), 1, rise=-2.5)
    yield case("one query", "one query", (1, 4, 3), 2, rise=-1.0)
    yield case("one key for five queries", "one key", (5, 1, 2), 2)
    yield case("as many queries as keys", "T = N", (4, 4, 2), 3)
    yield case("every size 3", "all equal", (3, 3, 3), 3)
    yield case("some keys are hidden", "hidden keys", (3, 5, 4), 2, hidden=[(0, slice(4, 6)), (1, 3), (2, -1)])
    yield case("a query sees none of these keys", "hidden keys", (3, 4, 2), 2, hidden=[(0, slice(3, None))])
    yield case("a query saw none before", "hidden keys", (3, 4, 2), 2, hidden=[(1, slice(0, 3)), (0, 4)])
    yield case("scores near 1000", "large scores", (3, 4, 2), 2, level=1000.0)
    yield case("scores near -1000", "large scores", (3, 4, 2), 2, level=-1000.0)
    yield case("from 0 to 1000 and to -1000", "large scores", (4, 3, 2), rise=1000.0)


def with_two_factors(state, scores, value):
    """FlashAttention's way: the tile's own sums first, then both are brought to the common maximum."""
    maximum, total, output = state
    lowest = torch.finfo(scores.dtype).min
    own = scores.amax(-1, True)
    weights = torch.exp(scores - own.clamp(min=lowest))
    higher = torch.where(own > maximum, own, maximum)
    old, new = (torch.exp(one - higher.clamp(min=lowest)) for one in (maximum, own))
    return higher, old * total + new * weights.sum(-1, True), old * output + new * torch.matmul(weights, value)


def state_as_a_key(state, scores, value):
    """What was seen so far is one more key, whose score is the maximum: it weighs `total` and brings `output`."""
    all_scores = torch.cat([state[0], scores], dim=-1)  # (..., T, 1 + N)
    higher = all_scores.max(dim=-1, keepdim=True).values
    weights = torch.exp(all_scores - higher.clamp(min=torch.finfo(scores.dtype).min))
    old, new = weights[..., :1], weights[..., 1:]
    counted = torch.cat([old * state[1], new], dim=-1)
    return higher, counted.sum(dim=-1, keepdim=True), torch.baddbmm(
        (old * state[2]).reshape(-1, *state[2].shape[-2:]),
        new.reshape(-1, *new.shape[-2:]), value.reshape(-1, *value.shape[-2:]),
    ).reshape(state[2].shape)  # fmt: skip


def key_by_key(state, scores, value):
    """Milakov and Gimelshein 2018, algorithm 3, with the values beside the sum."""
    maximum, total, output = state
    for n in range(scores.shape[-1]):
        score = scores[..., n : n + 1]  # (..., T, 1)
        higher = torch.fmax(maximum, score)
        shift = torch.where(higher > -math.inf, higher, 0)
        old, new = (maximum - shift).exp(), (score - shift).exp()
        total, output = total * old + new, output * old + new * value[..., n : n + 1, :]
        maximum = higher
    return maximum, total, output


def by_powers_of_two(state, scores, value):
    """As kernels do it: exp2 is the faster instruction. The maximum cancels out of a gradient: it may be detached."""
    maximum, total, output = state
    higher = torch.cat([maximum, scores], -1).detach().amax(-1, keepdim=True)
    shift = torch.nan_to_num(higher, neginf=0.0)
    kept = torch.exp2((maximum - shift) / math.log(2))
    weights = torch.exp2((scores - shift) / math.log(2))
    return higher, (kept * total).add(weights.sum(-1, keepdim=True)), kept * output + torch.einsum(
        "...tn,...nd->...td", weights, value
    )  # fmt: skip


def tile_as_a_mean(state, scores, value):
    """The tile's softmax and the mean that it makes, weighed by the tile's whole: exp(log-sum-exp - maximum)."""
    maximum, total, output = state
    higher = torch.maximum(maximum, scores.amax(-1, keepdim=True))
    shift = torch.where(torch.isneginf(higher), 0.0, higher)
    some = (scores > -math.inf).any(-1, keepdim=True)
    safe = torch.where(some, scores, 0.0)
    mean = (safe.softmax(-1).unsqueeze(-1) * value.unsqueeze(-3)).sum(-2)  # (..., T, N, Dv) -> (..., T, Dv)
    whole = torch.exp(torch.where(some, safe.logsumexp(-1, keepdim=True) - shift, -math.inf))
    kept = (maximum - shift).exp()
    return higher, torch.addcmul(whole, total, kept), output * kept + whole * mean


EXERCISE = Exercise(
    name="online_softmax",
    reference=online_softmax,
    cases=cases,
    laws=LAWS,
    mistakes=MISTAKES,
    accepts=(with_two_factors, state_as_a_key, key_by_key, by_powers_of_two, tile_as_a_mean),
    hints=(
        "Three lines of a softmax, each with something old in it: the maximum of the old maximum and the tile, the "
        "total of the old total and the new weights, the output of the old output and the new values.",
        "The old sums were measured from the old maximum. `torch.exp(maximum - higher)` brings both of them to the new "
        "one; the new weights are `torch.exp(scores - higher)`.",
        "If a query has seen hidden keys alone, `higher` is still -inf. Subtract 0 in its place: "
        "`higher.masked_fill(higher == -math.inf, 0.0)`, and every exponential is 0.",
    ),
    minutes=15,
    difficulty=3,
    points=3,
    forbidden=("torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention"),
)  # fmt: skip

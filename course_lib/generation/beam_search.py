"""Beam search: several texts a row side by side, and those that have ended set aside.

B rows of the batch, k = width, V vocabulary, n = n_best. A score of -inf stands for "no hypothesis here".
"""

import math
from typing import NamedTuple

import torch
from torch.nn import functional

from .greedy_search import require_length
from .ranking import highest


class Hypotheses(NamedTuple):
    """Texts and their scores, the best first. Where there are fewer than n, the rest is padding with the score -inf.

    ids: (B, n, longest), each up to and with its end token, then padding. scores: (B, n).

    >>> found = Hypotheses(torch.tensor([[[5, 2, 0], [5, 6, 2]]]), torch.tensor([[-0.5, -1.0]]))
    >>> found.ids[:, 0].tolist()  # the best text of each row
    [[5, 2, 0]]
    """

    ids: torch.Tensor
    scores: torch.Tensor


def length_penalty(length, alpha):
    """((5 + length) / 6)^alpha (Wu et al. 2016, equation 14), what a sum of log-probabilities is divided by.

    length: tokens written, the end token among them. alpha: 0, no penalty, or more: the more, the longer texts gain.

    >>> length_penalty(7, 1.0), length_penalty(7, 0.0)
    (2.0, 1.0)
    """
    return ((5 + length) / 6) ** alpha


@torch.no_grad()
def beam(step, state, *, width, bos, eos, pad, max_length, batch_size, alpha=0.0, n_best=1, device=None):
    """The best n texts that a beam of `width` finds, by the sum of log-probabilities over `length_penalty`.

    Each step goes on from the k best texts that have not ended, with every token. An ending that is among the k best of
    these is set aside (Sutskever et al. 2014, section 3.2), and stays among the finished ones until n better ones are
    found; so width 1 with alpha 0 is greedy search. A row is done when nothing that goes on can get among its n
    finished ones any more. At max_length a text counts as it stands, without an end. A wider beam need not find a
    better text, unless it leaves nothing out.

    step: function (token (N,), state) -> (logits (N, V), state), with N = B · k, the beams of a row side by side.
    state: of B rows, with a method `select(rows (N,))`, which returns the state of these rows, any of them repeated.
    width: k, at least 1; it may be more than V. n_best: n, from 1 to k. alpha: of `length_penalty`.
    Returns `Hypotheses`. Raises ValueError for a width, n_best, alpha or max_length out of range.

    >>> after = torch.tensor([[0.0, 0.6, 0.4, 0.0], [0.0, 0.4, 0.3, 0.3], [0.0, 0.0, 0.0, 1.0], [0.25] * 4])
    >>> class Nothing:  # a state that knows nothing, whichever rows are asked for
    ...     def select(self, rows):
    ...         return self
    >>> step, limits = lambda token, state: (after[token].log(), state), {"bos": 0, "eos": 3, "pad": 9, "max_length": 2}
    >>> [beam(step, Nothing(), width=k, batch_size=1, **limits).ids.tolist() for k in (1, 2)]  # 0.6 · 0.4 < 0.4 · 1
    [[[[1, 1]]], [[[2, 3]]]]
    """
    _check(width, n_best, alpha, max_length)
    first = torch.arange(batch_size, device=device).unsqueeze(1)  # (B, 1)
    state = state.select(first.expand(-1, width).flatten())  # (B, k) to (B·k,)
    first = first * width  # now where each row's beams begin
    ids = torch.full((batch_size, width, 1), bos, device=device)
    scores, finished = None, None
    for length in range(1, max_length + 1):
        logits, state = step(ids[..., -1].flatten(), state)  # (B·k, V)
        log_p = _log_softmax(logits).unflatten(0, (batch_size, width))  # (B, k, V)
        if scores is None:  # all beams are the same text still, so one of them counts
            scores = log_p.new_full((batch_size, width), -math.inf)
            scores[:, 0] = 0.0
            finished = _nothing(scores, n_best, max_length, pad)
        # As many may end as there are beams; with 2k of them, k are left that go on.
        candidates, parents, tokens = _continuations(scores.unsqueeze(-1) + log_p, 2 * width)  # each (B, ≤ 2k)
        ids = torch.cat([_rows_of(ids, parents), tokens.unsqueeze(-1)], dim=-1)  # (B, ≤ 2k, 1 + length)
        ends = tokens == eos
        ended = candidates[:, :width].masked_fill(~ends[:, :width] & (length < max_length), -math.inf)
        finished = _keep_best(finished, ids[:, :width, 1:], ended / length_penalty(length, alpha), pad)
        scores, places = highest(candidates.masked_fill(ends, -math.inf), width)  # (B, k)
        # A log-probability only falls, and the penalty divides most at max_length: more than this no text can reach.
        bound = scores[:, :1] / length_penalty(max_length, alpha)  # (B, 1)
        done = bound <= finished.scores[:, -1:]
        if length == max_length or done.all():
            break
        ids = _rows_of(ids, places)  # (B, k, 1 + length)
        state = state.select((first + parents.gather(1, places)).flatten())
    return _trimmed(finished, eos)


def _continuations(totals, count):
    """The highest of (B, k, V), at most `count` a row: their scores, their beams and their tokens, each (B, count)."""
    V = totals.shape[-1]
    totals = totals.flatten(1)  # (B, k·V)
    values, places = highest(totals, min(count, totals.shape[-1]))
    return values, places // V, places % V


def _rows_of(ids, chosen):
    """ids: (B, K, L). chosen: (B, M), places among K. Returns (B, M, L)."""
    return ids.gather(1, chosen.unsqueeze(-1).expand(-1, -1, ids.shape[-1]))


def _nothing(like, n, max_length, pad):
    """No finished text yet, for each of the rows of `like` (B, k)."""
    B = len(like)
    ids = torch.full((B, n, max_length), pad, device=like.device)
    return Hypotheses(ids, like.new_full((B, n), -math.inf))


def _keep_best(finished, ids, scores, pad):
    """The n best of the finished texts and of new ones, ids (B, k, L) with scores (B, k). Of equal ones the older."""
    ids = functional.pad(ids, (0, finished.ids.shape[-1] - ids.shape[-1]), value=pad)  # (B, k, max_length)
    ids, scores = torch.cat([finished.ids, ids], dim=1), torch.cat([finished.scores, scores], dim=1)
    scores, places = highest(scores, finished.scores.shape[1])
    return Hypotheses(_rows_of(ids, places), scores)


def _trimmed(finished, eos):
    """Without the columns after the longest text. What has no end is as long as it may be."""
    (ids, scores), max_length = finished, finished.ids.shape[-1]
    ends = ids == eos
    lengths = torch.where(ends.any(dim=-1), ends.int().argmax(dim=-1) + 1, max_length)  # (B, n)
    longest = lengths.masked_fill(scores == -math.inf, 1).max()
    return Hypotheses(ids[..., :longest], scores)


def _log_softmax(logits):
    half = logits.dtype in (torch.float16, torch.bfloat16)
    return logits.log_softmax(dim=-1, dtype=torch.float32 if half else None)


def _check(width, n_best, alpha, max_length):
    require_length(max_length)
    if width < 1:
        raise ValueError(f"width: expected at least 1, got {width}")
    if not 1 <= n_best <= width:
        raise ValueError(f"n_best: expected 1 to the width, {width}, got {n_best}")
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha: expected 0 (no penalty) or more, and finite, got {alpha}")

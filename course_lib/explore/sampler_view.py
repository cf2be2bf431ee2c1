"""What the sampler shows of an answer of `beam_tree.ask_tree`: the twin of the page, in plain numbers."""

import math

import torch

from course_lib.generation import length_penalty, probabilities
from course_lib.generation.filters import keep_top_k, keep_top_p, with_temperature

from .base import fixed
from .beam_tree import FINISHED, GOES_ON

MOST_NODES = 64  # that are drawn at once
BARS = 12  # of a distribution, the likeliest tokens
OPEN, BEST, LEFT = "open", "best", "left"


def path_of(answer, node):
    """The ids from the first token to a node."""
    path = []
    while node > 0:
        parent, token, *_ = answer["nodes"][node]
        path, node = [token, *path], parent
    return path


def ancestors(answer, node):
    """The nodes from the root to this one, with both."""
    way = [node]
    while way[0] > 0:
        way = [answer["nodes"][way[0]][0], *way]
    return way


def finished(answer, steps, alpha):
    """[(node, tokens, sum, score), ...] of the texts finished in these steps, the highest score first.

    Of equal scores the one that was finished first; the last bits, which the page may have otherwise, decide nothing.
    """
    found = []
    for length, step in enumerate(steps, 1):
        for node in (node for node, fate in step if fate == FINISHED):
            total = answer["nodes"][node][3]
            found.append((node, length, total, total / length_penalty(length, alpha)))
    return sorted(found, key=lambda text: -math.floor(text[3] * 1e9 + 0.5))


def on_show(answer, steps, alpha):
    """{node: (column, row, kind)} of what is drawn after these steps: the root at (0, 0), the best of a step in row 0.

    kind: BEST, part of the finished text with the highest score; OPEN, part of another one, or of one that goes on;
    LEFT. Of more than MOST_NODES, those leave first that never went on, then those that led nowhere; of them the
    oldest, and of one step the least likely.
    """
    ended = [node for node, *_ in finished(answer, steps, alpha)]
    going = [node for node, fate in steps[-1] if fate == GOES_ON] if steps else [0]
    kinds = {node: OPEN for end in (*going, *ended) for node in ancestors(answer, end)}
    kinds |= {node: BEST for end in ended[:1] for node in ancestors(answer, end)}
    places = {0: (0, 0)} | {node: (at, row) for at, step in enumerate(steps, 1) for row, (node, _) in enumerate(step)}
    went = {node for step in steps for node, fate in step if fate == GOES_ON}
    order = sorted(places, key=lambda node: (2 * (node in kinds) or node in went, places[node][0], -places[node][1]))
    out = set([node for node in order if node][: max(0, len(order) - MOST_NODES)])
    return {node: (*places[node], kinds.get(node, LEFT)) for node in places if node not in out}


def looked_at(answer, seen, path):
    """The node of a text of ids, or of its longest beginning among the nodes `seen`."""
    at, following = 0, {(answer["nodes"][node][0], answer["nodes"][node][1]): node for node in seen if node}
    for token in path:
        if (at, token) not in following:
            break
        at = following[at, token]
    return at


def shares(distribution, temperature, top_k, top_p):
    """(probabilities of the listed tokens, of all others together, how many tokens are not ruled out).

    distribution: of `beam_tree.distribution`. The numbers are those of `generation.probabilities`; the likeliest tokens
    are the last to be ruled out.
    """
    ids, logs, others, level = distribution
    logits, listed = torch.tensor(logs + [level] * others, dtype=torch.float64), len(ids)
    chances = probabilities(logits, temperature=temperature, top_k=top_k, top_p=top_p)
    kept = keep_top_p(keep_top_k(with_temperature(logits, temperature), top_k or len(logits)), top_p)
    return chances[:listed].tolist(), chances[listed:].sum().item(), int((kept > -math.inf).sum())


def bars(distribution, temperature, top_k, top_p):
    """(ids, how many tokens are behind the last bar, the model's probabilities, those to draw by, how many are left).

    Probabilities: of the BARS likeliest tokens, then of the rest together, if there is one.
    """
    ids, _, others, _ = distribution
    (before, after, _), (now, later, left) = (
        shares(distribution, *how) for how in ((1.0, None, 1.0), (temperature, top_k, top_p))
    )
    rest = len(ids) + others - len(ids[:BARS])
    ends = [[sum(listed[BARS:]) + beyond] if rest else [] for listed, beyond in ((before, after), (now, later))]
    return ids[:BARS], rest, before[:BARS] + ends[0], now[:BARS] + ends[1], left


def plain(value):
    """A setting as text: at most two digits, none where there are none."""
    return f"{float(fixed(value)):g}"

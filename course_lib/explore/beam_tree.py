"""What beams of every width weigh for one sentence, as one tree; no widget in here.

The searches are those of `generation.beam`, with no penalty and as many texts kept as the beam is wide; what is added
is that all they weigh is written down. All texts of a step, of all widths, are asked about in one call.
"""

import math
from typing import NamedTuple

import numpy as np
import torch

from course_lib.generation import beam
from course_lib.generation.ranking import highest

from .base import problem, rounded

WIDTHS = range(1, 6)
MOST_LISTED = 32  # tokens of a distribution that are sent one by one, the likeliest
LEFT, GOES_ON, FINISHED = range(3)  # what becomes of a candidate
NOTHING = -1  # stands where a beam has BOS or padding: no model is told of it


class Unknown(Exception):
    """A search has come to texts that the model was not asked about yet."""


class Texts(NamedTuple):
    """The state of a search: what each of its beams has written, a list of tuples of ids."""

    written: list

    def select(self, rows):
        return Texts([self.written[row] for row in rows.tolist()])


class Candidate(NamedTuple):
    """A text that a beam weighs, its sum of log-probabilities, and LEFT, GOES_ON or FINISHED."""

    text: tuple
    total: float
    fate: int


def search(width, known, eos, max_length):
    """All steps of a beam, each a list of its candidates, the best first; and whether `known` was enough to end it.

    known: {text: logits (V,)}. The first `width` may be FINISHED: those with an end, and at max_length all of them.
    """
    steps = []

    def step(token, state):
        texts = [(*before, number) for before, number in zip(state.written, token.tolist(), strict=True)]
        open_ones = {one.text: one.total for one in steps[-1] if one.fate == GOES_ON} if steps else {(): 0.0}
        # Where there are fewer texts than beams, the others repeat one of them or stand for nothing.
        scores = torch.tensor([open_ones.pop(text[1:], -math.inf) for text in texts], dtype=torch.float64)
        if any(text[1:] not in known for text, score in zip(texts, scores, strict=True) if score > -math.inf):
            raise Unknown
        logits = torch.stack([known.get(text[1:], known[()]) for text in texts])  # (k, V)
        totals = (scores.unsqueeze(-1) + logits.log_softmax(dim=-1)).flatten()  # (k, V) to (k·V,)
        values, places = highest(totals, min(2 * width, int((totals > -math.inf).sum())))
        found = [(*texts[place // logits.shape[1]][1:], place % logits.shape[1]) for place in places.tolist()]
        steps.append(_fates(found, values.tolist(), width, eos, max_length))
        return logits, Texts(texts)

    options = {"bos": NOTHING, "eos": eos, "pad": NOTHING, "max_length": max_length, "batch_size": 1}
    try:
        beam(step, Texts([()]), width=width, n_best=width, **options)
    except Unknown:
        return steps, False
    # What would go on at the step after which a beam stops could not get in front any more.
    steps[-1] = [one._replace(fate=LEFT) if one.fate == GOES_ON else one for one in steps[-1]]
    return steps, True


def _fates(texts, totals, width, eos, max_length):
    """The rule of `generation.beam`: an ending among the first `width` is finished, the best `width` others go on."""
    found, going = [], 0
    for at, (text, total) in enumerate(zip(texts, totals, strict=True)):
        ends = text[-1] == eos
        finished, goes_on = at < width and (ends or len(text) == max_length), not ends and going < width
        going += goes_on
        found.append(Candidate(text, total, FINISHED if finished else GOES_ON if goes_on else LEFT))
    return found


def search_all(ask, eos, max_length):
    """({width: its steps}, {text: logits}) of WIDTHS. ask: function (texts) -> logits (N, V), called once a step.

    It is asked about every candidate that could go on, also about those that do not.
    """
    known, searches = {(): ask([()])[0]}, {}
    while True:
        missing = {}  # keeps the order
        for width in WIDTHS:
            if width in searches:
                continue
            steps, ended = search(width, known, eos, max_length)  # again from the start, since the answers are kept
            if ended:
                searches[width] = steps
            texts = [one.text for one in steps[-1] if one.text[-1] != eos and len(one.text) < max_length]
            missing |= dict.fromkeys(text for text in texts if text not in known)
        if not missing:
            return searches, known
        known |= zip(missing, ask(list(missing)), strict=True)


def logits_of(value, count, V):
    """What a learner's function returned as logits (count, V), float64; -inf forbids a token."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()  # numpy has no bfloat16
    logits = torch.from_numpy(np.array(value, dtype=float))
    if logits.shape != (count, V):
        raise ValueError(f"it must return logits ({count}, {V}), a row for each prefix, got {tuple(logits.shape)}")
    if (logits.isnan() | (logits == math.inf)).any():
        raise ValueError("it returned NaN or infinity; where does it come from?")
    if (logits == -math.inf).all(dim=-1).any():
        raise ValueError("it returned a row of -inf alone, so that no token can follow")
    return logits


def distribution(logits):
    """[ids, log-probabilities, how many others, log-probability of each of them] for the page, the likeliest first.

    The others are taken for equal, so that their mass is right and there are as many as there are.
    """
    logs = logits.log_softmax(dim=-1)
    ranked, ids = logs[logs > -math.inf].sort(descending=True, stable=True)
    ids = (logs > -math.inf).nonzero().squeeze(1)[ids]
    rest = ranked[MOST_LISTED:]
    listed = rounded(ranked[:MOST_LISTED].numpy())
    level = min(listed[-1], rounded(rest.logsumexp(dim=0).item() - math.log(len(rest)))) if len(rest) else 0.0
    return [ids[:MOST_LISTED].tolist(), listed, len(rest), level]


def tree_of(ask, symbols, eos, spell, max_length):
    """The tree as the page reads it.

    nodes: [parent, id, log-probability after its parent, sum up to here], the root first. next: for each node the
    `distribution` of what may follow, None after an end and after max_length tokens. widths: {width: [[[node, fate],
    ...] for each step]}. texts: {node: text as people write it} of finished ones. symbols: {id: symbol} of what occurs.
    """
    searches, known = search_all(ask, eos, max_length)
    logs = {text: logits.log_softmax(dim=-1) for text, logits in known.items()}
    places, nodes = {(): 0}, [[-1, -1, 0, 0]]
    for steps in searches.values():
        for text, total, _ in (one for step in steps for one in step):
            if text not in places:
                places[text] = len(nodes)
                nodes.append([places[text[:-1]], text[-1], *rounded([logs[text[:-1]][text[-1]].item(), total])])
    following = [distribution(known[text]) if text in known else None for text in places]
    finished = {one.text for steps in searches.values() for step in steps for one in step if one.fate == FINISHED}
    spelled = {str(places[text]): spelling(spell, text, symbols, eos) for text in sorted(finished, key=places.get)}
    ids = {token for _, token, *_ in nodes[1:]} | {token for one in following if one for token in one[0]}
    widths = {str(width): [[[places[text], fate] for text, _, fate in step] for step in steps]
              for width, steps in searches.items()}  # fmt: skip
    return {"nodes": nodes, "next": following, "widths": widths, "texts": spelled,
            "symbols": {str(token): symbols[token] for token in sorted(ids)}}  # fmt: skip


def spelling(spell, text, symbols, eos):
    """A text of ids as people write it, without its end token."""
    try:
        written = spell([symbols[token] for token in text if token != eos])
    except Exception as error:  # the function is the learner's, and may raise anything
        raise ValueError(f"spell raised {problem(error)}") from error
    if not isinstance(written, str):
        raise TypeError(f"spell: expected it to return a text, got a {type(written).__name__}")
    return written


def asker(next_logits, sentence, V):
    """The function `ask` of this module: texts, a list of tuples of ids -> logits (N, V)."""
    return lambda texts: logits_of(next_logits(sentence, texts), len(texts), V)


def ask_tree(ask, symbols, eos, spell, max_length):
    """As `tree_of`, or {"problem"}: nothing that the learner's functions do gets past this."""
    try:
        return tree_of(ask, symbols, eos, spell, max_length)
    except Exception as error:  # the functions are the learner's, and may raise anything
        return {"problem": problem(error)}

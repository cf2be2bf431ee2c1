"""A text drawn by chance, one token after another, from what a learner's function says; no widget in here."""

import torch

from course_lib.generation import sample

from .base import problem, rounded
from .beam_tree import NOTHING, spelling


def draw(ask, number, *, eos, max_length, **how):
    """The ids of a text and the sum of their log-probabilities by the model itself, whatever is ruled out.

    ask: function (texts) -> logits (N, V). number: which draw it is; the same number draws the same text.
    how: temperature, top_k and top_p of `generation.draw`.
    """
    logs = []

    def step(token, before):
        text = (*before, token.item())
        logits = ask([text[1:]])  # (1, V)
        logs.append(logits[0].log_softmax(dim=-1))
        return logits, text

    ids = {"bos": NOTHING, "eos": eos, "pad": NOTHING}
    generator = torch.Generator().manual_seed(number)
    found = sample(step, (), **ids, max_length=max_length, batch_size=1, generator=generator, **how)[0].tolist()
    return found, sum(log_p[token].item() for log_p, token in zip(logs, found, strict=True))


def drawn_text(ask, number, symbols, spell, *, eos, max_length, **how):
    """{"number", "text", "ended", "sum"} and how it was drawn; or, with "problem" instead, what went wrong."""
    entry = {"number": number, **how}
    try:
        ids, total = draw(ask, number, eos=eos, max_length=max_length, **how)
        return entry | {"text": spelling(spell, ids, symbols, eos), "ended": eos in ids, "sum": rounded(total)}
    except Exception as error:  # the functions are the learner's, and may raise anything
        return entry | {"problem": problem(error)}

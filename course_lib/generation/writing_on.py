"""Writing on with a model that knows nothing but the text: beginnings of any lengths side by side, without padding."""

import functools
import math
from typing import Any, NamedTuple

import torch

from course_lib.data.batches import pad_rows
from course_lib.data.vocabulary import BOS, EOS, PAD

from .greedy_search import greedy, require_length
from .writing import evaluating


@torch.no_grad()
def write_on(model, beginnings, max_length, search=greedy, **options):
    """What `model` writes after each of B beginnings, greedily unless `search` says otherwise.

    model: has `start()`, `read(ids, state)` and `step(token, state)`, as `DecoderOnly`; it is put into evaluation mode
    meanwhile. beginnings: B sequences of ids without BOS, of any lengths; the empty one asks for a text from its start.
    search: `greedy`, `sample` or `beam`, or any function with the arguments of `greedy`; options: further ones of it.
    Returns ids (B, at most max_length), what was written alone: each row up to and with EOS, then PAD. Except for the
    numbers that `sample` draws, a row gets the text that it would get alone. Of a beam: its `Hypotheses`.
    Raises ValueError for no beginning, and for a beam's beginnings of several lengths, since a beam counts tokens.

    >>> from course_lib.decoder_only import DecoderOnly
    >>> model = DecoderOnly(9, d_model=8, num_heads=2, d_ff=16, num_layers=1)
    >>> together, alone = (write_on(model, texts, max_length=1) for texts in ([(), (5, 6, 7)], [(5, 6, 7)]))
    >>> together.shape, torch.equal(together[1], alone[0])
    (torch.Size([2, 1]), True)
    """
    if not len(beginnings):
        raise ValueError("beginnings: expected at least one, such as the empty one, ()")
    require_length(max_length)
    device = next(model.parameters()).device
    given = pad_rows([[BOS, *beginning] for beginning in beginnings]).to(device)  # (B, 1 + longest)
    shortest = min(map(len, beginnings))
    limits = {"max_length": max_length + given.shape[1] - 1 - shortest, "batch_size": len(given), "device": device}
    with evaluating(model):
        logits, state = model.read(given[:, : 1 + shortest], model.start())
        begun = _Begun(state, logits[:, -1], given[:, 1 + shortest :], 0)
        written = search(functools.partial(_step, model), begun, bos=BOS, eos=EOS, pad=PAD, **limits, **options)
    if not isinstance(written, tuple):
        return _new(written, [len(beginning) - shortest for beginning in beginnings], max_length)
    if given.shape[1] > 1 + shortest:
        raise ValueError("beginnings: a beam counts tokens, so all must be equally long; give it one length at a time")
    return written


class _Begun(NamedTuple):
    """The model's state, and what the search does not know. first: (B, V), the scores after the common beginning, until
    they are asked for. given: (B, G), the rest of the longer beginnings, PAD where a row has none. taken: steps so far.
    """

    state: Any
    first: torch.Tensor | None
    given: torch.Tensor
    taken: int

    def select(self, rows):
        first = None if self.first is None else self.first.index_select(0, rows)
        return _Begun(self.state.select(rows), first, self.given.index_select(0, rows), self.taken)


def _step(model, token, begun):
    """The model's `step` for a search: it answers the first call from what was read, and lets given tokens win."""
    logits, state = model.step(token, begun.state) if begun.first is None else (begun.first, begun.state)
    if begun.taken < begun.given.shape[1]:
        logits = _only(begun.given[:, begun.taken], logits)
    return logits, begun._replace(state=state, first=None, taken=begun.taken + 1)


def _only(given, logits):
    """Scores (B, V) in which the given token (B,) has all the probability, for the rows where it is not PAD."""
    is_given = (given != PAD).unsqueeze(1)  # (B, 1)
    others = torch.arange(logits.shape[-1], device=logits.device) != given.unsqueeze(1)  # (B, V)
    return logits.masked_fill(is_given & others, -math.inf)


def _new(ids, skipped, max_length):
    """ids (B, L) without the given tokens at the beginning of each row, (B, at most max_length)."""
    rows = [row[skip : skip + max_length] for row, skip in zip(ids.tolist(), skipped, strict=True)]
    return pad_rows([row[: row.index(EOS) + 1] if EOS in row else row for row in rows]).to(ids.device)

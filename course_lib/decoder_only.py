"""The family that writes on (Radford et al. 2018): one text, read and written from left to right; no encoder.

Its blocks are the encoder's, with a causal mask. B batch, T tokens of a text, D = d_model, V = vocab_size.
"""

from typing import NamedTuple

from torch import nn

from course_lib.blocks import Encoder
from course_lib.embedding import Embedding, position_module, rotary_of
from course_lib.masks import causal_mask


class TextState(NamedTuple):
    """What the model knows of the N tokens before: for each layer their keys and values, or None at first.

    >>> import torch
    >>> model = DecoderOnly(10, d_model=8, num_heads=2, d_ff=16, num_layers=1)
    >>> _, state = model.read(torch.tensor([[1, 5, 6]]), model.start())
    >>> state.length, state.select(torch.tensor([0, 0])).caches[0].key.shape  # the row twice: (B, H, N, Dk)
    (3, torch.Size([2, 2, 3, 4]))
    """

    caches: tuple

    @property
    def length(self):
        """N, how many tokens it has read."""
        return 0 if self.caches[0] is None else self.caches[0].key.shape[-2]

    def select(self, rows):
        """The state of some rows of the batch, in any order, a row as often as it is named. rows: (N,) int64."""
        return TextState(tuple(None if cache is None else cache.select(rows) for cache in self.caches))


class DecoderOnly(nn.Module):
    """Ids of a text in, scores for each next token out; the defaults are of the base size.

    positions: "sinusoidal", "learned" (of the first max_length tokens, as in GPT) or "rotary" (as in today's models).
    tied: whether the output layer is the embedding's matrix (Press and Wolf 2017). The output layer has no bias.
    Options: those of `blocks`, norm_first (as in GPT-2), activation, eps and attention.

    Padding belongs after a text: no token looks ahead, so none of the text ever sees it, and no mask is needed.

    Raises ValueError where num_heads does not divide d_model, for another name of positions, and where only one of
    "learned" and max_length is given.

    >>> import torch
    >>> model = DecoderOnly(10, d_model=8, num_heads=2, d_ff=16, num_layers=1).eval()
    >>> logits = model(torch.tensor([[1, 5, 6], [1, 5, 7]]))  # they differ in the last token
    >>> logits.shape, torch.allclose(logits[0, :2], logits[1, :2], atol=1e-5)
    (torch.Size([2, 3, 10]), True)
    """

    def __init__(
        self,
        vocab_size,
        *,
        d_model=512,
        num_heads=8,
        d_ff=2048,
        num_layers=6,
        dropout=0.1,
        positions="sinusoidal",
        max_length=None,
        tied=True,
        **options,
    ):
        super().__init__()
        place = position_module(positions, d_model, max_length)
        options |= {"dropout": dropout, "rotary": rotary_of(positions)}
        self.embedding = Embedding(vocab_size, d_model, positions=place, dropout=dropout)
        self.stack = Encoder(d_model, num_heads, d_ff, num_layers, **options)
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        # A tied matrix keeps the embedding's deviation of 1/√D: with torch's 1 the first losses are many times ln V.
        if tied:
            self.output.weight = self.embedding.weight
        else:
            nn.init.xavier_uniform_(self.output.weight)

    def forward(self, ids, *, need_weights=False):
        """All steps at once, each fed the true token before. ids: (B, T), padding at the end alone.

        Returns logits (B, T, V), or with need_weights also each block's weights (B, H, T, T), a tuple.
        """
        logits, _, weights = self._read(ids, self.start(), need_weights)
        return (logits, weights) if need_weights else logits

    def start(self):
        """The `TextState` before the first token."""
        return TextState((None,) * len(self.stack.blocks))

    def read(self, ids, state):
        """Several tokens after those that the state holds: ids (B, T). Returns logits (B, T, V) and the next state."""
        return self._read(ids, state, need_weights=False)[:2]

    def step(self, token, state):
        """One token further. token: (B,). Returns logits (B, V) for the one after it, and the next state.

        >>> import torch
        >>> model = DecoderOnly(10, d_model=8, num_heads=2, d_ff=16, num_layers=1).eval()
        >>> first, state = model.step(torch.tensor([1]), model.start())
        >>> second, state = model.step(torch.tensor([5]), state)
        >>> torch.allclose(torch.stack([first, second], dim=1), model(torch.tensor([[1, 5]])), atol=1e-5)
        True
        """
        logits, state = self.read(token.unsqueeze(1), state)
        return logits.squeeze(1), state

    def _read(self, ids, state, need_weights):
        past, T = state.length, ids.shape[-1]
        mask = None if T == 1 else causal_mask(T, past + T, device=ids.device)  # (T, N + T)
        x = self.embedding(ids, offset=past)  # (B, T, D)
        x, weights, caches = self.stack.step(x, state.caches, mask=mask, need_weights=need_weights)
        return self.output(x), TextState(caches), weights

"""The Transformer (Vaswani et al. 2017): ids of a sentence in, scores for each next token of its translation out.

Lessons 8 and 9 build it bottom-up: `layers` (norm, feed-forward, shortcut), `blocks` (blocks and stacks), this file.
B batch, S source tokens, T target tokens, D = d_model, V = target_vocab.
"""

from typing import NamedTuple

import torch
from torch import nn

from course_lib import torch_weights
from course_lib.blocks import Decoder, Encoder
from course_lib.data.vocabulary import PAD
from course_lib.embedding import Embedding, position_module, rotary_of
from course_lib.masks import causal_mask, combine_masks, if_it_hides, padding_mask

TIED = (None, "output", "all")


def make_masks(source_ids, target_ids, pad):
    """Both masks of a Transformer from ids alone. source_ids: (B, S). target_ids: (B, T), the decoder's input.

    Returns the source mask (B, 1, S), real tokens, for the encoder and for cross-attention, and the target mask
    (B, T, T), real tokens that are not in the future. True = may attend; no head axis.

    >>> make_masks(torch.tensor([[5, 6, 0]]), torch.tensor([[1, 0]]), pad=0)
    (tensor([[[ True,  True, False]]]), tensor([[[ True, False],
             [ True, False]]]))
    """
    future = causal_mask(target_ids.shape[-1], device=target_ids.device)  # (T, T)
    return padding_mask(source_ids, pad), combine_masks(padding_mask(target_ids, pad), future)


class Weights(NamedTuple):
    """Who looked where: for each layer (B, H, queries, keys). encoder: S, S. decoder: T, T. cross: T, S.

    >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    >>> _, weights = model(torch.tensor([[5, 6, 8]]), None, torch.tensor([[1, 4]]), need_weights=True)
    >>> [layers[0].shape for layers in weights]
    [torch.Size([1, 2, 3, 3]), torch.Size([1, 2, 2, 2]), torch.Size([1, 2, 2, 3])]
    """

    encoder: tuple
    decoder: tuple
    cross: tuple


class DecodingState(NamedTuple):
    """What the decoder knows before it writes on; a step makes a new one.

    memories: keys and values of the source for each layer, each (B, H, S, Dk). memory_mask: (B, 1, S), or None.
    caches: those of the N tokens so far for each layer, None at first. real: (B, 1, N), which of them are not padding;
    None where all of them are real and somebody looked, as on a CPU.

    >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    >>> before = model.encode(torch.tensor([[5, 6, 8]]))
    >>> _, after = model.step(torch.tensor([1]), before)
    >>> before.length, after.length, after.select(torch.tensor([0, 0])).memories[0].key.shape
    (0, 1, torch.Size([2, 2, 3, 4]))
    """

    memories: tuple
    memory_mask: torch.Tensor | None
    caches: tuple
    real: torch.Tensor | None

    @property
    def length(self):
        """N, how many tokens it has read."""
        return 0 if self.caches[0] is None else self.caches[0].key.shape[-2]

    def select(self, rows):
        """The state of some rows of the batch, in any order, a row as often as it is named, as beam search wants.

        rows: (N,) int64, on the state's device. Returns a new state with N for B; this one stays as it is.
        """

        def taken(cache):
            return None if cache is None else cache.select(rows)

        mask, real = (None if each is None else each.index_select(0, rows) for each in (self.memory_mask, self.real))
        return DecodingState(tuple(map(taken, self.memories)), mask, tuple(map(taken, self.caches)), real)


class Transformer(nn.Module):
    """Encoder and decoder with their embeddings; the defaults are the paper's base model (table 3).

    tied: which of the three matrices (vocabulary, D) are one and the same: None, "output" (the target's embedding and
    the output layer) or "all" (the source's too, as in the paper, section 3.4; then there is one vocabulary).
    positions: "sinusoidal", "learned" (of the first max_length tokens) or "rotary" (in each self-attention).
    pad: the id of padding. Options: those of `blocks`, norm_first, activation, eps and attention.
    The output layer has no bias, so the paper's base model with 37,000 shared symbols has 63,082,496 parameters.

    Raises ValueError for another tied, "all" with two vocabularies, and as `position_module` and `split_heads` do.

    >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1).eval()
    >>> short, padded = (model(torch.tensor([ids]), None, torch.tensor([[1, 4]])) for ids in ([5, 6], [5, 6, 0]))
    >>> short.shape, torch.allclose(short, padded, atol=1e-5)
    (torch.Size([1, 2, 7]), True)
    """

    def __init__(
        self,
        source_vocab,
        target_vocab,
        *,
        d_model=512,
        num_heads=8,
        d_ff=2048,
        encoder_layers=6,
        decoder_layers=6,
        dropout=0.1,
        tied=None,
        positions="sinusoidal",
        max_length=None,
        pad=PAD,
        **options,
    ):
        super().__init__()
        _check(source_vocab, target_vocab, tied)
        self.pad = pad
        options |= {"dropout": dropout, "rotary": rotary_of(positions)}

        def embedding(vocab_size):
            place = position_module(positions, d_model, max_length)
            return Embedding(vocab_size, d_model, positions=place, dropout=dropout)

        self.source_embedding, self.target_embedding = embedding(source_vocab), embedding(target_vocab)
        self.encoder = Encoder(d_model, num_heads, d_ff, encoder_layers, **options)
        self.decoder = Decoder(d_model, num_heads, d_ff, decoder_layers, **options)
        self.output = nn.Linear(d_model, target_vocab, bias=False)
        if tied is None:
            nn.init.xavier_uniform_(self.output.weight)
        else:
            self.output.weight = self.target_embedding.weight
        if tied == "all":
            self.source_embedding.weight = self.target_embedding.weight

    def forward(self, source, source_lengths, decoder_input, *, need_weights=False):
        """All steps at once, each fed the true token before. source: (B, S) ids. decoder_input: (B, T) ids.

        source_lengths: not read, since the ids say what is padding; it is here because all models are called so.
        Returns logits (B, T, V), or (logits, `Weights`) with need_weights.
        """
        source_mask, target_mask = make_masks(source, decoder_input, self.pad)
        memory, encoder_weights = self.encoder(
            self.source_embedding(source), mask=source_mask, need_weights=need_weights
        )
        x, *decoder_weights = self.decoder(
            self.target_embedding(decoder_input),
            memory,
            mask=target_mask,
            memory_mask=source_mask,
            need_weights=need_weights,
        )
        logits = self.output(x)  # (B, T, V)
        return (logits, Weights(encoder_weights, *decoder_weights)) if need_weights else logits

    def encode(self, source, source_lengths=None):
        """Read the source (B, S). Returns the `DecodingState` before the first token. source_lengths: not read."""
        real = padding_mask(source, self.pad)  # (B, 1, S)
        mask, nothing = if_it_hides(real), if_it_hides(real[..., :0])
        memory, _ = self.encoder(self.source_embedding(source), mask=mask)
        return DecodingState(self.decoder.remember(memory), mask, (None,) * len(self.decoder.blocks), nothing)

    def step(self, token, state):
        """One step. token: (B,), the one written before. Returns logits (B, V) and the next state.

        >>> model = Transformer(9, 7, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1).eval()
        >>> source = torch.tensor([[5, 6, 8]])
        >>> first, state = model.step(torch.tensor([1]), model.encode(source))
        >>> second, state = model.step(torch.tensor([4]), state)
        >>> torch.allclose(torch.stack([first, second], 1), model(source, None, torch.tensor([[1, 4]])), atol=1e-5)
        True
        """
        logits, state, _ = self._continue(token.unsqueeze(1), state, need_weights=False)
        return logits.squeeze(1), state

    def look(self, tokens, state, layer=-1):
        """Several steps, and where they looked: tokens (B, T), the true ones, after those that the state holds.

        Returns logits (B, T, V), the next state, and the cross-attention of one layer, mean over heads, (B, T, S).
        """
        logits, state, crosses = self._continue(tokens, state, need_weights=True)
        return logits, state, crosses[layer].mean(dim=1)  # (B, H, T, S) to (B, T, S)

    def _continue(self, tokens, state, need_weights):
        past, T = state.length, tokens.shape[-1]
        real = _real_so_far(state.real, past, tokens, self.pad)  # (B, 1, N + T) or None
        mask = real if T == 1 else combine_masks(real, causal_mask(T, past + T, device=tokens.device))
        x, _, crosses, caches = self.decoder.step(
            self.target_embedding(tokens, offset=past),
            state.memories,
            state.caches,
            mask=mask,
            memory_mask=state.memory_mask,
            need_weights=need_weights,
        )
        return self.output(x), state._replace(caches=caches, real=real), crosses

    @classmethod
    def from_torch(cls, theirs, source_vocab, target_vocab, **options):
        """A model whose encoder and decoder have copies of the weights of an `nn.Transformer`; it has no embeddings.

        options: tied, positions, max_length, pad, attention. Raises ValueError for a post-norm `nn.Transformer` with
        final norms, which is what torch makes by default: set `encoder.norm` and `decoder.norm` to None first.
        """
        first = theirs.decoder.layers[0]
        ours = cls(
            source_vocab,
            target_vocab,
            d_model=theirs.d_model,
            num_heads=theirs.nhead,
            encoder_layers=len(theirs.encoder.layers),
            decoder_layers=len(theirs.decoder.layers),
            **torch_weights.settings_of(first),
            **options,
        ).to(first.linear1.weight)
        torch_weights.copy_stack(ours.encoder, theirs.encoder, "encoder")
        torch_weights.copy_stack(ours.decoder, theirs.decoder, "decoder")
        return ours.train(theirs.training)

    def to_torch(self):
        """An `nn.Transformer` (batch_first=True) with copies of the encoder's and decoder's weights.

        Embeddings and output layer have no place in it. With post-norm its two final norms are None.
        Raises ValueError with rotary positions.
        """
        return torch_weights.stacks_to_torch(self.encoder, self.decoder)


def _real_so_far(real, past, tokens, pad):
    """`DecodingState.real` once the tokens (B, T) have come to the `past` ones."""
    if real is None:
        if pad not in tokens.flatten().tolist():  # a third of the time that a look at a mask takes
            return None
        real = torch.ones(len(tokens), 1, past, dtype=torch.bool, device=tokens.device)
    return torch.cat([real, padding_mask(tokens, pad)], dim=-1)


def _check(source_vocab, target_vocab, tied):
    if tied not in TIED:
        raise ValueError(f"tied: expected one of {', '.join(map(repr, TIED))}, got {tied!r}")
    if tied == "all" and source_vocab != target_vocab:
        raise ValueError(
            f'tied="all" needs one vocabulary for source and target, got {source_vocab} and {target_vocab} symbols; '
            '"output" ties the target\'s embedding and the output layer alone'
        )

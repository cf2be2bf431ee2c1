"""The family that reads (Devlin et al. 2019): one encoder, every token looks at every other, nothing is written.

B batch, S tokens of a text, D = d_model, C classes.
"""

from torch import nn

from course_lib.blocks import Encoder
from course_lib.data.vocabulary import PAD
from course_lib.embedding import Embedding, position_module, rotary_of
from course_lib.layers import LayerNorm
from course_lib.masks import if_it_hides, padding_mask, require_bool


def mean_pool(x, mask):
    """One vector for a text: the mean over its real tokens (Reimers and Gurevych 2019). A text without any gets 0.

    x: (B, S, D). mask: (B, 1, S) bool, True = real, as `padding_mask` makes it. Returns (B, D).
    Raises TypeError for a mask that is not boolean.

    >>> import torch
    >>> mean_pool(torch.tensor([[[2.0], [4.0], [99.0]]]), torch.tensor([[[True, True, False]]])).tolist()
    [[3.0]]
    """
    require_bool(mask)
    real = x.masked_fill(~mask.mT, 0.0)  # (B, S, D)
    return real.sum(dim=1) / mask.sum(dim=-1).clamp(min=1)  # (B, D) / (B, 1)


class EncoderOnly(nn.Module):
    """Ids of a text in, a vector for each token out, or a score for each class; the defaults are of the base size.

    num_classes: of the linear head, for whole texts (`classify`) or for each token (`tag`); None for no head.
    positions: "sinusoidal", "learned" (of the first max_length tokens, as in BERT) or "rotary".
    norm_embedding: whether a norm stands between the embedding and the blocks, as in BERT. pad: the id of padding.
    Options: those of `blocks`, norm_first, activation, eps and attention.

    Raises ValueError where num_heads does not divide d_model, for another name of positions, and where only one of
    "learned" and max_length is given.

    >>> import torch
    >>> model = EncoderOnly(10, d_model=8, num_heads=2, d_ff=16, num_layers=1, num_classes=3).eval()
    >>> model(torch.tensor([[5, 6, 0]])).shape, model.tag(torch.tensor([[5, 6, 0]])).shape
    (torch.Size([1, 3, 8]), torch.Size([1, 3, 3]))
    >>> short, padded = model.classify(torch.tensor([[5, 6]])), model.classify(torch.tensor([[5, 6, 0]]))
    >>> torch.allclose(short, padded, atol=1e-5)
    True
    """

    def __init__(
        self,
        vocab_size,
        *,
        d_model=512,
        num_heads=8,
        d_ff=2048,
        num_layers=6,
        num_classes=None,
        dropout=0.1,
        positions="sinusoidal",
        max_length=None,
        norm_embedding=False,
        eps=1e-5,
        pad=PAD,
        **options,
    ):
        super().__init__()
        self.pad = pad
        place = position_module(positions, d_model, max_length)
        options |= {"dropout": dropout, "rotary": rotary_of(positions), "eps": eps}
        self.embedding = Embedding(vocab_size, d_model, positions=place, dropout=dropout)
        self.embedding_norm = LayerNorm(d_model, eps) if norm_embedding else nn.Identity()
        self.encoder = Encoder(d_model, num_heads, d_ff, num_layers, **options)
        self.head = None if num_classes is None else nn.Linear(d_model, num_classes)

    def forward(self, ids, *, need_weights=False):
        """ids: (B, S), padding at the end or anywhere. Returns x (B, S, D); at padding it means nothing.

        need_weights: return also each block's weights (B, H, S, S), a tuple.
        """
        mask = if_it_hides(padding_mask(ids, self.pad))  # (B, 1, S) or None
        x, weights = self.encoder(self.embedding_norm(self.embedding(ids)), mask=mask, need_weights=need_weights)
        return (x, weights) if need_weights else x

    def pool(self, ids):
        """One vector for each text, the mean over its tokens. ids: (B, S). Returns (B, D)."""
        return mean_pool(self(ids), padding_mask(ids, self.pad))

    def classify(self, ids):
        """Scores of the classes for each text. ids: (B, S). Returns logits (B, C). Raises ValueError without a head."""
        return self._head()(self.pool(ids))

    def tag(self, ids):
        """Scores of the classes for each token. ids: (B, S). Returns logits (B, S, C); errors as in `classify`."""
        return self._head()(self(ids))

    def _head(self):
        if self.head is None:
            raise ValueError("num_classes: this model has no head; make it with num_classes=... to classify or to tag")
        return self.head

"""The Transformer's blocks and the stacks of them (Vaswani et al. 2017, figure 1 without what is outside the boxes).

Everything is vectors: x (B, T, D) in, (B, T, D) out. Masks are boolean, True = may attend, without a head axis.
Options of all classes: dropout (of attention weights, of the feed-forward's hidden layer, and of each sub-layer's
output before it is added), activation ("relu" or "gelu"), norm_first, eps, attention (any function by the contract of
`attention.scaled_dot_product_attention`), rotary (turns queries and keys in self-attention by their positions).
"""

from torch import nn

from course_lib import torch_weights
from course_lib.attention import scaled_dot_product_attention
from course_lib.layers import FeedForward, LayerNorm, Residual
from course_lib.multi_head_attention import MultiHeadAttention


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each inside its `Residual`. d_ff: width of the feed-forward's hidden layer.

    Masks: bool, True = may attend. Raises ValueError where num_heads does not divide d_model and for other activations.

    >>> import torch
    >>> block, x = EncoderBlock(8, num_heads=2, d_ff=16), torch.randn(3, 5, 8)
    >>> y, weights = block(x, need_weights=True)
    >>> y.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 2, 5, 5]))
    """

    torch_class = nn.TransformerEncoderLayer

    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        *,
        dropout=0.0,
        activation="relu",
        norm_first=False,
        eps=1e-5,
        attention=scaled_dot_product_attention,
        rotary=None,
    ):
        super().__init__()
        around = {"dropout": dropout, "norm_first": norm_first, "eps": eps}
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, dropout=dropout, attention=attention, rotary=rotary
        )
        self.around_self_attention = Residual(d_model, **around)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        self.around_feed_forward = Residual(d_model, **around)

    def forward(self, x, *, mask=None, need_weights=False):
        """x: (B, S, D). mask: (S, S), (B, 1, S) or (B, S, S). Returns x (B, S, D), weights (B, H, S, S) or None."""
        return self.step(x, mask=mask, need_weights=need_weights)[:2]

    def step(self, x, cache=None, *, mask=None, need_weights=False):
        """As `forward`, where x (B, T, D) also looks at the N tokens in the cache; mask: (T, N + T) or (B, T, N + T).

        Returns x (B, T, D), weights (B, H, T, N + T) or None, and the cache that holds x too.

        >>> import torch
        >>> block, x, causal = EncoderBlock(8, 2, 16), torch.randn(1, 3, 8), torch.ones(3, 3, dtype=torch.bool).tril()
        >>> _, _, cache = block.step(x[:, :2], mask=causal[:2, :2])
        >>> last, _, _ = block.step(x[:, 2:], cache)  # a single new token may see all
        >>> torch.allclose(last, block(x, mask=causal)[0][:, 2:], atol=1e-5)
        True
        """
        x, weights, cache = self.around_self_attention(
            x, lambda x: self.self_attention.step(x, cache, mask=mask, need_weights=need_weights)
        )
        return self.around_feed_forward(x, self.feed_forward), weights, cache

    @classmethod
    def from_torch(cls, theirs, **options):
        """The same block, with a copy of the weights of torch's layer (`torch_class`). Ours is batch first, always.

        options: `attention`, `rotary`. Raises ValueError for what has no place here: bias=False, other activations.

        >>> import torch
        >>> theirs, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), torch.randn(1, 3, 8)
        >>> torch.allclose(EncoderBlock.from_torch(theirs)(x)[0], theirs(x), atol=1e-5)
        True
        """
        return torch_weights.block_from_torch(cls, theirs, **options)

    def to_torch(self):
        """Torch's layer (`torch_class`, batch_first=True) with a copy of these weights.

        Its boolean masks mean the opposite (`masks.to_hidden`). Raises ValueError with a rotary.

        >>> import torch
        >>> block, x, causal = EncoderBlock(8, 2, 16), torch.randn(1, 3, 8), torch.ones(3, 3, dtype=torch.bool).tril()
        >>> torch.allclose(block.to_torch()(x, src_mask=~causal), block(x, mask=causal)[0], atol=1e-5)
        True
        """
        return torch_weights.block_to_torch(self, self.torch_class)


class DecoderBlock(EncoderBlock):
    """As `EncoderBlock`, with cross-attention to the encoder's output, the memory, between its two parts.

    >>> import torch
    >>> block, x, memory = DecoderBlock(8, 2, 16), torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    >>> x, self_weights, cross_weights = block(x, memory, need_weights=True)
    >>> x.shape, self_weights.shape, cross_weights.shape
    (torch.Size([3, 4, 8]), torch.Size([3, 2, 4, 4]), torch.Size([3, 2, 4, 5]))
    """

    torch_class = nn.TransformerDecoderLayer

    def __init__(
        self,
        d_model,
        num_heads,
        d_ff,
        *,
        dropout=0.0,
        norm_first=False,
        eps=1e-5,
        attention=scaled_dot_product_attention,
        **options,
    ):
        around = {"dropout": dropout, "norm_first": norm_first, "eps": eps}
        super().__init__(d_model, num_heads, d_ff, attention=attention, **around, **options)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout, attention=attention)
        self.around_cross_attention = Residual(d_model, **around)

    def forward(self, x, memory, *, mask=None, memory_mask=None, need_weights=False):
        """x: (B, T, D). memory: (B, S, D), or what `cross_attention.remember` made of it.

        mask: (T, T), (B, 1, T) or (B, T, T), which target token may look at which; nothing is hidden unless it says so.
        memory_mask: (B, 1, S) or (B, T, S), which source tokens may be looked at.
        Returns x (B, T, D), self weights (B, H, T, T) or None, cross weights (B, H, T, S) or None.
        """
        return self.step(x, memory, mask=mask, memory_mask=memory_mask, need_weights=need_weights)[:3]

    def step(self, x, memory, cache=None, *, mask=None, memory_mask=None, need_weights=False):
        """As `forward`, where x (B, T, D) also looks at the N tokens in the cache; mask: (T, N + T) or (B, T, N + T).

        Returns x (B, T, D), self weights (B, H, T, N + T) or None, cross weights (B, H, T, S) or None, and the next
        cache, which holds x too.
        """
        x, self_weights, cache = self.around_self_attention(
            x, lambda x: self.self_attention.step(x, cache, mask=mask, need_weights=need_weights)
        )
        # "The memory keys and values come from the output of the encoder" (section 3.2.3); the queries from here.
        x, cross_weights = self.around_cross_attention(
            x, lambda x: self.cross_attention(x, memory, mask=memory_mask, need_weights=need_weights)
        )
        return self.around_feed_forward(x, self.feed_forward), self_weights, cross_weights, cache


class Stack(nn.Module):
    """num_layers blocks, each with weights of its own. With norm_first a norm stands at the end, else none does.

    Without it the last block of a norm_first stack would hand on a sum that nothing has normalised.

    >>> type(Encoder(8, 2, 16, num_layers=1).norm).__name__
    'Identity'
    >>> type(Encoder(8, 2, 16, num_layers=1, norm_first=True).norm).__name__
    'LayerNorm'
    """

    block = None  # the class of its blocks

    def __init__(self, d_model, num_heads, d_ff, num_layers, *, norm_first=False, eps=1e-5, **options):
        super().__init__()
        options = {"norm_first": norm_first, "eps": eps, **options}
        self.blocks = nn.ModuleList(self.block(d_model, num_heads, d_ff, **options) for _ in range(num_layers))
        self.norm = LayerNorm(d_model, eps) if norm_first else nn.Identity()


class Encoder(Stack):
    """N encoder blocks (section 3.1).

    >>> import torch
    >>> y, weights = Encoder(8, 2, 16, num_layers=3)(torch.randn(1, 5, 8), need_weights=True)
    >>> y.shape, len(weights)
    (torch.Size([1, 5, 8]), 3)
    """

    block = EncoderBlock

    def forward(self, x, *, mask=None, need_weights=False):
        """x: (B, S, D). mask: as a block's. Returns x (B, S, D) and each block's weights (B, H, S, S), a tuple."""
        weights = []
        for block in self.blocks:
            x, weight = block(x, mask=mask, need_weights=need_weights)
            weights.append(weight)
        return self.norm(x), tuple(weights)

    def step(self, x, caches, *, mask=None, need_weights=False):
        """As `forward`, with a cache (or None) for each block.

        Returns x (B, T, D), each block's weights (B, H, T, N + T), and the next caches.
        With a causal mask these blocks are a decoder without an encoder: `decoder_only`.
        """
        weights, following = [], []
        for block, cache in zip(self.blocks, caches, strict=True):
            x, weight, cache = block.step(x, cache, mask=mask, need_weights=need_weights)
            weights.append(weight), following.append(cache)
        return self.norm(x), tuple(weights), tuple(following)


class Decoder(Stack):
    """N decoder blocks, which all look at the same memory: the output of the whole encoder (section 3.1).

    >>> import torch
    >>> decoder, memory, x = Decoder(8, 2, 16, num_layers=2), torch.randn(1, 5, 8), torch.randn(1, 4, 8)
    >>> causal = torch.ones(4, 4, dtype=torch.bool).tril()
    >>> other = torch.cat([x[:, :3], torch.randn(1, 1, 8)], dim=1)  # another last token
    >>> (y, *_), (z, *_) = (decoder(each, memory, mask=causal) for each in (x, other))
    >>> torch.allclose(y[:, :3], z[:, :3], atol=1e-5), torch.allclose(y[:, 3], z[:, 3], atol=1e-5)
    (True, False)
    """

    block = DecoderBlock

    def forward(self, x, memory, *, mask=None, memory_mask=None, need_weights=False):
        """x: (B, T, D). memory: (B, S, D). Masks: as a block's.

        Returns x (B, T, D), each block's self weights (B, H, T, T), each block's cross weights (B, H, T, S), as tuples.
        """
        memories, caches = [memory] * len(self.blocks), [None] * len(self.blocks)
        return self.step(x, memories, caches, mask=mask, memory_mask=memory_mask, need_weights=need_weights)[:3]

    def step(self, x, memories, caches, *, mask=None, memory_mask=None, need_weights=False):
        """As `forward`, with a memory and a cache (or None) for each block. Returns a fourth thing, the next caches.

        x: (B, T, D). mask: (T, N + T) or (B, T, N + T), with N tokens in each cache. memory_mask: (B, 1, S).
        """
        selves, crosses, following = [], [], []
        for block, memory, cache in zip(self.blocks, memories, caches, strict=True):
            x, self_weights, cross_weights, cache = block.step(
                x, memory, cache, mask=mask, memory_mask=memory_mask, need_weights=need_weights
            )
            selves.append(self_weights), crosses.append(cross_weights), following.append(cache)
        return self.norm(x), tuple(selves), tuple(crosses), tuple(following)

    def remember(self, memory):
        """The memory's keys and values for each block, projected once for all steps: a tuple of `KVCache`.

        memory: (B, S, D). Each of the tuple holds two (B, H, S, Dk).
        """
        return tuple(block.cross_attention.remember(memory) for block in self.blocks)

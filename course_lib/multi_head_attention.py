"""Multi-head attention (Vaswani et al. 2017, section 3.2.2): several small attentions side by side.

To split and to merge are free functions; the module holds the weights. B batch, T queries, S keys, D model width,
H heads, Dk = D / H width of a head, of its values too. Any leading axes may stand for B.
"""

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import require_bool


def split_heads(x, num_heads):
    """Cut each token's features into heads: (..., N, D) to (..., H, N, Dk). Head h gets features h·Dk to (h+1)·Dk - 1.

    Raises ValueError where num_heads does not divide D.

    >>> split_heads(torch.tensor([[0, 1, 2, 3], [4, 5, 6, 7]]), 2).tolist()
    [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    """
    _check_heads(x.shape[-1], num_heads)
    # First cut, then swap: a view to (..., H, N, Dk) has the right shape too, with several tokens mixed in each row.
    *leading, D = x.shape
    return x.view(*leading, num_heads, D // num_heads).transpose(-3, -2)  # (..., N, H, Dk) to (..., H, N, Dk)


def merge_heads(x):
    """Put the heads of each token side by side again: (..., H, N, Dk) to (..., N, D). Undoes `split_heads`.

    >>> x = torch.randn(5, 3, 8)
    >>> torch.equal(merge_heads(split_heads(x, 2)), x)
    True
    """
    return x.transpose(-3, -2).flatten(-2)  # (..., N, H, Dk) to (..., N, D)


class KVCache(NamedTuple):
    """Keys and values of a sequence as the heads see them, each (..., H, S, Dk). It never changes.

    >>> cache = KVCache(torch.zeros(3, 2, 5, 4), torch.zeros(3, 2, 5, 4))
    >>> cache.select(torch.tensor([2, 0])).key.shape
    torch.Size([2, 2, 5, 4])
    """

    key: torch.Tensor
    value: torch.Tensor

    def select(self, rows):
        """The cache of some rows of the batch, in any order, a row as often as it is named. rows: (N,) int64."""
        return KVCache(*(part.index_select(0, rows) for part in self))


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_H) W_o with head_i = attention(Q W_i^Q, K W_i^K, V W_i^V) (section 3.2.2).

    d_model: width of queries and output. num_heads: H, which must divide d_model.
    d_memory: width of keys and values where it is not d_model; such a module is for cross-attention alone.
    dropout: share of the weights that is dropped in training. bias: whether each projection adds one.
    attention: any `attention(query, key, value, *, mask, bias, dropout, need_weights) -> (output, weights or None)`.
    rotary: a function (x (..., H, N, Dk), offset=...) -> x that turns queries and keys by their positions, as
    `positions.rotary_embedding` does; for self-attention alone.

    Weights: W_qkv, three projections in one (rows: query, key, value, in each of them head after head), or W_q and
    W_kv where d_memory is another width; and W_o. Raises ValueError where num_heads does not divide d_model.

    >>> attention, x = MultiHeadAttention(8, num_heads=2), torch.randn(3, 4, 8)
    >>> output, weights = attention(x, mask=torch.ones(4, 4, dtype=torch.bool).tril(), need_weights=True)
    >>> output.shape, weights.shape, weights[..., 0, :].unique().tolist()  # the first token sees itself alone
    (torch.Size([3, 4, 8]), torch.Size([3, 2, 4, 4]), [0.0, 1.0])
    """

    def __init__(
        self,
        d_model,
        num_heads,
        *,
        d_memory=None,
        dropout=0.0,
        bias=True,
        attention=scaled_dot_product_attention,
        rotary=None,
    ):
        super().__init__()
        _check_heads(d_model, num_heads)
        self.d_model, self.num_heads, self.d_memory = d_model, num_heads, d_memory or d_model
        self.dropout, self.attention, self.rotary = dropout, attention, rotary
        if self.d_memory == d_model:
            self.W_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        else:
            self.W_q = nn.Linear(d_model, d_model, bias=bias)
            self.W_kv = nn.Linear(self.d_memory, 2 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self):
        """Glorot's uniform weights, for each of the four projections on its own; biases 0."""
        for linear in self.children():
            for projection in linear.weight.split(self.d_model):
                nn.init.xavier_uniform_(projection)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(self, query, key=None, value=None, *, mask=None, bias=None, need_weights=False):
        """Self-attention of query (..., T, D), or cross-attention to key and value, each (..., S, d_memory).

        key: the query unless given; or what `remember` made of a memory. value: the key unless given.
        mask: bool, True = may attend, WITHOUT a head axis: (T, S), (B, 1, S) or (B, T, S). A query without any allowed
        key gets the bias of W_o. bias: floats added to the scores, WITH a head axis: (H, T, S), as ALiBi's.
        need_weights: return each head's weights as well; else they are not held (on a CPU they are while dropout acts).
        Returns (output (..., T, D), weights (..., H, T, S) or None).
        Raises ValueError for shapes that do not fit, TypeError for a mask that is not boolean.
        """
        key = query if key is None else key
        if key is query and (value is None or value is query):
            return self.step(query, mask=mask, bias=bias, need_weights=need_weights)[:2]
        if isinstance(key, KVCache):
            W_q, b_q = self._query_projection()
        else:
            (W_q, b_q), W_kv = self._projections()  # once, since the gradient of a split is as large as all of W_qkv
            key = self._remember(key, value, *W_kv)
        key, value = key  # each (..., H, S, Dk)
        query = split_heads(functional.linear(_wide(query, "query", self.d_model), W_q, b_q), self.num_heads)
        return self._attend(query, key, value, mask, bias, need_weights)

    def step(self, x, cache=None, *, mask=None, bias=None, need_weights=False):
        """Self-attention of the tokens x (..., T, D) over those in the cache and themselves, S in all.

        It hides nothing by itself: a decoder's mask is `causal_mask(T, S)`, whose last row sees everything.
        Arguments and errors as in `forward`, and ValueError where keys have another width (d_memory).
        Returns (output (..., T, D), weights (..., H, T, S) or None, a cache that holds x too).

        >>> attention, x = MultiHeadAttention(8, 2), torch.randn(1, 3, 8)
        >>> _, _, cache = attention.step(x[:, :2])
        >>> last, _, cache = attention.step(x[:, 2:], cache)
        >>> torch.allclose(last, attention(x)[0][:, 2:], atol=1e-5), cache.key.shape
        (True, torch.Size([1, 2, 3, 4]))
        """
        if self.d_memory != self.d_model:
            raise ValueError(f"key: expected a memory of width {self.d_memory}, since this one is for cross-attention")
        projected = self.W_qkv(_wide(x, "query", self.d_model))  # (..., T, 3D)
        # Each of the three has its heads side by side, so one cut serves all.
        query, key, value = split_heads(projected, 3 * self.num_heads).chunk(3, dim=-3)  # each (..., H, T, Dk)
        if self.rotary is not None:
            past = 0 if cache is None else cache.key.shape[-2]
            query, key = self.rotary(query, offset=past), self.rotary(key, offset=past)
        if cache is not None:
            key = torch.cat([cache.key, key], dim=-2)  # (..., H, S, Dk)
            value = torch.cat([cache.value, value], dim=-2)
        return *self._attend(query, key, value, mask, bias, need_weights), KVCache(key, value)

    def remember(self, key, value=None):
        """A memory's keys and values (..., S, d_memory), projected once for all steps that look at it: a KVCache.

        value: the key unless given. `forward` takes the result in place of `key`.
        Raises ValueError for another width, and with a rotary.
        """
        return self._remember(key, value, *self._projections()[1])

    def _remember(self, key, value, W_kv, b_kv):
        if self.rotary is not None:
            raise ValueError("rotary: query and memory share no line of positions; it is for self-attention alone")
        if value is None or value is key:
            projected = functional.linear(_wide(key, "key", self.d_memory), W_kv, b_kv).chunk(2, dim=-1)
        else:
            biases = (None, None) if b_kv is None else b_kv.chunk(2)
            memory = _wide(key, "key", self.d_memory), _wide(value, "value", self.d_memory)
            projected = map(functional.linear, memory, W_kv.chunk(2), biases)
        return KVCache(*(split_heads(part, self.num_heads) for part in projected))

    def _attend(self, query, key, value, mask, bias, need_weights):
        """Attention in each head (..., H, N, Dk), then W_o: output (..., T, D), weights (..., H, T, S) or None."""
        output, weights = self.attention(
            query,
            key,
            value,
            mask=_for_heads(mask, query),
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
        return self.W_o(merge_heads(output)), weights

    def _query_projection(self):
        """(W_q, b_q) alone, for a step that needs no more."""
        if self.d_memory != self.d_model:
            return self.W_q.weight, self.W_q.bias
        weight, bias = self.W_qkv.weight, self.W_qkv.bias
        return weight[: self.d_model], None if bias is None else bias[: self.d_model]

    def _projections(self):
        """((W_q, b_q), (W_kv, b_kv)) as torch's `linear` takes them; biases None without one."""
        if self.d_memory != self.d_model:
            return (self.W_q.weight, self.W_q.bias), (self.W_kv.weight, self.W_kv.bias)
        sizes = [self.d_model, 2 * self.d_model]
        biases = (None, None) if self.W_qkv.bias is None else self.W_qkv.bias.split(sizes)
        return tuple(zip(self.W_qkv.weight.split(sizes), biases, strict=True))

    @classmethod
    @torch.no_grad()
    def from_torch(cls, theirs, **options):
        """The same attention, with a copy of the weights of an `nn.MultiheadAttention`. Ours is batch first, always.

        options: `attention`, `rotary`. Raises ValueError for what has no place here: a kdim that is not vdim,
        add_bias_kv, add_zero_attn.
        """
        if theirs.kdim != theirs.vdim:
            raise ValueError(
                f"kdim and vdim must be equal, since one memory gives keys and values; got {theirs.kdim}, {theirs.vdim}"
            )
        if theirs.bias_k is not None or theirs.add_zero_attn:
            raise ValueError("add_bias_kv and add_zero_attn add a key that belongs to no token; it has no place here")
        settings = {"d_memory": theirs.kdim, "dropout": theirs.dropout, "bias": theirs.in_proj_bias is not None}
        ours = cls(theirs.embed_dim, theirs.num_heads, **settings, **options).to(theirs.out_proj.weight)
        for our, their in _weights_of_both(ours, theirs):
            our.copy_(their)
        return ours.train(theirs.training)

    @torch.no_grad()
    def to_torch(self):
        """An `nn.MultiheadAttention` (batch_first=True) with a copy of these weights.

        Its boolean masks mean the opposite (`masks.to_hidden`), and a query without any key gives NaN there.
        Raises ValueError where it has a rotary, which torch's does not know.
        """
        if self.rotary is not None:
            raise ValueError("rotary: nn.MultiheadAttention does not know positions")
        memory = {"kdim": self.d_memory, "vdim": self.d_memory, "batch_first": True}
        settings = {"dropout": self.dropout, "bias": self.W_o.bias is not None}
        theirs = nn.MultiheadAttention(self.d_model, self.num_heads, **settings, **memory).to(self.W_o.weight)
        for our, their in _weights_of_both(self, theirs):
            their.copy_(our)
        return theirs.train(self.training)


def _weights_of_both(ours, theirs):
    """Views (our weight, torch's weight) of all that must be equal in our module and in an `nn.MultiheadAttention`."""
    (W_q, b_q), (W_kv, b_kv) = ours._projections()
    stacked = theirs.in_proj_weight  # None where the memory has another width
    separate = theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight
    yield from zip((W_q, *W_kv.chunk(2)), separate if stacked is None else stacked.chunk(3), strict=True)
    yield ours.W_o.weight, theirs.out_proj.weight
    if b_q is not None:
        yield from zip((b_q, *b_kv.chunk(2)), theirs.in_proj_bias.chunk(3), strict=True)
        yield ours.W_o.bias, theirs.out_proj.bias


def _for_heads(mask, query):
    """The mask with a head axis, so that it can never line up with the heads by accident. query: (..., H, T, Dk)."""
    if mask is None:
        return None
    require_bool(mask)
    if not 2 <= mask.dim() < query.dim():
        raise ValueError(
            f"mask: expected 2 to {query.dim() - 1} axes, (T, S) or (B, 1, S) or (B, T, S), got shape "
            f"{tuple(mask.shape)} for {query.shape[-2]} queries; the head axis is put in here"
        )
    return mask if mask.dim() == 2 else mask.unsqueeze(-3)  # (T, S) or (B, 1, 1 or T, S)


def _wide(x, name, width):
    """x, checked: at least (N, width)."""
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"{name}: expected (..., tokens, {width}), got shape {tuple(x.shape)}")
    return x


def _check_heads(d_model, num_heads):
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(f"num_heads must divide d_model, got num_heads={num_heads} and d_model={d_model}")

"""Callable arguments for exercises on blocks: norms, attention and feed-forward layers with weights of their own.

Each keeps its weights to itself and follows the dtype of what it is given. x: (..., N, D).
"""

import math

import torch

from course_lib.exercises.lesson_05.masked_attention import masked_attention
from course_lib.exercises.lesson_06.merge_heads import merge_heads
from course_lib.exercises.lesson_06.split_heads import split_heads

from .feed_forward import feed_forward
from .layer_norm import layer_norm


def _draw(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def make_norm(generator, D):
    """A layer norm with random weight and bias: two of them are never alike. Its eps is large enough to be seen."""
    weight, bias = 0.5 + 1.5 * torch.rand(D, generator=generator, dtype=torch.float64), _draw(generator, D)

    def norm(x):
        return layer_norm(x, weight.to(x.dtype), bias.to(x.dtype), eps=0.1)

    return norm


def make_feed_forward(generator, D):
    """A feed-forward layer of width 2D, with tanh, since a ReLU could be 0 throughout."""
    W_1, W_2 = 0.5 * _draw(generator, D, 2 * D) / math.sqrt(D), 3 * _draw(generator, 2 * D, D) / math.sqrt(2 * D)
    weights = W_1, _draw(generator, 2 * D), W_2, _draw(generator, D)

    def feed_forward_layer(x):
        return feed_forward(x, *(w.to(x.dtype) for w in weights), activation=torch.tanh)

    return feed_forward_layer


def make_sublayer(generator, D):
    """Bends each token and mixes it with the mean of its sentence: what a sub-layer may do, in one function."""
    bend, W = make_feed_forward(generator, D), _draw(generator, D, D) / D

    def sublayer(x):
        return bend(x) + x.mean(dim=-2, keepdim=True) @ W.to(x.dtype)

    return sublayer


def make_attention(generator, D, num_heads):
    """Multi-head attention (query, key, value, mask) -> output. mask: as in lesson 6; None hides nothing."""
    W_Q, W_K, W_V, W_O = (scale * _draw(generator, D, D) / math.sqrt(D) for scale in (0.7, 0.7, 1.0, 1.5))

    def attention(query, key, value, mask=None):
        heads = (split_heads(x @ W.to(x.dtype), num_heads) for x, W in ((query, W_Q), (key, W_K), (value, W_V)))
        shown = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
        return merge_heads(masked_attention(*heads, shown.unsqueeze(-3))[0]) @ W_O.to(query.dtype)

    return attention

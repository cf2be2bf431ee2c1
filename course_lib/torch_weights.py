"""Weights from torch's Transformer layers into ours and back. `blocks` and `transformer` offer it as methods.

Differences that remain: torch's boolean masks mean the opposite, a query without any key gives NaN there, and a stack
with post-norm ends with one more norm there unless it is set to None.
"""

import torch
from torch import nn
from torch.nn import functional

from course_lib.layers import LayerNorm
from course_lib.multi_head_attention import MultiHeadAttention

ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}


@torch.no_grad()
def block_from_torch(cls, theirs, **options):
    """A block of the class `cls` with a copy of the weights of torch's layer. options: `attention`, `rotary`.

    Raises ValueError for what has no place here, as `settings_of` and `MultiHeadAttention.from_torch` do.

    >>> from course_lib.blocks import DecoderBlock
    >>> theirs = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
    >>> x, memory = torch.randn(3, 4, 8), torch.randn(3, 5, 8)
    >>> torch.allclose(block_from_torch(DecoderBlock, theirs)(x, memory)[0], theirs(x, memory), atol=1e-5)
    True
    """
    ours = cls(theirs.linear1.in_features, theirs.self_attn.num_heads, **settings_of(theirs), **options)
    ours = ours.to(theirs.linear1.weight)
    for our_name, their_name in _attentions(ours):
        each = {"attention": getattr(ours, our_name).attention, "rotary": getattr(ours, our_name).rotary}
        setattr(ours, our_name, MultiHeadAttention.from_torch(getattr(theirs, their_name), **each))
    for our, their in _twins(ours, theirs):
        our.load_state_dict(their.state_dict())
    return ours.train(theirs.training)


@torch.no_grad()
def block_to_torch(ours, cls):
    """A layer of torch's class `cls`, batch first, with a copy of our block's weights.

    Raises ValueError with a rotary.

    >>> from course_lib.blocks import EncoderBlock
    >>> ours, x, real = EncoderBlock(8, 2, 16), torch.randn(1, 3, 8), torch.tensor([[[True, True, False]]])  # (1, 1, 3)
    >>> theirs = block_to_torch(ours, nn.TransformerEncoderLayer)
    >>> torch.allclose(theirs(x, src_key_padding_mask=~real[:, 0]), ours(x, mask=real)[0], atol=1e-5)
    True
    """
    feed_forward, around = ours.feed_forward, ours.around_self_attention
    theirs = cls(
        feed_forward.d_model,
        ours.self_attention.num_heads,
        feed_forward.W_1.out_features,
        dropout=around.dropout,
        activation=feed_forward.activation,
        layer_norm_eps=around.norm.eps,
        norm_first=around.norm_first,
        batch_first=True,
    ).to(feed_forward.W_1.weight)
    for our_name, their_name in _attentions(ours):
        setattr(theirs, their_name, getattr(ours, our_name).to_torch())
    for our, their in _twins(ours, theirs):
        their.load_state_dict(our.state_dict())
    return theirs.train(ours.training)


def settings_of(theirs):
    """The options of our block that torch's layer has: d_ff, dropout, activation, norm_first, eps.

    Raises ValueError for what has no place here: bias=False, an activation beside relu and gelu.

    >>> settings_of(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16))
    {'d_ff': 16, 'dropout': 0.1, 'activation': 'relu', 'norm_first': False, 'eps': 1e-05}
    """
    if theirs.linear1.bias is None:
        raise ValueError("bias=False has no place here: our feed-forward and norms always have a bias")
    return {
        "d_ff": theirs.linear1.out_features,
        "dropout": theirs.dropout.p,
        "activation": _activation_of(theirs.activation),
        "norm_first": theirs.norm_first,
        "eps": theirs.norm1.eps,
    }


@torch.no_grad()
def copy_stack(ours, theirs, name):
    """Make our stack that of torch's `nn.TransformerEncoder` or `nn.TransformerDecoder`, called `name`.

    Both have the same norm_first. Raises ValueError for a stack of theirs that does not end as ours do, with a norm if,
    and only if, norm_first=True; and where they are not equally many layers.

    >>> from course_lib.blocks import Encoder
    >>> theirs = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), num_layers=2).eval()
    >>> ours, x = Encoder(8, 2, 16, num_layers=2), torch.randn(3, 5, 8)
    >>> copy_stack(ours, theirs, "encoder")
    >>> torch.allclose(ours(x)[0], theirs(x), atol=1e-5)
    True
    """
    norm_first, ends_with_norm = theirs.layers[0].norm_first, theirs.norm is not None
    if norm_first != ends_with_norm:
        what = "ends with no norm, but it needs one" if norm_first else "ends with a norm of its own: set it to None"
        raise ValueError(f"{name}.norm: a stack ends with a norm if, and only if, norm_first=True; this one {what}")
    for at, (our, their) in enumerate(zip(ours.blocks, theirs.layers, strict=True)):
        each = {"attention": our.self_attention.attention, "rotary": our.self_attention.rotary}
        ours.blocks[at] = type(our).from_torch(their, **each)
    if ends_with_norm:
        ours.norm.load_state_dict(theirs.norm.state_dict())


@torch.no_grad()
def stacks_to_torch(encoder, decoder):
    """An `nn.Transformer` (batch_first=True) with copies of our two stacks. With post-norm its final norms are None.

    Raises ValueError with a rotary.

    >>> from course_lib.blocks import Decoder, Encoder
    >>> theirs = stacks_to_torch(Encoder(8, 2, 16, 3), Decoder(8, 2, 16, 1))
    >>> len(theirs.encoder.layers), len(theirs.decoder.layers), theirs.encoder.norm
    (3, 1, None)
    """
    theirs = nn.Transformer(
        encoder.blocks[0].feed_forward.d_model,
        encoder.blocks[0].self_attention.num_heads,
        # With nested tensors padding comes back as zeros in evaluation, and as something else in training.
        custom_encoder=_stack_of_torch(nn.TransformerEncoder, encoder, enable_nested_tensor=False),
        custom_decoder=_stack_of_torch(nn.TransformerDecoder, decoder),
        batch_first=True,
    )
    # It has drawn new weights for what it was given, so the copies go in now.
    for our, their in ((encoder, theirs.encoder), (decoder, theirs.decoder)):
        their.layers = nn.ModuleList(block.to_torch() for block in our.blocks)
        if their.norm is not None:
            their.norm.load_state_dict(our.norm.state_dict())
    return theirs.train(decoder.training)


def _stack_of_torch(cls, ours, **options):
    """Torch's stack with the sizes of ours, final norm included."""
    norm = None
    if isinstance(ours.norm, LayerNorm):
        norm = nn.LayerNorm(len(ours.norm.weight), ours.norm.eps).to(ours.norm.weight)
    return cls(ours.blocks[0].to_torch(), len(ours.blocks), norm, **options)


def _attentions(ours):
    """(our name, torch's name) of the attentions that the block has."""
    return [(name, ATTENTIONS[name]) for name in ATTENTIONS if hasattr(ours, name)]


def _twins(ours, theirs):
    """Pairs (our module, torch's module) with the same names and shapes of weights."""
    arounds = [getattr(ours, f"around_{name}") for name, _ in _attentions(ours)] + [ours.around_feed_forward]
    norms = [getattr(theirs, f"norm{number}") for number in range(1, len(arounds) + 1)]
    yield from zip((around.norm for around in arounds), norms, strict=True)
    yield ours.feed_forward.W_1, theirs.linear1
    yield ours.feed_forward.W_2, theirs.linear2


def _activation_of(theirs):
    if theirs in (functional.relu, torch.relu) or isinstance(theirs, nn.ReLU):
        return "relu"
    if theirs is functional.gelu or (isinstance(theirs, nn.GELU) and theirs.approximate == "none"):
        return "gelu"
    raise ValueError(f"activation: expected torch's relu or gelu, got {theirs!r}")

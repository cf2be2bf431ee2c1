"""What a sentence's vectors go through in a stack of encoder blocks, with parts switched off; no widget in here.

A part that is off adds 0 to the sum (Vaswani et al. 2017, section 3.1: LayerNorm(x + Sublayer(x))). Where no shortcut
goes around it nothing would be left, so there it hands on what it got. A norm that is off, too, hands on what it got.
"""

import copy
import itertools
from typing import NamedTuple

import numpy as np
import torch

from course_lib.blocks import DecoderBlock, EncoderBlock
from course_lib.layers import ACTIVATIONS
from course_lib.masks import require_bool

MOST_BLOCKS, MOST_TOKENS = 12, 16
MOVED = 1e-6  # of its length: a vector that moves by less has not heard of the change
SEED = 8  # of the gradient at the top and of what a token is replaced by
NAMES = {
    False: (
        "input", "attention", "attention_sum", "attention_norm", "hidden", "feed_forward", "feed_forward_sum",
        "feed_forward_norm",
    ),
    True: (
        "input", "attention_norm", "attention", "attention_sum", "feed_forward_norm", "hidden", "feed_forward",
        "feed_forward_sum",
    ),
}  # fmt: skip


class Switches(NamedTuple):
    """Which parts of all blocks are on, and whether the norm stands before a part (True) or after its sum."""

    attention: bool = True
    feed_forward: bool = True
    shortcuts: bool = True
    norms: bool = True
    norm_first: bool = False


ORDERS = ("post", "pre")  # by norm_first
EVERY = [Switches(*values) for values in itertools.product((False, True), repeat=5)]


def key_of(switches):
    """Name of a state: a digit a part, and the order."""
    return "".join(str(int(on)) for on in switches[:4]) + ORDERS[switches.norm_first]


def block_stages(block, x, switches, mask=None):
    """{name: vectors} of one block in the order of its computing, (B, S, D) each; "hidden" is (B, S, d_ff).

    NAMES[norm_first] are the names; without its feed-forward a block has no hidden layer. With every part on, and the
    norms where the block has them, the last stage is what the block gives. x: (B, S, D). mask: as the block's.
    """
    stages = {"input": x}

    def attention(given):
        return block.self_attention(given, mask=mask)[0]

    def feed_forward(given):  # in FeedForward's two steps, for what is between them
        hidden = ACTIVATIONS[block.feed_forward.activation](block.feed_forward.W_1(given))
        stages["hidden"] = hidden  # (B, S, d_ff)
        return block.feed_forward.W_2(hidden)

    for part, around in ((attention, block.around_self_attention), (feed_forward, block.around_feed_forward)):
        name = part.__name__
        norm = around.norm if switches.norms else torch.nn.Identity()
        given = x
        if switches.norm_first:
            given = stages[f"{name}_norm"] = norm(x)
        if getattr(switches, name):
            output = part(given)
        else:
            output = torch.zeros_like(given) if switches.shortcuts else given
        stages[name] = output
        x = stages[f"{name}_sum"] = x + output if switches.shortcuts else output
        if not switches.norm_first:
            x = stages[f"{name}_norm"] = norm(x)
    return stages


def stages(blocks, x, switches, mask=None):
    """`block_stages` of each block, the next one walking on from where the last one ended. x: (B, S, D)."""
    walked = []
    for block in blocks:
        walked.append(block_stages(block, x, switches, mask))
        x = output_of(walked[-1])
    return walked


def output_of(stages):
    """What a block hands on: its last stage (B, S, D)."""
    return list(stages.values())[-1]


def gradient_norms(blocks, x, switches, cotangent, mask=None):
    """Length of the gradient at each block's input and at the top, [L + 1]: of (top · cotangent).sum().

    x, cotangent: (1, S, D); the last number is the cotangent's own length. Taken from the top down, one backward pass.
    """
    with torch.enable_grad():
        walked = stages(blocks, x.detach().clone().requires_grad_(), switches, mask)
        top = output_of(walked[-1])
        places = [one["input"] for one in walked] + [top]
        gradients = torch.autograd.grad(top, places, cotangent, allow_unused=True, materialize_grads=True)
    return [float(gradient.norm()) for gradient in gradients]


def likeness(vectors):
    """Mean cosine over all pairs of tokens, of vectors (S, D); a vector of length 0 has no direction and is left out.

    None where fewer than two are left.
    """
    length = vectors.norm(dim=-1)
    unit = vectors[length > 0] / length[length > 0, None]
    count = len(unit)
    return float((unit @ unit.T).sum() - (unit * unit).sum()) / (count * (count - 1)) if count > 1 else None


def heard(vectors, replaced):
    """Which tokens each token has heard of: (S, S) bool, row = the one that hears, column = the one heard of.

    vectors: (S, D). replaced: (S, S, D), the same with token s of the sentence replaced in `replaced[s]`.
    """
    moved = (replaced - vectors).norm(dim=-1)  # (S replaced, S)
    length = torch.maximum(replaced.norm(dim=-1), vectors.norm(dim=-1))
    return (moved > MOVED * length).T


def measure(blocks, x, switches, cotangent, others, mask=None):
    """What the page shows of one state, each number with four digits; L blocks of 8 stages, S tokens.

    length: (L, 8, S), alike: (L, 8), heard: (L, 8, S), bit s of it set where the token has heard of token s.
    By depth, L + 1 places, the blocks' inputs and the top: mean_length, mean_alike, gradient.
    x, cotangent, others: (1, S, D); others: what each token is replaced by. Lists; None where there is nothing.
    """
    with torch.no_grad():
        walked = stages(blocks, x, switches, mask)
        swapped = torch.where(torch.eye(x.shape[1], dtype=torch.bool)[..., None], others, x)  # (S, S, D)
        changed = stages(blocks, swapped, switches, mask)
        shown = {"length": [], "alike": [], "heard": []}
        for one, other in zip(walked, changed, strict=True):
            found = [_stage(one.get(name), other.get(name)) for name in NAMES[switches.norm_first]]
            for name, values in zip(shown, zip(*found, strict=True), strict=True):
                shown[name].append(list(values))
        along = [one["input"][0] for one in walked] + [output_of(walked[-1])[0]]
        lengths = [float(vectors.norm(dim=-1).mean()) for vectors in along]
        ends = [rows[0] for rows in shown["alike"]] + [shown["alike"][-1][-1]]
        shown |= {"mean_length": _digits(lengths), "mean_alike": ends}
    return shown | {"gradient": _digits(gradient_norms(blocks, x, switches, cotangent, mask))}


def _stage(vectors, replaced):
    """Lengths, likeness and who was heard of, of one stage (1, S, D) and the same with each token replaced."""
    if vectors is None:
        return None, None, None
    bits = heard(vectors[0], replaced).long() @ 2 ** torch.arange(len(replaced))
    return _digits(vectors[0].norm(dim=-1).tolist()), _digits([likeness(vectors[0])])[0], bits.tolist()


def _digits(values):
    return [None if value is None else float(f"{value:.4g}") for value in values]


def measure_all(blocks, x, mask=None):
    """{switches: measure(...)} of all 32 states; blocks and x (1, S, D) in float64, `blocks_of` and `vectors_of`."""
    drawn = torch.from_numpy(np.random.default_rng(SEED).normal(size=(2, *x.shape)))
    cotangent = drawn[0] / drawn[0].norm()
    others = drawn[1] / drawn[1].norm(dim=-1, keepdim=True) * x.norm(dim=-1).mean()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several threads are far slower on matrices this small where the cores are shared
    try:
        found = {switches: measure(blocks, x, switches, cotangent, others, mask) for switches in EVERY}
    finally:
        torch.set_num_threads(threads)
    for switches, shown in found.items():
        if not np.isfinite([*shown["mean_length"], *shown["gradient"]]).all():
            off = ", ".join(name for name in switches._fields[:4] if not getattr(switches, name)) or "nothing"
            raise ValueError(f"blocks: expected finite vectors in every state, got NaN or infinity with {off} off")
    return found


def blocks_of(blocks):
    """Copies of 1 to 12 encoder blocks, for evaluation, in float64 on the CPU; the blocks themselves are left alone.

    blocks: a list, an nn.ModuleList or an Encoder. Raises TypeError or ValueError.
    """
    given = getattr(blocks, "blocks", blocks)
    wanted = f"blocks: expected 1 to {MOST_BLOCKS} encoder blocks (a list, an nn.ModuleList or an Encoder)"
    if not isinstance(given, (list, tuple, torch.nn.ModuleList)):
        raise TypeError(f"{wanted}, got a {type(blocks).__name__}")
    for at, block in enumerate(given):
        if not isinstance(block, EncoderBlock) or isinstance(block, DecoderBlock):
            raise TypeError(f"{wanted}, got a {type(block).__name__} at place {at}")
    if not 1 <= len(given) <= MOST_BLOCKS:
        raise ValueError(f"{wanted}, got {len(given)}")
    widths = [block.self_attention.d_model for block in given]
    orders = {part.norm_first for one in given for part in (one.around_self_attention, one.around_feed_forward)}
    if len({*widths}) > 1:
        raise ValueError(f"blocks: expected one width d_model, got {', '.join(map(str, widths))}")
    if len(orders) > 1:
        raise ValueError("blocks: expected one norm order, got some with norm_first and some without")
    return [copy.deepcopy(block).eval().requires_grad_(False).to("cpu", torch.float64) for block in given]


def vectors_of(x, width):
    """x as (1, S, width) in float64. Raises ValueError unless it is that or (S, width), 2 to 16 tokens, and finite."""
    x = torch.as_tensor(x).detach().to("cpu", torch.float64)
    came = f"x: expected (S, {width}) or (1, S, {width}), got shape {tuple(x.shape)}"
    if x.dim() == 3 and len(x) != 1:
        raise ValueError(f"{came}. Take one sentence, x[:1]")
    if x.dim() not in (2, 3) or x.shape[-1] != width:
        raise ValueError(came)
    x = x.reshape(1, -1, width)
    if not 2 <= x.shape[1] <= MOST_TOKENS:
        raise ValueError(f"x: expected vectors of 2 to {MOST_TOKENS} tokens, got {x.shape[1]}")
    if not x.isfinite().all():
        raise ValueError("x holds NaN or infinity; where does it come from?")
    if not x.any():
        raise ValueError("x holds zeros alone: there is no vector to follow")
    return x


def mask_of(mask, count):
    """The mask as (S, S) bool, or None. Raises TypeError unless it is boolean, ValueError for another shape."""
    if mask is None:
        return None
    require_bool(mask)
    shapes = [(count, count), (1, 1, count), (1, count, count)]
    if tuple(mask.shape) not in shapes:
        raise ValueError(f"mask: expected shape {' or '.join(map(str, shapes))}, got {tuple(mask.shape)}")
    return mask.cpu().reshape(-1, count).expand(count, count)

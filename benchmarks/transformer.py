"""A training step of the Transformer, forward and backward, beside torch's `nn.Transformer`."""

import torch

from course_lib import bench
from course_lib.data.vocabulary import PAD
from course_lib.masks import causal_mask, to_hidden
from course_lib.transformer import Transformer, make_masks

VOCABULARY = 100
PAIRS = 60
LESSON, BASE = bench.Target(at_least=1.15), bench.Target(at_least=0.97)
# Batch, source and target tokens, shortest source; width, heads, hidden width, layers of each stack.
# Lesson 9 sorts its sentences by length: in 7 of its 10 batches all sources are equally long, and no mask hides any.
SIZES = {
    "lesson": (LESSON, (64, 12, 12, 6), (64, 4, 256, 2)),
    "lesson, sources of one length": (LESSON, (64, 12, 12, 12), (64, 4, 256, 2)),
    "paper's base": (BASE, (2, 16, 16, 8), (512, 8, 2048, 6)),
}


def main(device):
    """Rows by size and dropout.

    Each step begins with ids and ends with a gradient in every weight of the two stacks; embeddings and output layer,
    which `nn.Transformer` does not have, are left out on both sides.
    """
    for name, (target, (B, S, T, shortest), (D, H, d_ff, layers)) in SIZES.items():
        for dropout in (0.1, 0.0):
            yield bench.compare(
                *steps((B, S, T, shortest), (D, H, d_ff, layers), dropout, device),
                what=f"Transformer: training step, dropout {dropout:g}",
                size=f"{name}: B={B}, S={S}, T={T}, D={D}, H={H}, layers={layers}+{layers}",
                beside="nn.Transformer",
                pairs=PAIRS,
                device=device,
                warm_up=3,
                target=target,
            )


def steps(shape, widths, dropout, device):
    """(their step, ours). Both have the same weights, inputs and masks, so they do the same work.

    Torch is given its best road: batch first, boolean masks, and `tgt_is_causal` said, since looking for it costs time.
    """
    torch.manual_seed(0)
    (B, S, T, shortest), (D, H, d_ff, layers) = shape, widths
    sizes = {"d_model": D, "num_heads": H, "d_ff": d_ff, "encoder_layers": layers, "decoder_layers": layers}
    ours = Transformer(VOCABULARY, VOCABULARY, dropout=dropout, **sizes).to(device)
    theirs = ours.to_torch()
    source, target = padded(B, S, shortest).to(device), padded(B, T, T // 2).to(device)
    x, y, direction = (torch.randn(B, N, D, device=device, requires_grad=True) for N in (S, T, T))

    def step_of_ours():
        ours.zero_grad()
        source_mask, target_mask = make_masks(source, target, PAD)
        memory, _ = ours.encoder(x, mask=source_mask)
        ours.decoder(y, memory, mask=target_mask, memory_mask=source_mask)[0].backward(direction)

    def step_of_theirs():
        theirs.zero_grad()
        padding, future = source == PAD, to_hidden(causal_mask(T, device=device))
        theirs(
            x,
            y,
            tgt_mask=future,
            src_key_padding_mask=padding,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=padding,
            src_is_causal=False,
            tgt_is_causal=True,
            memory_is_causal=False,
        ).backward(direction)

    return step_of_theirs, step_of_ours


def padded(rows, longest, shortest):
    """Ids (rows, longest), from a full row down to one with `shortest` real tokens, padding behind."""
    lengths = torch.linspace(longest, shortest, rows).long()
    ids = torch.randint(4, VOCABULARY, (rows, longest))
    return ids.masked_fill(torch.arange(longest) >= lengths[:, None], PAD)

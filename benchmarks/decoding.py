"""Writing 64 tokens greedily, beside `nn.Transformer`'s decoder, which is run anew on all tokens so far.

Its decoder has no cache, so a text of T tokens costs it 1 + 2 + ... + T of them, and us T.
"""

import torch

from course_lib import bench
from course_lib.data.vocabulary import BOS, PAD
from course_lib.generation import greedy
from course_lib.masks import causal_mask, to_hidden
from course_lib.transformer import Transformer

VOCABULARY, TOKENS, S = 100, 64, 16
NO_ID = -1  # no token has it, so no row ends before its 64 tokens
PAIRS = {1: 30, 8: 7, 32: 30}  # by batch; each is 64 steps of both
# Batches; width, heads, hidden width, layers of each stack.
SIZES = {
    "lesson": ((1, 32), (64, 4, 256, 2)),
    "paper's base": ((1, 8), (512, 8, 2048, 6)),
}


def main(device):
    """Rows by size and batch. Each begins with what its encoder said, and ends with the ids of 64 tokens."""
    for name, (batches, (D, H, d_ff, layers)) in SIZES.items():
        for B in batches:
            yield bench.compare(
                *writers(B, (D, H, d_ff, layers), device),
                what=f"{TOKENS} tokens, greedily",
                size=f"{name}: B={B}, S={S}, D={D}, H={H}, layers={layers}+{layers}",
                beside="nn.Transformer's decoder",
                pairs=PAIRS[B],
                device=device,
                warm_up=1,
            )


@torch.no_grad()
def writers(B, widths, device):
    """(their way, ours). Both have the same weights and the same embeddings and output layer, so they write the same.

    Torch is given its best road: boolean masks, `tgt_is_causal` said, and the output layer for the last token alone.
    """
    torch.manual_seed(0)
    D, H, d_ff, layers = widths
    sizes = {"d_model": D, "num_heads": H, "d_ff": d_ff, "encoder_layers": layers, "decoder_layers": layers}
    ours = Transformer(VOCABULARY, VOCABULARY, **sizes).to(device).eval()
    ours.output.weight[PAD] = 0.0  # so that some other token is always likelier
    theirs = ours.to_torch()
    source = padded(B).to(device)
    hidden = source == PAD
    memory, first = ours.encoder(ours.source_embedding(source), mask=~hidden.unsqueeze(1))[0], ours.encode(source)

    def step_of_theirs(token, written):
        written = torch.cat([written, token.unsqueeze(1)], dim=1)  # (B, T)
        T = written.shape[1]
        x = theirs.decoder(
            ours.target_embedding(written),
            memory,
            tgt_mask=to_hidden(causal_mask(T, device=device)),
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return ours.output(x[:, -1]), written

    def write(step, state):
        return greedy(step, state, bos=BOS, eos=NO_ID, pad=PAD, max_length=TOKENS, batch_size=B, device=device)

    def write_by_theirs():
        return write(step_of_theirs, source[:, :0])

    def write_by_ours():
        return write(ours.step, first)

    assert torch.equal(write_by_theirs(), write_by_ours())
    return write_by_theirs, write_by_ours


def padded(rows):
    """Source ids (rows, S), from a full row down to half of one, padding behind; one row alone has none."""
    lengths = torch.linspace(S, S // 2, rows).long()
    ids = torch.randint(4, VOCABULARY, (rows, S))
    return ids.masked_fill(torch.arange(S) >= lengths[:, None], PAD)

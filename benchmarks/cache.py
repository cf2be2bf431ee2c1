"""Writing on with `DecoderOnly`: the time without a cache of keys and values over the time with one."""

import torch

from course_lib import bench
from course_lib.data.vocabulary import BOS, PAD
from course_lib.decoder_only import DecoderOnly
from course_lib.generation import greedy

VOCABULARY = 600
NO_ID = -1  # no token has it, so no row ends early
# Pairs; width, heads, hidden width, layers; numbers of tokens.
SIZES = {
    "lesson": (10, (64, 4, 256, 3), (32, 128, 512)),
    "base": (3, (512, 8, 2048, 6), (32, 128)),
}


def main():
    """One row a size and length: median of the ratio over pairs that run in turn, and the median times."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = []
    for name, (pairs, widths, lengths) in SIZES.items():
        for tokens in lengths:
            found = compare(pairs, widths, tokens, device)
            D, H, _, layers = widths
            rows.append(
                {
                    "size": f"{name}: {tokens} tokens, D={D}, H={H}, layers={layers}",
                    "ratio": found["ratio"],
                    "without, ms": found["torch, ms"],
                    "with, ms": found["ours, ms"],
                }
            )
    return rows


@torch.no_grad()
def compare(pairs, widths, tokens, device):
    """Both begin with BOS alone, and write the same."""
    torch.manual_seed(0)
    D, H, d_ff, layers = widths
    model = DecoderOnly(VOCABULARY, d_model=D, num_heads=H, d_ff=d_ff, num_layers=layers, positions="rotary")
    model = model.to(device).eval()

    def step_without(token, written):
        written = torch.cat([written, token.unsqueeze(1)], dim=1)  # (1, T)
        return model(written)[:, -1], written

    def write(step, state):
        return greedy(step, state, bos=BOS, eos=NO_ID, pad=PAD, max_length=tokens, batch_size=1, device=device)

    def without():
        return write(step_without, torch.empty(1, 0, dtype=torch.int64, device=device))

    def cached():
        return write(model.step, model.start())

    assert torch.equal(without(), cached())
    return bench.compare(without, cached, pairs, warm_up=1)

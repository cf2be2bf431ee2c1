"""Writing on with `DecoderOnly` and its cache of keys and values: beside no cache, and beside itself further back."""

import torch

from course_lib import bench
from course_lib.data.vocabulary import BOS, PAD
from course_lib.decoder_only import DecoderOnly
from course_lib.generation import greedy

VOCABULARY = 600
NO_ID = -1  # no token has it, so no row ends early
# Width, heads, hidden width, layers; pairs by the number of tokens (one without a cache takes seconds for many).
SIZES = {
    "lesson": ((64, 4, 256, 3), {32: 30, 128: 30, 512: 7}),
    "base": ((512, 8, 2048, 6), {32: 7, 128: 3}),
}
NEAR, FAR, RUN, PAIRS = 64, 512, 16, 60
FLAT = bench.Target(at_least=0.8)


@torch.no_grad()
def main(device):
    """Rows of texts written from BOS on, then of the time of a token with few before it over that with many."""
    for name, (widths, lengths) in SIZES.items():
        D, H, d_ff, layers = widths
        torch.manual_seed(0)
        model = DecoderOnly(VOCABULARY, d_model=D, num_heads=H, d_ff=d_ff, num_layers=layers, positions="rotary")
        model = model.to(device).eval()
        size = f"{name}: D={D}, H={H}, layers={layers}"
        for tokens, pairs in lengths.items():
            pair = writers(model, tokens, device)
            row = {"what": f"{tokens} tokens with a cache", "size": size, "beside": "no cache", "device": device}
            yield bench.compare(*pair, pairs=pairs, warm_up=1, **row)
        near, far = (steps_after(model, tokens, device) for tokens in (NEAR, FAR))
        row = {"what": f"a cached token at {FAR}", "size": size, "beside": f"at {NEAR}", "device": device}
        yield bench.compare(near, far, pairs=PAIRS, target=FLAT, **row)


def writers(model, tokens, device):
    """(without, with a cache). Both begin with BOS alone, and write the same."""

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
    return without, cached


def steps_after(model, tokens, device):
    """A function that writes RUN tokens, each in its own step, after so many; the cache before them is kept."""
    ids = torch.randint(VOCABULARY, (1, tokens), device=device)
    _, begun = model.read(ids, model.start())
    token = ids[:, 0]

    def step():
        cache = begun
        for _ in range(RUN):
            _, cache = model.step(token, cache)

    return step

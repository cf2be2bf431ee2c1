"""What a GPU has beside kernels: a training step in 16 bits, and one compiled, beside the plain one in 32."""

from functools import partial

import torch

from course_lib import bench
from course_lib.data.vocabulary import PAD
from course_lib.transformer import Transformer

VOCABULARY = 8_000
PAIRS = 30
LESSON = {"d_model": 64, "num_heads": 4, "d_ff": 256, "encoder_layers": 2, "decoder_layers": 2}
SIZES = {"paper's base": (32, 64, {}), "lesson": (64, 12, LESSON)}  # batch, tokens, widths


def main(device):
    """Rows of time and memory. Nothing on a CPU, where neither is used: there 16 bits are slower than 32."""
    if torch.device(device).type == "cpu":
        return
    for name, (B, N, widths) in SIZES.items():
        torch.manual_seed(0)
        model = Transformer(VOCABULARY, VOCABULARY, **widths).to(device)
        ids = torch.randint(PAD + 1, VOCABULARY, (B, N), device=device)
        plain = partial(step, model, ids, device)
        size = f"{name}: B={B}, S=T={N}"
        row = {"size": size, "beside": "32 bits", "device": device}
        half = partial(plain, dtype=torch.bfloat16)
        yield bench.compare(plain, half, what="training step in bfloat16", pairs=PAIRS, **row)
        yield bench.compare_memory(plain, half, what="training step in bfloat16: memory", **row)
        compiled = partial(step, torch.compile(model), ids, device, dtype=torch.bfloat16)
        row["beside"] = "bfloat16, not compiled"
        yield bench.compare(half, compiled, what="training step, compiled", pairs=PAIRS, **row)


def step(model, ids, device, dtype=None):
    """Forward and backward of a batch whose source is its target. dtype: that of `torch.autocast`."""
    model.zero_grad()
    with torch.autocast(torch.device(device).type, dtype=dtype, enabled=dtype is not None):
        logits = model(ids, None, ids[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
    loss.backward()

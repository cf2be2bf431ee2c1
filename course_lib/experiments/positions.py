"""Beyond the trained length: four ways to say where a token stands, trained on short strings, tested on long ones.

The task is to name the letter two places before, at every place: it needs positions and nothing else.
`course experiment positions` trains the grid (about a minute on one core) and writes positions.json.
"""

import statistics

import torch
from torch import nn
from torch.nn import functional

from course_lib.experiments import parser_of, save, shipped, versions
from course_lib.masks import causal_mask
from course_lib.multi_head_attention import MultiHeadAttention
from course_lib.positions import LearnedPositions, SinusoidalEncoding, rotary_embedding
from course_lib.training import fit

KINDS = ("none", "sinusoidal", "learned", "rotary")
LETTERS, BACK = 16, 2
D_MODEL, NUM_HEADS = 32, 4
SEEDS = (0, 1, 2)
STEPS, BATCH_SIZE, RATE = 800, 64, 0.01
TRAINED_LENGTHS = (8, 24)  # shortest and longest
TEST_LENGTH, TEST_COUNT, TEST_SEED = 96, 200, 1_000_003
PLACES = ((2, 8), (8, 16), (16, 24), (24, 32), (32, 48), (48, 96))  # from, up to: measured together


class LooksBack(nn.Module):
    """One layer of causal attention and a linear layer; only the way positions enter differs. kind: one of KINDS."""

    def __init__(self, kind):
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
        self.letter = nn.Embedding(LETTERS, D_MODEL)
        marks = {"sinusoidal": lambda: SinusoidalEncoding(D_MODEL), "learned": lambda: LearnedPositions(128, D_MODEL)}
        self.place = marks.get(kind, nn.Identity)()
        self.attention = MultiHeadAttention(D_MODEL, NUM_HEADS, rotary=rotary_embedding if kind == "rotary" else None)
        self.answer = nn.Linear(D_MODEL, LETTERS)

    def forward(self, strings):
        """strings: (B, N) letters as ints. Returns logits (B, N, LETTERS)."""
        mask = causal_mask(strings.shape[1], device=strings.device)
        output, _ = self.attention(self.place(self.letter(strings)), mask=mask)
        return self.answer(output)


def make_model(kind, seed):
    """A fresh model; its first weights follow the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LooksBack(kind)


def make_batches(seed):
    """Batches (B, N) without end, each of one random length from the trained ones."""
    generator = torch.Generator().manual_seed(seed)
    shortest, longest = TRAINED_LENGTHS
    while True:
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        yield torch.randint(0, LETTERS, (BATCH_SIZE, length), generator=generator)


def look_back_loss(model, strings):
    """Surprise at the letter two places before, in nats; the first two places have none."""
    return functional.cross_entropy(model(strings)[:, BACK:].flatten(0, 1), strings[:, :-BACK].flatten())


@torch.no_grad()
def measure(model):
    """Share of right answers on new strings of 96 letters, one for each group of PLACES."""
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(TEST_SEED)
    strings = torch.randint(0, LETTERS, (TEST_COUNT, TEST_LENGTH), generator=generator)
    guesses = model(strings.to(device)).argmax(-1).cpu()
    right = (guesses[:, BACK:] == strings[:, :-BACK]).float().mean(0)  # (N - 2,), the first is place 2
    return [round(right[start - BACK : end - BACK].mean().item(), 3) for start, end in PLACES]


def run_point(kind, seed, steps=STEPS, *, device="cpu", progress=False, curve=False):
    """Train one model and measure it: {kind, seed, steps, loss, right: one share for each group of PLACES}."""
    model = make_model(kind, seed).to(device)
    history = fit(model, make_batches(seed), look_back_loss, steps=steps, lr=RATE, seed=seed, progress=progress,
                  curve=curve)  # fmt: skip
    loss = round(statistics.fmean(history.losses[-50:]), 3)
    return {"kind": kind, "seed": seed, "steps": history.steps, "loss": loss, "right": measure(model)}


def spread(points):
    """Over the seeds of each kind: mean, lowest and highest share for each group of places."""
    rows = []
    for kind in dict.fromkeys(point["kind"] for point in points):
        columns = list(zip(*(point["right"] for point in points if point["kind"] == kind), strict=True))
        mean = [round(statistics.fmean(column), 3) for column in columns]
        rows.append({"kind": kind, "mean": mean, "lowest": [*map(min, columns)], "highest": [*map(max, columns)]})
    return rows


def load_positions():
    """The shipped grid: settings, `places`, `points` (as `run_point` gives them) and `spread`."""
    return shipped("positions")


def main(arguments=()):
    """Train the grid and write it. arguments: command-line words; see --help."""
    options = parser_of("positions", __doc__, steps=STEPS, seeds=SEEDS).parse_args(list(arguments))
    torch.set_num_threads(1)  # the same sums on every machine, and the fastest for models this small
    points = []
    for kind in KINDS:
        for seed in options.seeds:
            points.append(run_point(kind, seed, options.steps))
            print(f"{kind} seed {seed}: {points[-1]['right']}", flush=True)
    seeds = " ".join(map(str, options.seeds))
    result = {
        "command": f"course experiment positions --steps {options.steps} --seeds {seeds}",
        "versions": versions(),
        "steps": options.steps, "batch_size": BATCH_SIZE, "rate": RATE, "d_model": D_MODEL, "num_heads": NUM_HEADS,
        "letters": LETTERS, "back": BACK, "trained_lengths": TRAINED_LENGTHS, "strings": TEST_COUNT,
        "seeds": list(options.seeds), "places": PLACES, "spread": spread(points), "points": points,
    }  # fmt: skip
    save(result, options.output)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

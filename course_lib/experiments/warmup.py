"""Norm after or before each part, with and without a warm-up of the learning rate: which of the four learns?

The task is to say a string backwards, with a stack of encoder blocks. `course experiment warmup` trains the grid (about
four minutes on one core) and writes warmup.json.
"""

import statistics

import torch
from torch import nn
from torch.nn import functional

from course_lib.blocks import Encoder
from course_lib.experiments import parser_of, save, shipped, versions
from course_lib.positions import SinusoidalEncoding
from course_lib.training import fit

ORDERS = ("post", "pre")
WARMUPS = (0, 300)  # steps in which the rate rises to RATE
LETTERS, LENGTH = 16, 12
DEPTH, D_MODEL, NUM_HEADS, D_FF = 6, 32, 4, 128
SEEDS = (0, 1, 2, 3)
STEPS, BATCH_SIZE, RATE = 1000, 32, 0.005
EVERY = 50  # a curve has one point, a mean, for so many steps


class Reverser(nn.Module):
    """Letters with their places, a stack of blocks, and a linear layer that names a letter at each place."""

    def __init__(self, order, depth):
        super().__init__()
        if order not in ORDERS:
            raise ValueError(f"order: expected one of {', '.join(ORDERS)}, got {order!r}")
        self.letter, self.place = nn.Embedding(LETTERS, D_MODEL), SinusoidalEncoding(D_MODEL)
        self.encoder = Encoder(D_MODEL, NUM_HEADS, D_FF, depth, norm_first=order == "pre")
        self.answer = nn.Linear(D_MODEL, LETTERS)

    def forward(self, strings):
        """strings: (B, N) letters as ints. Returns logits (B, N, LETTERS)."""
        return self.answer(self.encoder(self.place(self.letter(strings)))[0])


def make_model(order, seed, depth=DEPTH):
    """A fresh model with its norms "post" or "pre"; its first weights follow the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Reverser(order, depth)


def make_batches(seed):
    """Batches (B, N) of random strings without end."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield torch.randint(0, LETTERS, (BATCH_SIZE, LENGTH), generator=generator)


def reversal_loss(model, strings):
    """Surprise at each letter of the string said backwards, in nats."""
    return functional.cross_entropy(model(strings).flatten(0, 1), strings.flip(1).flatten())


def rate(step, warmup):
    """RATE, reached in a straight line over the first `warmup` steps; at once with 0."""
    return RATE * min(1, step / warmup) if warmup else RATE


def run_point(order, warmup, seed, steps=STEPS, *, device="cpu", progress=False, curve=False):
    """Train one model: {order, warmup, seed, steps, losses: the mean of each EVERY steps}."""
    model = make_model(order, seed).to(device)
    history = fit(
        model, make_batches(seed), reversal_loss, steps=steps, lr=lambda step: rate(step, warmup), seed=seed,
        progress=progress, curve=curve,
    )  # fmt: skip
    parts = [history.losses[start : start + EVERY] for start in range(0, history.steps, EVERY)]
    losses = [round(statistics.fmean(part), 3) for part in parts]
    return {"order": order, "warmup": warmup, "seed": seed, "steps": history.steps, "losses": losses}


def spread(points):
    """Over the seeds of each order with each warm-up: mean, lowest and highest loss at each point of the curve."""
    rows = []
    for order, warmup in dict.fromkeys((point["order"], point["warmup"]) for point in points):
        runs = [point["losses"] for point in points if (point["order"], point["warmup"]) == (order, warmup)]
        columns = list(zip(*runs, strict=True))
        mean = [round(statistics.fmean(column), 3) for column in columns]
        lowest, highest = [*map(min, columns)], [*map(max, columns)]
        rows.append({"order": order, "warmup": warmup, "mean": mean, "lowest": lowest, "highest": highest})
    return rows


def load_warmup():
    """The shipped grid: settings, `places` (last step of each point), `points` (as `run_point` gives) and `spread`."""
    return shipped("warmup")


def main(arguments=()):
    """Train the grid and write it. arguments: command-line words; see --help."""
    options = parser_of("warmup", __doc__, steps=STEPS, seeds=SEEDS).parse_args(list(arguments))
    torch.set_num_threads(1)  # the same sums on every machine, and the fastest for models this small
    points = []
    for order in ORDERS:
        for warmup in WARMUPS:
            for seed in options.seeds:
                points.append(run_point(order, warmup, seed, options.steps))
                print(f"{order}-norm, warm-up {warmup}, seed {seed}: {points[-1]['losses'][-1]}", flush=True)
    seeds = " ".join(map(str, options.seeds))
    result = {
        "command": f"course experiment warmup --steps {options.steps} --seeds {seeds}",
        "versions": versions(),
        "steps": options.steps, "batch_size": BATCH_SIZE, "rate": RATE, "depth": DEPTH, "d_model": D_MODEL,
        "num_heads": NUM_HEADS, "d_ff": D_FF, "letters": LETTERS, "length": LENGTH, "seeds": list(options.seeds),
        "places": [*range(EVERY, options.steps + 1, EVERY)], "spread": spread(points), "points": points,
    }  # fmt: skip
    save(result, options.output)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

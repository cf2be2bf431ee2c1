"""A dictionary is read, then asked: which kinds of attention find the entry again, and in how long a text?

A text is N entries (a key and its value in one token) and then N questions (a key), each to be answered by the value.
`course experiment recall` trains the grid (about a quarter of an hour on one core) and writes recall.json.
"""

import statistics

import torch
from torch.nn import functional

from course_lib.attention import scaled_dot_product_attention
from course_lib.encoder_only import EncoderOnly
from course_lib.experiments import parser_of, save, shipped, versions
from course_lib.linear_attention import linear_attention
from course_lib.masks import causal_mask, sliding_window_mask
from course_lib.training import fit

KEYS, VALUES, FIRST = 64, 8, 4  # ids: entries from FIRST on, then questions
LENGTHS = (4, 8, 16, 32)  # entries of a text in training
ASKED = (*LENGTHS, 64)  # and when it is tested, on TESTS texts each
TESTS, WINDOW = 100, 8
D_MODEL, NUM_LAYERS = 64, 2
SEEDS = (0, 1, 2)
STEPS, BATCH_SIZE, RATE = 2000, 64, 2e-3
EVERY = 100  # the loss is noted as a mean of so many steps


def full(query, key, value, *, mask=None, **options):
    """Causal attention over everything so far. mask: not read, since no text here is padded."""
    mask = causal_mask(query.shape[-2], device=query.device)
    return scaled_dot_product_attention(query, key, value, mask=mask, **options)


def window(query, key, value, *, mask=None, **options):
    """The same, over the last WINDOW tokens alone."""
    mask = sliding_window_mask(query.shape[-2], window=WINDOW, device=query.device)
    return scaled_dot_product_attention(query, key, value, mask=mask, **options)


def linear(query, key, value, *, mask=None, **options):
    """Causal attention with a state of a fixed size."""
    return linear_attention(query, key, value, causal=True, **options)


KINDS = {  # name: attention, heads; of H linear heads the states have H · (D / H)² numbers in all
    "full": (full, 4),
    "window": (window, 4),
    "linear, 1 head": (linear, 1),
    "linear, 4 heads": (linear, 4),
    "linear, 16 heads": (linear, 16),
}


def make_model(kind, seed):
    """A fresh model that answers with one of the values at each place; its first weights follow the seed."""
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    attention, num_heads = KINDS[kind]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return EncoderOnly(
            FIRST + KEYS * VALUES + KEYS, d_model=D_MODEL, num_heads=num_heads, d_ff=2 * D_MODEL, dropout=0.0,
            num_layers=NUM_LAYERS, num_classes=VALUES, attention=attention, positions="rotary",
        )  # fmt: skip


def draw_texts(entries, rows, generator):
    """Texts of so many entries and as many questions: ids (rows, 2 · entries), answers (rows, entries)."""
    keys = torch.rand(rows, KEYS, generator=generator).argsort(-1)[:, :entries]  # no key twice
    values = torch.randint(0, VALUES, (rows, entries), generator=generator)
    order = torch.rand(rows, entries, generator=generator).argsort(-1)  # (rows, entries)
    questions = FIRST + KEYS * VALUES + keys.gather(1, order)
    return torch.cat([FIRST + keys * VALUES + values, questions], dim=1), values.gather(1, order)


class Texts(tuple):
    """(ids, answers), which `fit` moves to the model's device."""

    def to(self, device):
        return Texts(part.to(device) for part in self)


def make_batches(seed):
    """Batches of texts without end, each batch of one length; about as many tokens in each."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        entries = LENGTHS[int(torch.randint(len(LENGTHS), (), generator=generator))]
        rows = BATCH_SIZE if entries < LENGTHS[-1] else BATCH_SIZE // 2
        yield Texts(draw_texts(entries, rows, generator))


def answers_of(model, ids):
    """Scores of the values at each question. ids: (B, 2N). Returns (B, N, VALUES)."""
    return model.tag(ids)[:, ids.shape[1] // 2 :]


def recall_loss(model, texts):
    """Surprise at the right values, in nats a question."""
    ids, answers = texts
    return functional.cross_entropy(answers_of(model, ids).flatten(0, 1), answers.flatten())


@torch.no_grad()
def accuracy(model, entries):
    """Share of right answers on TESTS new texts of so many entries."""
    ids, answers = draw_texts(entries, TESTS, torch.Generator().manual_seed(10_000 + entries))
    device = next(model.parameters()).device
    said = answers_of(model, ids.to(device)).argmax(dim=-1).cpu()
    return (said == answers).float().mean().item()


def run_point(kind, seed, steps=STEPS, *, device="cpu", progress=False, curve=False):
    """Train one model: {kind, seed, steps, losses, right}.

    losses: the mean of each EVERY steps. right: the share of right answers for each number of entries in ASKED.
    """
    model = make_model(kind, seed).to(device)
    history = fit(
        model, make_batches(seed), recall_loss, steps=steps, lr=RATE, seed=seed, progress=progress, curve=curve
    )
    model.eval()
    right = {str(entries): round(accuracy(model, entries), 3) for entries in ASKED}
    parts = [history.losses[start : start + EVERY] for start in range(0, history.steps, EVERY)]
    losses = [round(statistics.fmean(part), 3) for part in parts]
    return {"kind": kind, "seed": seed, "steps": history.steps, "losses": losses, "right": right}


def spread(points):
    """Over the seeds of each kind: mean, lowest and highest share for each number of entries."""
    rows = []
    for kind in dict.fromkeys(point["kind"] for point in points):
        runs = [point["right"] for point in points if point["kind"] == kind]
        columns = {entries: [run[entries] for run in runs] for entries in runs[0]}
        measures = {"mean": lambda column: round(statistics.fmean(column), 3), "lowest": min, "highest": max}
        rows.append({"kind": kind, **{
            name: {entries: measure(column) for entries, column in columns.items()}
            for name, measure in measures.items()
        }})  # fmt: skip
    return rows


def load_recall():
    """The shipped grid: settings, `points` (as `run_point` gives) and `spread`."""
    return shipped("recall")


def main(arguments=()):
    """Train the grid and write it. arguments: command-line words; see --help."""
    options = parser_of("recall", __doc__, steps=STEPS, seeds=SEEDS).parse_args(list(arguments))
    torch.set_num_threads(1)  # the same sums on every machine, and the fastest for models this small
    points = []
    for kind in KINDS:
        for seed in options.seeds:
            points.append(run_point(kind, seed, options.steps))
            print(f"{kind}, seed {seed}: {points[-1]['right']}", flush=True)
    seeds = " ".join(map(str, options.seeds))
    result = {
        "command": f"course experiment recall --steps {options.steps} --seeds {seeds}",
        "versions": versions(),
        "steps": options.steps, "batch_size": BATCH_SIZE, "rate": RATE, "d_model": D_MODEL, "num_layers": NUM_LAYERS,
        "window": WINDOW, "keys": KEYS, "values": VALUES, "lengths": LENGTHS, "asked": ASKED,
        "every": EVERY, "heads": {kind: heads for kind, (_, heads) in KINDS.items()},
        "seeds": list(options.seeds), "spread": spread(points), "points": points,
    }  # fmt: skip
    save(result, options.output)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

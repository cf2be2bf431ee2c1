"""The Seq2Seq bottleneck: how much of a string survives one vector, by its length, the vector's width and the task.

`course experiment bottleneck` trains the whole grid (about ten minutes on one core) and writes bottleneck.json.
"""

import json
import statistics
import time
from importlib import resources

import torch

from course_lib.data.batches import encode_pairs, evaluation_batches, training_batches
from course_lib.data.symbols import ALPHABET, TASKS, symbol_pairs
from course_lib.data.vocabulary import EOS, PAD, Vocabulary
from course_lib.evaluation import exact_matches, token_hits
from course_lib.experiments import parser_of, save, versions
from course_lib.generation import write
from course_lib.recurrent import Decoder, Encoder, Seq2Seq
from course_lib.training import fit, sequence_loss

WIDTHS = (32, 64, 128)  # of the state: what the one vector holds
D_EMBEDDING = 64  # the same for all, so that only the state differs
SEEDS = (0, 1, 2)
STEPS = 1200
BATCH_SIZE = 64
RATE = 5e-3
TRAINED_LENGTHS = (3, 20)
TEST_LENGTHS = (4, 6, 8, 10, 12, 14, 16, 18, 20)
TEST_COUNT = 300  # strings of each length
TEST_SEED = 1_000_003  # never a training seed
VOCABULARY = Vocabulary(ALPHABET)


def make_model(width, seed, cell="gru"):
    """Encoder and decoder whose states have `width` numbers; the context stands beside every step (Cho et al. 2014)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoder = Encoder(len(VOCABULARY), D_EMBEDDING, width, cell)
        decoder = Decoder(len(VOCABULARY), D_EMBEDDING, width, encoder.d_context, cell, context="every_step")
    return Seq2Seq(encoder, decoder)


def make_batches(task, seed, count=20_000):
    """Training batches without end over `count` random strings of 3 to 20 symbols."""
    pairs = symbol_pairs(task, count, lengths=TRAINED_LENGTHS, seed=seed)
    return training_batches(encode_pairs(pairs, VOCABULARY, VOCABULARY), BATCH_SIZE, seed)


def measure(model, task, lengths=TEST_LENGTHS, count=TEST_COUNT):
    """What `model` writes by itself for fresh strings of each length.

    Returns token: {length: share of symbols in their place}, exact: {length: share of strings without an error},
    position: share of symbols right at each place of the longest strings. The end token counts for `exact` only.
    """
    token, exact, position = {}, {}, []
    for length in lengths:
        pairs = symbol_pairs(task, count, lengths=(length, length), seed=TEST_SEED + length)
        (batch,) = evaluation_batches(encode_pairs(pairs, VOCABULARY, VOCABULARY), count)
        target = batch.target
        written = write(model, batch, max_length=length + 1).cpu()
        hits = token_hits(written, target, PAD)[0][:, :length].float()  # (count, length)
        token[length] = round(hits.mean().item(), 3)
        exact[length] = round(exact_matches(written, target, EOS).float().mean().item(), 3)
        position = [round(value, 3) for value in hits.mean(dim=0).tolist()]
    return {"token": token, "exact": exact, "position": position}


def run_point(task, width, seed, steps=STEPS, *, lengths=TEST_LENGTHS, device="cpu", progress=False, curve=False):
    """Train one model and measure it. Returns what `measure` does, with task, width, seed, steps and the last loss.

    task: "copy" or "reverse". Training strings, first parameters and order all follow `seed`.
    """
    model = make_model(width, seed).to(device)
    history = fit(
        model, make_batches(task, seed), sequence_loss,
        steps=steps, lr=RATE, seed=seed, progress=progress, curve=curve,
    )  # fmt: skip
    loss = round(statistics.fmean(history.losses[-50:]), 3)
    point = {"task": task, "width": width, "seed": seed, "steps": history.steps, "loss": loss}
    return {**point, **measure(model, task, lengths)}


def spread(points):
    """Over the seeds of one task and width: mean and range (highest - lowest) of token and exact accuracy by length."""
    rows = []
    for task, width in dict.fromkeys((point["task"], point["width"]) for point in points):
        same = [point for point in points if (point["task"], point["width"]) == (task, width)]
        row = {"task": task, "width": width}
        for name in ("token", "exact"):
            values = {length: [point[name][length] for point in same] for length in same[0][name]}
            row[f"{name}_mean"] = {length: round(statistics.fmean(v), 3) for length, v in values.items()}
            row[f"{name}_range"] = {length: round(max(v) - min(v), 3) for length, v in values.items()}
        rows.append(row)
    return rows


def load_bottleneck():
    """The shipped grid: settings, `points` (as `run_point` gives them) and `spread`. Lengths are ints."""
    text = resources.files("course_lib.experiments").joinpath("bottleneck.json").read_text(encoding="utf-8")
    return json.loads(text, object_hook=_int_keys)


def _int_keys(mapping):
    return {int(key) if key.isdecimal() else key: value for key, value in mapping.items()}


def main(arguments=()):
    """Train the grid and write it. arguments: command-line words; see --help."""
    parser = parser_of("bottleneck", __doc__, steps=STEPS, seeds=SEEDS)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    options = parser.parse_args(list(arguments))
    torch.set_num_threads(1)  # the same sums on every machine, and the fastest for models this small
    points = []
    for task in TASKS:
        for width in options.widths:
            for seed in options.seeds:
                began = time.perf_counter()
                points.append(run_point(task, width, seed, options.steps))
                seconds = time.perf_counter() - began
                print(f"{task} width {width} seed {seed}: {points[-1]['token']} ({seconds:.0f} s)", flush=True)
    settings = {"steps": [options.steps], "widths": options.widths, "seeds": options.seeds}
    words = [f"--{name} {' '.join(map(str, values))}" for name, values in settings.items()]
    result = {
        "command": f"course experiment bottleneck {' '.join(words)}",
        "versions": versions(),
        "steps": options.steps, "batch_size": BATCH_SIZE, "rate": RATE, "cell": "gru", "alphabet": len(ALPHABET),
        "embedding": D_EMBEDDING,
        "trained_lengths": TRAINED_LENGTHS, "strings_per_length": TEST_COUNT, "seeds": list(options.seeds),
        "spread": spread(points),
        "points": points,
    }  # fmt: skip
    save(result, options.output)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])

"""`course train`: train a translator, of the Korean grammar or of the pairs in a file, and keep all of it in a folder.

The folder has model.pt (`saved_model.load_model` reads it), training.pt (with which the training goes on), run.json
(settings and numbers) and curve.png. `torchrun --nproc_per_node=2 -m course_lib train ...` trains in two processes.
"""

import functools
import json
import os
import sys
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from course_lib.data.batches import training_batches
from course_lib.device import pick_device
from course_lib.saved_model import FILE, Trained, model_folder, save_model
from course_lib.training import fit, sequence_loss
from course_lib.training.checkpoints import CheckpointError, write_whole
from course_lib.training.live_curve import draw
from course_lib.training.processes import joined, loss_together, part_of, this_process
from course_lib.training.resuming import fingerprint
from course_lib.training.schedules import noam_rate
from course_lib.transformer import Transformer
from course_lib.translation_task import grammar_task, held_out_loss, text_task

# Lesson 9's numbers, and larger ones for text, which needs them; experiments/real_text.py measures those.
GRAMMAR = {"d_model": 64, "heads": 4, "d_ff": 256, "layers": 2, "norm_first": False, "dropout": 0.0, "warmup": 200,
           "steps": 600, "evaluate_every": 200, "judged": 1_000}  # fmt: skip
TEXT = {"d_model": 128, "heads": 4, "d_ff": 512, "layers": 2, "norm_first": True, "dropout": 0.1, "warmup": 500,
        "steps": 3_000, "evaluate_every": 500, "judged": 500, "vocab": 4_000}  # fmt: skip
FOR_BOTH = {"batch_size": 64, "seed": 0, "smoothing": 0.1}
OF_A_FILE = ("vocab", "bad", "source", "target", "language")
RUN = "run.json"
CHECKPOINT_EVERY = 100
NO_END = 10**9  # steps, where the clock decides


def main(pairs=None, output=None, **options):
    """Train; returns the exit status: 0, 2 where something does not fit, 130 where somebody interrupted.

    pairs: a TSV, the Korean grammar unless given. output: the folder. options: those of `course train`, None for what
    GRAMMAR or TEXT say.
    """
    rank = int(os.environ.get("RANK", 0))
    say = tqdm.write if rank == 0 else _nothing  # a plain print would tear the progress bar
    try:
        settings = _settings(pairs, options)
        processes = this_process(_device())
        folder = Path(output) if output else model_folder("korean" if pairs is None else Path(pairs).stem)
        if settings["batch_size"] < processes.count:
            raise ValueError(
                f"--batch-size: {processes.count} processes need so many rows, got {settings['batch_size']}"
            )
        task = _task(pairs, settings, say)
        trained = _untrained(task, settings, processes.device)
        settings |= {"processes": processes.count, "pairs": len(task.training), "data": fingerprint(task.training)}
        folder.mkdir(parents=True, exist_ok=True)
        _begin(folder, settings, rank, say)
    except (ValueError, OSError) as error:
        return _refuse(error, rank)
    try:
        with joined(processes):
            history = _train(task, trained.model, settings, folder, processes, say)
        if rank == 0:
            _finish(task, trained, history, settings, folder, say)
    except (CheckpointError, FloatingPointError) as error:
        return _refuse(error, rank)
    except OSError as error:  # a full disk, most often
        return _refuse(f"{error}. What is in {folder} is kept: the same command goes on from there", rank)
    except KeyboardInterrupt:
        say(f"Stopped. What is in {folder} is kept: the same command goes on from there.")
        return 130
    return 0


def _device():
    try:
        return pick_device()
    except RuntimeError as error:  # COURSE_DEVICE names one that is not here
        raise ValueError(str(error)) from error


def _settings(pairs, options):
    """All that makes the run, by name, without gaps. Raises ValueError for options that mean nothing here."""
    given = {name: value for name, value in options.items() if value is not None}
    if pairs is None and (lost := [name for name in OF_A_FILE if name in given]):
        raise ValueError(f"--{lost[0]} is about a file of pairs, and none is named")
    if "steps" in given and "minutes" in given:
        raise ValueError("--steps and --minutes: give one of them")
    settings = (GRAMMAR if pairs is None else TEXT) | FOR_BOTH | given
    if settings.get("minutes", 1) <= 0:
        raise ValueError(f"--minutes: expected a positive number, got {settings['minutes']}")
    return settings


def _task(pairs, settings, say):
    if pairs is None:
        torch.set_num_threads(1)  # models this small train fastest on one core
        return grammar_task(settings["judged"])
    of_the_file = {name: settings[name] for name in OF_A_FILE if name in settings}
    return text_task(pairs, judged=settings["judged"], seed=settings["seed"], say=say, **of_the_file)


def _begin(folder, settings, rank, say):
    """Write down which run this is; where the folder has a training already, see that it is this one."""
    lasting = _lasting(settings)
    if not (folder / "training.pt").exists():
        if rank == 0:
            _write_json(folder / RUN, {"settings": lasting})
        say(f"training from the beginning, in {folder}")
        return
    way_out = "Give --output another folder, or the options of that run"
    try:
        old = json.loads((folder / RUN).read_text(encoding="utf-8"))["settings"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(folder, f"run.json does not say which training it holds ({error}). {way_out}") from error
    for name in {**old, **lasting}:
        if old.get(name) != lasting.get(name):
            raise CheckpointError(
                folder, f"another run is in it: {name} was {old.get(name)}, and is {lasting.get(name)} now. {way_out}"
            )
    say(f"going on with the training in {folder}")


def _untrained(task, settings, device):
    """The model with its first weights, as a `Trained`. Raises ValueError for sizes that do not fit together."""
    sizes = {"d_model": settings["d_model"], "num_heads": settings["heads"], "d_ff": settings["d_ff"],
             "encoder_layers": settings["layers"], "decoder_layers": settings["layers"],
             "dropout": settings["dropout"], "norm_first": settings["norm_first"], "tied": "output"}  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings["seed"])
        model = Transformer(len(task.source_vocabulary), len(task.target_vocabulary), **sizes).to(device)
    return Trained(model, task.source_vocabulary, task.target_vocabulary, sizes, task.longest, settings)


def _train(task, model, settings, folder, processes, say):
    """Train in place, or go on; returns the `History`."""
    rank, count, device = processes
    say(f"{len(task.training):,} pairs, {len(task.source_vocabulary):,} and {len(task.target_vocabulary):,} symbols, "
        f"{_size(model):,} weights; {device.type}, processes: {count}")  # fmt: skip
    loss_fn = functools.partial(sequence_loss, smoothing=settings["smoothing"])
    batches = _Counted(training_batches(task.training, settings["batch_size"], seed=settings["seed"]))

    def evaluate(model):
        if rank != 0:
            return {}  # one process is enough; the others wait for it in their next step
        scores = task.scores(model)
        loss = held_out_loss(model, task.held_out, loss_fn)
        say(f"step {batches.count:,}: held-out loss {loss:.3f}, {_readable(scores)}")
        return {"loss": loss, **scores}

    return fit(
        model if count == 1 else DistributedDataParallel(model),
        batches if count == 1 else (part_of(batch, rank, count) for batch in batches),
        loss_fn if count == 1 else loss_together(loss_fn),
        steps=NO_END if "minutes" in settings else settings["steps"],
        seconds=60 * settings["minutes"] if "minutes" in settings else None,
        lr=functools.partial(noam_rate, d_model=settings["d_model"], warmup=settings["warmup"]),
        seed=settings["seed"],
        evaluate=evaluate,
        evaluate_every=settings["evaluate_every"],
        checkpoint=folder / "training.pt",
        checkpoint_every=CHECKPOINT_EVERY,
        progress=rank == 0,
    )


def _finish(task, trained, history, settings, folder, say):
    """Keep the model, the curve and the numbers, and say what came out."""
    final = task.final(trained.model)
    save_model(folder / FILE, trained)
    write_whole(folder / "curve.png", draw(history))
    numbers = {"steps": history.steps, "seconds": round(history.seconds, 1), "weights": _size(trained.model),
               "evaluations": history.metrics, "final": final, "losses": history.losses}  # fmt: skip
    _write_json(folder / RUN, {"settings": _lasting(settings), **numbers})
    say(f"{history.steps:,} steps in {history.seconds:,.0f} s. At the end: {_readable(final)}")
    say(f"Model, curve and numbers are in {folder}. course_lib.saved_model.load_model reads it.")


class _Counted:
    """Batches handed on. count: how many so far, which is the step, also in a run that went on."""

    def __init__(self, batches):
        self._batches, self.count = batches, 0

    def __iter__(self):
        for batch in self._batches:
            self.count += 1
            yield batch


def _size(model):
    return sum(weight.numel() for weight in model.parameters())


def _lasting(settings):
    """What makes it this run; it may go on for longer."""
    return {name: value for name, value in settings.items() if name not in ("steps", "minutes")}


def _readable(scores):
    def one(name, value):
        if isinstance(value, str):
            return value  # with its name and signature
        return f"{name} {value:.1f}" if name in ("BLEU", "chrF") else f"{name} {value:.1%} right"

    return ", ".join(one(name, value) for name, value in scores.items())


def _write_json(path, content):
    write_whole(path, f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode())


def _refuse(error, rank):
    if rank == 0:
        print(f"course: {error}", file=sys.stderr)
    return 2


def _nothing(text):
    """The other processes are silent."""

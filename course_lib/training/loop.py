"""One training loop for all models of the course."""

import math
import numbers
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel

from course_lib.claims import smoke_mode
from course_lib.data.vocabulary import PAD
from course_lib.evaluation import label_smoothing_loss

from .checkpoints import CheckpointError
from .interrupts import Interrupted, held_interrupts
from .live_curve import LiveCurve, in_notebook
from .precision import autocast, autocast_dtype
from .processes import is_late
from .progress_bar import progress_bar
from .randomness import seeded
from .resuming import Run, fingerprint


@dataclass
class History:
    """What happened. losses: one a step. metrics: one dict an evaluation, with its "step". seconds: wall time.

    reached: whether training ended because its target was reached.

    >>> History(losses=[2.0, 1.0]).steps
    2
    """

    losses: list = field(default_factory=list)
    metrics: list = field(default_factory=list)
    reached: bool = False
    seconds: float = 0.0

    @property
    def steps(self):
        """How many steps were taken."""
        return len(self.losses)


def sequence_loss(model, batch, *, smoothing=0.0):
    """Loss of a teacher-forced model: how surprised it is by each real token of the target, in nats a token.

    smoothing: as in `label_smoothing_loss`; `functools.partial(sequence_loss, smoothing=0.1)` is a loss for `fit`.
    Returns a 0-d tensor, from logits (B, T, V) and the batch's target (B, T).

    >>> from course_lib.data.batches import make_batch
    >>> uniform = lambda source, lengths, decoder_input: torch.zeros(*decoder_input.shape, 8)  # a guess among 8
    >>> round(sequence_loss(uniform, make_batch([([4], [5, 6])])).exp().item(), 4)
    8.0
    """
    logits = model(batch.source, batch.source_lengths, batch.decoder_input)  # (B, T, V)
    return label_smoothing_loss(logits, batch.target, smoothing, PAD)


def fit(model, batches, loss_fn, *, steps, seconds=None, lr=None, optimizer=None, clip=1.0, seed=0,
        mixed_precision=False, evaluate=None, evaluate_every=None, target=None, checkpoint=None, checkpoint_every=None,
        progress=True, curve=True):  # fmt: skip
    """Train `model` in place; return a History.

    batches: any iterable of batches, best without end; each is moved to the model's device by its `to`, if it has one.
    loss_fn: function (model, batch) -> loss (0-d). steps: how many updates at most (two in smoke mode).
    seconds: stop after the step in which so much wall time has passed, that of a run before it went on included. The
    numbers up to there are those of a run by steps.
    lr: the rate, a number (1e-3 unless given) or a function step -> rate, with steps from 1; it is the whole rate, for
    every parameter. optimizer: one of torch's over the model's parameters instead of Adam; it has its own rate unless
    `lr` is a function. clip: largest norm of the gradient, None for no limit.
    seed: of torch's randomness (dropout) during training; the caller's own random state is left as it was.
    mixed_precision: the loss is computed in 16 bits where the device gains by it (`precision.autocast_dtype`; on a CPU
    nothing changes); the parameters stay as they are.
    evaluate: function (model) -> {name: value}, called without gradients, in evaluation mode, every `evaluate_every`
    steps (only at the end unless given) and after the last step. target: {name: value}; training ends as soon as an
    evaluation is at least that good.
    checkpoint: path of a file that is written every `checkpoint_every` steps (only at the end unless given), after the
    last step and when somebody interrupts. If it is there at the start, the run goes on from it and ends with the very
    numbers of one that was never stopped: give everything as before, and `batches` from their beginning. More steps
    than before go on with a run that is through. In smoke mode the file is neither read nor written.
    progress, curve: show a bar; draw the curve in a notebook.
    A model in `DistributedDataParallel` is trained as it is, by one call in each process, each with its own part of
    every batch. Process 0 writes the checkpoint and all read it; `evaluate` gets the model inside. After a stop the
    other processes draw other numbers for dropout than they would have.
    Raises ValueError for arguments that do not fit, CheckpointError (one of them) for a checkpoint that is damaged or
    of another run, FloatingPointError when the loss is no longer a finite number, Interrupted (a KeyboardInterrupt).

    >>> model = torch.nn.Linear(1, 1)
    >>> batches = [(torch.ones(4, 1), 3 * torch.ones(4, 1))] * 200
    >>> history = fit(model, batches, lambda model, batch: (model(batch[0]) - batch[1]).square().mean(), steps=200,
    ...               lr=0.1, progress=False)
    >>> history.steps, round(model(torch.ones(1, 1)).item(), 1)
    (200, 3.0)
    """
    rate = _rate(lr, optimizer)
    if optimizer is None:
        optimizer = torch.optim.Adam(model.parameters())
    _check(steps, seconds, evaluate, evaluate_every, target, checkpoint, checkpoint_every)
    if smoke_mode():
        steps, checkpoint = min(steps, 2), None
    device = next(model.parameters()).device
    dtype = autocast_dtype(device.type) if mixed_precision else None
    distributed = isinstance(model, DistributedDataParallel)
    bare, rank = (model.module, torch.distributed.get_rank()) if distributed else (model, 0)
    history, picture = History(), LiveCurve() if curve and in_notebook() else None
    settings = {"seed": seed, "clip": clip and float(clip), "mixed_precision": mixed_precision}
    settings |= {"evaluate given": evaluate is not None, "evaluate_every": evaluate_every}
    run = Run(bare, optimizer, rate, device, dtype, history, settings, rank)
    was_training, began = model.training, time.perf_counter()
    try:
        with (
            seeded(seed + rank, device),  # each process with a dropout of its own
            held_interrupts(checkpoint is not None) as interrupted,
            progress_bar(steps if seconds is None else None, progress) as bar,
        ):
            source = iter(batches)
            if checkpoint is not None and Path(checkpoint).exists():
                _resume(run, checkpoint, source, steps, seconds, target)
                began -= history.seconds
                bar.update(history.steps)
            stop = history.steps >= steps or history.reached or is_late(history.seconds, seconds)
            while not stop:
                step = history.steps + 1
                model.train()
                drawn = _next_batch(source, step, steps)
                batch = drawn.to(device) if hasattr(drawn, "to") else drawn
                history.losses.append(_update(run, model, loss_fn, batch, step, clip))
                bar.update()
                last = step == steps or is_late(time.perf_counter() - began, seconds, distributed, device)
                if evaluate is not None and (last or (evaluate_every and step % evaluate_every == 0)):
                    history.metrics.append({"step": step, **_evaluate(bare, evaluate)})
                    history.reached = _is_reached(history.metrics[-1], target)
                if picture is not None:
                    picture.update(history)
                stop = last or history.reached or bool(interrupted)
                if checkpoint is not None and (stop or (checkpoint_every and step % checkpoint_every == 0)):
                    history.seconds = time.perf_counter() - began
                    run.save(checkpoint, drawn)
            if not interrupted:
                bar.total = bar.n  # a goal that was reached early is no failure, which tqdm would show in red
    except KeyboardInterrupt:
        raise Interrupted(history.steps, steps, kept=checkpoint is not None) from None
    finally:
        model.train(was_training)
        history.seconds = time.perf_counter() - began
    if picture is not None:
        picture.update(history, last=True)
    return history


def _update(run, model, loss_fn, batch, step, clip):
    """One step: the loss, its gradient, clipped, and the update. Returns the loss, a float.

    model: `run.model`, or what it is wrapped in. Raises FloatingPointError, before anything has changed.
    """
    rate = None if run.rate is None else run.rate(step)
    with autocast(run.device.type, run.dtype):
        loss = loss_fn(model, batch)
    value = _finite(loss, step)
    run.optimizer.zero_grad()
    run.scaler.scale(loss).backward()
    run.scaler.unscale_(run.optimizer)
    if clip is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if rate is not None:
        for group in run.optimizer.param_groups:
            group["lr"] = rate
    run.scaler.step(run.optimizer)
    run.scaler.update()
    return value


def _resume(run, checkpoint, source, steps, seconds, target):
    """Go on from a checkpoint: all that changes comes from it, and the batches that it has seen are drawn again."""
    state, history = run.read(checkpoint), run.history
    history.losses, history.metrics = state["losses"].tolist(), state["metrics"]
    history.seconds = state["seconds"]
    if history.steps > steps:
        raise CheckpointError(checkpoint, f"it has {history.steps} steps behind it, more than steps={steps}")
    last = history.metrics[-1] if history.metrics else {"step": None}
    history.reached = last["step"] == history.steps and _is_reached(last, target)
    if history.steps < steps and not history.reached and not is_late(history.seconds, seconds):
        for step in range(1, history.steps + 1):
            batch = _next_batch(source, step, steps)
        if run.rank == 0 and fingerprint(batch) != state["batch"]:  # the other processes have batches of their own
            raise CheckpointError(
                checkpoint,
                f"batch {step} is not the one that it was. `batches` must give the same ones again, from the first on; "
                "was this generator used before?",
            )
    run.load(state)


def _rate(lr, optimizer):
    """The function step -> rate that `lr` stands for; None where the optimiser keeps its own rate."""
    if optimizer is not None and lr is None:
        return None
    if optimizer is not None and not callable(lr):
        raise ValueError(
            "lr: an optimizer was given as well, and it has its own rate; give one of the two, or lr as a function"
        )

    def rate(step):
        value = lr(step) if callable(lr) else 1e-3 if lr is None else lr
        if not isinstance(value, (numbers.Real, torch.Tensor)) or not (math.isfinite(value) and value > 0):
            raise ValueError(f"lr: expected a positive finite number, got {value!r} at step {step}")
        return float(value)

    return rate


def _check(steps, seconds, evaluate, evaluate_every, target, checkpoint, checkpoint_every):
    if steps < 1:
        raise ValueError(f"steps: expected at least 1, got {steps}")
    if seconds is not None and not seconds > 0:
        raise ValueError(f"seconds: expected a positive number, got {seconds}")
    if evaluate is None and (evaluate_every is not None or target is not None):
        raise ValueError("evaluate: expected a function, since evaluate_every or target was given")
    if evaluate_every is not None and evaluate_every < 1:
        raise ValueError(f"evaluate_every: expected at least 1, got {evaluate_every}")
    if checkpoint is None and checkpoint_every is not None:
        raise ValueError("checkpoint: expected a path, since checkpoint_every was given")
    if checkpoint_every is not None and checkpoint_every < 1:
        raise ValueError(f"checkpoint_every: expected at least 1, got {checkpoint_every}")
    if checkpoint is not None and (Path(checkpoint).is_dir() or not Path(checkpoint).resolve().parent.is_dir()):
        raise ValueError(f"checkpoint: expected a file in a folder that exists, got {checkpoint}")


def _next_batch(source, step, steps):
    try:
        return next(source)
    except StopIteration:
        raise ValueError(f"batches: there were only {step - 1}, but steps={steps}") from None


def _finite(loss, step):
    value = loss.item()
    if not math.isfinite(value):
        raise FloatingPointError(
            f"the loss is {value} at step {step}; the parameters are those before this step. "
            "Usual causes: too high a rate, a row of attention with nothing to look at, the log of 0."
        )
    return value


@torch.no_grad()
def _evaluate(model, evaluate):
    model.eval()
    result = evaluate(model)
    if not isinstance(result, dict):
        raise TypeError(f"evaluate: expected a function that returns a dict of numbers, got {type(result).__name__}")
    return {name: float(value) for name, value in result.items()}


def _is_reached(metrics, target):
    if target is None:
        return False
    unknown = set(target) - set(metrics)
    if unknown:
        raise ValueError(f"target: evaluate gives {sorted(metrics.keys() - {'step'})}, not {sorted(unknown)}")
    return all(metrics[name] >= value for name, value in target.items())

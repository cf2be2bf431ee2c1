"""One training loop for all models of the course."""

import math
import os
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from course_lib.claims import smoke_mode
from course_lib.data.vocabulary import PAD
from course_lib.evaluation import masked_cross_entropy
from course_lib.live_curve import LiveCurve, in_notebook


@dataclass
class History:
    """What happened. losses: one a step. metrics: one dict an evaluation, with its "step". seconds: wall time."""

    losses: list = field(default_factory=list)
    metrics: list = field(default_factory=list)
    reached: bool = False
    seconds: float = 0.0

    @property
    def steps(self):
        """How many steps were taken."""
        return len(self.losses)


def sequence_loss(model, batch):
    """Loss of a teacher-forced model: how surprised it is by each real token of the target, in nats a token."""
    logits = model(batch.source, batch.source_lengths, batch.decoder_input)  # (B, T, V)
    return masked_cross_entropy(logits, batch.target, PAD)


def fit(model, batches, loss_fn, *, steps, lr=None, optimizer=None, clip=1.0, seed=0, evaluate=None,
        evaluate_every=None, target=None, progress=True, curve=True):  # fmt: skip
    """Train `model` in place; return a History.

    batches: any iterable of batches, best without end; each is moved to the model's device by its `to`, if it has one.
    loss_fn: function (model, batch) -> 0-d loss. steps: how many updates at most (two in smoke mode).
    lr: rate of Adam, 1e-3 unless given. optimizer: one of torch's over the model's parameters, instead of Adam.
    clip: largest norm of the gradient, None for no limit. seed: of torch's randomness (dropout) during training; the
    caller's own random state is left as it was.
    evaluate: function (model) -> {name: value}, called without gradients, in evaluation mode, every `evaluate_every`
    steps (only at the end unless given) and after the last step. target: {name: value}; training ends as soon as an
    evaluation is at least that good.
    progress, curve: show a bar; draw the curve in a notebook.
    Raises ValueError for arguments that do not fit, FloatingPointError when the loss is no longer a finite number.
    """
    optimizer = _optimizer(model, lr, optimizer)
    _check(steps, evaluate, evaluate_every, target)
    steps = min(steps, 2) if smoke_mode() else steps
    device = next(model.parameters()).device
    history, picture = History(), LiveCurve() if curve and in_notebook() else None
    was_training, began = model.training, time.perf_counter()
    try:
        with _randomness(seed, device), _progress_bar(steps, progress) as bar:
            source = iter(batches)
            for step in range(1, steps + 1):
                model.train()
                batch = _next_batch(source, step, steps)
                loss = loss_fn(model, batch.to(device) if hasattr(batch, "to") else batch)
                history.losses.append(_finite(loss, step))
                optimizer.zero_grad()
                loss.backward()
                if clip is not None:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                bar.update()
                if evaluate is not None and (step == steps or (evaluate_every and step % evaluate_every == 0)):
                    history.metrics.append({"step": step, **_evaluate(model, evaluate)})
                    history.reached = _is_reached(history.metrics[-1], target)
                if picture is not None:
                    picture.update(history)
                if history.reached:
                    break
    finally:
        model.train(was_training)
        history.seconds = time.perf_counter() - began
    if picture is not None:
        picture.update(history, last=True)
    return history


def _optimizer(model, lr, optimizer):
    if optimizer is None:
        return torch.optim.Adam(model.parameters(), lr=1e-3 if lr is None else lr)
    if lr is not None:
        raise ValueError("lr: an optimizer was given as well, and it has its own rate; give one of the two")
    return optimizer


def _check(steps, evaluate, evaluate_every, target):
    if steps < 1:
        raise ValueError(f"steps: expected at least 1, got {steps}")
    if evaluate is None and (evaluate_every is not None or target is not None):
        raise ValueError("evaluate: expected a function, since evaluate_every or target was given")
    if evaluate_every is not None and evaluate_every < 1:
        raise ValueError(f"evaluate_every: expected at least 1, got {evaluate_every}")


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


@contextmanager
def _randomness(seed, device):
    """Seed torch's generators of the CPU and of `device`; put them back afterwards."""
    module = {"cuda": torch.cuda, "mps": torch.mps}.get(device.type)
    cpu_state = torch.get_rng_state()
    arguments = (device,) if device.type == "cuda" else ()
    device_state = module.get_rng_state(*arguments) if module else None
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every device there is
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    elif module:
        module.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(cpu_state)
        if module:
            module.set_rng_state(device_state, *arguments)


def _progress_bar(steps, progress):
    """A bar for somebody who watches: none in CI, in smoke mode, and where the output goes to a file."""
    from tqdm.auto import tqdm

    watched = in_notebook() or sys.stderr.isatty()
    shown = progress and watched and not os.environ.get("CI") and not smoke_mode()
    return tqdm(total=steps, disable=not shown, desc="training", unit="step", leave=False)

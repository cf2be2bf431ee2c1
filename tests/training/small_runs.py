"""A training run that has everything: dropout, buffers, a schedule, Adam's state, batches that differ, evaluations."""

import functools
import itertools

import torch
from torch import nn

from course_lib.training import fit
from course_lib.training.schedules import noam_rate

STEPS = 30
NOAM = functools.partial(noam_rate, d_model=16, warmup=10)


def make_model(width=8):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Dropout(0.3), nn.Linear(width, 1))


def make_batches(seed=0, rows=16):
    generator = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(rows, 3, generator=generator)
        yield x, x.sum(-1, keepdim=True)


def squared_error(model, batch):
    x, y = (part.to(next(model.parameters()).device) for part in batch)
    return (model(x) - y).square().mean()


def evaluate(model):
    """It draws numbers too, as sampling does."""
    return {"weight": model[0].weight.sum(), "drawn": torch.rand(())}


def train(model=None, *, stop_at=None, error=RuntimeError, before=None, device="cpu", **options):
    """Train; returns (model, optimiser, history). An error is raised in the loss of step `stop_at`, after the dropout.

    before: called at the beginning of each loss.
    """
    model = (make_model() if model is None else model).to(device)
    defaults = {"steps": STEPS, "evaluate": evaluate, "evaluate_every": 7, "progress": False, "batches": make_batches()}
    options = defaults | options
    if "lr" not in options and "optimizer" not in options:
        options |= {"lr": NOAM, "optimizer": torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)}
    count = itertools.count(1)

    def loss(model, batch):
        if before is not None:
            before()
        value = squared_error(model, batch)
        if next(count) == stop_at:
            raise error
        return value

    history = fit(model, options.pop("batches"), loss, **options)
    return model, options.get("optimizer"), history


def leaves(value):
    """All that is in nested dicts and lists, tensors as lists."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in (key, *leaves(value[key]))]
    if isinstance(value, (list, tuple)):
        return [leaf for one in value for leaf in leaves(one)]
    return value.flatten().tolist() if isinstance(value, torch.Tensor) else [value]


def everything(run):
    """What a run leaves behind, without the time that it took: equal for two runs that are bit for bit the same."""
    model, optimizer, history = run
    return leaves([model.state_dict(), optimizer.state_dict(), history.losses, history.metrics, history.reached])

"""A training run between two steps: all that it needs to go on later, and whether a checkpoint is one of it."""

import hashlib
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import torch

from .checkpoints import CheckpointError, read_checkpoint, write_checkpoint
from .precision import gradient_scaler
from .randomness import random_state, set_random_state

FIELDS = {"model", "optimizer", "scaler", "random", "settings", "batch", "losses", "metrics", "seconds"}


@dataclass
class Run:
    """rate: function step -> rate, None where the optimiser keeps its own. dtype: that of autocast, or None.

    history: a `training.History`. settings: {name: value}, what makes it this run and no other; those of the optimiser
    are added here. rank: which process this is, where several train together. Only the first one saves.

    >>> from types import SimpleNamespace
    >>> model, history = torch.nn.Linear(2, 1), SimpleNamespace(steps=1, losses=[0.5], metrics=[], seconds=1.0)
    >>> run = Run(model, torch.optim.SGD(model.parameters()), None, torch.device("cpu"), None, history, {"seed": 0})
    >>> run.settings["seed"], run.settings["optimizer"], run.settings["parameter 0 of group 0"]
    (0, 'SGD', 'weight')
    """

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    rate: Any
    device: torch.device
    dtype: torch.dtype | None
    history: Any
    settings: dict
    rank: int = 0

    def __post_init__(self):
        self.scaler = gradient_scaler(self.device.type, self.dtype)
        self.settings = self.settings | _settings_of(self.optimizer, self.model, without_rate=self.rate is not None)

    def save(self, path, batch):
        """Write what there is after a step. batch: the last one that was drawn, before it is moved to a device.

        Errors as in `write_checkpoint`.
        """
        if self.rank != 0:
            return
        state = {
            "model": dict(self.model.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": random_state(self.device),
            "settings": self._settings_as_text(self.history.steps),
            "batch": fingerprint(batch),
            "losses": torch.tensor(self.history.losses, dtype=torch.float64),  # a list of many is slow to write
            "metrics": self.history.metrics,
            "seconds": self.history.seconds,
        }
        write_checkpoint(path, state)

    def read(self, path):
        """A checkpoint of this run, as a dict; nothing is changed. Raises CheckpointError where it is another's."""
        state = read_checkpoint(path)
        if state.keys() != FIELDS:
            raise CheckpointError(path, f"it is not one of a training run: it holds {sorted(map(str, state))}")
        old, new = _described(state["model"]), _described(self.model.state_dict())
        for name, was, now in _differences(old, new):
            raise CheckpointError(path, f"it is of another model: {name} is {was} in it, and {now} in this model")
        for name, was, now in _differences(state["settings"], self._settings_as_text(len(state["losses"]))):
            raise CheckpointError(path, f"it is of another run: {name} is {was} in it, and {now} in this run")
        return state

    def load(self, state):
        """Make model, optimiser, scaler and torch's random numbers those of a checkpoint; on any device."""
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state["scaler"]:  # empty where it was written without one; and one that is not at work forgets it
            self.scaler.load_state_dict(state["scaler"])
        if self.rank == 0:  # the numbers of the others were not kept
            set_random_state(state["random"], self.device)

    def _settings_as_text(self, step):
        rates = {} if self.rate is None else {f"lr of step {at}": self.rate(at) for at in (1, step)}
        return {name: repr(value) for name, value in (self.settings | rates).items()}


def fingerprint(batch):
    """SHA-256 of the tensors, numbers and strings in a batch, inside of lists, tuples, dicts and dataclasses too.

    Returns 64 hexadecimal digits. Tensors count by type, shape and values, on any device.

    >>> one, same, other = ([torch.tensor(ids), "a"] for ids in ([1, 2], [1, 2], [1, 3]))
    >>> fingerprint(one) == fingerprint(same), fingerprint(one) == fingerprint(other)
    (True, False)
    """
    digest = hashlib.sha256()

    def add(part):
        if isinstance(part, torch.Tensor):
            part = part.detach().cpu().contiguous()
            digest.update(f"{part.dtype} {tuple(part.shape)}".encode())
            digest.update(part.reshape(-1).view(torch.uint8).numpy())
        elif isinstance(part, dict):
            add(list(part.items()))
        elif isinstance(part, (list, tuple)):
            for one in part:
                add(one)
        elif isinstance(part, (bool, int, float, str)):
            digest.update(repr(part).encode())
        elif is_dataclass(part):
            add([getattr(part, field.name) for field in fields(part)])

    add(batch)
    return digest.hexdigest()


def _settings_of(optimizer, model, *, without_rate):
    """Class, options and parameters of an optimiser, by name."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    settings = {"optimizer": type(optimizer).__name__}
    for number, group in enumerate(optimizer.param_groups):
        left_out = ("params", "lr") if without_rate else ("params",)
        settings |= {f"{key} of parameter group {number}": group[key] for key in group if key not in left_out}
        parameters = enumerate(group["params"])
        settings |= {f"parameter {at} of group {number}": names.get(id(each), "?") for at, each in parameters}
    return settings


def _described(state_dict):
    """Type and shape of each entry, by name."""
    return {
        f"'{name}'": f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
        for name, value in state_dict.items()
    }


def _differences(old, new):
    """(name, what it was, what it is) for each name that does not have the same value in both."""
    for name in {**new, **old}:
        was, now = old.get(name, "missing"), new.get(name, "missing")
        if was != now:
            yield name, was, now

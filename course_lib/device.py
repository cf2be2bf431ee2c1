"""Where to compute: CUDA, then MPS, then the CPU."""

import os

import torch


def pick_device(name=None):
    """The best device of this machine, or the one that is named (`cpu`, `cuda`, `cuda:1`, `mps`).

    name: what `COURSE_DEVICE` says unless given.
    Raises ValueError where the name is unknown, RuntimeError where this machine has no such device.

    >>> pick_device("cpu")
    device(type='cpu')
    >>> pick_device("gpu")
    Traceback (most recent call last):
    ValueError: device: expected cpu, cuda, cuda:N or mps, got 'gpu'
    """
    if name is not None:
        return _named(name, "device")
    name = os.environ.get("COURSE_DEVICE", "").strip()
    if name:
        return _named(name, "COURSE_DEVICE")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def _named(name, said_by):
    kind, _, index = name.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (":" in name and not index.isdecimal()):
        raise ValueError(f"{said_by}: expected cpu, cuda, cuda:N or mps, got {name!r}")
    count = {
        "cpu": lambda: 1,
        "cuda": lambda: torch.cuda.device_count() if torch.cuda.is_available() else 0,
        "mps": lambda: int(torch.backends.mps.is_available()),
    }[kind]()
    if int(index or 0) >= count:
        have = f"{count} of kind {kind}" if count else f"no {kind} device"
        raise RuntimeError(f"{said_by}={name}, but torch sees {have} here. Leave it out to take what there is.")
    return torch.device(name)

"""Torch's random numbers during a training: seeded at its start, kept with it, and the caller's left as they were."""

from contextlib import contextmanager

import torch


def random_state(device):
    """The state of torch's generators of the CPU and of `device`: {"cpu": bytes, the device's type: bytes}.

    The bytes are a tensor (N,) of uint8.

    >>> list(random_state(torch.device("cpu")))
    ['cpu']
    """
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(state, device):
    """Put a `random_state` back. That of another kind of device is left out: it means nothing here.

    >>> device = torch.device("cpu")
    >>> before, drawn = random_state(device), torch.rand(3)
    >>> set_random_state(before, device)
    >>> torch.equal(torch.rand(3), drawn)
    True
    """
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
    elif device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"])


@contextmanager
def seeded(seed, device):
    """Seed torch's generators of the CPU and of `device`; put them back afterwards.

    >>> drawn = []
    >>> for _ in range(2):
    ...     with seeded(7, torch.device("cpu")):
    ...         drawn.append(torch.rand(3))
    >>> torch.equal(*drawn)
    True
    """
    before = random_state(device)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every device there is
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)
    try:
        yield
    finally:
        set_random_state(before, device)

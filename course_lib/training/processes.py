"""Several processes that train one model, as `torchrun` starts them: who is who, and each one's part of a batch.

Each process makes the same batches and takes its own rows. What they compute together is what one process computes on
whole batches, up to the order of sums and, with dropout, to which numbers are dropped.
"""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import distributed

from course_lib.data.batches import Batch
from course_lib.data.vocabulary import PAD


class Processes(NamedTuple):
    """rank: which one this is, from 0. count: how many there are. device: that of this one.

    >>> Processes(rank=0, count=2, device=torch.device("cpu")).count
    2
    """

    rank: int
    count: int
    device: torch.device


def this_process(device):
    """What `torchrun` says in its environment variables; process 0 of one without it.

    device: the one that was picked; with CUDA each process of a machine gets a chip of its own. Raises ValueError where
    there are fewer chips than processes, and for a kind of device on which processes cannot share their gradients.

    >>> this_process(torch.device("cpu"))[:2]  # this one is alone
    (0, 1)
    """
    count = int(os.environ.get("WORLD_SIZE", 1))
    if count == 1:
        return Processes(0, 1, device)
    if device.type == "cuda":
        here, chips = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
        if here > chips:  # each process sees it, the first one too, which alone speaks
            raise ValueError(
                f"torchrun: there are {here} processes on this machine, but only {chips} GPUs. Start fewer, or set "
                "COURSE_DEVICE=cpu"
            )
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    elif device.type != "cpu":
        raise ValueError(f"torchrun: processes share gradients on CUDA and CPU, not on {device}. Set COURSE_DEVICE=cpu")
    return Processes(int(os.environ["RANK"]), count, device)


@contextmanager
def joined(processes):
    """Meet the others, where there are some; part from them at the end.

    >>> with joined(Processes(0, 1, torch.device("cpu"))):
    ...     distributed.is_initialized()  # nobody to meet
    False
    """
    if processes.count == 1:
        yield
        return
    if processes.device.type == "cuda":
        torch.cuda.set_device(processes.device)
    distributed.init_process_group("nccl" if processes.device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        distributed.destroy_process_group()


@dataclass(frozen=True)
class Part:
    """One process's rows of a batch. weight: of their loss, so that its mean over processes is that of all tokens.

    >>> from course_lib.data.batches import make_batch
    >>> part = Part(make_batch([([4], [5])]), weight=0.5)
    >>> part.to("cpu").weight
    0.5
    """

    batch: Batch
    weight: float

    def to(self, device):
        """The same part with its batch on `device`."""
        return Part(self.batch.to(device), self.weight)


def part_of(batch, rank, count):
    """Rows rank, rank + count, ... of a batch, which has at least `count`: (B, S) to (⌈(B - rank) / count⌉, S).

    >>> from course_lib.data.batches import make_batch
    >>> batch = make_batch([([4], [4]), ([5], [5, 5, 5]), ([6], [6, 6, 6])])  # 2, 4 and 4 tokens with their ends
    >>> part = part_of(batch, rank=0, count=2)
    >>> part.batch.source.tolist(), part.weight  # 6 of 10 tokens, where an even part has 5
    ([[4], [6]], 1.2)
    """
    rows = slice(rank, None, count)
    own = Batch(batch.source[rows], batch.source_lengths[rows], batch.target[rows], batch.decoder_input[rows])
    tokens, all_tokens = (int((each.target != PAD).sum()) for each in (own, batch))
    return Part(own, count * tokens / all_tokens)


def loss_together(loss_fn):
    """A loss (model, `Part`) of a loss (model, batch) that is a mean over tokens. Each process gets the value of all.

    `DistributedDataParallel` takes the mean of the gradients, so each process's loss counts by its share of the tokens:
    a mean of means would give a token in a short part more weight. The loss that is returned works inside of `joined`.
    """

    def loss(model, part):
        own = loss_fn(model, part.batch) * part.weight
        whole = own.detach().clone()
        distributed.all_reduce(whole)
        return own + (whole / distributed.get_world_size() - own.detach())  # the value of all, the gradient of its own

    return loss


def is_late(passed, seconds, together=False, device=None):
    """Whether the time is over, seconds None: never. passed: seconds so far.

    together: there are several processes, which all go by the clock of the first, or one would wait for the others.

    >>> is_late(59.0, 60), is_late(60.0, 60), is_late(1e9, None)
    (False, True, False)
    """
    if seconds is None:
        return False
    if together:
        first = torch.tensor([passed], device=device)
        distributed.broadcast(first, src=0)
        passed = first.item()
    return passed >= seconds

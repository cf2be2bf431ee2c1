"""How much memory a computation needs at once, counted and not measured: the same on every machine, in every run."""

import weakref

from torch import Tensor, ops, strided
from torch.utils._python_dispatch import TorchDispatchMode


class LiveMemory(TorchDispatchMode):
    """Counts the bytes of the tensors that are made inside and are still alive, gradients and backward pass included.

    live: bytes that are alive now. peak: the most there ever were. What was made outside counts for nothing, and views
    share what they look at. Not seen: sparse tensors, and what one operation needs within itself (its scratch space).

    >>> import torch
    >>> with LiveMemory() as memory:
    ...     x = torch.zeros(100)  # 400 bytes
    ...     y = x + 1
    ...     del x
    >>> memory.live, memory.peak
    (400, 800)
    """

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self._sizes = {}  # bytes of each storage that was made inside and is alive, by its id

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # or the first counting loads torch's compiler: seconds, for nothing

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        # Only here does a tensor made from Python's numbers come by: as the argument of a view of it.
        given = () if function is ops.aten.lift_fresh.default else _storages((args, kwargs))
        outside = {id(storage) for storage in given} - self._sizes.keys()
        for storage in _storages(results):
            if id(storage) not in outside:
                self._count(storage)
        self.peak = max(self.peak, self.live)
        return results

    def _count(self, storage):
        """Also a storage that is known: an operation may have made it larger."""
        if id(storage) not in self._sizes:
            weakref.finalize(storage, self._free, id(storage))
        self.live += storage.nbytes() - self._sizes.get(id(storage), 0)
        self._sizes[id(storage)] = storage.nbytes()

    def _free(self, key):
        self.live -= self._sizes.pop(key)


def _storages(tree):
    """Where the tensors in nested tuples, lists and dicts keep their numbers; views share it."""
    if isinstance(tree, Tensor):
        return [tree.untyped_storage()] if tree.layout is strided else []
    branches = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [storage for branch in branches for storage in _storages(branch)]

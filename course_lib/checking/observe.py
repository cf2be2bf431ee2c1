"""Call a function on one case and note what can be seen from outside: values, gradients, errors, changes."""

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import torch

from .tree import is_float, leaves, tensors, tree_map

STUB_TEXT = "your code here"


@dataclass(frozen=True)
class Raised:
    """An exception, told in plain data, so that a remote one looks the same.

    kind: its type's name. raised_in: qualified name of the function that raised it.
    """

    kind: str
    text: str
    raised_in: str = ""

    @property
    def is_stub(self):
        """Whether an unwritten answer raised it. torch raises NotImplementedError too, with a text of its own."""
        return self.kind == "NotImplementedError" and self.text in ("", STUB_TEXT)


@dataclass(frozen=True)
class Observation:
    """What one call showed.

    output: the result, its tensors detached. gradients: for each floating tensor among the arguments the
    vector-Jacobian product with a random cotangent; None where they were not asked for or the result does not
    lead back to the arguments. changed: positions of arguments that the call altered.
    """

    output: Any = None
    gradients: tuple[torch.Tensor, ...] | None = None
    raised: Raised | None = None
    changed: tuple[str, ...] = ()
    detached: bool = False


def tell(error):
    """The plain record of an exception; a remote exception carries its own."""
    if isinstance(getattr(error, "raised", None), Raised):
        return error.raised
    trace, where = error.__traceback__, ""
    while trace is not None:
        where, trace = trace.tb_frame.f_code.co_qualname, trace.tb_next
    return Raised(type(error).__name__, str(error), where)


def copy_arguments(tree, differentiable, ask=None):
    """Fresh arguments: (arguments, leaves). Gradients arrive in the leaves.

    The function gets a copy of each leaf, not the leaf, so that a change in place runs and can be reported.
    ask: for each floating tensor, whether its gradient is wanted; all are unless given.
    """
    found, ask = [], repeat(True) if ask is None else iter(ask)

    def copy(leaf):
        if not isinstance(leaf, torch.Tensor):
            return leaf
        fresh = leaf.detach().clone()
        if not (differentiable and is_float(leaf)):
            return fresh
        found.append(fresh.requires_grad_(next(ask)))
        return fresh.clone()

    return tree_map(copy, tree), found


def changed_arguments(before, after):
    """Paths of the tensors whose values, dtype or shape are no longer those they came with."""
    pairs = zip(leaves(before), leaves(after), strict=False)
    return tuple(
        path
        for (path, old), (_, new) in pairs
        if isinstance(old, torch.Tensor)
        and (old.shape != new.shape or old.dtype != new.dtype or not torch.equal(old.nan_to_num(), new.nan_to_num()))
    )


def cotangents(outputs, seed):
    """One random direction for each output. Never all ones: a softmax, say, has no gradient through its sum."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(out.shape, generator=generator, dtype=torch.float64).to(out.dtype) for out in outputs]


def observe(function, case, seed):
    """Call `function` on copies of the arguments of `case`; what it raises, `exit()` included, is noted, not raised."""
    (args, kwargs), inputs = copy_arguments((case.args, dict(case.kwargs)), case.gradient)
    try:
        output = function(*args, **kwargs)
        changed = changed_arguments((case.args, dict(case.kwargs)), (args, kwargs))
        floats = [out for out in tensors(output) if is_float(out)]
        gradients = _gradients(floats, inputs, seed) if inputs and floats and not changed else None
    except (Exception, SystemExit) as error:
        return Observation(raised=tell(error))
    detached = bool(inputs and floats) and not any(out.requires_grad for out in floats)
    return Observation(tree_map(_plain, output), gradients, None, changed, detached)


def _plain(leaf):
    return leaf.detach() if isinstance(leaf, torch.Tensor) else leaf


def _gradients(outputs, inputs, seed):
    directions = cotangents(outputs, seed)
    attached = [(out, direction) for out, direction in zip(outputs, directions, strict=True) if out.requires_grad]
    if not attached:
        return None
    outs, directions = zip(*attached, strict=True)
    found = torch.autograd.grad(outs, inputs, directions, allow_unused=True)
    return tuple(torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True))

"""Judge a class as if it were a function of its weights, so that modules and functions share one engine."""

import torch


class WrongState(Exception):
    """The module's parameters and buffers are not those that the exercise states, each with a tensor of its own."""


def as_function(module_class):
    """A function of (init, state, args, training=False) that builds the module, gives it `state`, and calls it.

    init: keyword arguments of the constructor. state: tensors by name, those of `state_dict()`. args: tuple.
    The weights enter as arguments, so that their gradients are compared like any other. Raises WrongState when names
    or shapes differ from the module's own, or when one layer or parameter goes by two of the names.
    """

    def function(init, state, args, training=False):
        module = module_class(**init)
        _require_state(module, state)
        module.train(training)
        # Not strict: the names are compared above, and a buffer that no state holds (persistent=False) is allowed.
        return torch.func.functional_call(module, state, args)

    function.__name__ = module_class.__name__
    return function


def _require_state(module, state):
    own = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    want = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if own.keys() != want.keys():
        raise WrongState(
            f"the exercise states the parameters {sorted(want)}, yours has {sorted(own)}. Which name or bias differs?"
        )
    _require_one_name_each(module)
    for name, shape in want.items():
        if own[name] != shape:
            raise WrongState(f"parameter {name}: expected shape {shape}, yours has {own[name]}. Which size is swapped?")


def _require_one_name_each(module):
    # A part without parameters, an activation say, may well be used under two names.
    layers = {name: part for name, part in module.named_modules(remove_duplicate=False) if [*part.parameters()]}
    for what, parts in (("layer", layers), ("parameter", module.state_dict(keep_vars=True))):
        for part in parts.values():
            *others, last = [name for name, other in parts.items() if other is part]
            if others:
                raise WrongState(
                    f"{', '.join(others)} and {last} are one and the same {what}, so they learn as one. "
                    "Should they learn separately, and how many does your `__init__` make?"
                )

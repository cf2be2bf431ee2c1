"""Judge a class as if it were a function of its weights, so that modules and functions share one engine."""

import torch


class WrongState(Exception):
    """The module's parameters and buffers are not those that the exercise states."""


def as_function(module_class):
    """A function of (init, state, args, training=False) that builds the module, gives it `state`, and calls it.

    init: keyword arguments of the constructor. state: tensors by name, those of `state_dict()`. args: tuple.
    The weights enter as arguments, so that their gradients are compared like any other. Raises WrongState when names
    or shapes differ from the module's own.
    """

    def function(init, state, args, training=False):
        module = module_class(**init)
        _require_state(module, state)
        module.train(training)
        return torch.func.functional_call(module, state, args, strict=True)

    function.__name__ = module_class.__name__
    return function


def _require_state(module, state):
    own = {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
    want = {name: tuple(tensor.shape) for name, tensor in state.items()}
    if own.keys() != want.keys():
        raise WrongState(
            f"the exercise states the parameters {sorted(want)}, yours has {sorted(own)}. Which name or bias differs?"
        )
    for name, shape in want.items():
        if own[name] != shape:
            raise WrongState(f"parameter {name}: expected shape {shape}, yours has {own[name]}. Which size is swapped?")

"""Properties that a right answer has whatever its values: written once, shared by the lessons.

`broken(function, cases, generator)` of a law calls the function itself and returns None, or a few words on how the
law is broken. What the function raises passes through: the engine reports it.
"""

import torch

from .exercise import Law
from .limits import exact
from .observe import copy_arguments
from .tree import is_float, tensors, tree_map


def call(function, case, change=lambda leaf: leaf):
    """The output of `function` on fresh copies of the case's arguments, each leaf changed first, detached."""
    (args, kwargs), _ = copy_arguments(tree_map(change, (case.args, dict(case.kwargs))), differentiable=False)
    return tree_map(lambda leaf: leaf.detach() if isinstance(leaf, torch.Tensor) else leaf, function(*args, **kwargs))


def close(one, other, tolerance=1e-7):
    """Equal up to rounding; NaN equals NaN. For tensors of equal shape."""
    return one.shape == other.shape and torch.allclose(
        one.to(torch.float64), other.to(torch.float64), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def _keeps_dtype(function, cases, generator):
    for dtype in (torch.float32, torch.float64):
        with exact(0, dtype):
            for case in cases[:1]:
                floats = [leaf for leaf in tensors((case.args, dict(case.kwargs))) if is_float(leaf)]
                if not floats:
                    return None
                out = call(function, case, lambda leaf, dtype=dtype: leaf.to(dtype) if is_float(leaf) else leaf)
                for result in tensors(out):
                    if is_float(result) and result.dtype != dtype:
                        return f"{_short(dtype)} in, {_short(result.dtype)} out"
    return None


def _short(dtype):
    return str(dtype).removeprefix("torch.")


def _same_twice(function, cases, generator):
    for case in cases[:2]:
        first, second = tensors(call(function, case)), tensors(call(function, case))
        if not all(close(a, b) for a, b in zip(first, second, strict=True)):
            return "two calls with the same arguments differ"
    return None


def _any_layout(function, cases, generator):
    def scatter(leaf):
        """The same values behind a transposed memory layout."""
        if isinstance(leaf, torch.Tensor) and leaf.ndim > 1:
            return leaf.transpose(0, -1).contiguous().transpose(0, -1)
        return leaf

    for case in cases[:2]:
        args, kwargs = tree_map(scatter, (case.args, dict(case.kwargs)))
        plain, moved = tensors(call(function, case)), tensors(function(*args, **kwargs))
        if not all(close(a, b) for a, b in zip(plain, moved, strict=True)):
            return "a transposed argument with the same values gives another result"
    return None


dtype_kept = Law(
    "dtype kept",
    _keeps_dtype,
    "Which line creates or converts a tensor without following the dtype of the argument?",
)
deterministic = Law(
    "deterministic",
    _same_twice,
    "What differs between two calls with the same arguments: a random number, or a value left over from before?",
)
any_layout = Law(
    "any memory layout",
    _any_layout,
    "Which line relies on how the argument lies in memory (`view` on a transposed tensor, say)?",
)
EVERYWHERE = (dtype_kept, deterministic, any_layout)


def sums_to_one(dim_of):
    """Weights are at least 0 and sum to 1 along the axis that `dim_of(case)` names."""

    def broken(function, cases, generator):
        for case in cases:
            weights = call(function, case)
            if (weights < 0).any():
                return f"a weight is below 0 ({case.label})"
            total = weights.sum(dim_of(case))
            if not close(total, torch.ones_like(total)):
                return f"the weights along dim={dim_of(case)} do not sum to 1 ({case.label})"
        return None

    return Law("weights sum to 1", broken, "Along which axis do your weights sum to 1, and along which should they?")


def shift_invariant(position=0):
    """Adding one constant to every score changes no weight."""

    def broken(function, cases, generator):
        for case in cases[:3]:
            shift = 3.0 * torch.rand((), generator=generator, dtype=torch.float64).item() + 1.0
            args = list(case.args)
            args[position] = args[position] + shift
            moved = type(case)(case.label, tuple(args), case.kwargs)
            if not close(call(function, case), call(function, moved), 1e-6):
                return f"the same constant added to every score changes the weights ({case.label})"
        return None

    return Law("shift invariance", broken, "What should adding 5 to every score do to their softmax, and why?")


def rows_independent(batched, name="batch rows are independent"):
    """Each row of a batch gives what it gives alone.

    batched: positions and keyword names of the arguments that have a batch axis first. The first output is compared.
    """

    def alone(case, row):
        args = tuple(a[row : row + 1] if i in batched else a for i, a in enumerate(case.args))
        kwargs = {k: v[row : row + 1] if k in batched else v for k, v in case.kwargs.items()}
        return type(case)(case.label, args, kwargs)

    def broken(function, cases, generator):
        for case in cases:
            together = tensors(call(function, case))[0]
            for row in range(len(together)):
                single = tensors(call(function, alone(case, row)))[0][0]
                # A row alone may need fewer columns; whatever both have must agree.
                common = tuple(slice(0, min(a, b)) for a, b in zip(single.shape, together[row].shape, strict=True))
                if not close(single[common], together[row][common]):
                    return f"row {row} of the batch gives something else when it is alone ({case.label})"
        return None

    return Law(name, broken, "Which line lets one row of the batch change another?")


def padding_ignored(position, is_padding):
    """Garbage of ±1e9 where the padding is changes nothing, in value.

    position: the argument that holds the padded values. is_padding(case): bool tensor, True at padding, of the
    leading shape of that argument.
    """

    def broken(function, cases, generator):
        for case in cases:
            padded = is_padding(case)
            if not padded.any():
                continue
            args = list(case.args)
            signs = torch.randint(0, 2, args[position].shape, generator=generator) * 2.0 - 1.0
            spread = padded.reshape(padded.shape + (1,) * (args[position].ndim - padded.ndim))
            args[position] = torch.where(spread, signs * 1e9, args[position])
            spoiled = type(case)(case.label, tuple(args), case.kwargs)
            before, after = tensors(call(function, case))[0], tensors(call(function, spoiled))[0]
            if not close(before, after):
                return f"other values in the padding change the result ({case.label})"
        return None

    return Law("padding does not matter", broken, "Where do values at padding positions enter the result?")


def source_order_free(with_source_axis, results_with_source_axis):
    """Attention looks at content: permute the source positions, and weights are permuted, contexts unchanged.

    with_source_axis: positions of the arguments whose axis 1 is the source. results_with_source_axis: indices of those
    results (of one or several tensors) whose axis 1 is the source.
    """

    def broken(function, cases, generator):
        for case in cases:
            S = case.args[with_source_axis[0]].shape[1]
            order = torch.randperm(S, generator=generator)
            args = tuple(a[:, order] if i in with_source_axis else a for i, a in enumerate(case.args))
            plain = tensors(call(function, case))
            moved = tensors(call(function, type(case)(case.label, args, case.kwargs)))
            for i, (before, after) in enumerate(zip(plain, moved, strict=True)):
                wanted = before[:, order] if i in results_with_source_axis else before
                if not close(wanted, after):
                    return f"the source in another order gives another result ({case.label})"
        return None

    return Law(
        "content, not place",
        broken,
        "If the source words come in another order, what should happen to the weights, and what to the context?",
    )

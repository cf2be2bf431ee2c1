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
        return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf

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


def on(law, choose):
    """The same law, held against what `choose(case)` makes of each case; None leaves it out."""

    def broken(function, cases, generator):
        chosen = [choose(case) for case in cases]
        return law.broken(function, [case for case in chosen if case is not None], generator)

    return Law(law.name, broken, law.question)


def batched(law):
    """The same law where the first argument has a batch axis, (B, N, D) or more: without one, axis 0 is the tokens."""
    return on(law, lambda case: case if case.args[0].ndim > 2 else None)


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


def reordered(name, arguments, results, question):
    """The order of some tokens is a matter of naming: permute them everywhere, and only that order changes.

    arguments: {position: axes} of the arguments in which the tokens lie along these axes; results: {index: axes} of the
    results (one or several tensors) that must follow; a result that is not named must stay. All axes get the same
    permutation; a mask that broadcasts along an axis (of length 1, or not there) stays.
    """

    def move(tensor, axes, order):
        for axis in axes:
            if -tensor.dim() <= axis < tensor.dim() and tensor.shape[axis] > 1:
                tensor = tensor.index_select(axis, order)
        return tensor

    def broken(function, cases, generator):
        for case in cases:
            position, axes = next(iter(arguments.items()))
            order = torch.randperm(case.args[position].shape[axes[0]], generator=generator)
            args = tuple(move(a, arguments[i], order) if i in arguments else a for i, a in enumerate(case.args))
            plain = tensors(call(function, case))
            moved = tensors(call(function, type(case)(case.label, args, case.kwargs)))
            for i, (before, after) in enumerate(zip(plain, moved, strict=True)):
                if not close(move(before, results.get(i, ()), order), after):
                    return f"the tokens in another order give another result ({case.label})"
        return None

    return Law(name, broken, question)


def source_order_free(with_source_axis, results_with_source_axis):
    """Attention looks at content: permute the source positions, and weights are permuted, contexts unchanged.

    with_source_axis: positions of the arguments whose axis 1 is the source. results_with_source_axis: indices of those
    results whose axis 1 is the source.
    """
    return reordered(
        "content, not place",
        {position: (1,) for position in with_source_axis},
        {index: (1,) for index in results_with_source_axis},
        "If the source words come in another order, what should happen to the weights, and what to the context?",
    )


def hidden_ignored(tokens, mask, *, are_queries=False, name="hidden tokens do not matter"):
    """What a query may not see cannot change its result: garbage of ±1e9 in one token after the other.

    tokens: positions of the arguments (..., S, D) whose tokens are the keys. mask: position of the boolean mask,
    broadcastable to (..., T, S). are_queries: the tokens are the queries too, so a token's own row is left out.
    The first result (..., T, Dv) is compared.
    """

    def broken(function, cases, generator):
        for case in cases:
            if case.args[mask] is None:
                continue
            before = tensors(call(function, case))[0]
            for j in range(case.args[tokens[0]].shape[-2]):
                args = [_spoilt(a, j, generator) if i in tokens else a for i, a in enumerate(case.args)]
                after = tensors(call(function, type(case)(case.label, tuple(args), case.kwargs)))[0]
                column = case.args[mask][..., min(j, case.args[mask].shape[-1] - 1)]  # (..., T or 1)
                blind = ~column.expand(before.shape[:-1]).clone()  # (..., T): the queries that may not see token j
                if are_queries:
                    blind[..., j] = False
                if not close(before[blind], after[blind]):
                    return f"a query changes with token {j}, which it may not see ({case.label})"
        return None

    return Law(name, broken, "By which way does a hidden token still enter the result?")


def _spoilt(tensor, j, generator):
    """The tensor with ±1e9 in token j."""
    signs = torch.randint(0, 2, tensor[..., j, :].shape, generator=generator) * 2.0 - 1.0
    spoilt = tensor.clone()
    spoilt[..., j, :] = signs * 1e9
    return spoilt

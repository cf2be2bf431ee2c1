"""Nested arguments and results: tuples, lists and dicts with tensors at the leaves."""

import torch


def tree_map(function, tree):
    """Apply `function` to every leaf; tuples, lists and dicts keep their kind."""
    if isinstance(tree, tuple | list):
        items = [tree_map(function, item) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if isinstance(tree, dict):
        return {key: tree_map(function, item) for key, item in tree.items()}
    return function(tree)


def tensors(tree):
    """Every tensor of the tree, in order."""
    found = []
    tree_map(lambda leaf: found.append(leaf) if isinstance(leaf, torch.Tensor) else None, tree)
    return found


def leaves(tree, path=""):
    """Every leaf with its path: `(("[0]", tensor), ("[1]", 3))`."""
    if isinstance(tree, tuple | list):
        return [pair for i, item in enumerate(tree) for pair in leaves(item, f"{path}[{i}]")]
    if isinstance(tree, dict):
        return [pair for key, item in tree.items() for pair in leaves(item, f"{path}[{key!r}]")]
    return [(path, tree)]


def is_float(leaf):
    """True for a floating-point tensor, the kind that carries gradients."""
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()

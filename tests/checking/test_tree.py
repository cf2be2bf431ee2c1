"""Nested results keep their kind, named tuples too; every leaf has its path, in order."""

from typing import NamedTuple

import torch

from course_lib.checking.tree import is_float, leaves, tensors, tree_map


class State(NamedTuple):
    hidden: torch.Tensor
    parts: list


def test_a_named_tuple_stays_one():
    doubled = tree_map(lambda leaf: leaf * 2, State(torch.ones(2), [3, (4,)]))
    assert type(doubled) is State and doubled.parts == [6, (8,)] and doubled.hidden.tolist() == [2.0, 2.0]
    assert [path for path, _ in leaves(doubled)] == ["[0]", "[1][0]", "[1][1][0]"]


def test_paths_are_what_one_would_write():
    tree = {"a": [1, (2, {})], "b": {3: "x"}, "c": ()}
    assert leaves(tree) == [("['a'][0]", 1), ("['a'][1][0]", 2), ("['b'][3]", "x")] and leaves(7) == [("", 7)]
    doubled = tree_map(lambda leaf: leaf * 2, tree)
    assert doubled == {"a": [2, (4, {})], "b": {3: "xx"}, "c": ()}
    assert type(doubled["a"][1]) is tuple and tree["a"] == [1, (2, {})]


def test_tensors_are_found_in_order_and_floats_among_them():
    one, two, three = torch.ones(1), torch.ones(2).long(), torch.ones(3).half()
    found = tensors({"z": one, "a": [2.0, two, ("x", three)]})
    assert [tensor is other for tensor, other in zip(found, (one, two, three), strict=True)] == [True] * 3
    assert [is_float(leaf) for leaf in (*found, 2.0, "x", None)] == [True, False, True, False, False, False]

"""Nested results keep their kind, named tuples too."""

from typing import NamedTuple

import torch

from course_lib.checking.tree import leaves, tree_map


class State(NamedTuple):
    hidden: torch.Tensor
    parts: list


def test_a_named_tuple_stays_one():
    doubled = tree_map(lambda leaf: leaf * 2, State(torch.ones(2), [3, (4,)]))
    assert type(doubled) is State and doubled.parts == [6, (8,)] and doubled.hidden.tolist() == [2.0, 2.0]
    assert [path for path, _ in leaves(doubled)] == ["[0]", "[1][0]", "[1][1][0]"]

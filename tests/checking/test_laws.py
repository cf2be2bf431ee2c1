"""Each law holds for a right function and is broken by a wrong one that values alone may not show."""

import pytest
import torch

from course_lib.checking import Case, laws
from course_lib.checking.limits import exact


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


def softmax(x, dim=-1):
    return torch.softmax(x, dim)


def row_mean(x, lengths):
    keep = (torch.arange(x.shape[1]) < lengths[:, None]).to(x.dtype)
    return (x * keep.unsqueeze(-1)).sum(1) / lengths[:, None].to(x.dtype)


ROWS = [Case("rows", (draw(3, 4),)), Case("more rows", (draw(2, 5),))]
PADDED = [Case("padded", (draw(3, 4, 2), torch.tensor([2, 4, 1])))]
PADDING = laws.padding_ignored(0, lambda case: torch.arange(case.args[0].shape[1]) >= case.args[1][:, None])
calls = []


def counts_its_calls(x, dim=-1):
    calls.append(1)
    return x * len(calls)


TABLE = [
    (laws.dtype_kept, ROWS, softmax, lambda x: softmax(x).float()),
    (laws.dtype_kept, ROWS, lambda x: x + torch.zeros(4), lambda x: x + torch.zeros(4, dtype=torch.float64)),
    (laws.deterministic, ROWS, softmax, counts_its_calls),
    (laws.deterministic, ROWS, softmax, lambda x: x + torch.randn(x.shape)),
    (laws.any_layout, ROWS, softmax, lambda x: x.view(-1) * 2),
    (laws.sums_to_one(lambda case: -1), ROWS, softmax, lambda x: softmax(x, 0)),
    (laws.sums_to_one(lambda case: -1), ROWS, softmax, lambda x: x / x.sum(-1, True)),
    (laws.shift_invariant(), ROWS, softmax, lambda x: torch.relu(x) / torch.relu(x).sum()),
    (laws.rows_independent({0}), ROWS, softmax, lambda x: x - x.mean()),
    (laws.rows_independent({0, 1}), PADDED, row_mean, lambda x, lengths: row_mean(x, lengths.flip(0))),
    (PADDING, PADDED, row_mean, lambda x, lengths: x.mean(1)),
    (PADDING, PADDED, row_mean, lambda x, lengths: row_mean(x, lengths + 1)),
    (PADDING, PADDED, row_mean, lambda x, lengths: row_mean(x, lengths) + 1e-9 * x.mean(1)),  # a trace of it
]


@pytest.mark.parametrize(("law", "cases", "right", "wrong"), TABLE, ids=lambda value: getattr(value, "name", ""))
def test_a_law_holds_for_the_right_and_is_broken_by_the_wrong(law, cases, right, wrong):
    generator = torch.Generator().manual_seed(0)
    with exact(0):
        assert law.broken(right, cases, generator) is None
        try:
            how = law.broken(wrong, cases, generator)
        except RuntimeError as error:
            how = str(error)  # the engine counts an exception as broken
    assert how
    assert law.question.endswith("?")

"""How the laws about tokens ask: which values are spoilt or moved, which stay, and what is said when it shows."""

import pytest
import torch

from course_lib.checking import Case, laws
from course_lib.checking.limits import exact

from .test_laws import draw


@pytest.fixture(autouse=True)
def in_a_check():
    with exact(0):
        yield


def broken(law, function, cases, seed=0):
    return law.broken(function, cases, torch.Generator().manual_seed(seed))


def test_padding_is_spoilt_on_both_sides_of_zero_and_nothing_else_is():
    seen = []
    x, is_padding = draw(2, 20, 3), torch.arange(20) >= torch.tensor([[20], [4]])
    law = laws.padding_ignored(1, lambda case: case.args[2])
    padded = Case("padded", ("first", x, is_padding), {"last": 3})
    full = Case("full", ("first", x, torch.zeros_like(is_padding)), {"last": 3})

    def function(first, x, mask, last):
        seen.append((first, x, last))
        return torch.zeros(1)

    assert broken(law, function, [full, padded]) is None
    assert len(seen) == 2, "a case without padding has nothing to ask, and the next one is asked all the same"
    (_, before, _), (first, after, last) = seen
    assert torch.equal(before, x) and (first, last) == ("first", 3)
    assert torch.equal(after[~is_padding], x[~is_padding]) and set(after[is_padding].flatten().tolist()) == {-1e9, 1e9}
    said = broken(law, lambda first, x, mask, last: x.sum(), [padded])
    assert said == "other values in the padding change the result (padded)"


def test_the_same_order_is_taken_everywhere_and_everything_else_stays():
    seen = []
    rows, columns, mask = draw(6, 2), draw(2, 6), torch.ones(1, 6, dtype=torch.bool)
    mask[0, 2] = False
    law = laws.reordered("order", {0: (0,), 1: (-1,), 3: (0, 1), 4: (-3, 1)}, {1: (0,), 2: (0, -1)}, "Why?")

    def function(rows, columns, other, mask, flat, *, name):
        seen.append((rows, columns, other, mask, flat))
        return columns.sum(-1), rows, rows @ columns

    case = Case("it", (rows, columns, rows, mask, columns), {"name": "x"})
    assert broken(law, function, [case]) is None and (law.name, law.question) == ("order", "Why?")
    _, (moved, moved_columns, other, moved_mask, flat) = seen
    order = [rows.tolist().index(row) for row in moved.tolist()]
    assert sorted(order) == list(range(6)) and order != list(range(6))
    assert torch.equal(moved_columns, columns[:, order]) and torch.equal(other, rows)
    assert torch.equal(moved_mask, mask[:, order]), "an axis of length 1 stays"
    assert torch.equal(flat, columns[:, order]), "an axis that is not there stays"
    said = broken(law, lambda *given, name: (given[0], given[0]), [case])
    assert said == "the tokens in another order give another result (it)", "what is not named must stay"


def test_two_tokens_can_change_places():
    law = laws.reordered("order", {0: (0,)}, {}, "Why?")
    said = [broken(law, lambda x: x, [Case("it", (draw(2, 3),))], seed) for seed in range(20)]
    assert None in said and any(said)


def test_the_source_stands_on_axis_1():
    law = laws.source_order_free((1,), (0,))
    query, keys = draw(2, 6), draw(2, 5, 6)
    case = Case("it", (query, keys))

    def weights_and_context(query, keys):
        weights = torch.softmax((keys @ query.unsqueeze(-1)).squeeze(-1), 1)
        return weights, (weights.unsqueeze(-1) * keys).sum(1)

    assert broken(law, weights_and_context, [case]) is None
    assert broken(laws.source_order_free((1,), ()), weights_and_context, [case])
    assert broken(laws.source_order_free((1,), (0, 1)), weights_and_context, [case])


def test_each_hidden_token_is_spoilt_in_turn_on_both_sides_of_zero():
    seen = []
    x, other, mask = draw(2, 3, 20), draw(2, 3, 4), torch.zeros(3, dtype=torch.bool)
    law = laws.hidden_ignored((0, 2), 1, name="hidden")

    def function(x, mask, y, z, *, last):
        seen.append((x, y, z, last))
        return torch.zeros(2, 5, 4), "second"

    free, masked = (Case(name, (x, m, other, other), {"last": 3}) for name, m in (("free", None), ("masked", mask)))
    assert broken(law, function, [free, masked]) is None and law.name == "hidden"
    assert len(seen) == 4, "without a mask there is nothing to ask; then once as it is, and once for each token"
    for j, (spoilt, also, kept, last) in enumerate(seen[1:]):
        rest = [n for n in range(3) if n != j]
        assert torch.equal(spoilt[:, rest], x[:, rest]) and torch.equal(also[:, rest], other[:, rest])
        assert set(spoilt[:, j].flatten().tolist()) == {-1e9, 1e9} and set(also[:, j].abs().flatten().tolist()) == {1e9}
        assert torch.equal(kept, other) and last == 3


def test_the_token_and_the_queries_that_may_not_see_it_are_told():
    law, mine = laws.hidden_ignored((0,), 1), laws.hidden_ignored((0,), 1, are_queries=True)
    x = draw(2, 3, 4)
    sees = torch.tensor([[True, True, True], [True, True, False], [True, True, True]])
    one = Case("it", (x, sees))

    def sees_all(x, mask):
        return x.mean(1, keepdim=True).expand_as(x)

    def as_told(x, mask):
        weights = mask.expand(x.shape[0], x.shape[1], x.shape[1]).double()
        return weights @ x

    assert broken(law, sees_all, [one]) == "a query changes with token 2, which it may not see (it)"
    assert broken(law, as_told, [one]) is broken(mine, as_told, [one]) is None
    for column in (torch.tensor([True, True, False]), torch.tensor([[[True]], [[False]]])):
        case = Case("it", (x, column))
        assert broken(law, as_told, [case]) is None and broken(law, sees_all, [case])
    own = Case("own", (x, ~torch.eye(3, dtype=torch.bool)))
    assert broken(law, lambda x, mask: x, [own]) and broken(mine, lambda x, mask: x, [own]) is None
    assert broken(mine, sees_all, [Case("it", (x, torch.eye(3, dtype=torch.bool)))])
    assert one.args[0].isfinite().all(), "the case stays as it was"

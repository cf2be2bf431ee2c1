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


def test_a_law_can_be_held_against_chosen_cases_alone():
    """Without a batch axis the rows of the first axis are tokens, and a right answer mixes those."""
    plain = laws.rows_independent({0})
    tokens, batch = [Case("tokens", (draw(3, 4),))], [Case("batch", (draw(2, 3, 4),))]

    def over_tokens(x):
        return x.softmax(-2)

    with exact(0):
        assert plain.broken(over_tokens, tokens, torch.Generator())
        assert laws.batched(plain).broken(over_tokens, tokens + batch, torch.Generator()) is None
        assert laws.batched(plain).broken(lambda x: x.softmax(0), batch, torch.Generator())
        first_row = laws.on(plain, lambda case: Case(case.label, (case.args[0][:1],)))
        assert first_row.broken(lambda x: x.softmax(0), batch, torch.Generator()) is None
    assert (first_row.name, first_row.question) == (plain.name, plain.question)


def attend(query, key, value, mask):
    weights = torch.softmax((query @ key.mT).masked_fill(~mask, -1e300), -1).masked_fill(~mask, 0.0)
    return weights @ value, weights


CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
LOOKS = [
    Case("one mask for all", (draw(2, 4, 3), draw(2, 4, 3), draw(2, 4, 5), CAUSAL)),
    Case(
        "lengths", (draw(2, 3, 3), draw(2, 4, 3), draw(2, 4, 5), (torch.arange(4) < torch.tensor([[2], [4]]))[:, None])
    ),
    Case("one key for nobody", (draw(3, 3), draw(2, 3), draw(2, 5), torch.tensor([True, False]))),
]
ASKS_ITSELF = [
    Case("the past", (draw(2, 4, 3), CAUSAL)),
    Case("all", (draw(1, 5, 3), torch.ones(5, dtype=torch.bool))),
    Case("the others", (draw(2, 3, 3), ~torch.eye(3, dtype=torch.bool))),  # a token's own row follows its query
]
HIDDEN = laws.hidden_ignored((1, 2), 3)
HIDDEN_SELF = laws.hidden_ignored((0,), 1, are_queries=True)
KEYS = laws.reordered("keys", {1: (-2,), 2: (-2,), 3: (-1,)}, {1: (-1,)}, "In which order do the keys stand?")
TOKENS = laws.reordered("tokens", {0: (1,), 1: (-1, -2)}, {0: (1,), 1: (1, 2)}, "What is the order of the tokens?")


def itself(x, mask):
    return attend(x, x, x, mask.expand(x.shape[-2], x.shape[-2]))


TABLE += [
    (HIDDEN, LOOKS, attend, lambda q, k, v, mask: attend(q, k, v, torch.ones_like(mask))),
    (HIDDEN, LOOKS, attend, lambda q, k, v, mask: (attend(q, k, v, mask)[0] + 1e-9 * v.mean(-2, True), 0)),
    (HIDDEN, LOOKS[:1], attend, lambda q, k, v, mask: attend(q, k, v, mask.mT)),
    (HIDDEN_SELF, ASKS_ITSELF, itself, lambda x, mask: itself(x, torch.ones_like(mask))),
    (HIDDEN_SELF, ASKS_ITSELF[:1], itself, lambda x, mask: itself(x, mask.mT)),
    (KEYS, LOOKS, attend, lambda q, k, v, mask: attend(q, k, v.cumsum(-2), mask)),
    (KEYS, LOOKS, attend, lambda q, k, v, mask: (attend(q, k, v, mask)[0], attend(q, k, v, mask)[1].sort(-1)[0])),
    (TOKENS, ASKS_ITSELF, itself, lambda x, mask: itself(x + torch.arange(x.shape[1])[:, None], mask)),
    (TOKENS, ASKS_ITSELF, itself, lambda x, mask: itself(x, torch.ones(x.shape[1], x.shape[1]).tril().bool() & mask)),
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

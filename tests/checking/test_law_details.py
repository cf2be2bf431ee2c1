"""How a law asks: on which cases, with which changes to the arguments, and what it says when it is broken."""

import pytest
import torch

from course_lib.checking import Case, Law, laws
from course_lib.checking.diagnosis import break_law
from course_lib.checking.limits import exact

from .test_laws import draw


@pytest.fixture(autouse=True)
def in_a_check():
    with exact(0):
        yield


def broken(law, function, cases, seed=0):
    return law.broken(function, cases, torch.Generator().manual_seed(seed))


def labelled(count):
    """Cases that a function can tell apart by their length: 1, 2, 3, ..."""
    return [Case(f"{n}", (draw(2, n),)) for n in range(1, count + 1)]


def lengths_asked(law, count):
    """The cases on which the law calls the function."""
    asked = set()
    broken(law, lambda x: asked.add(x.shape[1]) or x, labelled(count))
    return asked


def test_laws_that_hold_everywhere_ask_on_the_first_cases_alone():
    assert lengths_asked(laws.dtype_kept, 4) == {1}
    assert lengths_asked(laws.deterministic, 4) == {1, 2}
    assert lengths_asked(laws.any_layout, 4) == {1, 2}
    assert lengths_asked(laws.shift_invariant(), 5) == {1}, "the first one breaks it"
    seen = []
    assert broken(laws.shift_invariant(), lambda x: seen.append(x.shape[1]) or torch.zeros(1), labelled(5)) is None
    assert set(seen) == {1, 2, 3}
    assert laws.EVERYWHERE == (laws.dtype_kept, laws.deterministic, laws.any_layout)


def test_the_other_laws_ask_on_every_case():
    def wrong_from(length, right, wrong):
        return lambda x: wrong(x) if x.shape[1] >= length else right(x)

    for law, right, wrong in (
        (laws.sums_to_one(lambda case: -1), lambda x: x.softmax(-1), lambda x: x),
        (laws.rows_independent({0}), lambda x: x, lambda x: x - x.mean()),
        (
            laws.padding_ignored(0, lambda case: torch.arange(case.args[0].shape[1]).expand(2, -1) > 0),
            lambda x: x[:, :1],
            lambda x: x,
        ),
        (laws.reordered("order", {0: (1,)}, {0: (1,)}, "Why?"), lambda x: x, lambda x: x.cumsum(1)),
    ):
        assert broken(law, right, labelled(6)) is None
        assert "(6)" in broken(law, wrong_from(6, right, wrong), labelled(6)), law.name


def test_call_changes_copies_and_detaches():
    x, whole = draw(2, 3).requires_grad_(), torch.tensor([1])
    case = Case("both", (x, [whole]), {"scale": 3})
    seen = []

    def function(a, b, scale):
        seen.append((a, b, scale))
        return {"out": a.mul_(scale) + x, "rest": (b, "word")}

    before = x.detach().clone()
    result = laws.call(function, case, lambda leaf: leaf * 2)
    (a, b, scale) = seen[0]
    assert scale == 6 and torch.equal(a, before * 12) and b[0].item() == 2 and torch.equal(x.detach(), before)
    assert not result["out"].requires_grad and torch.equal(result["out"], before * 13) and result["rest"][1] == "word"
    assert torch.equal(laws.call(lambda a: a, Case("plain", (whole,))), whole)


@pytest.mark.parametrize(("one", "other", "equal"), [
    ([1.0], [1.0 + 1e-8], True), ([1.0], [1.0 + 1e-6], False), ([0.0], [5e-8], True), ([0.0], [5e-7], False),
    ([1e9], [1e9 + 1], True), ([float("nan")], [float("nan")], True), ([float("nan")], [1.0], False),
    ([1.0], [[1.0]], False), ([1.0], [1.0, 1.0], False), ([float("inf")], [float("inf")], True), ([1], [1], True),
])  # fmt: skip
def test_close_is_equal_up_to_rounding(one, other, equal):
    assert laws.close(torch.tensor(one), torch.tensor(other)) is equal


def test_close_can_be_asked_for_more_and_compares_any_kinds():
    assert laws.close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-5]), 1e-4)
    assert laws.close(torch.tensor([1.0], dtype=torch.float32), torch.tensor([1.0]))
    assert laws.close(torch.tensor([True]), torch.tensor([1.0]))


def test_dtype_is_asked_for_in_single_and_in_double_precision():
    seen = []

    def function(x, more):
        seen.append((x.dtype, more["y"].dtype, more["n"].dtype, torch.get_default_dtype()))
        return x, x > 0, x.long()

    case = Case("all kinds", (draw(2),), {"more": {"y": draw(2), "n": torch.tensor([1])}})
    assert broken(laws.dtype_kept, function, [case]) is None
    assert seen == [(dtype, dtype, torch.int64, dtype) for dtype in (torch.float32, torch.float64)]
    assert broken(laws.dtype_kept, lambda x: (x, x.half()), labelled(1)) == "float32 in, float16 out"
    assert broken(laws.dtype_kept, lambda x: x.float(), labelled(1)) == "float64 in, float32 out"
    whole = Case("no floats", (torch.tensor([1]),))
    assert broken(laws.dtype_kept, lambda x: x.half(), [whole]) is None, "from whole numbers any type may come"


def test_a_moved_argument_has_the_same_values_in_another_layout():
    seen = []
    flat, nested = draw(5), draw(2, 3, 4)
    whole = torch.arange(6).view(2, 3)
    case = Case("all", (nested, flat, 3), {"mask": whole})

    def function(x, flat, number, mask):
        seen.append((x, flat, number, mask))
        return x, flat

    assert broken(laws.any_layout, function, [case]) is None
    (plain, *_), (moved, moved_flat, number, mask) = seen
    assert plain.is_contiguous() and not moved.is_contiguous() and not mask.is_contiguous() and number == 3
    assert torch.equal(moved, nested) and torch.equal(mask, whole) and torch.equal(moved_flat, flat)
    assert moved_flat is not flat, "an answer may write into what it gets"
    words = "a transposed argument with the same values gives another result"
    assert broken(laws.any_layout, lambda x: x if x.is_contiguous() else x + 1, labelled(2)) == words


def test_two_results_are_compared_and_not_the_first_alone():
    times = []

    def second_differs(x):
        times.append(1)
        return x, x + len(times)

    assert broken(laws.deterministic, second_differs, labelled(1)) == "two calls with the same arguments differ"
    assert broken(laws.any_layout, lambda x: (x, x if x.is_contiguous() else -x), [Case("wide", (draw(2, 3),))])


def test_another_number_of_results_is_a_break_too():
    times = []

    def one_more(x):
        times.append(x)
        return times[:]

    def one_less(x):
        return [x, x] if x.is_contiguous() else [x]

    assert break_law(laws.deterministic, one_more, labelled(2), None)[0]
    assert break_law(laws.any_layout, one_less, [Case("wide", (draw(2, 3),))], None)[0]


def test_a_law_for_a_batch_wants_three_axes():
    asked = []
    law = laws.batched(Law("any", lambda function, cases, generator: asked.extend(cases), "Why?"))
    cases = [Case(f"{n}", (torch.zeros([2] * n),)) for n in (1, 2, 3, 4)]
    broken(law, None, cases)
    assert asked == cases[2:] and (law.name, law.question) == ("any", "Why?")


def test_weights_are_at_least_zero_and_sum_to_one_where_they_should():
    law = laws.sums_to_one(lambda case: case.kwargs["dim"])
    cases = [Case("rows", (draw(3, 4),), {"dim": 1}), Case("columns", (draw(3, 4),), {"dim": 0})]
    assert broken(law, lambda x, dim: x.softmax(dim), cases) is None
    assert broken(law, lambda x, dim: x.softmax(1), cases) == "the weights along dim=0 do not sum to 1 (columns)"
    both = torch.tensor([2.0, -1.0, 0.0])
    assert broken(law, lambda x, dim: both, [Case("one", (both,), {"dim": 0})]) == "a weight is below 0 (one)"
    with_zero = torch.tensor([1.0, 0.0])
    assert broken(law, lambda x, dim: with_zero, [Case("one", (both,), {"dim": 0})]) is None


def test_a_shift_is_one_constant_for_one_argument():
    seen = []

    def function(name, x, scale):
        seen.append((name, x, scale))
        return torch.zeros(1)

    x = draw(2, 3)
    assert broken(laws.shift_invariant(1), function, [Case("one", ("a", x), {"scale": 2})]) is None
    (name, plain, scale), (moved_name, moved, moved_scale) = seen
    assert (name, scale) == (moved_name, moved_scale) == ("a", 2) and torch.equal(plain, x)
    shift = moved - plain
    assert torch.allclose(shift, shift[0, 0]) and 1 <= shift[0, 0] <= 4
    assert broken(laws.shift_invariant(), lambda x: x, [Case("it", (x,))]).endswith("changes the weights (it)")
    assert broken(laws.shift_invariant(), lambda x: x * 1e-7, [Case("it", (x,))]) is None, "up to rounding"


def test_each_row_is_asked_for_alone_with_its_part_of_every_batched_argument():
    seen = []
    batch, shared, lengths = draw(3, 4), draw(3, 3), torch.tensor([4, 2, 3])

    def function(x, shared, *, lengths, name):
        seen.append((x, shared, lengths, name))
        return x * lengths[:, None], x.sum()

    case = Case("all", (batch, shared), {"lengths": lengths, "name": "it"})
    law = laws.rows_independent({0, "lengths"}, "rows")
    assert law.name == "rows" and laws.rows_independent({0}).name == "batch rows are independent"
    assert broken(law, function, [case]) is None, "the first output is compared"
    assert len(seen) == 4
    for row, (x, other, length, name) in enumerate(seen[1:]):
        assert torch.equal(x, batch[row : row + 1]) and torch.equal(other, shared) and name == "it"
        assert torch.equal(length, lengths[row : row + 1])
    last = laws.rows_independent({0})
    said = broken(last, lambda x: x + (torch.arange(len(x)) == 2)[:, None], [Case("it", (batch,))])
    assert said == "row 2 of the batch gives something else when it is alone (it)"


def test_a_row_alone_may_need_fewer_columns():
    lengths = torch.tensor([1, 3])

    def counts(lengths):
        return torch.arange(int(lengths.max())) < lengths[:, None]

    law = laws.rows_independent({0})
    assert broken(law, counts, [Case("it", (lengths,))]) is None
    assert broken(law, lambda n: counts(n) ^ (n.max() == 1), [Case("it", (lengths,))]), "what both have must agree"

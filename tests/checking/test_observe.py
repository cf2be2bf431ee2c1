"""What a call shows from outside: values without their graph, products with random directions, errors, changes."""

import math

import pytest
import torch

from course_lib.checking import Case
from course_lib.checking.observe import (
    STUB_TEXT,
    Raised,
    changed_arguments,
    copy_arguments,
    cotangents,
    observe,
    tell,
)
from course_lib.checking.remote import RemoteError


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


X, Y, WHOLE = draw(3), draw(2, 2), torch.tensor([1, 2])
CASE = Case("all", (X, [WHOLE, "word"]), {"y": Y})


def test_the_products_are_those_of_autograd_with_one_direction_for_each_output():
    def function(x, rest, y):
        return {"a": x**2, "b": (rest[0] * 2, y.exp() * x.sum())}

    seen = observe(function, CASE, 5)
    x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
    outs = [x**2, y.exp() * x.sum()]
    directions = cotangents(outs, 5)
    for got, want in zip(seen.gradients, torch.autograd.grad(outs, (x, y), directions), strict=True):
        torch.testing.assert_close(got, want)
    assert not seen.output["a"].requires_grad and torch.equal(seen.output["b"][0], WHOLE * 2)
    assert (seen.raised, seen.changed, seen.detached) == (None, (), False)
    again, other = observe(function, CASE, 5), observe(function, CASE, 6)
    assert torch.equal(again.gradients[0], seen.gradients[0]) and not torch.equal(other.gradients[0], seen.gradients[0])


def test_directions_are_random_and_have_the_types_of_the_outputs():
    outs = [torch.zeros(4), torch.zeros(2, 2, dtype=torch.float16), torch.zeros(4, dtype=torch.float64)]
    found = cotangents(outs, 0)
    assert [(one.shape, one.dtype) for one in found] == [(out.shape, out.dtype) for out in outs]
    assert not torch.equal(found[0].double(), found[2]) and found[2].unique().numel() == 4
    assert torch.equal(cotangents(outs, 0)[2], found[2]) and not torch.equal(cotangents(outs, 1)[2], found[2])


def test_what_does_not_lead_back_to_an_argument_has_no_gradient():
    some = observe(lambda x, rest, y: (x.detach(), x * 2), CASE, 0)
    assert some.gradients[1].abs().sum() == 0 and some.gradients[0].abs().sum() > 0 and not some.detached
    none = observe(lambda x, rest, y: x.detach(), CASE, 0)
    assert none.gradients is None and none.detached
    for function in (lambda x, rest, y: rest[0], lambda x, rest, y: None):
        seen = observe(function, CASE, 0)
        assert seen.gradients is None and seen.detached is False, "there is no float to lead back"
    not_asked = observe(lambda x, rest, y: x, Case("all", CASE.args, CASE.kwargs, gradient=False), 0)
    assert not_asked.gradients is None and not not_asked.detached


def test_a_call_gets_copies_that_it_may_write_into():
    def overwrites(x, rest, y):
        x.add_(1)
        rest[0].zero_()
        return x

    before = X.clone()
    seen = observe(overwrites, CASE, 0)
    assert torch.equal(X, before) and WHOLE.tolist() == [1, 2] and torch.equal(seen.output, before + 1)
    assert seen.changed == ("[0][0]", "[0][1][0]") and seen.gradients is None


@pytest.mark.parametrize(("after", "changed"), [
    (torch.tensor([1.0, math.nan, math.inf]), False), (torch.tensor([1.0, 2.0, math.inf]), True),
    (torch.tensor([1.0, math.nan, math.inf]).double(), True), (torch.tensor([[1.0, math.nan, math.inf]]), True),
    (torch.tensor([1.0, math.nan]), True),
])  # fmt: skip
def test_a_change_of_values_type_or_shape_is_a_change(after, changed):
    before = torch.tensor([1.0, math.nan, math.inf])
    assert changed_arguments((3, [before], "a"), (4, [after], "b")) == (("[1][0]",) if changed else ())


def test_copies_carry_gradients_only_where_they_are_asked_for():
    (x, (whole, word), number), leaves = copy_arguments((X, [WHOLE, "word"], 3), True)
    assert x.requires_grad and not x.is_leaf and len(leaves) == 1 and (word, number) == ("word", 3)
    assert whole is not WHOLE and torch.equal(whole, WHOLE) and leaves[0].is_leaf and leaves[0] is not X
    (x, *_), leaves = copy_arguments((X.clone().requires_grad_(), [WHOLE]), False)
    assert not x.requires_grad and leaves == []
    (x, y), leaves = copy_arguments((X, Y), True, ask=[False, True])
    assert [x.requires_grad, y.requires_grad] == [leaf.requires_grad for leaf in leaves] == [False, True]


def inner():
    raise LookupError("here")


def outer(*given, **named):
    inner()


def test_an_exception_is_told_with_the_place_that_raised_it():
    seen = observe(outer, CASE, 0)
    assert seen.raised == Raised("LookupError", "here", "inner") and seen.output is None and not seen.changed
    assert tell(ValueError("never raised")) == Raised("ValueError", "never raised", "")
    assert tell(RemoteError(seen.raised)) == seen.raised, "one of the other side keeps what it was there"

    class Odd(Exception):
        raised = "not one of ours"

    assert tell(Odd("odd")).kind == "Odd"


def test_what_ends_a_process_is_noted_and_what_a_person_does_is_not():
    def leaves(*given, **named):
        raise SystemExit(3)

    def interrupted(*given, **named):
        raise KeyboardInterrupt

    assert observe(leaves, CASE, 0).raised.kind == "SystemExit"
    with pytest.raises(KeyboardInterrupt):
        observe(interrupted, CASE, 0)


@pytest.mark.parametrize(("kind", "text", "stub"), [
    ("NotImplementedError", "", True), ("NotImplementedError", STUB_TEXT, True), ("ValueError", STUB_TEXT, False),
    ("NotImplementedError", "'abs' for a sparse tensor", False),
])  # fmt: skip
def test_a_stub_is_told_from_what_torch_has_not(kind, text, stub):
    assert Raised(kind, text).is_stub is stub

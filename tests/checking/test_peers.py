"""Two peers of one process, joined by pipes: what crosses arrives as it was, gradients and exceptions included."""

import os
import sys
import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.checking import remote
from course_lib.checking.observe import Raised
from course_lib.checking.remote import Peer, RemoteError, RemoteFunction, WorkerDied


class Pair:
    """near: the peer of the test. far: the one that serves, in a thread, until the test is over."""

    def __init__(self):
        (self.from_near, to_far), (self.from_far, to_near) = os.pipe(), os.pipe()
        self.near = Peer(os.fdopen(self.from_far, "rb"), os.fdopen(to_far, "wb"))
        self.far = Peer(os.fdopen(self.from_near, "rb"), os.fdopen(to_near, "wb"))
        self.ended = []
        self.thread = threading.Thread(target=lambda: self.ended.append(self.far.serve_forever()), daemon=True)
        self.thread.start()

    def __call__(self, function):
        return RemoteFunction(self.near, self.far.offer(function), "theirs")

    def close(self):
        self.near.writer.close()
        self.thread.join(10)
        for file in (self.near.reader, self.far.reader, self.far.writer):
            file.close()


@pytest.fixture(scope="module")
def pair():
    made = Pair()
    yield made
    made.close()
    assert made.ended == [None], "it serves until the other side closes the connection, and no longer"


plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False), st.text(max_size=5)
)
sizes = st.lists(st.integers(0, 3), max_size=3)
dtypes = st.sampled_from(
    [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool]
)
arrays = st.builds(
    lambda size, dtype: (torch.arange(40.0)[: torch.Size(size).numel()] - 3).view(size).to(dtype), sizes, dtypes
)
trees = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@given(tree=trees, named=trees)
@settings(max_examples=30, deadline=None)
def test_every_value_comes_back_as_it_was(pair, tree, named):
    assert same(pair(lambda value, *, key: [value, key])(tree, key=named), [tree, named])


class Other:
    pass


def test_of_any_other_value_the_name_of_its_type_crosses(pair):
    answer = pair(lambda: (Other(), len))()
    assert type(answer[0]).__name__ == "Other" and not isinstance(answer[0], Other)
    assert isinstance(answer[1], RemoteFunction) and answer[1].__name__ == "len"
    assert pair(lambda function: function.__name__)(Other.__call__) != "", "what has no name is called function"


def test_columns_first_and_strided_tensors_cross(pair):
    x = torch.arange(24.0).view(2, 3, 4)
    for view in (x.mT, x.transpose(0, 2), x[:, ::2], x[..., 1], x[0, 0, 0]):
        assert torch.equal(pair(lambda value: value)(view), view)


def raises(x):
    raise KeyError("missing")


def exits(x):
    sys.exit(3)


@pytest.mark.parametrize(("function", "kind", "text"), [(raises, "KeyError", "'missing'"), (exits, "SystemExit", "3")])
def test_an_exception_tells_its_kind_text_and_place(pair, function, kind, text):
    with pytest.raises(RemoteError, match=f"{kind}: {text}") as error:
        pair(function)(torch.ones(1))
    assert error.value.raised == Raised(kind, text, function.__name__)
    assert pair(lambda: 4)() == 4, "the next call is served"


def test_an_exception_of_ours_in_the_middle_of_their_call_keeps_its_place(pair):
    with pytest.raises(RemoteError) as error:
        pair(lambda function, x: function(x))(raises, torch.ones(1))
    assert error.value.raised == Raised("KeyError", "'missing'", "raises")


def test_the_product_with_each_direction_is_asked_as_often_as_it_is_needed(pair):
    x, y = (
        torch.randn(3, dtype=torch.float64, requires_grad=True),
        torch.randn(3, dtype=torch.float64, requires_grad=True),
    )
    whole = torch.tensor([1, 2])

    def function(x, whole, y, unused):
        return x * y, whole * 2, {"sum": x.sum(), "alone": torch.ones(2)}

    unused = torch.ones(2, dtype=torch.float64, requires_grad=True)
    remote_out, local_out = pair(function)(x, whole, y, unused), function(x, whole, y, unused)
    assert [out.requires_grad for out in (remote_out[0], remote_out[1], remote_out[2]["sum"])] == [True, False, True]
    assert not remote_out[2]["alone"].requires_grad, (
        "what does not lead back to an argument has no gradient here either"
    )
    for _ in range(2):
        direction = torch.randn(3, dtype=torch.float64)
        results = []
        for out in (remote_out, local_out):
            ends = [out[0], out[2]["sum"]]
            found = torch.autograd.grad(ends, (x, y, unused), [direction, torch.tensor(2.0).double()],
                                        retain_graph=True, allow_unused=True)  # fmt: skip
            results.append(found)
        for ours, theirs in zip(*results, strict=True):
            assert torch.equal(ours, torch.zeros(2) if theirs is None else theirs)


def test_only_what_asks_for_a_gradient_gets_one(pair):
    x, fixed = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    seen = []

    def function(a, b):
        seen.append((a.requires_grad, b.requires_grad))
        return a * b

    for a, b in ((x, fixed), (fixed, x)):
        out = pair(function)(a, b)
        assert torch.equal(torch.autograd.grad(out.sum(), x)[0], fixed)
    assert seen == [(True, False), (False, True)]
    assert not pair(function)(fixed, fixed).requires_grad
    with torch.no_grad():
        assert torch.equal(pair(function)(x, fixed), fixed)


def test_nothing_that_leads_back_gives_zeros(pair):
    function = pair(lambda x: x.detach() * 2)
    x = torch.ones(2, requires_grad=True)
    weight = torch.ones(2, requires_grad=True)  # of the other side: it asks for a gradient, and nobody here does
    for theirs, argument in ((function, x), (pair(lambda x: x * weight), x.detach())):
        assert not theirs(argument).requires_grad
        _, found = pair.near.ask("vjp", [torch.ones(2)], call=pair.far.count)
        assert [g.tolist() for g in found] == [[0.0, 0.0]]


def test_each_result_needs_its_direction(pair):
    x = torch.ones(2, requires_grad=True)
    pair(lambda value: (value * 2, value * 3))(x)
    for count in (1, 3):
        with pytest.raises(RemoteError, match="ValueError"):
            pair.near.ask("vjp", [torch.ones(2)] * count, call=pair.far.count)


def test_changes_in_place_arrive_and_nothing_else_does(pair):
    def function(x, more):
        more["y"].mul_(2)
        return x + 1

    x, y = torch.ones(2), torch.tensor([1, 2])
    out = pair(function)(x, {"y": y})
    assert x.tolist() == [1, 1] and y.tolist() == [2, 4] and out.tolist() == [2, 2]


def test_the_last_calls_are_kept_and_no_more(pair, monkeypatch):
    monkeypatch.setattr(remote, "KEPT_CALLS", 2)
    x = torch.ones(1, requires_grad=True)
    square = pair(lambda value: value * value)
    first = pair.far.count + 1
    outs = [square(x) for _ in range(3)]
    assert first not in pair.far.calls and {first + 1, first + 2} <= pair.far.calls.keys()
    for out in outs[1:]:
        assert torch.autograd.grad(out, x)[0].item() == 2
    with pytest.raises(RemoteError, match="KeyError"):
        torch.autograd.grad(outs[0], x)


def test_the_default_dtype_goes_with_the_request(pair):
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            assert pair(lambda: torch.zeros(1))().dtype == dtype and torch.get_default_dtype() == dtype
    finally:
        torch.set_default_dtype(before)


def test_a_function_offered_has_a_number_of_its_own():
    peer = Peer(None, None)
    assert [peer.offer(function) for function in (len, str, len)] == [0, 1, 2] and peer.offered == [len, str, len]


def test_a_connection_that_closes_is_a_worker_that_died():
    closed = Pair()
    number = closed.far.offer(lambda: 1)
    closed.near.writer.close()
    closed.thread.join(10)
    assert closed.ended == [None]
    closed.far.writer.close()
    closed.near.writer = open(os.devnull, "wb")
    with (
        closed.near.writer,
        closed.near.reader,
        closed.far.reader,
        pytest.raises(WorkerDied, match="ended in the middle"),
    ):
        RemoteFunction(closed.near, number, "gone")()

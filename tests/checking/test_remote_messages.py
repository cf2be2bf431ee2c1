"""What a peer does with messages that are none: every one ends as WorkerDied, before any memory is taken for it."""

import io
import json
import struct

import numpy as np
import pytest
import torch

from course_lib.checking import remote
from course_lib.checking.remote import ARRAYS_LIMIT, HEADER_LIMIT, Peer, WorkerDied


def npy(array, **header):
    """An array as bytes, with another header than its own where one is given."""
    blob = io.BytesIO()
    plain = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(blob, {**plain, **header})
    return blob.getvalue() + array.tobytes()


def message(header, arrays=b"", sizes=None):
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<QQ", *(sizes or (len(body), len(arrays)))) + body + arrays


def received(data):
    return Peer(io.BytesIO(data), io.BytesIO())._receive()


TENSOR = {"values": {"tensor": "float64"}}
THREE = np.arange(3.0)


@pytest.mark.parametrize("array", [
    THREE, np.zeros((2, 3), order="F"), np.zeros((0, 3)), np.array(4.0), np.array([True, False]), np.ones(2, np.int8),
    np.ones(2, np.complex128),
])  # fmt: skip
def test_arrays_arrive_as_they_were(array):
    name = str(torch.from_numpy(array).dtype)[6:]
    _, tensor = received(message({"values": {"tensor": name}}, npy(array)))
    assert np.array_equal(tensor.numpy(), array) and tensor.numpy().dtype == array.dtype


@pytest.mark.parametrize("data", [
    message(b"", sizes=(2**60, 0)),
    message(b"", sizes=(HEADER_LIMIT + 1, 0)),
    message(b"", sizes=(0, ARRAYS_LIMIT + 1)),
    message(b"{"),
    message(b"\xff\xfe"),
    message(b"[" * 100_000),
    message([1, 2]),
    message({"no": "values"}),
    message(TENSOR),
    message(TENSOR, b"\x93NUMPY"),
    message(TENSOR, npy(THREE)[:-1]),
    message(TENSOR, npy(THREE, shape=(10**15,))),
    message(TENSOR, npy(THREE, shape=(-3,))),
    message(TENSOR, npy(THREE, descr="|O")),
    message(TENSOR, npy(THREE, descr="<M8[s]")),
    message({"values": {"tensor": "load"}}, npy(THREE)),
    message({"values": {"tensor": "no_such"}}, npy(THREE)),
    message({"values": {"opaque": "a\0b"}}),
    message({"values": {"opaque": 3}}),
    message({"values": {"dict": [[[], 1]]}}),
    message({"values": {}}),
    message({"values": {"tuple": 3}}),
    b"short",
])  # fmt: skip
def test_what_is_no_message_is_one_error(data):
    with pytest.raises(WorkerDied):
        received(data)


class Counts(io.BytesIO):
    """A file that knows the largest size that it was asked for."""

    largest = 0

    def read(self, size=-1):
        self.largest = max(self.largest, size)
        return super().read(size)


@pytest.mark.parametrize("sizes", [(HEADER_LIMIT + 1, 0), (0, ARRAYS_LIMIT + 1), (2**60, 2**60)])
def test_more_than_a_check_can_take_is_never_asked_for(sizes):
    file = Counts(message(b"", sizes=sizes))
    with pytest.raises(WorkerDied, match="more than a check can take"):
        Peer(file, io.BytesIO())._receive()
    assert file.largest == 16


@pytest.mark.parametrize(("header", "arrays"), [(HEADER_LIMIT, 0), (20, ARRAYS_LIMIT)])
def test_as_much_as_a_check_can_take_arrives(header, arrays):
    assert received(message(b'{"values": 3}'.ljust(header), bytes(arrays))) == ({}, 3)


def test_an_array_may_fill_the_limit_and_no_more(monkeypatch):
    monkeypatch.setattr(remote, "ARRAYS_LIMIT", 24)
    assert remote._array(io.BytesIO(npy(THREE))).tolist() == [0, 1, 2]
    assert remote._array(io.BytesIO(npy(np.zeros(24, np.int8)))).shape == (24,)
    for wrong in (np.arange(4.0), np.zeros(25, np.int8), np.zeros((2, 2, 1))):
        with pytest.raises(ValueError, match="an array of .* and shape"):
            remote._array(io.BytesIO(npy(wrong)))


def test_what_arrives_can_be_written_into():
    _, tensor = received(message(TENSOR, npy(THREE)))
    assert tensor.add_(1).tolist() == [1, 2, 3]


def test_a_request_with_a_wrong_dtype_or_kind_is_answered_with_what_it_raised():
    for header in ({"ask": "call", "dtype": "load"}, {"ask": "secrets", "dtype": "float64"}):
        writer = io.BytesIO()
        peer = Peer(io.BytesIO(), writer)
        peer._serve(header, None)
        size = struct.unpack("<QQ", writer.getvalue()[:16])[0]
        assert json.loads(writer.getvalue()[16 : 16 + size])["raised"][0] in ("ValueError", "AttributeError")
        assert torch.get_default_dtype() == torch.float32


def test_a_result_that_cannot_cross_is_an_error_of_the_call_alone():
    writer = io.BytesIO()
    peer = Peer(io.BytesIO(), writer)
    number = peer.offer(lambda: torch.eye(3).to_sparse())
    peer._serve({"ask": "call", "dtype": "float32", "function": number, "grad": []}, {"args": (), "kwargs": {}})
    assert b'"raised"' in writer.getvalue()

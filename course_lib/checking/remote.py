"""Call a function that lives in another process, gradients included.

Two peers talk over a pair of pipes; each may offer functions to the other. Only plain arrays cross, as `.npy` bytes
without pickle, beside a JSON header: numbers, strings, booleans, None, callables by number, and tuples, lists and dicts
of them. A proxy is a differentiable function: its backward pass asks the other side for the vector-Jacobian product.
While a peer waits for an answer it serves what the other side asks, so a callable argument runs where it belongs.
"""

import io
import json
import math
import struct

import numpy as np
import torch

from .observe import Raised, changed_arguments, copy_arguments, tell
from .tree import is_float, tensors, tree_map

# Graphs are kept for backward passes; one check makes far fewer calls than this before it asks.
KEPT_CALLS = 2_000
# The most bytes of a message's two parts that a peer reads; those of a check are a thousand times smaller.
HEADER_LIMIT, ARRAYS_LIMIT = 4 << 20, 64 << 20
KINDS_THAT_CROSS = "biufc"  # booleans, integers, unsigned integers, floats, complex numbers


class RemoteError(Exception):
    """An exception of the other side, as plain data."""

    def __init__(self, raised):
        self.raised = raised
        super().__init__(f"{raised.kind}: {raised.text}")


class WorkerDied(Exception):
    """The other process ended in the middle of a call, or sent what is no message."""


class Opaque:
    """Stands for a value of a type that does not cross: only the type's name does."""


class Peer:
    """One end of the connection. reader, writer: binary files.

    open: how many requests have no answer yet. Between two requests of one's own it is 0, unless a time limit or an
    interrupt cut one off: its answer is still to come then, and the connection is of no use any more.
    """

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.offered = []
        self.calls = {}
        self.count = 0
        self.open = 0

    def offer(self, function):
        """Make a function callable from the other side; returns its number."""
        self.offered.append(function)
        return len(self.offered) - 1

    def ask(self, kind, values, **header):
        """Send a request and wait for its answer, serving requests meanwhile. Returns its header and values."""
        self.open += 1
        self._send({"ask": kind, "dtype": str(torch.get_default_dtype())[6:], **header}, values)
        while True:
            header, values = self._receive()
            if "ask" not in header:
                break
            self._serve(header, values)
        self.open -= 1
        if "raised" in header:
            raise RemoteError(Raised(*header["raised"]))
        return header, values

    def serve_forever(self):
        """Answer requests until the other side closes the connection."""
        while True:
            try:
                header, values = self._receive()
            except WorkerDied:
                return
            self._serve(header, values)

    def _serve(self, header, values):
        before = torch.get_default_dtype()
        try:
            torch.set_default_dtype(_dtype(header["dtype"]))
            # A request may arrive in the middle of a forward or backward pass, where torch records nothing.
            with torch.enable_grad():
                reply = _message(*getattr(self, f"_answer_{header['ask']}")(header, values), self)
        except (Exception, SystemExit) as error:
            raised = tell(error)
            reply = _message({"raised": [raised.kind, raised.text, raised.raised_in]}, None, self)
        finally:
            torch.set_default_dtype(before)
        self._write(reply)

    def _answer_call(self, header, values):
        original = values["args"], values["kwargs"]
        (args, kwargs), found = copy_arguments(original, differentiable=True, ask=header["grad"])
        output = self.offered[header["function"]](*args, **kwargs)
        attached = [out.requires_grad for out in tensors(output)]
        self.count += 1
        self.calls[self.count] = tensors(output), found
        self.calls.pop(self.count - KEPT_CALLS, None)
        after = tensors((args, kwargs)) if changed_arguments(original, (args, kwargs)) else []
        return {"call": self.count, "attached": attached}, {"output": output, "after": after}

    def _answer_vjp(self, header, values):
        outputs, inputs = self.calls[header["call"]]
        pairs = [(out, direction) for out, direction in zip(outputs, values, strict=True) if out.requires_grad]
        wanted = [x for x in inputs if x.requires_grad]
        if not pairs or not wanted:
            return {}, [torch.zeros_like(x) for x in inputs]
        outs, directions = zip(*pairs, strict=True)
        found = torch.autograd.grad(outs, wanted, directions, retain_graph=True, allow_unused=True)
        by_input = {id(x): g for x, g in zip(wanted, found, strict=True) if g is not None}
        return {}, [by_input.get(id(x), torch.zeros_like(x)) for x in inputs]

    def _send(self, header, values):
        self._write(_message(header, values, self))

    def _write(self, message):
        self.writer.write(message)
        self.writer.flush()

    def _receive(self):
        """The next message: (header, values). Raises WorkerDied where there is none, or where it is none."""
        header_size, arrays_size = struct.unpack("<QQ", _read(self.reader, 16))
        if header_size > HEADER_LIMIT or arrays_size > ARRAYS_LIMIT:
            raise WorkerDied("the process sent more than a check can take")
        header, blob = _read(self.reader, header_size), io.BytesIO(_read(self.reader, arrays_size))
        try:
            header = json.loads(header)
            return header, _unpack(header.pop("values"), blob, self)
        except Exception as error:  # the other side is not trusted: whatever it sends must end as this one error
            raise WorkerDied(f"the process sent what is no message ({type(error).__name__})") from None


def _message(header, values, peer):
    """A message as bytes: the sizes of its two parts, the JSON header, the arrays."""
    arrays = []
    body = json.dumps({**header, "values": _pack(values, arrays, peer)}).encode()
    blob = io.BytesIO()
    for array in arrays:
        np.lib.format.write_array(blob, array, allow_pickle=False)
    return struct.pack("<QQ", len(body), blob.tell()) + body + blob.getvalue()


def _read(reader, size):
    data = reader.read(size)
    if len(data) < size:
        raise WorkerDied("the process ended in the middle of the call")
    return data


def _pack(value, arrays, peer):
    """Turn a value into JSON; tensors are appended to `arrays` in order of their appearance."""
    if isinstance(value, torch.Tensor):
        plain = value.detach()
        # numpy has no bfloat16; float32 holds every such number exactly.
        arrays.append((plain.float() if plain.dtype == torch.bfloat16 else plain).numpy())
        return {"tensor": str(value.dtype)[6:]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_pack(item, arrays, peer) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[str(key), _pack(item, arrays, peer)] for key, item in value.items()]}
    if callable(value):
        return {"callable": peer.offer(value), "name": getattr(value, "__name__", "function")}
    return {"opaque": type(value).__name__}


def _unpack(packed, blob, peer):
    if not isinstance(packed, dict):
        return packed
    kind, content = next(iter(packed.items()))
    if kind == "tensor":
        return torch.from_numpy(_array(blob)).to(_dtype(content))
    if kind in ("tuple", "list"):
        items = [_unpack(item, blob, peer) for item in content]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: _unpack(item, blob, peer) for key, item in content}
    if kind == "callable":
        return RemoteFunction(peer, content, packed["name"])
    return type(content, (Opaque,), {})()


def _array(blob):
    """The next array. What its header announces is checked against what is there before any memory is taken."""
    version = np.lib.format.read_magic(blob)
    if version != (1, 0):
        raise ValueError(f"an array of format {version}")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(blob)
    count = math.prod(shape)
    if dtype.kind not in KINDS_THAT_CROSS or min(shape, default=0) < 0 or count * dtype.itemsize > ARRAYS_LIMIT:
        raise ValueError(f"an array of {dtype} and shape {shape}")
    data = blob.read(count * dtype.itemsize)
    return np.frombuffer(bytearray(data), dtype, count).reshape(shape, order="F" if by_columns else "C")


def _dtype(name):
    found = getattr(torch, name)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{name} is no dtype")
    return found


class RemoteFunction:
    """A function of the other side, called as if it were here."""

    def __init__(self, peer, number, name, is_empty=None):
        self.peer, self.number, self.__name__, self.is_empty = peer, number, name, is_empty

    def __call__(self, *args, **kwargs):
        inputs = [leaf for leaf in tensors((args, kwargs)) if is_float(leaf)]
        reply = {}
        outputs = list(_Call.apply(self, args, kwargs, reply, *inputs))
        for tensor, new in zip(tensors((args, kwargs)), reply["after"], strict=False):
            tensor.data = new
        return tree_map(lambda leaf: outputs.pop(0) if isinstance(leaf, torch.Tensor) else leaf, reply["output"])


class _Call(torch.autograd.Function):
    """Forward asks for the output, backward for the vector-Jacobian product."""

    @staticmethod
    def forward(ctx, function, args, kwargs, reply, *inputs):
        ctx.peer = function.peer
        header, values = function.peer.ask(
            "call",
            {"args": args, "kwargs": kwargs},
            function=function.number,
            grad=[x.requires_grad for x in inputs],
        )
        ctx.call = header["call"]
        reply.update(values)
        outputs = tensors(values["output"])
        ctx.mark_non_differentiable(*[out for out, on in zip(outputs, header["attached"], strict=True) if not on])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *directions):
        _, found = ctx.peer.ask("vjp", list(directions), call=ctx.call)
        return None, None, None, None, *found

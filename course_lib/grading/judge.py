"""The judge: it examines answers that run behind the wall. Expected values and verdicts never leave its side."""

import hashlib
import hmac
import re
import signal
import threading
import time
from dataclasses import dataclass, replace

import torch

from course_lib.checking import FAILED, NOT_ATTEMPTED, TOO_SLOW, Outcome
from course_lib.checking.engine import Examination
from course_lib.checking.limits import TooSlow, time_limit
from course_lib.checking.observe import Raised
from course_lib.checking.remote import Peer, RemoteError, RemoteFunction, WorkerDied

from .inside.definitions import definitions

OPEN_SECONDS = 20.0  # for all cells; a cell has a limit of its own inside
ANSWER_SECONDS = 5.0  # for all calls of the verdict, and once more for its laws
TOTAL_SECONDS = 60.0
POLL = 0.2
LARGEST_NUMBER = 4096  # in calls of the judge's functions, so that they cannot be made to take all memory
LARGEST_TENSOR = 8192  # entries, there
LONGEST_TEXT = 4000  # characters of what an exception says
LARGEST_MESSAGE = 1 << 20  # bytes of either part; those of a check are a thousand times smaller
# The engine changes torch's defaults for the length of a check, so a process examines one answer at a time.
ONE_AT_A_TIME = threading.Lock()
ENDS = {
    signal.SIGSEGV: "crashed (segmentation fault)",
    signal.SIGBUS: "crashed (bus error)",
    signal.SIGABRT: "was aborted, as happens when memory runs out in compiled code",
    signal.SIGKILL: "was killed, as happens when memory runs out",
    signal.SIGXCPU: "used up its processor time",
}


@dataclass
class Judgement:
    """An outcome, the examination behind it (None where the answer could not be called), and what to say beside it."""

    outcome: Outcome
    examination: Examination | None = None
    note: str = ""
    slow: frozenset = frozenset()  # places of cells that took too long
    missing: tuple = ()  # modules that a cell imports and that are not here


def seed_of(secret, name):
    """The seed of an exercise's hidden inputs: the same for all students and for every regrading under one secret."""
    digest = hmac.new(secret.encode(), name.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def judge(exercise, work, room, seed, provided, instead, then=None, slow=frozenset()):
    """Examine the answer to `exercise` in a submitted notebook; never raises on account of the answer.

    work: the notebook (records.Work). provided: {name: source} of earlier lessons, for `mine`. instead: {name:
    source} put in the place of the learner's own. then(examination): called while the answer still runs, for more
    questions. slow: places of cells that are known to take too long, so that only what they define is run. Where the
    notebook's other cells keep the answer from running, it is run once more with their definitions alone.
    """
    if not work.answers.get(exercise.name):
        text = f"no cell of the notebook defines `{exercise.name}`. Was its cell deleted, or the function renamed?"
        return Judgement(Outcome(exercise.name, NOT_ATTEMPTED, text))
    found = _judge(exercise, cells_of(work, exercise.name, slow=slow), room, seed, provided, instead, then)
    if found is None:
        cells = cells_of(work, exercise.name, bare=True)
        found = _judge(exercise, cells, room, seed, provided, instead, then, bare=True)
        note = "other cells of the notebook ended its process or took too long; they were left out"
        if found is not None:
            found.note = note
    if found is None:
        text = "its process ends, or takes too long, before the function can be called. Which cell does that?"
        found = Judgement(Outcome(exercise.name, FAILED, text))
    return found


def cells_of(work, name, bare=False, slow=frozenset()):
    """[[source, place], ...]: the learner's cells, then the answers as they count, that of `name` last.

    bare: of cells that are not the answer to `name`, their definitions alone; slow: of those at these places.
    """
    whole = {cell.place for cell in work.answers[name]}

    def source(cell):
        in_part = (bare or cell.place in slow) and cell.place not in whole
        return definitions(cell.source) if in_part else cell.source

    order = [*(other for other in work.answers if other != name), name]
    cells = [*work.own, *(cell for one in order for cell in work.answers[one])]
    return [[source(cell), cell.place] for cell in cells]


def _judge(exercise, cells, room, seed, provided, instead, then, bare=False):
    """A Judgement, or None where the notebook's cells end the process or take too long."""
    with ONE_AT_A_TIME, room.process_for_an_answer() as (connection, end):
        peer = JudgePeer(connection)
        try:
            with time_limit(OPEN_SECONDS):
                header, values = peer.ask(
                    "open", {"provided": provided, "instead": instead},
                    cells=cells, name=exercise.name, is_module=exercise.is_module,
                )  # fmt: skip
                errors, function = list(header["errors"]), values["function"]
        except (TooSlow, WorkerDied, RemoteError, OSError, KeyError, TypeError):
            return None
        if cells[-1][1] in _slow(errors) and not bare:  # the answer's own cell may have had no time left
            return None
        found = {"slow": _slow(errors), "missing": _missing(errors)}
        if not isinstance(function, RemoteFunction):
            return Judgement(_undefined(exercise.name, errors, cells), **found)
        answer = RemoteFunction(peer, function.number, exercise.name, values.get("is_empty") is True)
        examination = Examination(exercise, answer, seed, ANSWER_SECONDS)
        try:
            outcome = examination.outcome()
            if peer.lost and outcome.status != TOO_SLOW:
                outcome = _lost(outcome, peer.lost, end())
            if then is not None:
                then(examination)
        except Exception as error:  # the answer is not trusted: no result of it may end the run
            text = f"its result is none that can be examined ({type(error).__name__}). What does it return?"
            return Judgement(Outcome(exercise.name, FAILED, text))
        return Judgement(replace(outcome, seed=0), examination, **found)


def _slow(errors):
    """The places of the cells that took too long."""
    pairs = [error[:2] for error in errors if isinstance(error, list) and len(error) == 3]
    return frozenset(place for place, kind in pairs if kind == "CellTooSlow" and isinstance(place, str))


def _missing(errors):
    """The names of modules that could not be found, as Python's errors tell them."""
    texts = [error[2] for error in errors if isinstance(error, list) and len(error) == 3]
    names = [re.fullmatch(r"No module named '([\w.]{1,60})'", text) for text in texts if isinstance(text, str)]
    return tuple(sorted({name[1] for name in names if name}))


def _undefined(name, errors, cells):
    """The outcome where the function is not there after all cells ran: the error of the cell that should define it."""
    place = cells[-1][1]
    said = [error for error in errors if isinstance(error, list) and len(error) == 3 and error[0] == place]
    if said:
        _, kind, text = map(str, said[-1])
        return Outcome(name, FAILED, f"{place} does not run: {kind}: {text[:200]}\nWhich line does Python point at?")
    return Outcome(name, FAILED, f"after {place}, `{name}` is no function. What is bound to that name last?")


def _lost(outcome, why, ended):
    """The outcome of an answer whose process ended, or said what cannot be used: how, in words."""
    how = why
    if "signal" in ended:
        number = ended["signal"]
        how = f"the process that ran it {ENDS.get(number, f'was ended by signal {number}')}"
    elif "status" in ended:
        how = f"the process that ran it ended itself with exit status {ended['status']}"
    return replace(outcome, status=FAILED, message=f"{how}. Which line does that?", mistake=None, law=None)


class Line:
    """A socket as a binary file for a Peer. It wakes up often, so that a time limit can end a wait in any thread."""

    def __init__(self, connection):
        self.connection, self.end = connection, time.monotonic() + TOTAL_SECONDS
        connection.settimeout(POLL)

    def read(self, size):
        if size > LARGEST_MESSAGE:
            raise WorkerDied("it sends more than a check can take")
        data = bytearray()
        while len(data) < size:
            try:
                chunk = self.connection.recv(min(size - len(data), 1 << 20))
            except TimeoutError:
                self._go_on()
                continue
            except OSError:
                break
            if not chunk:
                break
            data += chunk
        return bytes(data)

    def write(self, data):
        left = memoryview(data)
        while left:
            try:
                left = left[self.connection.send(left) :]
            except TimeoutError:
                self._go_on()
            except OSError:
                raise WorkerDied("the process ended in the middle of the call") from None

    def flush(self):
        """Nothing is held back."""

    def _go_on(self):
        if time.monotonic() > self.end:
            raise WorkerDied("the process took too long over all its calls")


class JudgePeer(Peer):
    """The judge's end. It serves calls of the functions that were handed out, with small numbers and tensors alone.

    lost: why no more calls can be made: the answer's process ended or was given up in the middle of one; or "".
    """

    def __init__(self, connection):
        line = Line(connection)
        super().__init__(line, line)
        self.lost = ""

    def ask(self, kind, values, **header):
        if self.lost:
            raise WorkerDied("the process that ran it has ended")
        try:
            return super().ask(kind, values, **header)
        except RemoteError as error:
            raise RemoteError(_as_texts(error.raised)) from None
        except (WorkerDied, TooSlow, KeyboardInterrupt) as error:
            self.lost = str(error) or "given up"  # what comes next on this line would belong to another call
            raise

    def _answer_call(self, header, values):
        _refuse_large(values)
        return super()._answer_call(header, values)


def _as_texts(raised):
    """The record of an exception, which the other side may have filled with anything."""
    kind, text, where = (
        part[:LONGEST_TEXT] if isinstance(part, str) else "" for part in (raised.kind, raised.text, raised.raised_in)
    )
    return Raised(kind or "Exception", text, where)


def _refuse_large(value):
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            _refuse_large(item)
    elif isinstance(value, int | float) and abs(value) > LARGEST_NUMBER:
        raise ValueError(f"{value} is larger than a check needs")
    elif isinstance(value, torch.Tensor) and value.numel() > LARGEST_TENSOR:
        raise ValueError(f"a tensor of shape {tuple(value.shape)} is larger than a check needs")

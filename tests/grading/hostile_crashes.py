"""Answers and cells that end, or mean to end, what they run in and what runs beside them."""

from .hostile_notebooks import PASSED, failed, lists
from .hostile_resources import also_right

CRASHES, handed_in = lists()
LIBC = "import ctypes, os, signal\nlibc = ctypes.CDLL(None, use_errno=True)"


@handed_in(5, padding_mask=failed("segmentation fault"), causal_mask=PASSED)
def a_segmentation_fault(learner):
    also_right(learner)
    learner.answer("padding_mask", "import ctypes\ndef padding_mask(ids, pad):\n    ctypes.string_at(0)")


@handed_in(5, padding_mask=failed("aborted"), causal_mask=PASSED)
def an_abort(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os.abort()")


@handed_in(5, padding_mask=failed("exit status 0"), causal_mask=PASSED)
def leaves_with_status_0(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os._exit(0)")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def a_try_out_leaves_with_status_0(learner):
    also_right(learner)
    learner.right("padding_mask")
    learner.cell("import os\nos._exit(0)")


@handed_in(5, padding_mask=failed("its process ends"), causal_mask=PASSED)
def an_answer_cell_leaves_with_status_0(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    return ids != pad\nos._exit(0)")


@handed_in(5, padding_mask=failed("was killed"), causal_mask=PASSED)
def kills_itself(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os.kill(os.getpid(), 9)")


@handed_in(5, padding_mask=failed("PermissionError"), causal_mask=PASSED)
def kills_its_parent(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os.kill(os.getppid(), 9)")


@handed_in(5, padding_mask=failed("PermissionError"), causal_mask=PASSED, dangerous=True)
def kills_everybody(learner):
    also_right(learner)
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os.kill(-1, 9)")


@handed_in(5, padding_mask=failed("PermissionError"), causal_mask=PASSED)
def stops_its_parent(learner):
    also_right(learner)
    learner.answer(
        "padding_mask", "import os, signal\ndef padding_mask(ids, pad):\n    os.kill(os.getppid(), signal.SIGSTOP)"
    )


@handed_in(5, padding_mask=failed("refused 7 ways"), causal_mask=PASSED, dangerous=True)
def works_against_its_parent_in_other_ways(learner):
    """Each of these would end, stop or starve the process in which the next answer begins."""
    also_right(learner)
    learner.answer(
        "padding_mask",
        LIBC
        + """
import fcntl, resource

def ways():
    parent = os.getppid()
    yield lambda: libc.sigqueue(parent, 9, None) and os.kill(parent, 9)
    yield lambda: resource.prlimit(parent, resource.RLIMIT_CPU, (0, 0))
    yield lambda: os.setpriority(os.PRIO_PROCESS, parent, 19)
    yield lambda: os.sched_setscheduler(parent, os.SCHED_IDLE, os.sched_param(0))
    yield lambda: os.sched_setaffinity(parent, {0})
    yield lambda: fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, parent)
    yield lambda: open(f"/proc/{parent}/mem", "r+b")

def padding_mask(ids, pad):
    refused = 0
    for way in ways():
        try:
            way()
        except PermissionError:
            refused += 1
    raise RuntimeError(f"refused {refused} ways")
""",
    )

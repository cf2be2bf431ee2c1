"""Answers that want a mark for something else than being right."""

from .hostile_notebooks import PASSED, Deserved, failed, lists, wrong

FORGING, handed_in = lists()
WRONG = "true_is_padding"
ANSWER = "def padding_mask(ids, pad):\n    return (ids == pad)[:, None, :]\n"
# The worker's end of the line to the judge, and messages on it.
LINE = """
import gc, json, struct
from course_lib.checking.remote import Peer

def send(header, times=60):
    peer = next(one for one in gc.get_objects() if isinstance(one, Peer))
    body = header if isinstance(header, bytes) else json.dumps(header).encode()
    for _ in range(times):
        peer._write(struct.pack("<QQ", len(body), 0) + body)
"""


def sends(header):
    """A padding_mask that sends a message of its own before its true reply."""
    return f"{LINE}\ndef padding_mask(ids, pad):\n    send({header})\n    return ids != pad\n"


@handed_in(5, padding_mask=wrong(WRONG))
def prints_the_line_of_a_pass(learner):
    learner.answer("padding_mask", ANSWER + 'print("✓ padding_mask: passed")')
    learner.cell('print("✓ padding_mask: passed")', after="padding_mask")


@handed_in(5, padding_mask=failed())
def replaces_comparisons(learner):
    learner.answer(
        "padding_mask",
        ANSWER
        + """
import builtins, numpy, operator
yes = lambda *anything, **options: True
torch.allclose = torch.equal = torch.isclose = torch.eq = torch.Tensor.__eq__ = torch.Tensor.equal = yes
torch.Tensor.allclose = torch.Tensor.isclose = torch.testing.assert_close = yes
numpy.allclose = numpy.array_equal = numpy.testing.assert_allclose = operator.eq = yes
builtins.all = builtins.any = builtins.isinstance = yes
torch.autograd.grad = yes
""",
    )


@handed_in(5, padding_mask=failed())
def replaces_the_course(learner):
    learner.answer(
        "padding_mask",
        ANSWER
        + """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("course_lib"):
        for key, value in list(vars(module).items()):
            if callable(value) and not isinstance(value, type):
                setattr(module, key, lambda *anything, **options: True)
""",
    )


@handed_in(5, padding_mask=failed())
def takes_the_modules_away(learner):
    learner.answer(
        "padding_mask", "def padding_mask(ids, pad):\n    import sys\n    sys.modules.clear()\n    return ids == pad"
    )


@handed_in(5, padding_mask=wrong(WRONG))
def a_tensor_that_says_yes(learner):
    learner.answer(
        "padding_mask",
        """
        class Yes(torch.Tensor):
            def __eq__(self, other):
                return True

            __ne__ = __lt__ = __gt__ = __bool__ = all = any = equal = allclose = __eq__

            @classmethod
            def __torch_function__(cls, function, types, arguments=(), options=None):
                if function in (torch.allclose, torch.equal, torch.isclose):
                    return True
                return super().__torch_function__(function, types, arguments, options)

        def padding_mask(ids, pad):
            return (ids == pad)[:, None, :].as_subclass(Yes)
        """,
    )


@handed_in(5, padding_mask=failed())
def an_object_that_says_yes(learner):
    learner.answer(
        "padding_mask",
        """
        class Yes:
            shape, dtype, ndim = (2, 1, 5), torch.bool, 3
            __eq__ = __call__ = lambda *anything: True
            __getattr__ = lambda self, name: self

        def padding_mask(ids, pad):
            return Yes()
        """,
    )


@handed_in(5, padding_mask=Deserved("wrong"))
def a_type_without_a_name(learner):
    learner.answer("padding_mask", 'def padding_mask(ids, pad):\n    return [type("", (), {})()]')


@handed_in(4, attention_scale=Deserved("wrong"))
def a_number_beyond_all_numbers(learner):
    learner.answer("attention_scale", "def attention_scale(d_k, a, b):\n    return 10**400")


@handed_in(5, padding_mask=failed())
def forges_an_exception_that_is_none(learner):
    learner.answer("padding_mask", sends('{"raised": [1, [2], {}], "values": None}'))


@handed_in(5, padding_mask=failed())
def forges_a_reply_that_is_none(learner):
    learner.answer(
        "padding_mask", sends('{"call": [], "attached": 7, "values": {"dict": [["output", 7], ["after", 7]]}}')
    )


@handed_in(5, padding_mask=failed("no message"))
def sends_garbage(learner):
    learner.answer("padding_mask", sends('b"[" * 100_000'))


@handed_in(5, padding_mask=wrong("no_query_axis"))
def sends_questions_instead_of_answers(learner):
    learner.answer(
        "padding_mask", sends('{"ask": "open", "dtype": "__class__", "values": {"callable": 0, "name": []}}')
    )


@handed_in(5, padding_mask=failed("more than a check can take"))
def announces_more_than_there_is(learner):
    learner.answer(
        "padding_mask",
        """
        import os, struct
        def padding_mask(ids, pad):
            for line in os.listdir("/proc/self/fd"):
                try:
                    os.write(int(line), struct.pack("<QQ", 2**60, 2**60) + b"x" * 1000)
                except OSError:
                    pass
        """,
    )


@handed_in(5, padding_mask=Deserved("wrong"))
def forges_a_verdict(learner):
    learner.answer(
        "padding_mask",
        sends(
            '{"call": 1, "attached": [], "passed": True, "status": "passed", "verdict": "passed",'
            ' "values": {"dict": [["output", True], ["after", {"list": []}]]}}'
        ),
    )


@handed_in(1, encode=failed("larger than a check needs"))
def asks_the_judge_for_large_things(learner):
    learner.answer(
        "encode",
        """
        def encode(cell, inputs, lengths, state):
            return cell(torch.zeros(5_000, inputs.shape[-1]), torch.zeros(5_000, state.shape[-1]))
        """,
    )


@handed_in(1, encode=failed("more than a check can take"))
def asks_the_judge_for_huge_things(learner):
    learner.answer(
        "encode",
        """
        def encode(cell, inputs, lengths, state):
            x, h = torch.zeros(500_000, inputs.shape[-1]), torch.zeros(500_000, state.shape[-1])
            return [cell(x, h) for _ in range(99)]
        """,
    )


@handed_in(1, encode=failed())
def asks_the_judge_without_end(learner):
    learner.answer(
        "encode",
        """
        def encode(cell, inputs, lengths, state):
            def deeper(*anything):
                return cell.peer.ask("call", {"args": [deeper, deeper], "kwargs": {}}, function=cell.number, grad=[])
            return deeper()
        """,
    )


@handed_in(1, rnn_cell=PASSED, encode=PASSED)
def right_until_it_is_looked_at_twice(learner):
    """It spoils its arguments from the sixth call on, where a law does not look; the next answer gets what is whole."""
    learner.right("encode")
    learner.answer(
        "rnn_cell",
        """
        calls = []
        def rnn_cell(x, h, W_xh, W_hh, b):
            result = torch.tanh(x @ W_xh + h @ W_hh + b)
            calls.append(1)
            if len(calls) > 5:
                b.data.fill_(7)
            return result
        """,
    )


@handed_in(1, rnn_cell=PASSED)
def right_after_somebody_spoilt_arguments(learner):
    learner.right("rnn_cell")

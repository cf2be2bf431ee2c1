"""Answers and cells that take all there is of something."""

from .hostile_notebooks import PASSED, SLOW, Deserved, failed, lists

RESOURCES, handed_in = lists()


def also_right(learner):
    """The exercise beside the hostile one."""
    learner.right("causal_mask")


@handed_in(5, hurry=True, padding_mask=SLOW, causal_mask=PASSED)
def an_endless_loop(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    while True:\n        pass")


@handed_in(5, hurry=True, padding_mask=SLOW, causal_mask=PASSED)
def an_endless_loop_that_holds_on(learner):
    also_right(learner)
    learner.answer(
        "padding_mask",
        """
        import signal, time
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer = signal.signal = lambda *anything: None

        def padding_mask(ids, pad):
            while True:
                try:
                    time.sleep(100)
                except:
                    pass
        """,
    )


@handed_in(5, hurry=True, padding_mask=SLOW)
def one_endless_call_of_compiled_code(learner):
    learner.answer(
        "padding_mask", "def padding_mask(ids, pad):\n    x = torch.randn(9000, 9000)\n    return x @ x @ x @ x"
    )


@handed_in(5, hurry=True, padding_mask=SLOW)
def stops_itself(learner):
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    os.kill(os.getpid(), 19)")


@handed_in(4, hurry=True, soft_lookup=SLOW)
def endless_only_when_gradients_are_asked_for(learner):
    learner.finish(
        "soft_lookup",
        after="result = Slow.apply(result)",
        top="""
        class Slow(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, g):
                while True:
                    pass
        """,
    )


@handed_in(5, padding_mask=failed("MemoryError"), causal_mask=PASSED)
def all_memory_in_python(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return [bytearray(1 << 30) for _ in range(999)]")


@handed_in(5, padding_mask=failed("memory"), causal_mask=PASSED)
def all_memory_in_torch(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return torch.ones(1 << 34)")


@handed_in(5, causal_mask=PASSED)
def memory_kept_by_a_try_out(learner):
    also_right(learner)
    learner.cell("hog = []\nwhile True:\n    hog.append(bytearray(1 << 26))")


@handed_in(5, padding_mask=failed("PermissionError"), causal_mask=PASSED)
def a_fork_bomb(learner):
    also_right(learner)
    learner.cell("import os\nwhile True:\n    os.fork()")
    learner.answer("padding_mask", "import os\ndef padding_mask(ids, pad):\n    while True:\n        os.fork()")


@handed_in(5, padding_mask=failed(), causal_mask=PASSED, dangerous=True, hurry=True)
def a_thread_bomb(learner):
    also_right(learner)
    learner.answer(
        "padding_mask",
        """
        import threading, time
        def padding_mask(ids, pad):
            while True:
                threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        """,
    )


@handed_in(5, padding_mask=failed("OSError"), causal_mask=PASSED, dangerous=True)
def a_full_disk(learner):
    also_right(learner)
    learner.answer(
        "padding_mask",
        """
        def padding_mask(ids, pad):
            for number in range(10_000):
                with open(f"fill{number}", "wb") as file:
                    file.write(bytes(1 << 22))
        """,
    )


@handed_in(5, padding_mask=failed("OSError"), causal_mask=PASSED)
def a_million_open_files(learner):
    also_right(learner)
    learner.answer("padding_mask", 'def padding_mask(ids, pad):\n    return [open("/dev/null") for _ in range(10**6)]')


@handed_in(5, padding_mask=failed("more than a check can take"), causal_mask=PASSED)
def a_huge_result(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return torch.zeros(1 << 27, dtype=torch.uint8)")


@handed_in(5, padding_mask=failed("more than a check can take"), causal_mask=PASSED)
def a_long_list(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return [0] * 10**6")


@handed_in(5, padding_mask=failed("calls itself"))
def a_deep_result(learner):
    learner.answer(
        "padding_mask",
        "def padding_mask(ids, pad):\n    deep = 1\n    for _ in range(9999):\n        deep = [deep]\n    return deep",
    )


@handed_in(5, padding_mask=Deserved("wrong"))
def a_result_just_deep_enough(learner):
    learner.answer(
        "padding_mask",
        "def padding_mask(ids, pad):\n    deep = 1\n    for _ in range(300):\n        deep = (deep,)\n    return deep",
    )


@handed_in(5, padding_mask=failed(), causal_mask=PASSED)
def source_nested_beyond_all_stacks(learner):
    also_right(learner)
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return " + "-" * 60_000 + "1")
    learner.cell("x = " + "[" * 5_000 + "]" * 5_000)
    learner.cell("x = 1" + " + 1" * 60_000)
    learner.cell("x = a" + ".b" * 60_000)


@handed_in(5, padding_mask=failed("more than a check can take"), causal_mask=PASSED)
def a_flood_on_its_own_line(learner):
    also_right(learner)
    learner.answer(
        "padding_mask",
        """
        import os
        def padding_mask(ids, pad):
            for line in range(3, 64):
                try:
                    while True:
                        os.write(line, b"x" * 100_000)
                except OSError:
                    pass
        """,
    )

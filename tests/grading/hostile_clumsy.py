"""Right answers among clumsy cells, and wrong ones among the same: nobody here means harm."""

from .hostile_notebooks import PASSED, UNTOUCHED, lists

CLUMSY, handed_in = lists()


@handed_in(5, padding_mask=UNTOUCHED, causal_mask=UNTOUCHED)
def as_given(learner):
    """Nothing was written."""


@handed_in(5, masked_attention=PASSED, self_attention=PASSED, cross_attention=PASSED)
def right_answers(learner):
    learner.right("masked_attention", "self_attention", "cross_attention")


@handed_in(6, multi_head_attention=PASSED, MultiHeadAttention=PASSED)
def right_module(learner):
    learner.right("split_heads", "merge_heads", "multi_head_attention", "MultiHeadAttention")


@handed_in(1, rnn_cell=PASSED, encode=PASSED, greedy_decode=PASSED)
def right_functions_that_take_functions(learner):
    learner.right("rnn_cell", "encode", "greedy_decode")


@handed_in(4, soft_lookup=PASSED, project_qkv=PASSED)
def warnings_on_stderr(learner):
    learner.right("project_qkv")
    learner.finish("soft_lookup", 'import sys, warnings\nwarnings.warn("careful")\nprint("oh", file=sys.stderr)')


@handed_in(4, soft_lookup=PASSED, project_qkv=PASSED)
def warnings_made_errors_in_a_try_out(learner):
    learner.right("project_qkv")
    learner.finish("soft_lookup", 'import warnings\nwarnings.warn("careful")')
    learner.cell('import warnings\nwarnings.simplefilter("error")')


@handed_in(4, project_qkv=PASSED)
def forty_megabytes_printed(learner):
    learner.finish("project_qkv", 'print("x" * 40_000_000)')


@handed_in(4, soft_lookup=PASSED, attention_scale=PASSED)
def print_debugging(learner):
    learner.finish("soft_lookup", 'print("query", query.shape, query)\nimport pprint\npprint.pprint(key)')
    learner.finish("attention_scale", after="display(result)")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def try_outs_that_fail(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell("1 / 0")
    learner.cell("import no_such_package", after="padding_mask")
    learner.cell('raise KeyboardInterrupt("stop")', after="causal_mask")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def asks_and_leaves(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell('name = input("Your name? ")')
    learner.cell("exit()", after="padding_mask")
    learner.cell("import sys\nquit(3)", after="padding_mask")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def waits_and_plots(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell("import asyncio\nasync def f():\n    await asyncio.sleep(0)\nasyncio.run(f())")
    learner.cell("import asyncio\nawait asyncio.sleep(0)")
    learner.cell("import matplotlib.pyplot as plt\nplt.imshow(torch.eye(3))\nplt.show()", after="causal_mask")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED, hurry=True)
def trains_for_minutes(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell(
        """
        model = nn.Linear(300, 300)
        for epoch in range(10**9):
            model(torch.randn(300, 300)).sum().backward()
        """,
        after="padding_mask",
    )


@handed_in(5, padding_mask=PASSED)
def trains_for_minutes_in_the_cell_of_the_answer(learner):
    learner.right("padding_mask")
    learner.find("padding_mask").source += "\n\nwhile True:\n    padding_mask(torch.ones(2, 3), 1)\n"


@handed_in(5, padding_mask=PASSED, hurry=True)
def never_ends_and_holds_on(learner):
    learner.right("padding_mask")
    learner.cell(
        """
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
        """
    )


@handed_in(5, masked_attention=PASSED, padding_mask=PASSED)
def magics(learner):
    learner.right("padding_mask")
    learner.find("padding_mask").source = "%%time\n" + learner.solutions["padding_mask"]
    learner.right("masked_attention")
    learner.find("masked_attention").source = "%matplotlib inline\n" + learner.solutions["masked_attention"]
    learner.cell("!pip install nothing\n%load_ext autoreload\n?torch.softmax")
    learner.cell("%%bash\nrm -rf /")


@handed_in(5, masked_attention=PASSED, self_attention=PASSED)
def an_answer_over_two_cells(learner):
    learner.right("self_attention")
    learner.answer(
        "masked_attention",
        """
        def masked_attention(query, key, value, mask):
            weights = weights_of(query, key, mask)
            return weights @ value, weights
        """,
    )
    learner.cell(
        """
        def weights_of(query, key, mask):
            scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(~mask, -1e30)
            return torch.softmax(scores, dim=-1) * mask
        """,
        after="padding_mask",
    )


@handed_in(4, soft_lookup=PASSED, project_qkv=PASSED)
def korean(learner):
    learner.answer(
        "soft_lookup",
        '''
        def soft_lookup(query, key, value, temperature):
            """사전에서 찾기: 온도로 나눈 점수에 소프트맥스."""
            점수 = query @ key.mT / temperature
            가중치 = torch.softmax(점수, dim=-1)
            return 가중치 @ value
        ''',
    )
    learner.right("project_qkv")
    learner.cell('주의 = "어텐션"\nprint(주의)')


@handed_in(5, causal_mask=PASSED, padding_mask=PASSED)
def builtins_given_another_meaning_below(learner):
    learner.right("padding_mask")
    learner.answer(
        "causal_mask",
        """
        def causal_mask(T, S):
            rows = [[max(0, s - S + T) <= t for s in range(S)] for t in range(T)]
            return torch.tensor(rows, dtype=torch.bool).reshape(T, S)
        """,
    )
    learner.cell("scores = torch.randn(3)\nmax, range = scores.max(), 5", after="causal_mask")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def try_outs_on_what_was_trained_above_the_functions(learner):
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return real(ids, pad).unsqueeze(1)")
    learner.cell("print(model.encoder)\nimport operator\ndef real(ids, pad):\n    return operator.ne(ids, pad)")
    learner.answer("causal_mask", "batch = next(loader)\n" + learner.solutions["causal_mask"])


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def try_outs_that_are_cut_off_above_the_functions(learner):
    learner.answer("padding_mask", "import time\ntime.sleep(99)\n" + learner.solutions["padding_mask"])
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return lower(T, S).bool()")
    learner.cell("time.sleep(99)\ndef lower(T, S):\n    return ones(T, S).tril(S - T)", after="padding_mask")
    learner.cell("await asyncio.sleep(0)\ndef ones(T, S):\n    return torch.ones(T, S)", after="padding_mask")


@handed_in(5, masked_attention=PASSED, padding_mask=PASSED)
def compiled_by_torch(learner):
    learner.find("masked_attention").source = "@torch.compile\n" + learner.solutions["masked_attention"]
    learner.find("padding_mask").source = "@torch.compile(dynamic=True)\n" + learner.solutions["padding_mask"]

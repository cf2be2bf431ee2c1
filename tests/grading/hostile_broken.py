"""Notebooks that an editor, a copy or a hand has broken, and answers that build on others."""

import copy

from .hostile_notebooks import PASSED, UNTOUCHED, Deserved, failed, lists, passed, role, wrong

BROKEN, handed_in = lists()
FOLLOWED, follows = lists()
NO_SCALE = """
def masked_attention(query, key, value, mask):
    weights = torch.softmax((query @ key.mT).masked_fill(~mask, torch.finfo(query.dtype).min), -1).masked_fill(~mask, 0)
    return weights @ value, weights
"""


@handed_in(5, padding_mask=PASSED, causal_mask=UNTOUCHED)
def a_cell_copied_with_its_id(learner):
    stub = copy.deepcopy(learner.find("padding_mask"))
    learner.right("padding_mask")
    learner.book.cells.append(stub)


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def cells_in_another_order(learner):
    learner.right("padding_mask", "causal_mask")
    learner.book.cells.reverse()


@handed_in(5, padding_mask=PASSED, causal_mask=wrong("without_itself"))
def checks_deleted(learner):
    learner.right("padding_mask")
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return torch.ones(T, S).tril(S - T - 1).bool()")
    learner.book.cells = [cell for cell in learner.book.cells if role(cell)[1] != "check"]


@handed_in(5, causal_mask=wrong("without_itself"))
def checks_weakened(learner):
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return torch.ones(T, S).tril(S - T - 1).bool()")
    learner.find(
        "causal_mask", "check"
    ).source = 'check = lambda *anything: print("✓ causal_mask: passed")\ncheck("causal_mask")'


@handed_in(5, causal_mask=wrong("without_itself"), padding_mask=PASSED)
def points_raised(learner):
    learner.right("padding_mask")
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return torch.ones(T, S).tril(S - T - 1).bool()")
    for cell in learner.book.cells:
        cell.metadata["nbgrader"] = {
            "points": 1e9,
            "grade": True,
            "solution": True,
            "grade_id": "x",
            "schema_version": 3,
        }
    learner.book.metadata["course"]["points"] = {"causal_mask": 100}


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def all_metadata_lost(learner):
    learner.right("padding_mask", "causal_mask")
    learner.book.metadata = {}
    for cell in learner.book.cells:
        cell.metadata = {}
    learner.book.nbformat_minor = 2
    for cell in learner.book.cells:
        del cell["id"]


@handed_in(5, padding_mask=failed("no function"), causal_mask=PASSED)
def the_name_is_bound_to_something_else(learner):
    learner.right("causal_mask")
    learner.answer("padding_mask", "padding_mask = 5")


@handed_in(5, padding_mask=UNTOUCHED, causal_mask=PASSED)
def an_answer_cell_deleted(learner):
    learner.right("causal_mask")
    learner.book.cells.remove(learner.find("padding_mask"))


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def names_given_another_meaning_below(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell("torch = 3\nmath = nn = None", after="causal_mask")


@handed_in(5, padding_mask=PASSED, causal_mask=PASSED)
def torch_switched_for_the_whole_process(learner):
    learner.right("padding_mask", "causal_mask")
    learner.cell(
        'torch.set_default_dtype(torch.float16)\ntorch.set_grad_enabled(False)\ntorch.set_default_device("meta")'
    )


@handed_in(5, padding_mask=wrong("true_is_padding"), causal_mask=PASSED)
def later_cells_turned_into_pass(learner):
    learner.right("causal_mask")
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return (ids == pad)[:, None, :]")
    learner.cell("get_ipython().input_transformers_post.append(lambda lines: ['pass'])")
    learner.cell("compile = exec = None")


@follows(5, masked_attention=wrong("unscaled"), self_attention=passed(followed=("masked_attention",)))
def a_wrong_and_b_right(learner):
    learner.right("self_attention")
    learner.answer("masked_attention", NO_SCALE)


@follows(5, masked_attention=UNTOUCHED, self_attention=passed(followed=("masked_attention",)))
def a_missing_and_b_right(learner):
    learner.right("self_attention")


@follows(5, self_attention=passed(followed=("masked_attention",)))
def a_wrong_not_counted_and_b_right(learner):
    learner.right("self_attention")
    learner.answer("masked_attention", NO_SCALE)


@follows(5, masked_attention=failed("segmentation fault"), self_attention=passed(followed=("masked_attention",)))
def a_crashes_and_b_right(learner):
    learner.right("self_attention")
    learner.answer("masked_attention", "import ctypes\ndef masked_attention(q, k, v, m):\n    ctypes.string_at(0)")


@follows(
    5,
    masked_attention=wrong("unscaled"),
    self_attention=Deserved("wrong", mistake="mask_negated", followed=("masked_attention",)),
)
def a_wrong_and_b_wrong_too(learner):
    learner.answer("masked_attention", NO_SCALE)
    learner.answer(
        "self_attention",
        "def self_attention(X, W_Q, W_K, W_V, mask):\n    return masked_attention(X @ W_Q, X @ W_K, X @ W_V, ~mask)",
    )


@follows(6, split_heads=wrong("view_without_transpose"), multi_head_attention=passed(followed=("split_heads",)))
def a_wrong_and_b_right_through_a_helper(learner):
    learner.right("merge_heads", "multi_head_attention")
    learner.answer(
        "split_heads", "def split_heads(x, H):\n    B, N, D = x.shape\n    return x.reshape(B, H, N, D // H)"
    )
    source = learner.find("multi_head_attention").source.replace("split_heads(", "cut(")
    learner.answer("multi_head_attention", source + "\n\ndef cut(x, H):\n    return split_heads(x, num_heads=H)\n")


@follows(
    5,
    masked_attention=wrong("unscaled"),
    self_attention=passed(followed=("masked_attention",)),
    cross_attention=passed(followed=("masked_attention",)),
)
def a_wrong_and_others_hold_on_to_it(learner):
    learner.answer("masked_attention", NO_SCALE)
    learner.answer(
        "self_attention",
        """
        def self_attention(X, W_Q, W_K, W_V, mask, attend=masked_attention):
            return attend(X @ W_Q, X @ W_K, X @ W_V, mask)
        """,
    )
    learner.answer(
        "cross_attention",
        """
        attend = masked_attention
        def cross_attention(X, memory, W_Q, W_K, W_V, mask):
            return attend(X @ W_Q, memory @ W_K, memory @ W_V, mask)
        """,
    )


@follows(4, attention_scale=wrong("no_root"), scaled_dot_product_attention=passed(followed=("attention_scale",)))
def a_wrong_and_b_right_through_mine(learner):
    learner.answer("attention_scale", "def attention_scale(d_k, a, b):\n    return 1 / (d_k * a * b)")
    learner.answer(
        "scaled_dot_product_attention",
        """
        own_scale = mine("attention_scale")
        def scaled_dot_product_attention(query, key, value):
            weights = (query @ key.mT * own_scale(key.shape[-1], 1, 1)).softmax(-1)
            return weights @ value, weights
        """,
    )

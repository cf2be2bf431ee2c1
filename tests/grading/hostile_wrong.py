"""Honest mistakes: each is named, and the exercise beside it keeps its points."""

from .hostile_notebooks import PART, PASSED, failed, lists, wrong

MISTAKEN, handed_in = lists()


@handed_in(5, padding_mask=failed("SyntaxError"), causal_mask=PASSED)
def a_syntax_error_in_one_cell(learner):
    learner.right("causal_mask")
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return ids != pad)")


@handed_in(5, padding_mask=failed("NameError"), causal_mask=PASSED)
def an_unknown_name(learner):
    learner.right("causal_mask")
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return real(ids, pad)")


@handed_in(5, causal_mask=failed("calls itself"))
def calls_itself(learner):
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return causal_mask(T, S)")


@handed_in(5, causal_mask=failed("calls itself"))
def asks_for_its_own_answer(learner):
    learner.answer("causal_mask", 'def causal_mask(T, S):\n    return mine("causal_mask")(T, S)')


@handed_in(6, split_heads=PASSED, merge_heads=wrong("no_transpose_back"))
def a_known_mistake(learner):
    learner.right("split_heads")
    learner.answer("merge_heads", "def merge_heads(x):\n    B, H, N, d = x.shape\n    return x.reshape(B, N, H * d)")


@handed_in(5, causal_mask=wrong("future_instead"), padding_mask=wrong("true_is_padding"))
def masks_the_other_way_round(learner):
    learner.answer("causal_mask", "def causal_mask(T, S):\n    return torch.ones(T, S).triu(S - T).bool()")
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return (ids == pad)[:, None, :]")


@handed_in(4, attention_scale=wrong("no_root"), scaled_dot_product_attention=wrong("no_scale"))
def scales_forgotten(learner):
    learner.answer("attention_scale", "def attention_scale(d_k, a, b):\n    return 1 / (d_k * a * b)")
    learner.answer(
        "scaled_dot_product_attention",
        """
        def scaled_dot_product_attention(query, key, value):
            weights = (query @ key.mT).softmax(-1)
            return weights @ value, weights
        """,
    )


@handed_in(6, MultiHeadAttention=wrong("SplitByView"), split_heads=PASSED)
def a_module_with_a_known_mistake(learner):
    learner.right("split_heads", "merge_heads", "MultiHeadAttention")
    source = learner.find("MultiHeadAttention").source
    for name in ("query", "key", "value"):
        layer = f"self.W_{name[0].upper()}({name})"
        viewed = f"{layer}.view({name}.shape[0], self.num_heads, {name}.shape[1], -1)"
        source = source.replace(f"split_heads({layer}, self.num_heads)", viewed)
    learner.answer("MultiHeadAttention", source)


@handed_in(1, shift_right=wrong("in_place", earned=PART))
def changes_its_argument(learner):
    learner.answer(
        "shift_right",
        """
        def shift_right(target, bos):
            result = torch.cat([torch.full_like(target[:, :1], bos), target[:, :-1]], 1)
            target += 1
            return result
        """,
    )


@handed_in(4, project_qkv=wrong(earned=PART, says="dtype"))
def another_dtype(learner):
    learner.answer(
        "project_qkv",
        """
        def project_qkv(X, W_Q, W_K, W_V):
            return X.double() @ W_Q.double(), X.double() @ W_K.double(), X.double() @ W_V.double()
        """,
    )


@handed_in(4, project_qkv=wrong(earned=PART, says="gradient"))
def no_gradient(learner):
    learner.answer(
        "project_qkv",
        """
        def project_qkv(X, W_Q, W_K, W_V):
            with torch.no_grad():
                return X @ W_Q, X @ W_K, X @ W_V
        """,
    )


@handed_in(4, soft_lookup=wrong(says="returns None"), project_qkv=PASSED)
def no_return(learner):
    learner.right("project_qkv")
    learner.answer("soft_lookup", "def soft_lookup(query, key, value, temperature):\n    query @ key.mT")


@handed_in(5, padding_mask=failed("not installed where this was graded: no_such_package"))
def a_package_that_is_not_there(learner):
    learner.cell("from no_such_package import rearrange")
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    return rearrange(ids != pad, 'b n -> b 1 n')")


@handed_in(5, padding_mask=failed("<object object at 0x…>"))
def a_message_with_a_place_in_memory(learner):
    """It is another one in each run, and reports must not differ."""
    learner.answer("padding_mask", "def padding_mask(ids, pad):\n    raise ValueError(object())")

"""What people write for `multi_head_attention` instead: heads, matrices, and how they are joined."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from .merge_heads import merge_heads
from .split_heads import split_heads


def cut_by_view(x, num_heads):
    B, N, D = x.shape
    return x.reshape(B, num_heads, N, D // num_heads)


def joined_by_view(x):
    B, H, N, d = x.shape
    return x.reshape(B, N, H * d)


def in_heads(query, key, value, W_O, num_heads, mask, split=split_heads, merge=merge_heads, attend=masked_attention):
    """What most of the wrong versions share. query, key, value: projected, (B, N, D). mask: with its head axis."""
    output, weights = attend(*(split(part, num_heads) for part in (query, key, value)), mask)
    return merge(output) @ W_O, weights


@mistake(
    "The projections are reshaped straight to (B, H, N, D/H): rows of a head then mix what belongs to several tokens. "
    "Which step of `split_heads` is missing between its reshape and the result?",
    source="A056, written out in place of `split_heads`",
)
def split_by_view(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3), cut_by_view)


@mistake(
    "Queries and keys are split head by head, the values are only reshaped: the weights are right, and what they mix "
    "are pieces of several tokens. How many of the three should go through `split_heads`?",
    source="A056 on one of three lines: maps of the weights look right",
)
def values_by_view(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    value = merge_heads(cut_by_view(memory @ W_V, num_heads))
    return in_heads(X @ W_Q, memory @ W_K, value, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "The weights are right; on the way back the heads are reshaped without being moved next to the features, so W_O "
    "reads pieces of other tokens. What does `merge_heads` do before its reshape?",
    source="A057, written out in place of `merge_heads`",
)
def merge_by_view(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value, mask = X @ W_Q, memory @ W_K, memory @ W_V, mask.unsqueeze(-3)
    return in_heads(query, key, value, W_O, num_heads, mask, merge=joined_by_view)


@mistake(
    "Split and merge are both plain reshapes. They undo each other, so the shapes and a round trip look fine, and yet "
    "what attends are not tokens. What would head 0 hold if token t were the constant t?",
    source="A056 and A057 together (649453932/Chinese-Text-Classification-Pytorch#53)",
)
def viewed_both_ways(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value, mask = X @ W_Q, memory @ W_K, memory @ W_V, mask.unsqueeze(-3)
    return in_heads(query, key, value, W_O, num_heads, mask, cut_by_view, joined_by_view)


@mistake(
    "Heads take every H-th column of the matrices, there and back: sound in itself, but other heads than those that "
    "the docstring names. Which columns of W_Q belong to head 0?",
    source="a rearrangement '(d h)' for '(h d)'; weights of another code base do not fit",
)
def columns_in_turns(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    def split(x, num_heads):
        return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)

    query, key, value, mask = X @ W_Q, memory @ W_K, memory @ W_V, mask.unsqueeze(-3)
    return in_heads(query, key, value, W_O, num_heads, mask, split, lambda x: x.permute(0, 2, 3, 1).flatten(2))


@mistake(
    "The input is cut before it is projected: head h sees the h-th slice of each token and nothing else of it. "
    "Which numbers of a token may go into one number of a head's query?",
    source="A058; L6-projection: a slice taken for a projection",
)
def slices_projected(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    def project(x, W):
        d = len(W) // num_heads
        blocks = [W[h * d : (h + 1) * d, h * d : (h + 1) * d] for h in range(num_heads)]
        return merge_heads(split_heads(x, num_heads) @ torch.stack(blocks))

    mask = mask.unsqueeze(-3)
    return in_heads(project(X, W_Q), project(memory, W_K), project(memory, W_V), W_O, num_heads, mask)


@mistake(
    "The input is cut, and one small corner of each matrix serves all the slices: most of what was learned is not "
    "read. How many numbers does W_Q hold, and how many of them does your code use?",
    source="A058: one (d × d) layer, made once and applied to every slice",
)
def one_corner_for_all(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    def project(x, W):
        d = len(W) // num_heads
        return merge_heads(split_heads(x, num_heads) @ W[:d, :d])

    mask = mask.unsqueeze(-3)
    return in_heads(project(X, W_Q), project(memory, W_K), project(memory, W_V), W_O, num_heads, mask)


@mistake(
    "All heads are projected by the same columns, so H heads look at the same thing in the same way. "
    "What should change in the slice of W_Q from one head to the next?",
    source="a loop over heads whose slice `[:, :d]` does not move",
)
def one_projection_for_all(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (x @ W[:, : len(W) // num_heads] for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    query, key, value = (part.repeat(1, 1, num_heads) for part in (query, key, value))
    return in_heads(query, key, value, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "Nothing is split: one attention over the full width, counted H times. There is one yardstick for all "
    "relations again. Between which lines should each head get numbers of its own?",
    source="the head axis added by `expand`, so that the shapes of the weights fit",
)
def one_wide_head(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    output, weights = masked_attention(X @ W_Q, memory @ W_K, memory @ W_V, mask)
    return output @ W_O, weights.unsqueeze(1).expand(-1, num_heads, -1, -1)


@mistake(
    "The scores are divided by the root of the model's width, which makes all heads look too evenly. "
    "How many products does one head add up in q · k?",
    source="A023",
)
def scaled_by_model_width(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query = X @ W_Q / num_heads**0.5
    return in_heads(query, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "Every matrix stands transposed, which square shapes allow: head h is made of rows of W_Q, not of columns. "
    "Which of `x @ W` and `linear(x, W)` turns the matrix round?",
    source="`nn.Linear` keeps (out, in), this function is given (in, out)",
)
def as_for_linear(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q.T, memory @ W_K.T, memory @ W_V.T, W_O.T, num_heads, mask.unsqueeze(-3))


@mistake(
    "W_Q projects the memory as well: the keys speak the language of the queries, and W_K is never read. "
    "Which matrix lets a token be found?",
    source="the line of the query copied, its matrix left as it was",
)
def query_matrix_for_keys(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_Q, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "The values go through the matrix of the keys: the weights are right, what they mix is not. "
    "Which of your matrices is never read?",
    source="the line of the key copied; tests with one matrix for all cannot see it",
)
def key_matrix_for_values(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_K, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "The memory is never asked: keys and values come from X, which is right in self-attention alone. "
    "Whose tokens does the mask's last axis count?",
    source="A093's sister: a decoder whose cross-attention looks at itself",
)
def memory_unread(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, X @ W_K, X @ W_V, W_O, num_heads, mask.unsqueeze(-3))


@mistake(
    "The heads stand side by side and are left there: W_O is never read. Who lets what head 0 found meet what head 1 "
    "found, if no head can?",
    source="A060",
)
def no_output_projection(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (split_heads(x @ W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    output, weights = masked_attention(query, key, value, mask.unsqueeze(-3))
    return merge_heads(output), weights


@mistake(
    "W_O comes before the heads are merged: each head passes its own rows of it, and the results stand side by side, "
    "H times too wide. In Concat(head_1, ..., head_H) W_O, what happens first?",
    source="the output layer called inside the loop over heads",
)
def output_layer_first(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    query, key, value = (split_heads(x @ W, num_heads) for x, W in ((X, W_Q), (memory, W_K), (memory, W_V)))
    output, weights = masked_attention(query, key, value, mask.unsqueeze(-3))  # (B, H, T, d)
    return merge_heads(output @ W_O.unflatten(0, (num_heads, -1))), weights


@mistake(
    "Each head passes its own rows of W_O, and the results are averaged: every head counts only an H-th. "
    "Which operation joins the parts in one long row times one tall matrix?",
    source="A063",
)
def heads_averaged(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    output, weights = in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3))
    return output / num_heads, weights


MISTAKES = (
    split_by_view, values_by_view, merge_by_view, viewed_both_ways, columns_in_turns, slices_projected,
    one_corner_for_all, one_projection_for_all, one_wide_head, scaled_by_model_width, as_for_linear,
    query_matrix_for_keys, key_matrix_for_values, memory_unread, no_output_projection, output_layer_first,
    heads_averaged,
)  # fmt: skip

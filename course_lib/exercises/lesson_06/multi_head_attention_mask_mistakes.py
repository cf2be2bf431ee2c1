"""What people write for `multi_head_attention` instead: masks that meet the wrong axis, and weights."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.masked_attention import masked_attention

from .merge_heads import merge_heads
from .multi_head_attention_mistakes import in_heads
from .split_heads import split_heads


@mistake(
    "The mask does not arrive at the heads: every query sees every token. Which call inside takes it?",
    source="A047",
)
def mask_dropped(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    shown = torch.ones_like(mask).unsqueeze(-3)
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, shown)


@mistake(
    "The mask says the opposite of what it should: each query looks at exactly the tokens that were to be hidden. "
    "Does True mean 'may attend' or 'is hidden', in this course and in the code that you had in mind?",
    source="A130",
)
def mask_turned_round(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, ~mask.unsqueeze(-3))


@mistake(
    "Head 0 obeys the mask, the others see everything. How long must the mask's axis of heads be to hold for all of "
    "them alike?",
    source="A047 on one branch: a mask written into `scores[:, 0]`",
)
def mask_for_head_0(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    others = torch.arange(num_heads).view(-1, 1, 1) > 0  # (H, 1, 1)
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3) | others)


@mistake(
    "The mask has no head axis, so its batch axis meets the heads: with as many heads as sentences, head i gets the "
    "mask of sentence i. From which side does broadcasting line up (B, T, S) and (B, H, T, S)?",
    source="A048's silent kin: no axis put in; it raises until H = B",
)
def sentences_taken_for_heads(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask)


@mistake(
    "`unsqueeze(1)` suits (B, T, S); of a mask (T, S) it makes (T, 1, S), whose rows then meet the heads. "
    "Which index names the place of the head axis, counted from the end?",
    source="A054: a mask of another rank; the axis counted from the front",
)
def axis_from_the_front(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(1))


@mistake(
    "Batch and heads share an axis, and the mask is tiled in the other order: a sentence gets its neighbour's mask. "
    "In (B·H, T, S), which changes faster, the head or the sentence, and what does `repeat` do?",
    source="A048",
)
def mask_of_a_neighbour(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    B, T, S = len(X), X.shape[1], memory.shape[1]
    parts = ((X, W_Q), (memory, W_K), (memory, W_V))
    query, key, value = (split_heads(x @ W, num_heads).flatten(0, 1) for x, W in parts)  # (B·H, N, d)
    output, weights = masked_attention(query, key, value, mask.expand(B, T, S).repeat(num_heads, 1, 1))
    output, weights = (result.unflatten(0, (B, num_heads)) for result in (output, weights))
    return merge_heads(output) @ W_O, weights


@mistake(
    "The softmax runs over axis 1, and there the heads are: they share out each pair of tokens among themselves. "
    "Which axis holds the tokens among which one query chooses?",
    source="E-axis: `dim=1` kept when a head axis came in",
)
def heads_compete(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    def attend(query, key, value, mask):
        scores = (query @ key.mT / query.shape[-1] ** 0.5).masked_fill(~mask, torch.finfo(query.dtype).min)
        weights = torch.softmax(scores, dim=1).masked_fill(~mask, 0.0)
        return weights @ value, weights

    return in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3), attend=attend)


@mistake(
    "Output and mask are right, but the weights handed back come from scores without the mask: the picture shows "
    "queries looking where they cannot. Does one call give you both results?",
    source="A054: a fused call for the output, a second road for the weights",
)
def weights_unmasked(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    output, _ = in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3))
    return output, mask_dropped.wrong(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask)[1]


@mistake(
    "The weights are averaged over the heads: one map is left, and who looked where is lost. "
    "How many maps should a layer with H heads be able to show?",
    source="`nn.MultiheadAttention`, which averages unless `average_attn_weights=False`",
)
def weights_averaged(X, memory, W_Q, W_K, W_V, W_O, num_heads, mask):
    output, weights = in_heads(X @ W_Q, memory @ W_K, memory @ W_V, W_O, num_heads, mask.unsqueeze(-3))
    return output, weights.mean(dim=1)


MISTAKES = (
    mask_dropped, mask_turned_round, mask_for_head_0, sentences_taken_for_heads, axis_from_the_front,
    mask_of_a_neighbour, heads_compete, weights_unmasked, weights_averaged,
)  # fmt: skip

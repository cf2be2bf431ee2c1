"""What people write for `attend_with_cache` instead: new tokens that see too much, or too little."""

import math

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.masked_attention import masked_attention


def joined(key, value, cache):
    """Keys and values of all tokens, the next cache."""
    if cache is None:
        return key, value
    return torch.cat([cache[0], key], dim=-2), torch.cat([cache[1], value], dim=-2)


def seeing(choose, query, key, value, cache):
    """The right answer but for the mask. choose: function (T, S) -> bool, broadcastable to (T, S)."""
    key, value = joined(key, value, cache)
    output, _ = masked_attention(query, key, value, choose(query.shape[-2], key.shape[-2]))
    return output, (key, value)


def everything(T, S):
    return torch.ones(T, S, dtype=torch.bool)


@mistake(
    "As soon as there is a cache, nothing is hidden: right for one new token, but of several the first sees those "
    "after it. When may a mask be left out, with a cache or with T = 1?",
    source="A118: the mask is skipped when past keys are given, also for a second prompt or a chunk",
)
def mask_skipped_with_cache(query, key, value, cache):
    return seeing(causal_mask if cache is None else everything, query, key, value, cache)


@mistake(
    "Without a cache nothing is hidden, so the tokens of the prompt read one another's future. "
    "How many tokens may come before there is a cache?",
    source="A118: the multi-token prefill goes without its mask",
)
def mask_skipped_at_the_start(query, key, value, cache):
    return seeing(everything if cache is None else causal_mask, query, key, value, cache)


@mistake(
    "No new token is kept from seeing those after it: that is right only while they come one by one. "
    "What may the first of three new tokens see?",
    source="A118, the mask left out on both ways: in greedy decoding T is 1",
)
def no_mask(query, key, value, cache):
    return seeing(everything, query, key, value, cache)


@mistake(
    "The triangle starts in the top left corner, as torch's `is_causal` does: with a cache the first new token sees "
    "the oldest token alone. How many tokens stand in front of the first new one?",
    source="A120",
)
def top_left(query, key, value, cache):
    return seeing(lambda T, S: everything(T, S).tril(), query, key, value, cache)


@mistake(
    "A new token sees all before it, but not itself, and the very first one nothing at all. "
    "On which side of the triangle's edge does a token's own key lie?",
    source="A050: the offset of the triangle one too small",
)
def without_itself(query, key, value, cache):
    return seeing(lambda T, S: everything(T, S).tril(S - T - 1), query, key, value, cache)


@mistake(
    "The mask has a row for each of the N + T tokens, though only T of them ask: one new query comes back N + 1 times, "
    "and several do not fit. Which rows of it belong to the new tokens?",
    source="the one-argument mask of most tutorials, made for the keys",
)
def rows_for_all(query, key, value, cache):
    return seeing(lambda T, S: causal_mask(S, S), query, key, value, cache)


@mistake(
    "The mask is turned round: a token sees its future alone, and the last one nothing. "
    "What does True mean to your `masked_attention`?",
    source="A130: `triu(ones, 1)`, True = hidden, as `nn.MultiheadAttention` wants it",
)
def mask_inverted(query, key, value, cache):
    return seeing(lambda T, S: ~causal_mask(T, S), query, key, value, cache)


@mistake(
    "The old tokens are kept, and nobody looks at them: attention runs over the new ones alone. "
    "Which keys should a new token be compared with?",
    source="`scores = query @ key.mT` with the argument in place of the joined keys",
)
def new_tokens_alone(query, key, value, cache):
    output, _ = masked_attention(query, key, value, causal_mask(query.shape[-2], key.shape[-2]))
    return output, joined(key, value, cache)


@mistake(
    "The new tokens join the cache too late: they see the old tokens, and neither themselves nor one another. "
    "What comes first, the joining or the attention?",
    source="attention over the cache, and the cache brought up to date at the end of the step",
)
def old_tokens_alone(query, key, value, cache):
    if cache is None:
        return seeing(causal_mask, query, key, value, cache)
    output, _ = masked_attention(query, *cache, everything(query.shape[-2], cache[0].shape[-2]))
    return output, joined(key, value, cache)


@mistake(
    "The scores go into the softmax as large as they come: √d_k is missing. Which function of yours divides by it?",
    source="the attention written out again, one step short; A023's sister",
)
def unscaled(query, key, value, cache):
    return seeing(causal_mask, query * math.sqrt(query.shape[-1]), key, value, cache)


@mistake(
    "The cache keeps its size: for each new token the oldest one is dropped, a window that slides along. "
    "How many tokens does the docstring want kept?",
    source="the rolling buffer of Mistral 7B's sliding-window attention: another model",
)
def oldest_dropped(query, key, value, cache):
    keys, values = joined(key, value, cache)
    T = query.shape[-2]
    kept = keys.shape[-2] if cache is None else max(cache[0].shape[-2], T)
    keys, values = keys[..., -kept:, :], values[..., -kept:, :]
    output, _ = masked_attention(query, keys, values, causal_mask(T, kept))
    return output, (keys, values)


@mistake(
    "The mask is T by T, of the new tokens alone: the old keys have no column in it. With one new token it is "
    "stretched, and all is well by chance. How many keys does each row of scores have?",
    source="the one-argument mask of most tutorials, kept when a cache comes in",
)
def mask_of_the_new_alone(query, key, value, cache):
    return seeing(lambda T, S: causal_mask(T, T), query, key, value, cache)


@mistake(
    "No mask is handed on: `masked_attention` wants one always. Of several new tokens, which may not see which?",
    source='`None` for "nothing hidden", as torch\'s own functions take it',
)
def none_for_a_mask(query, key, value, cache):
    return seeing(lambda T, S: None, query, key, value, cache)


MISTAKES = (
    mask_of_the_new_alone, none_for_a_mask,
    mask_skipped_with_cache, mask_skipped_at_the_start, no_mask, top_left, without_itself, rows_for_all, mask_inverted,
    new_tokens_alone, old_tokens_alone, unscaled, oldest_dropped,
)  # fmt: skip

"""What people write for `attend_with_cache` instead: a cache that is joined, kept or handed on in another way."""

import torch

from course_lib.checking import mistake
from course_lib.exercises.lesson_05.causal_mask import causal_mask

from .attend_with_cache_mask_mistakes import joined, seeing


def right(query, key, value, cache):
    return seeing(causal_mask, query, key, value, cache)


def along(dim, query, key, value, cache):
    """The right answer but for the axis along which tokens are joined."""
    if cache is not None:
        key, value = torch.cat([cache[0], key], dim=dim), torch.cat([cache[1], value], dim=dim)
    return right(query, key, value, None)


@mistake(
    "The new keys and values stand before the old ones, so the mask takes old tokens for the newest. "
    "In which order were the tokens read?",
    source="`torch.cat([key, cache[0]])`; with one new token its output is right all the same",
)
def new_before_old(query, key, value, cache):
    if cache is not None:
        key, value = torch.cat([key, cache[0]], dim=-2), torch.cat([value, cache[1]], dim=-2)
    return right(query, key, value, None)


@mistake(
    "The cache comes back as it came in: the new tokens are forgotten at once, and the next step does not know of "
    "them. Which pair holds all N + T tokens?",
    source="`return output, cache`: the joined tensors have other names",
)
def old_cache_returned(query, key, value, cache):
    return right(query, key, value, cache)[0], cache


@mistake(
    "The next cache holds the new tokens alone: a step later everything older is lost. "
    "How many tokens should it hold after this call?",
    source="the arguments `key` and `value` put into the cache, the joined ones used for the output",
)
def only_new_returned(query, key, value, cache):
    return right(query, key, value, cache)[0], (key, value)


@mistake(
    "Old and new are joined along axis 0, which is the batch: the old tokens become texts of their own. "
    "Which axis are the tokens, counted from the back?",
    source="`torch.cat` joins along axis 0 when nothing is said; right for one text without a batch axis",
)
def joined_along_the_batch(query, key, value, cache):
    return along(0, query, key, value, cache)


@mistake(
    "Old and new are joined along axis 1: the tokens of (B, T, D), but the heads of (B, H, T, D), and the features "
    "where there is no batch. Which number names the axis of the tokens in all three?",
    source="`dim=1`, from code whose tokens come before the heads",
)
def joined_along_axis_1(query, key, value, cache):
    return along(1, query, key, value, cache)


@mistake(
    "Keys are joined to the old values, and values to the old keys; equal widths hide it. "
    "Which of the two stands first in the cache?",
    source="`values, keys = cache`",
)
def read_in_the_wrong_order(query, key, value, cache):
    return right(query, key, value, cache and cache[::-1])


@mistake(
    "The next cache holds the values first and the keys second: the next step will look for tokens by what they say. "
    "In which order does the docstring name them?",
    source="`return output, (value, key)`",
)
def returned_in_the_wrong_order(query, key, value, cache):
    output, next_cache = right(query, key, value, cache)
    return output, next_cache[::-1]


@mistake(
    "The queries are kept where the keys belong: both are as wide, so nothing complains. "
    "What is a token found by once it is old?",
    source="three tensors of one shape, one letter wrong; people ask why queries are not cached",
)
def query_for_key(query, key, value, cache):
    return right(query, query, value, cache)


@mistake(
    "The cache that was handed in is changed: whoever still holds it, another beam say, finds tokens in it that are "
    "not its own. Which line makes a new pair instead?",
    source="a tuple refuses `cache[0] = ...`, so `.data` is set; the course's caches are values (A114's kin)",
)
def cache_changed(query, key, value, cache):
    if cache is None:
        return right(query, key, value, None)
    cache[0].data, cache[1].data = joined(key, value, cache)
    return right(query, cache[0], cache[1], None)


@mistake(
    "The old keys and values are cut off from their gradients: the tokens that made them cannot learn from what "
    "follows. Who should decide on that, this function or its caller?",
    source="Transformer-XL stops the gradient at its memory: another model",
)
def old_tokens_detached(query, key, value, cache):
    return right(query, key, value, cache and tuple(part.detach() for part in cache))


@mistake(
    "The next cache is cut off from its gradients before it is handed on. It is only read when a text is written, but "
    "what if somebody trains through it?",
    source="`.detach()` on what is kept, by habit from inference code",
)
def next_cache_detached(query, key, value, cache):
    output, next_cache = right(query, key, value, cache)
    return output, tuple(part.detach() for part in next_cache)


left_inside = {}


@mistake(
    "Something is kept inside the function: a new text, which comes with `cache=None`, goes on where another one "
    "ended. Where alone may the tokens of a text be kept?",
    source="A121: a buffer, an attribute or a default argument that is not cleared between texts",
)
def kept_inside(query, key, value, cache):
    # A prompt of several tokens begins afresh, so what ran before this check makes no difference to it.
    if cache is None and query.shape[-2] == 1:
        cache = left_inside.get("cache")
    output, next_cache = right(query, key, value, cache)
    left_inside["cache"] = tuple(part.detach() for part in next_cache)
    return output, next_cache


@mistake(
    "Only the keys are joined: there are weights for N + T tokens, and values for T of them. What does each key bring "
    "with it?",
    source="one `torch.cat` for two tensors",
)
def values_not_joined(query, key, value, cache):
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)
    return right(query, key, value, None)


MISTAKES = (
    values_not_joined,
    new_before_old, old_cache_returned, only_new_returned, joined_along_the_batch, joined_along_axis_1,
    read_in_the_wrong_order, returned_in_the_wrong_order, query_for_key, cache_changed, old_tokens_detached,
    next_cache_detached, kept_inside,
)  # fmt: skip

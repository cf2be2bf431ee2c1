"""Exercise `attend_with_cache`: a decoder that reads each token once, and keeps its key and its value."""

import math

import torch
from torch.nn import functional

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close
from course_lib.exercises.lesson_05.causal_mask import causal_mask
from course_lib.exercises.lesson_05.masked_attention import FORBIDDEN, masked_attention

from . import attend_with_cache_mask_mistakes, attend_with_cache_mistakes


def attend_with_cache(query, key, value, cache):
    """Causal attention for T new tokens that come after N old ones, whose keys and values are kept.

    query, key: (..., T, Dk). value: (..., T, Dv). All three belong to the new tokens alone. cache: None before the
    first token, else (keys (..., N, Dk), values (..., N, Dv)), which stays as it is.
    Returns output (..., T, Dv) and the next cache, of all N + T tokens.
    """
    if cache is not None:
        key = torch.cat([cache[0], key], dim=-2)  # (..., N + T, Dk)
        value = torch.cat([cache[1], value], dim=-2)  # (..., N + T, Dv)
    mask = causal_mask(query.shape[-2], key.shape[-2])  # (T, N + T)
    output, _ = masked_attention(query, key, value, mask)
    return output, (key, value)


def cases(generator):
    """No cache, one new token, several; heads, no batch axis, a loud last token; then sizes that coincide."""

    def draw(*shape):
        return 1.3 * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def arguments(leading, T, N, Dk, Dv):
        cache = (draw(*leading, N, Dk), draw(*leading, N, Dv)) if N else None
        return draw(*leading, T, Dk), draw(*leading, T, Dk), draw(*leading, T, Dv), cache

    # In this order and with these sizes: what is left inside of the function fits the text that comes next.
    yield Case("four first tokens, no cache", arguments((2,), 4, 0, 3, 5), group="no cache")
    yield Case("the first token of other texts, no cache", arguments((2,), 1, 0, 3, 5), group="no cache")
    yield Case("one new token after four", arguments((2,), 1, 4, 5, 3), group="one new token")
    yield Case("one new token after one, one text", arguments((1,), 1, 1, 4, 2), group="one new token")
    yield Case("three new tokens after two", arguments((2,), 3, 2, 4, 6), group="several new tokens")
    yield Case("two new tokens after five, one text", arguments((1,), 2, 5, 3, 4), group="several new tokens")
    yield Case("three heads, two new tokens after four", arguments((2, 3), 2, 4, 5, 6), group="heads")
    yield Case("two heads, five first tokens", arguments((3, 2), 5, 0, 4, 3), group="heads")
    yield Case("no batch axis, two new tokens after three", arguments((), 2, 3, 5, 4), group="no batch axis")
    yield Case("no batch axis, three first tokens", arguments((), 3, 0, 2, 4), group="no batch axis")
    query, key, value, cache = arguments((2,), 3, 2, 4, 5)
    value[:, -1] = 1e6
    yield Case("1,000,000 in the newest value", (query, key, value, cache), group="loud newest token")
    yield Case("as many new as old, one text", arguments((1,), 3, 3, 5, 4), group="T = N")
    yield Case("as many new as old, one head", arguments((2, 1), 2, 2, 4, 3), group="T = N")
    yield Case("as many new as old, no batch axis", arguments((), 3, 3, 2, 4), group="T = N")
    yield Case("keys as wide as values", arguments((2,), 3, 4, 5, 5), group="Dk = Dv")
    yield Case("every size 3", arguments((3, 3), 3, 3, 3, 3), group="all equal")


def joined(key, value, cache):
    return (torch.cat(pair, dim=-2) for pair in zip(cache, (key, value), strict=True)) if cache else (key, value)


def one_by_one(query, key, value, cache):
    """Each new token is put behind the others, and then sees all there are: nothing is left to be hidden."""
    outputs = []
    for q, k, v in zip(*(part.split(1, dim=-2) for part in (query, key, value)), strict=True):
        cache = tuple(joined(k, v, cache))
        weights = torch.softmax(q @ cache[0].mT / math.sqrt(q.shape[-1]), dim=-1)  # (..., 1, N + t)
        outputs.append(weights @ cache[1])
    return torch.cat(outputs, dim=-2), cache


def in_a_buffer(query, key, value, cache):
    """Room for all tokens is made first, then written into."""
    N, T = (cache[0].shape[-2] if cache else 0), key.shape[-2]
    keys, values = (new.new_zeros(*new.shape[:-2], N + T, new.shape[-1]) for new in (key, value))
    if cache:
        keys[..., :N, :], values[..., :N, :] = cache
    keys[..., N:, :], values[..., N:, :] = key, value
    future = torch.arange(N + T) > torch.arange(N, N + T).unsqueeze(1)  # (T, N + T)
    scores = torch.einsum("...td,...sd->...ts", query, keys) * query.shape[-1] ** -0.5
    return scores.masked_fill(future, -math.inf).softmax(-1) @ values, (keys, values)


def fused(query, key, value, cache):
    """torch's kernel, which takes the mask as it is."""
    keys, values = joined(key, value, cache)
    T, S = query.shape[-2], keys.shape[-2]
    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    return functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask), (keys, values)


def last_rows_of_all(query, key, value, cache):
    """Queries of zeros for the old tokens: then the triangle is square, and only the last T rows are kept."""
    keys, values = joined(key, value, cache)
    T, S = query.shape[-2], keys.shape[-2]
    queries = functional.pad(query, (0, 0, S - T, 0))  # (..., N + T, Dk)
    output = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return output[..., S - T :, :], (keys, values)


def in_two_parts(query, key, value, cache):
    """The old tokens, which all may be seen, and the new ones, under a triangle: two softmaxes, weighed at the end."""
    if cache is None:
        cache = key[..., :0, :], value[..., :0, :]
    T, scale = query.shape[-2], query.shape[-1] ** 0.5
    old = query @ cache[0].mT / scale  # (..., T, N)
    new = torch.where(torch.ones(T, T).tril().bool(), query @ key.mT / scale, -1e30)  # (..., T, T)
    top = torch.maximum(new.amax(-1, keepdim=True), functional.pad(old, (1, 0), value=-1e30).amax(-1, keepdim=True))
    old, new = torch.exp(old - top), torch.exp(new - top)
    total = old.sum(-1, keepdim=True) + new.sum(-1, keepdim=True)
    output = (old @ cache[1] + new @ value) / total
    return output, (torch.cat([cache[0], key], dim=-2), torch.cat([cache[1], value], dim=-2))


def _old_then_new(function, cases, generator):
    for case in cases:
        _, key, value, cache = case.args
        _, kept = call(function, case)
        for name, old, new, found in zip(("keys", "values"), cache or (None, None), (key, value), kept, strict=True):
            if not close(found, new if old is None else torch.cat([old, new], dim=-2)):
                return f"the {name} that come back are not the old ones and then the new ones ({case.label})"
    return None


def _in_pieces(function, cases, generator):
    """The new tokens at once, in two pieces, and one at a time."""
    for case in cases:
        *new, cache = case.args
        T = new[0].shape[-2]
        if T == 1:
            continue
        whole, kept = call(function, case)
        first = int(torch.randint(1, T, (), generator=generator))
        for sizes in ([first, T - first], [1] * T):
            outputs, state = [], cache
            for piece in zip(*(part.split(sizes, dim=-2) for part in new), strict=True):
                output, state = call(function, Case(case.label, (*piece, state)))
                outputs.append(output)
            if not close(torch.cat(outputs, dim=-2), whole) or not all(map(close, state, kept)):
                way = "one at a time" if sizes == [1] * T else "in two pieces"
                return f"the same tokens {way} give something else than at once ({case.label})"
    return None


EXERCISE = Exercise(
    name="attend_with_cache",
    reference=attend_with_cache,
    cases=cases,
    laws=(
        Law("old tokens, then new ones", _old_then_new, "Along which axis, and in which order, are tokens joined?"),
        Law("at once as in pieces", _in_pieces, "Which keys should the second of three new tokens see, and which not?"),
    ),
    mistakes=attend_with_cache_mask_mistakes.MISTAKES + attend_with_cache_mistakes.MISTAKES,
    accepts=(one_by_one, in_a_buffer, fused, last_rows_of_all, in_two_parts),
    hints=(
        "First make the cache whole: old keys and new ones joined along the axis of the tokens, values likewise. "
        "Counted from the back that axis is -2, whatever stands in front.",
        "The new tokens are the last T of N + T. Your own `causal_mask(T, N + T)` says what each of them may see.",
        "`masked_attention(query, key, value, mask)` with all keys and values gives the output; the pair of them is "
        "the next cache. Before the first token there is nothing to join.",
    ),
    minutes=12,
    difficulty=3,
    points=3,
    forbidden=FORBIDDEN,
)  # fmt: skip

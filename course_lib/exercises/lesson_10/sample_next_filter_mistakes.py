"""What people write for `sample_next` instead: top_k, and how the two filters work together."""

import math

from course_lib.checking import mistake

from .sample_next_mistakes import chances, cooled, keep_top_k, keep_top_p


def below(logits, threshold):
    """-inf for all scores below a threshold, of any shape that broadcasts."""
    return logits.masked_fill(logits < threshold, -math.inf)


def lowest_kept(logits, k):
    """The k-th highest score of each row. (B, 1)"""
    return logits.topk(min(k, logits.shape[-1])).values[:, -1:]


@mistake(
    "The token at the threshold goes too: k - 1 are left, and with k = 1 none. "
    "Should a score that equals the k-th highest stay?",
    source="`logits <= threshold` for `<`",
)
def one_too_few(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_k=lambda scores, k: scores.masked_fill(
        scores <= lowest_kept(scores, k), -math.inf))  # fmt: skip
    return draw(p), p


@mistake(
    "k + 1 tokens are left. At which index of the sorted scores stands the k-th highest, counted from 0?",
    source="kingoflolz/mesh-transformer-jax#164: the rank compared by `> top_k`; or `sorted_logits[:, top_k]`",
)
def one_too_many(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_k=lambda scores, k: keep_top_k(scores, k + 1))
    return draw(p), p


@mistake(
    "The k likeliest tokens are ruled out and all others stay: the mask is turned round. "
    "Where your mask is True, is the token kept or filled?",
    source="`masked_fill(kept, -inf)`: A051's kin",
)
def likeliest_ruled_out(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_k=lambda scores, k: scores.masked_fill(
        scores >= lowest_kept(scores, k), -math.inf))  # fmt: skip
    return draw(p), p


@mistake(
    "The scores of ruled-out tokens become 0, and exp(0) is 1: they can still be drawn, easily so where others are "
    "negative. Which score has the probability 0?",
    source="A031's kin; sgl-project/sglang-jax#1563 rejects to 0.0",
)
def zero_scores(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def zeroed(keep):
        return lambda scores, limit: scores.masked_fill(keep(scores, limit).isinf(), 0.0)

    p = chances(logits, temperature, top_k, top_p, by_k=zeroed(keep_top_k), by_p=zeroed(keep_top_p))
    return draw(p), p


@mistake(
    "Ruled-out tokens get probability 0, and then all goes through a softmax once more, which gives them a share "
    "again. What makes probabilities sum to 1 and leaves a 0 where it is?",
    source="A101's kin; tenstorrent/tt-metal#25341: one more softmax after the mask",
)
def renormalised_by_softmax(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def once_more(scores, dim):
        p = scores.softmax(dim)
        return p if top_k is None and top_p is None else p.softmax(dim)

    p = chances(logits, temperature, top_k, top_p, softmax=once_more)
    return draw(p), p


@mistake(
    "What is ruled out is 0, but the rest keeps its old share: a row does not sum to 1. By what must it be divided?",
    source="`probs[~kept] = 0` as the last line; `multinomial` normalises, so nobody notices",
)
def not_renormalised(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = cooled(logits, temperature).softmax(-1) * (chances(logits, temperature, top_k, top_p) > 0)
    return draw(p), p


@mistake(
    "All rows use the threshold of the first: in another row it leaves more than k, or nothing. "
    "How many thresholds does a batch have?",
    source="`torch.topk(logits, top_k)[0][0, -1]`, written for one text",
)
def threshold_of_the_first_row(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p,
                by_k=lambda scores, k: below(scores, lowest_kept(scores, k)[0]))  # fmt: skip
    return draw(p), p


@mistake(
    "One threshold serves all rows, the lowest of theirs: only the row it comes from keeps just k. "
    "Along which axis is the minimum taken?",
    source="`values.min()` without an axis, for the lowest of the k highest",
)
def lowest_threshold(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_k=lambda scores, k: below(scores, lowest_kept(scores, k).min()))
    return draw(p), p


@mistake(
    "The k highest scores of the whole batch are kept: some rows keep many, others nothing. "
    "Within which axis do tokens compete?",
    source="`logits.view(-1).topk(k)`: beam search's line, where it is right",
)
def highest_of_the_batch(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def filtered(scores, k):
        return below(scores, scores.flatten().topk(min(k, scores.numel())).values[-1])

    p = chances(logits, temperature, top_k, top_p, by_k=filtered)
    return draw(p), p


@mistake(
    "A top_k larger than the vocabulary raises an error: `topk` wants no more than there are. "
    "How many tokens should be left then?",
    source="A117's kin; TransformerLensOrg/TransformerLens#1347: `topk(top_k)` without a `min`",
)
def k_beyond_the_vocabulary(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_k=lambda scores, k: below(scores, scores.topk(k).values[:, -1:]))
    return draw(p), p


@mistake(
    "Where both filters are given only top_k is used. Does one of them rule the other out?",
    source="`if top_k: ... elif top_p: ...`, from code that offers a choice of strategies",
)
def one_filter_at_a_time(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p if top_k is None else None)
    return draw(p), p


@mistake(
    "The nucleus is measured on the whole vocabulary, also where top_k has cut it down, another convention: it keeps "
    "more. What do the probabilities of the k that are left sum to, before top_p looks at them?",
    source="both masks made from one softmax, or top_p before top_k as in ml-explore/mlx-lm#388",
)
def nucleus_of_the_vocabulary(logits, draw, temperature=1.0, top_k=None, top_p=None):
    scores = cooled(logits, temperature)
    scores = scores if top_p is None else keep_top_p(scores, top_p)
    p = (scores if top_k is None else keep_top_k(scores, top_k)).softmax(-1)
    return draw(p), p


@mistake(
    "The caller's logits are overwritten with -inf: whoever looks at them again finds them filtered. "
    "Which line writes into its argument?",
    source="A090: `logits[logits < threshold] = -inf`, right in nanoGPT after a division that makes a copy",
)
def in_place(logits, draw, temperature=1.0, top_k=None, top_p=None):
    scores = logits if temperature == 1 else cooled(logits, temperature)
    if top_k is not None:
        scores[scores < lowest_kept(scores, top_k)] = -math.inf
    p = chances(scores, 1.0, None, top_p)
    return draw(p), p


MISTAKES = (
    one_too_few, one_too_many, likeliest_ruled_out, zero_scores, renormalised_by_softmax, not_renormalised,
    threshold_of_the_first_row, lowest_threshold, highest_of_the_batch, k_beyond_the_vocabulary, one_filter_at_a_time,
    nucleus_of_the_vocabulary, in_place,
)  # fmt: skip

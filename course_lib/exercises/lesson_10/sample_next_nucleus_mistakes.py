"""What people write for `sample_next` instead: which tokens the nucleus has, and where they belong."""

import math

import torch
from torch.nn import functional

from course_lib.checking import mistake

from .sample_next_mistakes import chances, keep_top_p


def by_rank(kept, descending=True):
    """A filter for the nucleus. kept: function (p (B, V), likeliest first, top_p) -> bool (B, V), in the same order."""

    def filtered(logits, top_p):
        ranked, order = logits.sort(dim=-1, descending=descending)
        mask = kept(ranked.softmax(-1), top_p)
        return logits.masked_fill(~mask.scatter(-1, order, mask), -math.inf)

    return filtered


def before(p):
    """The mass of all tokens that come earlier in this order. (B, V)"""
    return p.cumsum(-1) - p


@mistake(
    "The token that takes the sum over top_p is left out: the nucleus has less than top_p, and nothing at all where "
    "the likeliest token alone has more. Which sum should still be below top_p, with the token or before it?",
    source="rasbt/reasoning-from-scratch#164, Biohub/esm#360: `cumulative <= top_p`",
)
def crossing_token_left_out(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: p.cumsum(-1) <= top_p))
    return draw(p), p


@mistake(
    "The likeliest token is always kept, but after it the one that takes the sum over top_p is missing. "
    "How much has your nucleus, top_p or less?",
    source="`min_tokens_to_keep = 1` in place of the shift by one",
)
def crossing_token_left_out_but_the_first(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def kept(p, top_p):
        return (p.cumsum(-1) <= top_p) | (torch.arange(p.shape[-1]) == 0)

    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(kept))
    return draw(p), p


@mistake(
    "The likeliest token is to stay in every row, but `[0]` is the first row: that one keeps all, and another with a "
    "sure token keeps nothing. Which index means the first token of each row?",
    source="fishaudio/fish-speech#1326: `sorted_indices_to_remove[0] = False` on a batch",
)
def first_row_kept_whole(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def kept(p, top_p):
        return (p.cumsum(-1) <= top_p) | (torch.arange(len(p)) == 0).unsqueeze(-1)

    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(kept))
    return draw(p), p


@mistake(
    "From the sum with each token the first token's probability is subtracted, where its own should be: the tail is "
    "too light. What is the mass of all tokens that stand before one?",
    source="facebookresearch/ParlAI#2733",
)
def first_token_subtracted(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: p.cumsum(-1) - p[:, :1] < top_p))
    return draw(p), p


@mistake(
    "The nucleus has one token more than it needs. Was the sum at top_p without the last one already?",
    source="the mask shifted by one, and compared with the sum before: both at once",
)
def one_more_than_needed(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def kept(p, top_p):
        return functional.pad(before(p) < top_p, (1, 0), value=True)[:, :-1]

    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(kept))
    return draw(p), p


@mistake(
    "Probabilities are summed in the order of the vocabulary: tokens with small ids are kept, likely or not. "
    "In which order should they be added up?",
    source="`probs.cumsum(-1) < top_p` without a sort",
)
def order_of_the_vocabulary(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=lambda scores, top_p: scores.masked_fill(
        before(scores.softmax(-1)) >= top_p, -math.inf))  # fmt: skip
    return draw(p), p


@mistake(
    "The unlikely tokens come first in your order, so the tail is kept. Which way does `sort` sort unless it is told?",
    source="dmlc/gluon-nlp#1481's kin: `descending=True` forgotten",
)
def tail_kept(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p,
                by_p=by_rank(lambda p, top_p: before(p) < top_p, descending=False))  # fmt: skip
    return draw(p), p


@mistake(
    "From the unlikely end the mass top_p is removed, so 1 - top_p is left. How much may the tail lose?",
    source="transformers sorts upwards and removes `cumulative <= 1 - top_p`: its 1 - left out",
)
def rest_of_the_mass(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=lambda scores, top_p: keep_top_p(scores, max(1 - top_p, 1e-9)))
    return draw(p), p


@mistake(
    "The mask of the sorted tokens is laid over the unsorted ones: it hides ids where it means ranks. "
    "Which token stands at each place of the sorted list?",
    source="`logits[sorted_mask] = -inf` without the `scatter` of transformers",
)
def mask_not_put_back(logits, draw, temperature=1.0, top_k=None, top_p=None):
    def filtered(scores, top_p):
        return scores.masked_fill(before(scores.sort(dim=-1, descending=True).values.softmax(-1)) >= top_p, -math.inf)

    p = chances(logits, temperature, top_k, top_p, by_p=filtered)
    return draw(p), p


@mistake(
    "What was sorted stays sorted: place 0 holds the likeliest token, whichever id it has. "
    "Which method puts values back where they came from?",
    source="the `scatter` after the sort forgotten",
)
def never_put_back(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits.sort(dim=-1, descending=True).values, temperature, top_k, top_p)
    return draw(p), p


@mistake(
    "With top_p the likeliest token comes first in what you return, without it each stands at its id. "
    "What has to happen to the sorted scores once the tail is cut off?",
    source="`logits = sorted_logits.masked_fill(...)` in the branch of top_p",
)
def sorted_for_top_p(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p,
                by_p=lambda scores, top_p: keep_top_p(scores.sort(dim=-1, descending=True).values, top_p))  # fmt: skip
    return draw(p), p


@mistake(
    "`gather` with the sort's order sorts once more, it does not undo it. "
    "Place i of the sorted list came from `order[i]`: does that say where to read, or where to write?",
    source="lucidrains/PaLM-rlhf-pytorch#60: `gather` for `scatter`",
)
def put_back_by_gather(logits, draw, temperature=1.0, top_k=None, top_p=None):
    ranked, order = logits.sort(dim=-1, descending=True)
    p = chances(ranked, temperature, top_k, top_p).gather(-1, order)
    return draw(p), p


@mistake(
    "Each token alone is compared with top_p: hardly any has so much, and a row may be left with nothing. "
    "What is it that should reach top_p, one probability or a sum of them?",
    source="top_p read as a threshold for a token",
)
def each_against_top_p(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: p >= top_p))
    return draw(p), p


@mistake(
    "Kept is what has at least the share top_p of the likeliest token's probability: that is min-p, another filter. "
    "What sums to top_p in a nucleus?",
    source="min-p sampling, whose argument looks alike",
)
def relative_to_the_likeliest(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: p >= top_p * p[:, :1]))
    return draw(p), p


@mistake(
    "All rows keep as many tokens as the first: a sure row too many, an unsure one too few. "
    "Why is this filter not one with a fixed number?",
    source="`cutoff = (cumulative < top_p).sum() + 1`, written for one text",
)
def size_of_the_first_row(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: (before(p) < top_p)[:1].expand_as(p)))
    return draw(p), p


@mistake(
    "The sums run down the batch, from row to row. Along which axis do the tokens of one row lie?",
    source="`cumsum(0)`, from code for one text",
)
def summed_over_the_batch(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, by_p=by_rank(lambda p, top_p: p.cumsum(0) - p < top_p))
    return draw(p), p


MISTAKES = (
    crossing_token_left_out, crossing_token_left_out_but_the_first, first_row_kept_whole, first_token_subtracted,
    one_more_than_needed, order_of_the_vocabulary, tail_kept, rest_of_the_mass, mask_not_put_back, never_put_back,
    sorted_for_top_p, put_back_by_gather, each_against_top_p, relative_to_the_likeliest, size_of_the_first_row,
    summed_over_the_batch,
)  # fmt: skip

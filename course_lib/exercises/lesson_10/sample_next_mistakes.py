"""What people write for `sample_next` instead: the temperature and the draw. Parts of a right answer come first."""

import math

import torch

from course_lib.checking import mistake


def cooled(logits, temperature):
    """logits / temperature; at 0 all but the likeliest are ruled out."""
    return logits / temperature if temperature != 0 else keep_top_k(logits, 1)


def keep_top_k(logits, k):
    """-inf for all but the k highest of each row, by the lowest score that is kept."""
    return logits.masked_fill(logits < logits.topk(min(k, logits.shape[-1])).values[:, -1:], -math.inf)


def keep_top_p(logits, top_p):
    """-inf for all that the nucleus does not need."""
    ranked, order = logits.sort(dim=-1, descending=True)
    p = ranked.softmax(dim=-1)
    needed = p.cumsum(dim=-1) - p < top_p
    return logits.masked_fill(~needed.scatter(-1, order, needed), -math.inf)


def chances(logits, temperature, top_k, top_p, *, cool=cooled, by_k=keep_top_k, by_p=keep_top_p, softmax=torch.softmax):
    """The right probabilities, (B, V), with one part exchanged."""
    logits = cool(logits, temperature)
    logits = logits if top_k is None else by_k(logits, top_k)
    logits = logits if top_p is None else by_p(logits, top_p)
    return softmax(logits, -1)


@mistake(
    "At temperature 0 this divides by zero, and no probability is a number any more. "
    "Which single token is left as the temperature goes to 0, and which filter leaves just that one?",
    source="A111: karpathy/nanoGPT#756",
)
def divides_by_zero(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, cool=lambda scores, t: scores / t)
    return draw(p), p


@mistake(
    "Temperature 0 is taken for no temperature at all: what should be the surest choice is an ordinary draw. "
    "What does Python make of `if temperature:` when it is 0?",
    source="`if temperature: logits = logits / temperature`, which keeps A111 from crashing and changes the meaning",
)
def zero_taken_for_none(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature or 1.0, top_k, top_p)
    return draw(p), p


@mistake(
    "At temperature 0 the right token comes back, beside probabilities that know nothing of it. "
    "By which probabilities was this token certain to be drawn?",
    source="`if temperature == 0: return logits.argmax(-1), probs`, the short cut of many servers",
)
def zero_in_ids_alone(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature or 1.0, top_k, top_p)
    return (draw(p) if temperature else logits.argmax(-1)), p


@mistake(
    "The logits are multiplied by the temperature: a high one makes the likely tokens surer. "
    "What should 2 do to the distance between two scores?",
    source="the inverse temperature of physics, β = 1 / T, under the name of T",
)
def multiplied(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, 1 / temperature if temperature else 0, top_k, top_p)
    return draw(p), p


@mistake(
    "`temperature` is never read: every text is as bold as the next. What is divided by it, before which step?",
    source="an argument added to the signature and not to the code",
)
def temperature_unread(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, 1.0, top_k, top_p)
    return draw(p), p


@mistake(
    "Probabilities are divided by the temperature and then by their sum, where it cancels: nothing changes but at 0. "
    "On which side of the softmax does a division make a difference?",
    source="`probs = probs / temperature; probs = probs / probs.sum()`",
)
def temperature_cancels(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, 1.0 if temperature else 0, top_k, top_p)
    return draw(p), p


@mistake(
    "The softmax is taken twice: probabilities are divided by the temperature and go through it again, "
    "so nearly every token becomes as likely as the next. What should the softmax be given?",
    source="A101's kin: `softmax(probs / temperature)`, with a model that ends in a softmax",
)
def softmax_of_probabilities(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits.softmax(-1), temperature, top_k, top_p)
    return draw(p), p


@mistake(
    "With a filter the temperature is lost: what is filtered are the logits as they came. "
    "Which variable holds the logits that were divided?",
    source="`scaled = logits / temperature`, then `logits.topk(top_k)`",
)
def lost_with_a_filter(logits, draw, temperature=1.0, top_k=None, top_p=None):
    filtered = temperature and (top_k is not None or top_p is not None)
    p = chances(logits, 1.0 if filtered else temperature, top_k, top_p)
    return draw(p), p


@mistake(
    "The nucleus is measured first and the temperature comes last, another convention: a bold text draws from no more "
    "tokens than a careful one. Whose probabilities should sum to top_p?",
    source="ggml-org/llama.cpp#4091, where this is the order; sgl-project/sglang-jax#1563, one of two paths",
)
def temperature_last(logits, draw, temperature=1.0, top_k=None, top_p=None):
    kept = logits if top_k is None else keep_top_k(logits, top_k)
    kept = kept if top_p is None else keep_top_p(kept, top_p)
    p = cooled(kept, temperature).softmax(-1)
    return draw(p), p


@mistake(
    "A small temperature is raised to 0.01 so that nothing overflows: two tokens nearly alike are both drawn, where "
    "one alone should be left. How small a number does the division bear, and what is 0 to do?",
    source="`max(temperature, 0.01)`: vLLM raises temperatures below to it; here in place of a rule for 0 as well",
)
def no_colder_than_a_hundredth(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, max(temperature, 0.01), top_k, top_p)
    return draw(p), p


@mistake(
    "The softmax compares the rows of the batch: texts compete for a token. Along which axis lie the tokens?",
    source="A020: `softmax(0)`",
)
def softmax_over_batch(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p, softmax=lambda scores, _: scores.softmax(0))
    return draw(p), p


@mistake(
    "The softmax by hand overflows on logits in the hundreds. What may be subtracted from all of them, to no effect?",
    source="A028: `exp(logits) / exp(logits).sum()`",
)
def no_maximum(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p,
                softmax=lambda scores, dim: scores.exp() / scores.exp().sum(dim, keepdim=True))  # fmt: skip
    return draw(p), p


@mistake(
    "`draw` is never called, the likeliest token is taken: temperature and filters change nothing in the text. "
    "Who throws the dice here?",
    source="`argmax` at the end, left over from greedy search",
)
def argmax_for_draw(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p)
    return p.argmax(-1), p


@mistake(
    "The draw comes before the filters: a token may be written that your probabilities rule out. "
    "Which tensor does `draw` get?",
    source="the filtered copy is made and not used, as in A017",
)
def drawn_before_filters(logits, draw, temperature=1.0, top_k=None, top_p=None):
    return draw(cooled(logits, temperature).softmax(-1)), chances(logits, temperature, top_k, top_p)


@mistake(
    "The ids are drawn by the filtered probabilities, and those from before the filters come back. "
    "Which of your two tensors did `draw` get?",
    source="`probs` computed at the top for a log, and returned at the end",
)
def returned_before_filters(logits, draw, temperature=1.0, top_k=None, top_p=None):
    return draw(chances(logits, temperature, top_k, top_p)), cooled(logits, temperature).softmax(-1)


@mistake(
    "`draw` gets scores, which may be negative and sum to anything. What does it expect?",
    source="`Categorical(logits)`: its first argument is probabilities",
)
def drawn_by_scores(logits, draw, temperature=1.0, top_k=None, top_p=None):
    return draw(cooled(logits, temperature)), chances(logits, temperature, top_k, top_p)


@mistake(
    "`draw` gets logarithms of probabilities, none of them above 0. Which function undoes the logarithm?",
    source="A105's kin: `multinomial(log_softmax(...))`",
)
def drawn_by_logarithms(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p)
    return draw(p.log()), p


@mistake(
    "What comes back are logarithms of probabilities; `draw` got the probabilities. "
    "Which of the two is a number that sums to 1?",
    source="`log_softmax` returned, as beam search wants it",
)
def logarithms_returned(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p)
    return draw(p), p.log()


@mistake(
    "`draw` gets the likeliest token first, and what it says is a rank; it is returned as if it were an id. "
    "Which token stands at that rank?",
    source="`ix = multinomial(topk_probs, 1)` without the `gather(topk_indices, ix)` that follows in tutorials",
)
def rank_for_id(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p)
    return draw(p.sort(dim=-1, descending=True).values), p


@mistake(
    "`draw` gets the likeliest token first, and its rank is looked up afterwards. Chances are the same; yet what comes "
    "back beside the ids is in another order than what they were drawn by. Which of the two should `draw` get?",
    source="`gather(topk_indices, multinomial(topk_probs, 1))`: another convention, of GPT-2 tutorials",
)
def drawn_by_rank(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p = chances(logits, temperature, top_k, top_p)
    ranked, order = p.sort(dim=-1, descending=True)
    return order.take_along_dim(draw(ranked).unsqueeze(-1), -1).squeeze(-1), p


MISTAKES = (
    divides_by_zero, zero_taken_for_none, zero_in_ids_alone, multiplied, temperature_unread, temperature_cancels,
    softmax_of_probabilities, lost_with_a_filter, temperature_last, no_colder_than_a_hundredth, softmax_over_batch,
    no_maximum, argmax_for_draw, drawn_before_filters, returned_before_filters, drawn_by_scores, drawn_by_logarithms,
    logarithms_returned, rank_for_id, drawn_by_rank,
)  # fmt: skip

"""Exercise `beam_search`: several texts side by side, and the best of those that were finished."""

import heapq
import itertools
import math

import torch

from course_lib.checking import Case, Exercise, Law
from course_lib.checking.laws import call, close

from . import beam_search_end_mistakes as of_ends
from . import beam_search_parent_mistakes as of_parents
from . import beam_search_penalty_mistakes as of_penalties
from . import beam_search_score_mistakes as of_scores
from .greedy_search import greedy_search, log_probability, make_state, make_step, select_rows, up_to_the_end


def beam_search(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """The best text that a beam of `width` texts finds for one sentence, and its score.

    step: function (token (k,), state) -> (logits (k, V), state), for k texts side by side. state: of one text, with
    nothing written. select: function (state, parents (k,)) -> state, in which text i goes on from text parents[i].
    Each step looks at every text with every token, sorted by the sum of log-probabilities. What ends with `eos` is
    finished if it is among the best `width` of them; the best `width` of all that do not end go on. At max_length the
    best `width` are finished as they stand. Returns ids (L,) without `bos` and the score, 0-d, of the finished text
    whose sum / ((5 + L) / 6) ** alpha is highest; `eos` counts in L.
    """
    texts, sums = torch.full((1, 1), bos), torch.zeros(1)
    best_text, best_score = None, torch.tensor(-math.inf)
    for length in range(1, max_length + 1):
        logits, state = step(texts[:, -1], state)
        totals = sums.unsqueeze(1) + logits.log_softmax(dim=-1)  # (k, V)
        # At most one ending for each of k texts, so of twice as many at least `width` do not end.
        sums, places = totals.flatten().topk(min(2 * width, totals.numel()))
        parents, tokens = places // totals.shape[1], places % totals.shape[1]
        texts = torch.cat([texts[parents], tokens.unsqueeze(1)], dim=1)  # (at most 2 · width, 1 + length)
        ends = tokens == eos
        finished = (ends | (length == max_length))[:width]
        scores = (sums[:width] / ((5 + length) / 6) ** alpha).masked_fill(~finished, -math.inf)
        if scores.max() > best_score:
            best_score, best_text = scores.max(), texts[scores.argmax(), 1:]
        rest = (~ends).nonzero().squeeze(1)[:width]
        texts, sums, state = texts[rest], sums[rest], select(state, parents[rest])
    return best_text, best_score


def text_of(answer, args):
    return tuple(answer(*args)[0].tolist())


MISTAKES = of_scores.MISTAKES + of_penalties.MISTAKES + of_parents.MISTAKES + of_ends.MISTAKES
WRONG = {mistake.name: mistake.wrong for mistake in MISTAKES}


def cases(generator):
    """Narrow and wide beams, beside and above V; one token; no end; penalties weak and strong; other ids and states.

    Many decoders hide a mistake: the same text comes out. So each is drawn again until the mistakes that a case is for
    give other texts than the right one, and than each other.
    """

    def case(
        label, group, V, width, max_length, *alpha, bos=1, eos=2, push=-1.0, contrast=2.0, kept="one tensor", ends=None,
        tells=(), apart_from=(),
    ):  # fmt: skip
        """ends: whether the right text has an end; None: it may. apart_from: mistakes that do not give those texts."""
        while True:
            step = make_step(generator, V, eos, {bos} & set(range(V)), push, contrast, kept)
            args = (step, make_state(generator, 1, kept), select_rows, width, bos, eos, max_length, *alpha)
            right = text_of(beam_search, args)
            if ends not in (None, right[-1] == eos):
                continue
            told = {text_of(WRONG[name], args) for name in tells} - {right}
            if len(told) == len(tells) and not any(text_of(WRONG[name], args) in told for name in apart_from):
                return Case(label, args, {}, group, gradient=False)

    stops = ["stops_too_soon", "stops_with_enough_finished"]
    yield case("width 1, which is greedy search", "width 1", 7, 1, 5, ends=True)
    yield case("room for one token", "one token", 6, 3, 1, 0.6)
    yield case("width 2, and greedy search misses the text", "width 2", 6, 2, 5,
               tells=["all_copies_expanded", "states_not_reordered"])  # fmt: skip
    yield case("an end that comes too far behind", "an end", 6, 2, 4, 0.0, push=-0.5, tells=["ending_at_any_rank"])
    yield case("alpha 0.6", "length penalty", 7, 3, 4, 0.6, contrast=0.0, ends=True)
    yield case("alpha 1.5, and the longest text is the best", "length penalty", 6, 3, 5, 1.5, push=0.0, ends=False,
               tells=["chosen_by_the_sum"], apart_from=["shrinking_beam", *stops])  # fmt: skip
    yield case("nothing ends", "no end", 7, 3, 4, 0.6, push=-12.0, contrast=0.0, ends=False)
    yield case("a strong penalty, and places to fill", "strong", 6, 2, 5, 4.0, push=1.0, tells=["too_few_go_on"])
    yield case("a strong penalty, and stopping early misses the text", "strong", 6, 3, 6, 4.0, push=1.0,
               tells=stops, apart_from=["shrinking_beam"])  # fmt: skip
    yield case("a strong penalty, and ends among the best", "strong", 6, 3, 6, 4.0, push=1.0,
               tells=["states_of_the_candidates", "shrinking_beam"], apart_from=["too_few_go_on"])  # fmt: skip
    yield case("as wide as the vocabulary", "wide", 4, 4, 4, 0.6)
    yield case("one wider than the vocabulary", "wide", 4, 5, 5, 1.5, contrast=3.0, tells=["parents_by_width"])
    yield case("twice as wide as the vocabulary", "wide", 4, 8, 5, 0.0, bos=4, push=-4.0, contrast=5.0,
               tells=["width_cut_to_the_vocabulary"])  # fmt: skip
    yield case("other ids for start and end", "other ids", 7, 2, 4, 0.6, bos=4, eos=0, ends=True,
               tells=["ids_written_in"])  # fmt: skip
    yield case("a state of two tensors", "any state", 6, 3, 5, 1.5, kept="a tuple", tells=["each_text_alone"])
    yield case("a state with its layers first", "any state", 6, 2, 4, 0.6, kept="layers first",
               tells=["state_indexed"])  # fmt: skip


def by_sorting(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """Lists: one text after the other, each with a state of its own."""
    live, finished = [(0.0, [bos], state)], []
    for length in range(1, max_length + 1):
        candidates = []
        for total, text, own in live:
            logits, new = step(torch.tensor(text[-1:]), own)
            for token, log_p in enumerate(logits[0].log_softmax(0).tolist()):
                candidates.append((total + log_p, [*text, token], new))
        candidates.sort(key=lambda one: one[0], reverse=True)
        for total, text, _ in candidates[:width]:
            if text[-1] == eos or length == max_length:
                finished.append((total / ((5 + length) / 6) ** alpha, text[1:]))
        live = [one for one in candidates if one[1][-1] != eos][:width]
    score, text = max(finished)
    return torch.tensor(text), torch.tensor(score)


def stopping_early(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """It stops when even the longest text could not come before the best one: a sum only falls."""
    tokens, sums, texts, best = torch.tensor([bos]), torch.zeros(1), [[]], (-math.inf, None)
    for length in range(1, max_length + 1):
        logits, state = step(tokens, state)
        totals = sums[:, None] + logits - logits.logsumexp(1, keepdim=True)
        order = totals.flatten().argsort(descending=True)
        ended = [int(place) for place in order[:width] if place % totals.shape[1] == eos or length == max_length]
        for place in ended:
            parent, token = divmod(place, totals.shape[1])
            best = max(best, (totals[parent, token].item() / ((5 + length) / 6) ** alpha, [*texts[parent], token]))
        order = order[order % totals.shape[1] != eos][:width]
        parents, tokens = order.div(totals.shape[1], rounding_mode="floor"), order.remainder(totals.shape[1])
        sums, state = totals.flatten()[order], select(state, parents)
        texts = [[*texts[parent], token] for parent, token in zip(parents.tolist(), tokens.tolist(), strict=True)]
        if best[0] >= sums.max().item() / ((5 + max_length) / 6) ** alpha:
            break
    return torch.tensor(best[1]), torch.tensor(best[0])


def from_a_heap(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """Finished texts lie in a heap, the cheapest on top; the candidates of a step are picked by a heap as well."""
    texts, sums, heap, count = torch.full((1, 1), bos), torch.zeros(1, 1), [], itertools.count()
    for length in range(1, max_length + 1):
        logits, state = step(texts[:, -1], state)
        totals = sums + torch.log(torch.softmax(logits, dim=-1))
        rows = enumerate(totals.tolist())
        ranked = heapq.nlargest(2 * width, ((total, i, v) for i, row in rows for v, total in enumerate(row)))
        going = []
        for rank, (total, i, v) in enumerate(ranked):
            if rank < width and (v == eos or length == max_length):
                cost = -total * 6**alpha / (5 + length) ** alpha
                heapq.heappush(heap, (cost, next(count), [*texts[i, 1:].tolist(), v]))
            if v != eos and len(going) < width:
                going.append((total, i, v))
        texts = torch.stack([torch.cat([texts[i], torch.tensor([v])]) for _, i, v in going])
        sums = torch.tensor([[total] for total, _, _ in going])
        state = select(state, torch.tensor([i for _, i, _ in going]))
    cost, _, text = heap[0]
    return torch.tensor(text), torch.tensor(-cost)


def always_full(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """`width` rows from the start to the end; a row that is none has the sum -inf. The texts are followed backwards."""
    state, tokens = select(state, torch.zeros(width, dtype=torch.long)), torch.full((width,), bos)
    sums = torch.full((width,), -math.inf).index_fill(0, torch.tensor([0]), 0.0)
    backwards, best, where = [], torch.tensor(-math.inf), None
    for t in range(max_length):
        logits, state = step(tokens, state)
        V = logits.shape[1]
        totals = sums.view(-1, 1) + torch.nn.functional.log_softmax(logits, 1)
        ranked, places = totals.view(-1).sort(descending=True)
        may_end = (places[:width] % V == eos) if t + 1 < max_length else torch.ones_like(places[:width] > 0)
        score, at = torch.where(may_end, ranked[:width] * ((6 + t) / 6) ** -alpha, -math.inf).max(0)
        if score > best:
            best, where = score, (t, places[at] // V, places[at] % V)
        totals[:, eos] = -math.inf
        sums, places = totals.view(-1).topk(width)
        tokens, state = places % V, select(state, places // V)
        backwards.append((places // V, tokens))
    t, row, last = where
    text = [last]
    for parents, tokens in reversed(backwards[:t]):
        text.insert(0, tokens[row])
        row = parents[row]
    return torch.stack(text), best


def _one_end(function, cases, generator):
    for case in cases:
        *_, eos, max_length, _ = (*case.args, 0.0)[:8]  # a case may leave alpha out
        *before, last = call(function, case)[0].tolist()
        if eos in before or (last != eos and len(before) + 1 < max_length):
            return f"the text goes on behind its end, or breaks off before it has one ({case.label})"
    return None


def _score_of_its_text(function, cases, generator):
    for case in cases:
        step, state, _, _, bos, _, _, alpha = (*case.args, 0.0)[:8]  # a case may leave alpha out
        text, score = call(function, case)
        if not close(score, log_probability(step, state, bos, text.tolist()) / ((5 + len(text)) / 6) ** alpha):
            return f"the score is not that of the text that it comes with ({case.label})"
    return None


def _width_1_is_greedy(function, cases, generator):
    for case in cases:
        step, state, select, _, bos, eos, max_length, _ = (*case.args, 0.0)[:8]  # a case may leave alpha out
        text, score = call(function, Case(case.label, (step, state, select, 1, bos, eos, max_length)))
        ids, scores = greedy_search(step, state, 1, bos, eos, -1, max_length)
        if text.tolist() != up_to_the_end(ids[0], eos) or not close(score, scores[0]):
            return f"with width 1 and alpha 0 it is not greedy search ({case.label})"
    return None


EXERCISE = Exercise(
    name="beam_search",
    reference=beam_search,
    cases=cases,
    laws=(
        Law("a text has one end", _one_end, "Where do you look for `eos`, and which texts go on?"),
        Law("the score is that of the text", _score_of_its_text,
            "Do text, sum and state of one hypothesis all come from the same parent?"),
        Law("width 1 is greedy search", _width_1_is_greedy,
            "With one text there is nothing to compare it with: which token should it take?"),
    ),
    mistakes=MISTAKES,
    accepts=(by_sorting, stopping_early, from_a_heap, always_full),
    hints=(
        "One text before the first step: `texts` (1, 1) with `bos`, `sums` (1,) with 0. The beam fills itself.",
        "`totals = sums.unsqueeze(1) + logits.log_softmax(dim=-1)` is (k, V): every text with every token. Flatten it "
        "and take the best 2 · width with `topk`, or all there are if there are fewer.",
        "A place in the flattened table tells both: its row, `places // V`, is the parent, its column, `places % V`, "
        "the token. New texts: `torch.cat([texts[parents], tokens.unsqueeze(1)], dim=1)`.",
        "Among the first `width` of them: where the token is `eos`, divide the sum by the penalty and keep the text if "
        "it is the best so far. At max_length do so with all of these.",
        "What goes on: `rest = (tokens != eos).nonzero().squeeze(1)[:width]`. Texts, sums and parents all take these "
        "rows, and the state follows its parents: `select(state, parents[rest])`.",
    ),
    minutes=30,
    difficulty=5,
    points=4,
)  # fmt: skip

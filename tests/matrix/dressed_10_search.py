"""Mistakes of lesson 10's searches in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import torch
from torch.nn import functional


def greedy_by_topk(step, state, batch_size, bos, eos, pad, max_length):
    written, finished, total = [torch.full((batch_size, 1), bos)], torch.zeros(batch_size, 1).bool(), 0.0
    for _ in range(max_length):
        logits, state = step(written[-1][:, 0], state)
        values, token = logits.topk(1)
        total = total + torch.where(finished, 0.0, values)
        written.append(torch.where(finished, pad, token))
        finished |= token == eos
    return torch.cat(written[1:], 1), total[:, 0]


def greedy_with_the_chain_rule(step, state, batch_size, bos, eos, pad, max_length):
    token, going, p, columns = torch.full((batch_size,), bos), torch.ones(batch_size), torch.ones(batch_size), []
    for _ in range(max_length):
        logits, state = step(token, state)
        likely, token = functional.softmax(logits, dim=1).max(1)
        p = p * likely**going
        columns.append(torch.where(going.bool(), token, pad))
        going = going * (token != eos)
    return torch.stack(columns).T, p


def greedy_cut_afterwards(
    step, state, batch_size, bos, eos, pad, max_length, score=lambda log_p, ids, kept: log_p.sum(1)
):
    token, steps = torch.full((batch_size,), bos), []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(1)
        steps.append((token, logits.log_softmax(1).gather(1, token[:, None])[:, 0]))
    ids, log_p = (torch.stack(parts, 1) for parts in zip(*steps, strict=True))
    kept = torch.stack([(ids[:, :t] != eos).all(1) for t in range(max_length)], 1)
    return torch.where(kept, ids, pad), score(log_p, ids, kept)


def greedy_without_its_end(*arguments):
    return greedy_cut_afterwards(
        *arguments, score=lambda log_p, ids, kept: (log_p * (kept & (ids != arguments[4]))).sum(1)
    )


def greedy_mean(*arguments):
    return greedy_cut_afterwards(
        *arguments, score=lambda log_p, ids, kept: torch.where(kept, log_p, torch.nan).nanmean(1)
    )


def greedy_until_the_first(step, state, batch_size, bos, eos, pad, max_length):
    token, ids, total = torch.tensor([bos] * batch_size), [], torch.zeros(batch_size)
    while len(ids) < max_length and not (ids and eos in ids[-1]):
        logits, state = step(token, state)
        token = torch.tensor([row.index(max(row)) for row in logits.tolist()])
        total += logits.amax(1) - logits.exp().sum(1).log()
        ids.append(token)
    ids += [torch.full_like(token, pad)] * (max_length - len(ids))
    return torch.stack(ids, 1), total


def greedy_of_lesson_1(step, state, batch_size, bos, eos, pad, max_length):
    token, finished = torch.full((len(state),), bos), torch.zeros(len(state), dtype=torch.bool)
    ids, scores = torch.full((len(state), max_length), pad), torch.zeros(len(state))
    for t in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(-1)
        loss = functional.cross_entropy(logits, token, reduction="none")
        ids[~finished, t] = token[~finished]
        scores[~finished] -= loss[~finished]
        finished |= token == eos
    return ids, scores


def beam(step, state, select, width, bos, eos, max_length, alpha=0.0, **turned):
    """In tensors, what goes on chosen first and what is finished last; some lines can be turned."""
    sums, texts = turned.get("sums", torch.zeros(1)), torch.full((turned.get("copies", 1), 1), bos)
    finished = []
    for length in range(1, max_length + 1):
        logits, state = step(texts[:, -1], state)
        totals = (sums.unsqueeze(1) + functional.log_softmax(logits, 1)).view(-1)
        V, count = logits.shape[1], turned.get("looked_at", 2) * width
        order = totals.argsort(descending=True)[:count]
        rows = order.div(turned.get("divisor", V), rounding_mode="floor")
        for place, row in zip(order[:width].tolist(), rows[:width].tolist(), strict=True):
            if place % V == eos or length == max_length:
                text = [*texts[row, 1:].tolist(), place % V]
                finished.append((totals[place].item() * (6 / (5 + length)) ** alpha, text))
                width -= turned.get("narrower", 0) * (place % V == eos)
        going = (order % V != eos).nonzero()[:width, 0]
        if not len(going):
            break
        own = texts[rows[going]]
        if turned.get("buffer") and len(texts) == len(own):
            own = texts
        texts, sums = torch.cat([own, (order % V)[going, None]], 1), totals[order[going]]
        state = select(state, rows[going]) if turned.get("selects", True) else state
    score, text = max(finished[: turned.get("first")])
    return torch.tensor(text), torch.tensor(score)


def beam_of_copies(step, state, select, width, *others):
    copies = {"sums": torch.zeros(width), "copies": width}
    return beam(step, select(state, torch.zeros(width).long()), select, width, *others, **copies)


def beam_that_never_selects(*arguments):
    return beam(*arguments, selects=False)


def beam_in_a_buffer(*arguments):
    return beam(*arguments, buffer=True)


def beam_of_its_width(*arguments):
    return beam(*arguments, looked_at=1)


def beam_that_shrinks(*arguments):
    return beam(*arguments, looked_at=1, narrower=1)


def beam_that_takes_the_first(*arguments):
    return beam(*arguments, first=1)


def beam_divided_by_its_width(step, state, select, width, *others):
    return beam(step, state, select, width, *others, divisor=width)


def beam_of_lists(step, state, select, width, bos, eos, max_length, alpha=0.0, *, take=lambda ends, live: ends):
    """One list of hypotheses, as in a first course; `take` says what it returns from the ended and the last ones."""
    live, ends = [([bos], 0.0, state)], []
    for _ in range(max_length):
        grown = []
        for text, total, own in live:
            logits, new = step(torch.tensor([text[-1]]), own)
            for token, log_p in enumerate(torch.log_softmax(logits[0], 0).tolist()):
                grown.append((text + [token], total + log_p, new))
        grown.sort(key=lambda one: -one[1])
        ends += [one for one in grown[:width] if one[0][-1] == eos]
        last, live = grown[:width], [one for one in grown if one[0][-1] != eos][:width]
    text, total, _ = max(take(ends, last), key=lambda one: one[1] / ((4 + len(one[0])) / 6) ** alpha)
    return torch.tensor(text[1:]), torch.tensor(total / ((4 + len(text)) / 6) ** alpha)


def beam_of_lists_that_ended(*arguments):
    return beam_of_lists(*arguments, take=lambda ends, last: ends or last)


def beam_of_the_last_list(*arguments):
    return beam_of_lists(*arguments, take=lambda ends, last: last)


def beam_with_the_power_of_the_length(step, state, select, width, bos, eos, max_length, alpha=0.0):
    hypotheses, live = [], {(): (torch.zeros(()), state)}
    for length in range(1, max_length + 1):
        grown = {}
        for text, (total, own) in live.items():
            logits, new = step(torch.tensor([*(text or (bos,))][-1:]), own)
            log_p = logits[0] - logits[0].logsumexp(0)
            grown |= {(*text, token): (total + log_p[token], new) for token in range(len(log_p))}
        ranked = sorted(grown.items(), key=lambda item: item[1][0].item(), reverse=True)
        hypotheses += [
            (total / length**alpha, text) for text, (total, _) in ranked[:width] if eos in text or length == max_length
        ]
        live = dict([item for item in ranked if eos not in item[0]][:width])
    score, text = max(hypotheses, key=lambda one: one[0])
    return torch.tensor(text), score


def beam_side_by_side(step, state, select, width, bos, eos, max_length, alpha=0.0):
    """The best first tokens, and from each of them the likeliest path, all in one batch."""
    logits, state = step(torch.tensor([bos]), state)
    sums, token = logits.log_softmax(1)[0].topk(min(width, logits.shape[1]))
    state, columns, lengths = select(state, torch.zeros_like(token)), [token], torch.ones(len(token))
    for _ in range(max_length - 1):
        open_ = ~(torch.stack(columns) == eos).any(0)
        logits, state = step(token, state)
        log_p, token = logits.log_softmax(1).max(1)
        sums, lengths = sums + log_p * open_, lengths + open_
        columns.append(token)
    scores = sums / ((5 + lengths) / 6) ** alpha
    best = scores.argmax()
    return torch.stack(columns, 1)[best, : int(lengths[best])], scores[best]


DRESSED = [
    ("greedy_search", greedy_by_topk, "logits_added"),
    ("greedy_search", greedy_with_the_chain_rule, "probability_of_the_text"),
    ("greedy_search", greedy_cut_afterwards, "scores_to_the_limit"),
    ("greedy_search", greedy_without_its_end, "end_not_counted"),
    ("greedy_search", greedy_mean, "mean_over_tokens"),
    ("greedy_search", greedy_until_the_first, "any_end"),
    ("greedy_search", greedy_of_lesson_1, "rows_of_the_state"),
    ("beam_search", beam_of_copies, "all_copies_expanded"),
    ("beam_search", beam_that_never_selects, "states_not_reordered"),
    ("beam_search", beam_in_a_buffer, "texts_not_reordered"),
    ("beam_search", beam_of_its_width, "too_few_go_on"),
    ("beam_search", beam_that_shrinks, "shrinking_beam"),
    ("beam_search", beam_that_takes_the_first, "first_finished_returned"),
    ("beam_search", beam_divided_by_its_width, "parents_by_width"),
    ("beam_search", beam_of_lists_that_ended, "cut_texts_dropped"),
    ("beam_search", beam_of_the_last_list, "finished_forgotten"),
    ("beam_search", beam_with_the_power_of_the_length, "power_of_the_length"),
    ("beam_search", beam_side_by_side, "each_text_alone"),
]

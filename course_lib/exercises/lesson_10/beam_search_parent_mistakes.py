"""What people write for `beam_search` instead: which texts go on, and with which state."""

import math

import torch

from course_lib.checking import mistake

from .beam_search_score_mistakes import Finished, best, normalised, search


def copied(select, state, width):
    """The state of one text, `width` times."""
    return select(state, torch.zeros(width, dtype=torch.int64))


@mistake(
    "The first step goes on from `width` copies of the start, and each of them brings the same best token: the beam "
    "holds one text `width` times, which is greedy search. How many different texts are there before the first step?",
    source="A113",
)
def all_copies_expanded(step, state, select, width, *others):
    return search(step, copied(select, state, width), select, width, *others, start=lambda width: [0.0] * width)


@mistake(
    "The states stay where they are while the texts change places: from the second step on a text reads the memory of "
    "another. What does `select` do, and after which line is it due?",
    source="A114",
)
def states_not_reordered(step, state, select, *others):
    calls = []

    def select_once(state, parents):
        calls.append(parents)
        return state if len(calls) > 1 else select(state, parents)  # from one text to as many as the beam is wide

    return search(step, state, select_once, *others)


@mistake(
    "The states follow the best candidates, endings among them, while the texts follow those that go on: where "
    "something ended, all behind it get the state of a neighbour. Which rows are left when the endings are taken out?",
    source="A114's kin: `select(state, parents)[:width]` on the line before the endings are removed",
)
def states_of_the_candidates(*arguments):
    return search(*arguments, rows=lambda parents, rest: parents[: len(rest)])


@mistake(
    "The new tokens are written behind the texts as they stand: sums and states follow their parents, the words do "
    "not. Which texts do the tokens belong to?",
    source="`torch.cat([texts, tokens])` or `texts[:, t] = tokens`, where the rows are never put in the new order",
)
def texts_not_reordered(*arguments):
    return search(*arguments, row_of_text=lambda parent, n, k: n % k)


@mistake(
    "Places are divided by `width` to get the parent. A row of the totals has V entries: in which row does the place "
    "V + 3 lie?",
    source="`beam_id = index // beam_size`; right by chance where V = width",
)
def parents_by_width(*arguments):
    return search(*arguments, split=lambda place, V, width: (place // width, place % V))


@mistake(
    "Parent and token are exchanged: `%` gives the one and `//` the other. In a flattened (k, V) table, which of the "
    "two tells the row?",
    source="`index % V` and `index // V` mixed up; runs only where the beam is at least as wide as the vocabulary",
)
def parent_and_token_exchanged(step, state, select, width, *others):
    return search(
        step, copied(select, state, width), select, width, *others, start=lambda _: [0.0] + [-math.inf] * (width - 1),
        split=lambda place, V, width: (place % V, place // V),
    )  # fmt: skip


@mistake(
    "The beam is made no wider than the vocabulary. That quiets top-k at the first step, but from the second on there "
    "are k · V candidates. When is there less to choose from than you want, and only then?",
    source="A117: `width = min(width, V)` after an error from `topk`",
)
def width_cut_to_the_vocabulary(step, state, select, width, bos, *others):
    V = step(torch.tensor([bos]), state)[0].shape[1]
    return search(step, state, select, min(width, V), bos, *others)


@mistake(
    "Each text goes on with its own best token alone: after the first step `width` greedy searches run side by side. "
    "Against which candidates should a text's second choice be ranked?",
    source="top-k at the first step, `argmax(dim=-1)` of each text after it",
)
def each_text_alone(step, state, select, width, bos, eos, max_length, alpha=0.0):
    logits, state = step(torch.tensor([bos]), state)
    sums, firsts = logits[0].log_softmax(dim=-1).topk(min(width, logits.shape[1]))
    found = []
    for total, token in zip(sums.tolist(), firsts.unsqueeze(1), strict=True):
        text, own = [int(token)], select(state, torch.zeros(1, dtype=torch.int64))
        while text[-1] != eos and len(text) < max_length:
            logits, own = step(token, own)
            log_p, token = logits.log_softmax(dim=-1).max(dim=-1)
            total += log_p.item()
            text.append(int(token))
        found.append(Finished(normalised(total, len(text), None, alpha), total, text, len(text), text[-1] == eos))
    chosen = best(found)
    return torch.tensor(chosen.text), torch.tensor(chosen.score)


@mistake(
    "The states are indexed as if they were one tensor with the texts along its first axis. A state may be a tuple, or "
    "have its layers first: which argument knows how to take rows of it?",
    source="`state[parents]`, or `hidden[parents]` for torch's LSTM, whose states are (layers, batch, width)",
)
def state_indexed(step, state, select, *others):
    return search(step, state, lambda state, parents: state[parents], *others)


@mistake(
    "The state that `step` returns is dropped, so that the decoder remembers nothing but the last token. What should "
    "`select` pick from, the state before the step or the one after it?",
    source="`logits, _ = step(...)`, or `select` applied to the old state",
)
def state_not_carried(step, state, *others):
    return search(lambda token, carried: (step(token, carried)[0], carried), state, *others)


@mistake(
    "The ids 1 and 2 are written into the code. Which arguments say what start and end are here?",
    source="A043",
)
def ids_written_in(step, state, select, width, bos, eos, *others):
    return search(step, state, select, width, 1, 2, *others)


MISTAKES = (
    all_copies_expanded, states_not_reordered, states_of_the_candidates, texts_not_reordered, parents_by_width,
    parent_and_token_exchanged, width_cut_to_the_vocabulary, each_text_alone, state_indexed, state_not_carried,
    ids_written_in,
)  # fmt: skip

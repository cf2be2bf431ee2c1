"""What people write for `beam_search` instead: what the beam is ranked by. The loop that all share stands first."""

from typing import NamedTuple

import torch

from course_lib.checking import mistake


class Finished(NamedTuple):
    """A text, a list of ids without the start. ended: whether it has an end; length counts it."""

    score: float
    sum: float
    text: list
    length: int
    ended: bool


def sums_of_log_probabilities(sums, logits):
    """(k,), (k, V) -> (k, V)."""
    return sums.unsqueeze(1) + logits.log_softmax(dim=-1)


def room(width, found):
    """How many candidates are looked at, how many of these may end, and how many go on."""
    return 2 * width, width, width


def parent_and_token(place, V, width):
    return divmod(place, V)


def rows_that_go_on(parents, rest):
    return [parents[i] for i in rest]


def penalty(length, alpha):
    return ((5 + length) / 6) ** alpha


def normalised(total, length, ended, alpha):
    return total / penalty(length, alpha)


def best(found):
    return max(found, key=lambda one: one.score)


def search(
    step, state, select, width, bos, eos, max_length, alpha=0.0,
    *, start=lambda width: [0.0], total_of_each=sums_of_log_probabilities, room=room, split=parent_and_token,
    row_of_text=lambda parent, n, k: parent, rows=rows_that_go_on, score=normalised,
    carried=lambda total, length, alpha: total, stop=lambda *seen: False, choose=best,
):  # fmt: skip
    """The search that the exercise asks for, in lists, with one screw turned.

    start(width): the sums before the first step. room, split: as above. row_of_text(parent, n, k): behind which of the
    k texts the token is written that becomes number n of the new ones. rows(parents, rest): whose states go on.
    carried(total, length, alpha): what the next step adds to. stop(found, sums, length, alpha): whether it ends early.
    choose(found): what comes out.
    """
    sums, found = start(width), []
    texts = [[bos]] * len(sums)
    for length in range(1, max_length + 1):
        logits, state = step(torch.tensor([text[-1] for text in texts]), state)
        every = total_of_each(torch.tensor(sums), logits)  # (k, V)
        looked_at, may_end, go_on = room(width, found)
        ranked = sorted(enumerate(every.flatten().tolist()), key=lambda one: one[1], reverse=True)[:looked_at]
        candidates, rest = [], []
        for rank, (place, total) in enumerate(ranked):
            parent, token = split(place, every.shape[1], width)
            text, ended = [*texts[parent], token], token == eos
            if rank < may_end and (ended or length == max_length):
                found.append(Finished(score(total, length, ended, alpha), total, text[1:], length, ended))
            if not ended and len(rest) < go_on:
                rest.append(rank)
            candidates.append((parent, token, carried(total, length, alpha)))
        if not rest:
            break
        parents, tokens, totals = zip(*candidates, strict=True)
        texts = [[*texts[row_of_text(parents[i], n, len(texts))], tokens[i]] for n, i in enumerate(rest)]
        sums = [totals[i] for i in rest]
        state = select(state, torch.tensor(rows(parents, rest)))
        if stop(found, sums, length, alpha):
            break
    chosen = choose(found)
    return torch.tensor(chosen.text), torch.tensor(chosen.score)


@mistake(
    "Raw logits are summed: texts from different steps and parents are compared by numbers that have no common scale. "
    "What turns a row of logits into log-probabilities?",
    source="the step's output taken for log-probabilities, as with models that end in log_softmax",
)
def logits_summed(*arguments):
    return search(*arguments, total_of_each=lambda sums, logits: sums.unsqueeze(1) + logits)


@mistake(
    "Probabilities are added up, so that a longer text is always ahead. What is done with the probabilities of words "
    "in a row, and what with their logarithms?",
    source="softmax and top-k as in a classifier, the sum from the formula",
)
def probabilities_added(*arguments):
    return search(*arguments, total_of_each=lambda sums, logits: sums.unsqueeze(1) + logits.softmax(dim=-1))


@mistake(
    "Probabilities are multiplied. The beam is the same, but the score is a probability, the penalty works the wrong "
    "way round, and long texts come to 0. What should be summed instead?",
    source="the chain rule written down as it stands; hidden as long as alpha is 0 and texts are short",
)
def probabilities_multiplied(*arguments):
    return search(
        *arguments, start=lambda width: [1.0], total_of_each=lambda sums, logits: sums.unsqueeze(1) * logits.softmax(-1)
    )


@mistake(
    "The softmax runs over all texts and tokens at once, so the logits of one text change the chances of another. How "
    "many distributions come out of a step with k texts?",
    source="`logits.flatten().log_softmax(-1)`: flattened for top-k one line too early",
)
def softmax_over_all_texts(*arguments):
    def total_of_each(sums, logits):
        return sums.unsqueeze(1) + logits.flatten().log_softmax(dim=0).view_as(logits)

    return search(*arguments, total_of_each=total_of_each)


@mistake(
    "Texts are ranked by their last token alone: what they cost before is forgotten. What must be added to the "
    "log-probabilities before top-k?",
    source="`log_p.flatten().topk(...)`, where `sums.unsqueeze(1) + log_p` was meant",
)
def last_token_alone(*arguments):
    return search(*arguments, total_of_each=lambda sums, logits: logits.log_softmax(dim=-1))


@mistake(
    "Losses are summed and the largest are kept: the beam holds the least likely texts. Which end of the ranking does "
    "`topk` take?",
    source="negative log-likelihoods as in training, ranked as if they were scores",
)
def largest_losses(*arguments):
    return search(*arguments, total_of_each=lambda sums, logits: sums.unsqueeze(1) - logits.log_softmax(dim=-1))


MISTAKES = (
    logits_summed, probabilities_added, probabilities_multiplied, softmax_over_all_texts, last_token_alone,
    largest_losses,
)  # fmt: skip

"""What people write for `greedy_search` instead: above all, other scores than that of the text."""

import torch

from course_lib.checking import mistake


def log_p_of_the_best(logits, *tokens):
    return logits.log_softmax(dim=-1).amax(dim=-1)


def unless_finished(scores, log_p, finished):
    return scores + log_p.masked_fill(finished, 0.0)


def search(
    step, state, batch_size, bos, eos, pad, max_length, *, value=log_p_of_the_best, add=unless_finished,
    remember=torch.logical_or, stop=torch.all,
):  # fmt: skip
    """The loop that the exercise asks for, with one screw turned.

    value(logits, fed, token, written): what a step says of a row, by its logits, the token that was fed, the likeliest
    and the one that is written. add(scores, value, finished): the new scores. remember(finished, ends): which rows are
    finished from now on. stop(finished): whether the loop ends.
    """
    token = torch.full((batch_size,), bos)
    finished = torch.zeros(batch_size, dtype=torch.bool)
    ids, scores = torch.full((batch_size, max_length), pad), torch.zeros(batch_size)
    for t in range(max_length):
        logits, state = step(token, state)
        fed, token = token, logits.argmax(dim=-1)  # (B,) each
        ids[:, t] = token.masked_fill(finished, pad)
        scores = add(scores, value(logits, fed, token, ids[:, t]), finished)
        finished = remember(finished, token == eos)
        if stop(finished):
            break
    return ids, scores


def column(log_p, ids):
    """(B, V), (B,) -> (B,): each row's entry for its id."""
    return log_p.gather(-1, ids.unsqueeze(-1)).squeeze(-1)


@mistake(
    "Raw logits are added: they lack the sum over the vocabulary, so two texts cannot be compared by them. Which "
    "function makes log-probabilities of logits?",
    source="`logits.max(dim=-1)` gives token and value at once; the token is right, since the maximum is the same",
)
def logits_added(*arguments):
    return search(*arguments, value=lambda logits, *tokens: logits.amax(dim=-1))


@mistake(
    "Probabilities are added up: a text gets likelier with every word. What is done with the probabilities of words "
    "that follow each other, and what with their logarithms?",
    source="softmax and max as for a classifier, the sum from the formula",
)
def probabilities_added(*arguments):
    return search(*arguments, value=lambda logits, *tokens: logits.softmax(dim=-1).amax(dim=-1))


@mistake(
    "The score is the probability of the text, a product, where its logarithm is asked for: after some hundred tokens "
    "it is 0 for every text. What becomes of a product when you take the logarithm?",
    source="the chain rule written down as it stands",
)
def probability_of_the_text(*arguments):
    ids, scores = search(*arguments)
    return ids, scores.exp()


@mistake(
    "The sign is reversed: this is the loss of the text, which is 0 or more. What is the largest logarithm that a "
    "probability can have?",
    source="negative log-likelihood, as in training",
)
def loss_of_the_text(*arguments):
    ids, scores = search(*arguments)
    return ids, -scores


@mistake(
    "The score is the mean over the tokens, so a long text looks as likely as a short one. Does the docstring speak of "
    "the sum or the mean?",
    source="the mean of the loss in training; many libraries rank by it",
)
def mean_over_tokens(step, state, batch_size, bos, eos, pad, max_length):
    ids, scores = search(step, state, batch_size, bos, eos, pad, max_length)
    ends = (ids == eos).long()
    return ids, scores / (ends.cumsum(dim=1) - ends == 0).sum(dim=1)


@mistake(
    "log_softmax runs over the rows of the batch: the tokens are right, and the score of a sentence depends on its "
    "neighbours. Along which axis lies the vocabulary?",
    source="A020's sister: `log_softmax(dim=0)`",
)
def over_the_batch(*arguments):
    return search(*arguments, value=lambda logits, fed, token, _: column(logits.log_softmax(dim=0), token))


@mistake(
    "Softmax, and then log_softmax of its result: probabilities are taken for logits, and every token seems about as "
    "likely as any other. How many of the two belong here?",
    source="A101: the model's last layer thought to need a softmax first",
)
def softmax_first(*arguments):
    return search(*arguments, value=lambda logits, *tokens: log_p_of_the_best(logits.softmax(dim=-1)))


@mistake(
    "A row that has ended goes on adding until the last row ends, so its score depends on its neighbours. What should "
    "a finished row add?",
    source="`finished` used for the ids, not for the scores",
)
def finished_rows_add(*arguments):
    return search(*arguments, add=lambda scores, log_p, finished: scores + log_p)


@mistake(
    "The ids end, the scores do not: every row adds up to max_length what it would have written behind its end. Which "
    "steps belong to the text of a row?",
    source="A005: all steps first, ids cut at the end afterwards, scores summed as they are",
)
def scores_to_the_limit(*arguments):
    return search(*arguments, add=lambda scores, log_p, finished: scores + log_p, stop=lambda finished: False)


@mistake(
    "Finished rows add the log-probability of the padding behind their end. Did the decoder choose it?",
    source="the score is gathered by the ids as they are written, padding and all",
)
def padding_counted(*arguments):
    return search(
        *arguments,
        value=lambda logits, fed, token, written: column(logits.log_softmax(dim=-1), written),
        add=lambda scores, log_p, finished: scores + log_p,
    )


@mistake(
    "The score lacks the end: the row counts as finished before its `eos` is added. Which line comes first, the one "
    "that adds or the one that finishes?",
    source="`finished |= token == eos` one line too early for the scores",
)
def end_not_counted(step, state, batch_size, bos, eos, *others):
    def value(logits, fed, token, written):
        return log_p_of_the_best(logits).masked_fill(token == eos, 0.0)

    return search(step, state, batch_size, bos, eos, *others, value=value)


@mistake(
    "The score of a row is set back to 0 once it has ended: the mask lies over the sum. Is it the sum or what is added "
    "that a finished row should have as 0?",
    source="`(scores + log_p).masked_fill(finished, 0.0)`: the bracket",
)
def finished_scores_erased(*arguments):
    return search(*arguments, add=lambda scores, log_p, finished: (scores + log_p).masked_fill(finished, 0.0))


@mistake(
    "The score is that of the last token alone: each step overwrites the one before. What should happen to the old "
    "score?",
    source="`scores = log_p` where `scores = scores + log_p` was meant; with one token it is right",
)
def last_token_alone(*arguments):
    return search(*arguments, add=lambda scores, log_p, finished: torch.where(finished, scores, log_p))


@mistake(
    "The score counts the token that was fed, not the one that the logits chose: the two are one step apart. Which "
    "token do the logits of this step speak of?",
    source="`log_p.gather(-1, token)` on the line before `token = ...`",
)
def token_fed_counted(*arguments):
    return search(*arguments, value=lambda logits, fed, *tokens: column(logits.log_softmax(dim=-1), fed))


@mistake(
    "Every row gets the sum over all rows: `sum()` without an axis. Of which axes of your log-probabilities is nothing "
    "to be left, and which is the batch?",
    source="A129's kin: code for one sentence, `log_p.max(-1).values.sum()`, run on a batch",
)
def one_score_for_all(*arguments):
    ids, scores = search(*arguments)
    return ids, scores.sum().expand(len(scores)).clone()


@mistake(
    "All rows stop as soon as one of them has ended: longer sentences are cut off, and so are their scores. Is it "
    "`any` or `all` that you mean?",
    source="A109",
)
def any_end(*arguments):
    return search(*arguments, stop=torch.any)


@mistake(
    "A row forgets that it has ended: one padding token, then it writes and adds again. How do you remember what "
    "became true at an earlier step?",
    source="`finished = token == eos` instead of `finished | (token == eos)`",
)
def forgets_the_end(*arguments):
    return search(*arguments, remember=lambda finished, ends: ends)


@mistake(
    "The first state is used at every step, so the decoder remembers nothing but the last token. Which of the two "
    "results of `step` is dropped?",
    source="`logits, _ = step(token, state)`",
)
def state_not_carried(step, state, *others):
    return search(lambda token, carried: (step(token, state)[0], carried), state, *others)


@mistake(
    "The start token is fed at every step: the decoder never reads what it has written. Which variable does the next "
    "call of `step` need?",
    source="the result of max bound to another name than the one that is fed",
)
def start_token_again(step, state, batch_size, bos, *others):
    return search(lambda token, state: step(torch.full_like(token, bos), state), state, batch_size, bos, *others)


@mistake(
    "The ids 1, 2 and 0 are written into the code. Which arguments say what start, end and padding are here?",
    source="A043",
)
def ids_written_in(step, state, batch_size, bos, eos, pad, max_length):
    return search(step, state, batch_size, 1, 2, 0, max_length)


@mistake(
    "The number of sentences is read off the state. That holds for a matrix (B, H); a tuple of two tensors has the "
    "length 2, whatever B is. Which argument says how many rows there are?",
    source="`len(state)`, as in lesson 1, where the state is always one tensor",
)
def rows_of_the_state(step, state, batch_size, *others):
    return search(step, state, len(state), *others)


MISTAKES = (
    logits_added, probabilities_added, probability_of_the_text, loss_of_the_text, mean_over_tokens, over_the_batch,
    softmax_first, finished_rows_add, scores_to_the_limit, padding_counted, end_not_counted, finished_scores_erased,
    last_token_alone, token_fed_counted, one_score_for_all, any_end, forgets_the_end, state_not_carried,
    start_token_again, ids_written_in, rows_of_the_state,
)  # fmt: skip

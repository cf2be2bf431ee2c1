"""Exercise `greedy_decode`: write one token at a time, always the likeliest."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent


def greedy_decode(step, state, bos, eos, pad, max_length):
    """Write the likeliest token, feed it back, again and again, until the end token.

    step: function (token (B,), state) -> (logits (B, V), state). state: (B, H) the decoder's first state.
    bos, eos, pad: token ids. Returns ids (B, max_length): each row up to and with its `eos`, then `pad`.
    """
    B = state.shape[0]
    token = torch.full((B,), bos)
    finished = torch.zeros(B, dtype=torch.bool)
    output = torch.full((B, max_length), pad)
    for t in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(dim=-1)  # (B,)
        output[:, t] = torch.where(finished, pad, token)
        finished = finished | (token == eos)
        if finished.all():
            break
    return output


def make_step(generator, V, eos, silent):
    """A decoder made of tables. Its state (B, 3) holds the step, the step that writes `eos`, and the row's own voice.

    Tokens in `silent` are never the likeliest. The logits depend on the token fed in, on the step and on the voice, so
    that a wrong token or a lost state shows in what is written.
    """
    by_token = 3.0 * torch.randn(V, V, generator=generator, dtype=torch.float64)
    by_step = 3.0 * torch.randn(64, V, generator=generator, dtype=torch.float64)
    by_voice = torch.randn(V, generator=generator, dtype=torch.float64)

    def step(token, state):
        count, end, voice = state.unbind(-1)
        # Rows that have ended may be fed anything: the table has a line for every id.
        logits = by_token[token.long() % V] + by_step[count.long() % 64] + voice[:, None] * by_voice
        logits[:, list(silent)] = -100.0
        logits[:, eos] = torch.where(count == end, 100.0, -100.0)
        return logits, torch.stack([count + 1, end, voice], dim=-1)

    return step


def cases(generator):
    """Rows that end early, late and never; all early; one row; B = V; other ids; a limit of one token."""

    def arguments(ends, V, max_length, bos=1, eos=2, pad=0):
        voice = 3.0 * torch.randn(len(ends), generator=generator, dtype=torch.float64)
        state = torch.stack([torch.zeros(len(ends)), torch.tensor(ends), voice], dim=-1).to(torch.float64)
        return make_step(generator, V, eos, {bos, pad}), state, bos, eos, pad, max_length

    never = 99.0
    yield Case("one sentence of 5", arguments([4.0], 11, 5), gradient=False, group="one sentence")
    yield Case("one sentence that ends early", arguments([2.0], 9, 6), gradient=False, group="one sentence")
    yield Case("ends after 1, 3, 5 tokens and never", arguments([0.0, 2.0, 4.0, never], 12, 7), gradient=False,
               group="several sentences")  # fmt: skip
    yield Case("all end early", arguments([1.0, 3.0, 2.0], 10, 8), gradient=False, group="several sentences")
    yield Case("other ids for start, end and padding", arguments([3.0, 1.0], 8, 6, bos=5, eos=6, pad=7),
               gradient=False, group="other ids")  # fmt: skip
    yield Case("as many rows as tokens", arguments([1.0, never, 4.0, 3.0, 2.0, never], 6, 6), gradient=False,
               group="B = V")  # fmt: skip
    yield Case("room for one token", arguments([never, 0.0], 7, 1), gradient=False, group="one token")


def decode(
    step, state, bos, eos, pad, max_length, *, stop=None, feed=None, write=None, carry=True, axis=-1, steps=None
):
    """The reference loop with one screw turned: what the wrong versions below share."""
    token = torch.full((state.shape[0],), bos)
    finished = torch.zeros(state.shape[0], dtype=torch.bool)
    output = torch.full((state.shape[0], max_length), pad)
    for t in range(max_length if steps is None else steps):
        logits, new_state = step(token if feed is None else feed(token), state)
        state = new_state if carry else state
        token = logits.argmax(dim=axis)
        output[:, t] = torch.where(finished, pad, token) if write is None else write(token, finished)
        finished = finished | (token == eos)
        if finished.all() if stop is None else stop(finished):
            break
    return output


@mistake(
    "All rows stop as soon as one of them has ended: longer sentences are cut off. Is it `any` or `all` that you mean?",
    source="A109",
)
def any_end(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, stop=lambda finished: finished.any())


@mistake(
    "The end token stops nothing: rows go on writing after it, up to the limit. What should a finished row contain?",
    source="A005: no stop criterion in the loop",
)
def never_stops(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, write=lambda token, _: token, stop=lambda _: False)


@mistake(
    "The loop ends when every row has ended, but a row that ended early keeps writing until then. "
    "What should be written for the rows that are already finished?",
    source="the stop criterion of the batch taken for that of the row",
)
def finished_rows_go_on(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, write=lambda token, _: token)


@mistake(
    "The state is never carried over: each step starts from the decoder's first state. What does `step` return beside "
    "the logits?",
    source="`logits, _ = step(token, state)`",
)
def state_not_carried(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, carry=False)


@mistake(
    "Every step is fed the start token: the decoder never reads what it has written. Which token belongs to the next "
    "step?",
    source="the input token is set once, before the loop, and never updated",
)
def start_token_again(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, feed=lambda token: torch.full_like(token, bos))


@mistake(
    "The start token stands in the result and pushes everything one place on. Did the decoder write it?",
    source="A004: the buffer is started with the start token and not cut",
)
def start_token_kept(step, state, bos, eos, pad, max_length):
    output = greedy_decode(step, state, bos, eos, pad, max_length)
    return torch.cat([torch.full_like(output[:, :1], bos), output[:, :-1]], dim=1)


@mistake(
    "The first column is never written: the first token lands in the second place. At which index does step 0 write?",
    source="A004",
)
def first_slot_empty(step, state, bos, eos, pad, max_length):
    output = greedy_decode(step, state, bos, eos, pad, max_length)
    return torch.cat([torch.full_like(output[:, :1], pad), output[:, :-1]], dim=1)


@mistake(
    "The end token itself is missing: the row is marked as finished before the token is written. "
    "Which of the two lines comes first?",
    source="the end token is part of the sentence the loss was trained on",
)
def end_token_dropped(step, state, bos, eos, pad, max_length):
    output = greedy_decode(step, state, bos, eos, pad, max_length)
    return torch.where(output == eos, pad, output)


@mistake(
    "A row forgets that it has ended: one padding token, then it writes again. How do you remember what became true "
    "at an earlier step?",
    source="`finished = token == eos` instead of `finished |= ...`",
)
def forgets_the_end(step, state, bos, eos, pad, max_length):
    token = torch.full((state.shape[0],), bos)
    finished = torch.zeros(state.shape[0], dtype=torch.bool)
    output = torch.full((state.shape[0], max_length), pad)
    for t in range(max_length):
        logits, state = step(token, state)
        token = logits.argmax(dim=-1)
        output[:, t] = torch.where(finished, pad, token)
        finished = token == eos
        if finished.all():
            break
    return output


@mistake(
    "The last place is never used: the loop makes one step too few. How many tokens may be written?",
    source="`range(1, max_length)`, counting the start token as written",
)
def one_step_too_few(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, steps=max_length - 1)


@mistake(
    "argmax runs over the rows of the batch: it answers which sentence likes a token most. "
    "Over which axis lie the tokens of the vocabulary?",
    source="A020's sister: the wrong axis in argmax; runs only when B = V",
)
def argmax_over_batch(step, state, bos, eos, pad, max_length):
    return decode(step, state, bos, eos, pad, max_length, axis=0)


@mistake(
    "The ids 1, 2 and 0 are written into the code. Which arguments say what start, end and padding are here?",
    source="A043: ids hard-coded from one vocabulary",
)
def hard_coded_ids(step, state, bos, eos, pad, max_length):
    return decode(step, state, 1, 2, 0, max_length)


def row_by_row(step, state, bos, eos, pad, max_length):
    rows = []
    for h in state.split(1):
        token, written = torch.tensor([bos]), []
        while len(written) < max_length and (not written or written[-1] != eos):
            logits, h = step(token, h)
            token = logits.argmax(-1)
            written.append(int(token))
        rows.append(written + [pad] * (max_length - len(written)))
    return torch.tensor(rows)


def cut_afterwards(step, state, bos, eos, pad, max_length):
    token, columns = torch.full(state.shape[:1], bos), []
    for _ in range(max_length):
        logits, state = step(token, state)
        token = logits.log_softmax(-1).max(-1).indices
        columns.append(token)
    ids = torch.stack(columns, dim=1)
    is_end = (ids == eos).long()
    return ids.masked_fill(is_end.cumsum(1) - is_end > 0, pad)


def feeding_padding(step, state, bos, eos, pad, max_length):
    """Finished rows are fed padding; the sorted logits give the token."""
    token, columns, done = torch.tensor([bos] * len(state)), [], torch.tensor([False] * len(state))
    while len(columns) < max_length:
        logits, state = step(token, state)
        token = torch.where(done, torch.tensor(pad), logits.sort(dim=-1, descending=True).indices[:, 0])
        columns += [token]
        done = done | token.eq(eos)
    return torch.stack(columns, 1)


EXERCISE = Exercise(
    name="greedy_decode",
    reference=greedy_decode,
    cases=cases,
    laws=(rows_independent({1}),),
    mistakes=(
        any_end, never_stops, finished_rows_go_on, state_not_carried, start_token_again, start_token_kept,
        first_slot_empty, end_token_dropped, forgets_the_end, one_step_too_few, argmax_over_batch, hard_coded_ids,
    ),
    accepts=(row_by_row, cut_afterwards, feeding_padding),
    hints=(
        "Begin with `token = torch.full((B,), bos)`. Each round: call `step`, take the likeliest token, write it down, "
        "feed it to the next round.",
        "`logits.argmax(dim=-1)` gives one id a row. Keep the state that `step` returns.",
        "A bool tensor `finished` (B,) remembers which rows have ended: write `torch.where(finished, pad, token)`, "
        "then `finished = finished | (token == eos)`.",
    ),
    minutes=12,
    difficulty=2,
    points=2,
)  # fmt: skip

"""Exercise `encode`: a sentence of any length becomes one vector, the state after its last real token."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import padding_ignored, rows_independent


def encode(cell, inputs, lengths, state):
    """Run `cell` over time and return, for each row, the state after its last real token.

    cell: function (x (B, E), h (B, H)) -> (B, H). inputs: (B, S, E), padded at the end. lengths: (B,) int, 1 to S.
    state: (B, H) the first state. Returns (B, H): the context vector c of Sutskever et al. 2014.
    """
    for t in range(inputs.shape[1]):
        is_real = (t < lengths)[:, None]  # (B, 1)
        state = torch.where(is_real, cell(inputs[:, t], state), state)
    return state


def make_cell(generator, E, H):
    """A tanh cell with random weights and a bias, so that padding leaves a trace."""
    W = torch.randn(E, H, generator=generator, dtype=torch.float64)
    U = 0.8 * torch.randn(H, H, generator=generator, dtype=torch.float64)
    b = torch.randn(H, generator=generator, dtype=torch.float64)

    def cell(x, h):
        return torch.tanh(x @ W.to(x.dtype) + h @ U.to(h.dtype) + b.to(h.dtype))

    return cell


def cases(generator):
    """Equal lengths, ascending and mixed lengths, more padding than needed, batch one, length one, B = S."""

    def arguments(lengths, S, E, H):
        B = len(lengths)
        inputs = torch.randn(B, S, E, generator=generator, dtype=torch.float64)
        state = 0.5 * torch.randn(B, H, generator=generator, dtype=torch.float64)
        return make_cell(generator, E, H), inputs, torch.tensor(lengths), state

    yield Case("two sentences of 4", arguments([4, 4], 4, 3, 5), group="equal lengths")
    yield Case("lengths 2, 5, 3", arguments([2, 5, 3], 5, 4, 2), group="mixed lengths")
    yield Case("more padding than the longest needs", arguments([1, 4, 2], 6, 3, 4), group="mixed lengths")
    yield Case("one sentence with padding", arguments([3], 5, 2, 4), group="one sentence")
    yield Case("sentences of one token", arguments([1, 1, 1], 1, 4, 3), group="one token")
    yield Case("B = S = E = H", arguments([4, 1, 2, 3], 4, 4, 4), group="equal sizes")


@mistake(
    "The state is taken at the last column of the batch: for short sentences that is the state after reading padding, "
    "and it changes with the neighbours' lengths. At which step did each row read its last real token?",
    source="A006",
)
def last_column(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
    return state


@mistake(
    "Rows that have ended are set to zero instead of keeping their state: a short sentence leaves nothing behind. "
    "What should a row hold once its sentence is over?",
    source="A006, the variant that returns zeros for short rows",
)
def zeros_when_over(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state) * (t < lengths)[:, None]
    return state


@mistake(
    "Padding is read as zeros: the input is silenced there, but the state keeps moving. "
    "What must stand still after the last token, the input or the state?",
    source="masking the embeddings is taken for masking the steps",
)
def zero_inputs(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t] * (t < lengths)[:, None], state)
    return state


@mistake(
    "Each row goes one step too far: it still reads the first padding token. Counting from 0, what is the index of the "
    "last token of a sentence of 3?",
    source="A044: the range starts one position after the true end",
)
def one_step_too_many(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = torch.where((t <= lengths)[:, None], cell(inputs[:, t], state), state)
    return state


@mistake(
    "Each row stops one step early: its last token is never read. With lengths = 1, how many steps should be taken?",
    source="`states[lengths - 2]` or `t < lengths - 1`: the index of the last token mixed up with the one before",
)
def one_step_too_few(cell, inputs, lengths, state):
    for t in range(inputs.shape[1]):
        state = torch.where((t < lengths - 1)[:, None], cell(inputs[:, t], state), state)
    return state


@mistake(
    "Every step starts from the first state again: nothing is carried over, so only the last token counts. "
    "Which state should step t receive?",
    source="h_0 passed in the loop instead of h_{t-1}",
)
def state_not_carried(cell, inputs, lengths, state):
    last = state
    for t in range(inputs.shape[1]):
        last = torch.where((t < lengths)[:, None], cell(inputs[:, t], state), last)
    return last


@mistake(
    "The first state that you were given is replaced by zeros. Which argument says where the encoder starts?",
    source="`torch.zeros(B, H)` by habit; a test that starts from zeros cannot see it",
)
def starts_from_zero(cell, inputs, lengths, state):
    return encode(cell, inputs, lengths, torch.zeros_like(state))


@mistake(
    "All rows stop with the shortest sentence: the rest of the longer ones is never read. "
    "How many steps does each row need of its own?",
    source="one length taken for the whole batch",
)
def shortest_for_all(cell, inputs, lengths, state):
    for t in range(int(lengths.min())):
        state = cell(inputs[:, t], state)
    return state


@mistake(
    "All rows stop with the longest sentence: the shorter ones read padding until then. "
    "Which rows should stand still at step t?",
    source="A006: cutting the batch to its longest row is not yet a mask",
)
def longest_for_all(cell, inputs, lengths, state):
    for t in range(int(lengths.max())):
        state = cell(inputs[:, t], state)
    return state


@mistake(
    "The sentence is read from its end to its start. Which token should be read first?",
    source="reversed sources (Sutskever et al. 2014) are a trick of their own, not this exercise",
)
def backwards(cell, inputs, lengths, state):
    for t in reversed(range(inputs.shape[1])):
        state = torch.where((t < lengths)[:, None], cell(inputs[:, t], state), state)
    return state


@mistake(
    "The rows come back in the order of their lengths, not in the order in which they came: each sentence got another "
    "one's vector. How is a sort undone?",
    source="A009",
)
def not_sorted_back(cell, inputs, lengths, state):
    order = lengths.argsort(descending=True, stable=True)
    return encode(cell, inputs[order], lengths[order], state[order])


@mistake(
    "The mean of all states is returned. A mean mixes early and late states alike; what is asked for is one state. "
    "Which one has read the whole sentence?",
    source="mean pooling, the usual summary in encoders without recurrence",
)
def mean_of_states(cell, inputs, lengths, state):
    total = torch.zeros_like(state)
    for t in range(inputs.shape[1]):
        is_real = (t < lengths)[:, None]
        state = torch.where(is_real, cell(inputs[:, t], state), state)
        total = total + torch.where(is_real, state, 0.0)
    return total / lengths[:, None].to(total.dtype)


@mistake(
    "Time and batch have changed places: your loop hands the cell one sentence after another instead of one step after "
    "another. Which axis of `inputs` is time?",
    source="A129: sequence-first code on batch-first data; equal sizes hide it",
)
def time_first(cell, inputs, lengths, state):
    for t in range(inputs.shape[0]):
        state = torch.where((t < lengths)[:, None], cell(inputs[t], state), state)
    return state


def by_gather(cell, inputs, lengths, state):
    states = []
    for t in range(inputs.shape[1]):
        state = cell(inputs[:, t], state)
        states.append(state)
    stacked = torch.stack(states, dim=1)  # (B, S, H)
    index = (lengths - 1)[:, None, None].expand(-1, 1, stacked.shape[-1])
    return stacked.gather(1, index).squeeze(1)


def by_row(cell, inputs, lengths, state):
    finals = []
    for row, length in enumerate(lengths.tolist()):
        h = state[row : row + 1]
        for t in range(length):
            h = cell(inputs[row : row + 1, t], h)
        finals.append(h)
    return torch.cat(finals)


def by_arithmetic(cell, inputs, lengths, state):
    for t in range(int(lengths.max())):
        keep = (lengths > t).to(inputs.dtype).unsqueeze(-1)
        state = keep * cell(inputs[:, t], state) + (1 - keep) * state
    return state


def sorted_and_back(cell, inputs, lengths, state):
    order = lengths.argsort(descending=True)
    inputs, lengths, h = inputs[order], lengths[order], state[order]
    for t in range(int(lengths[0])):
        active = int((lengths > t).sum())
        h = torch.cat([cell(inputs[:active, t], h[:active]), h[active:]])
    return h[order.argsort()]


def _is_padding(case):
    _, inputs, lengths, _ = case.args
    return torch.arange(inputs.shape[1]) >= lengths[:, None]


EXERCISE = Exercise(
    name="encode",
    reference=encode,
    cases=cases,
    laws=(rows_independent({1, 2, 3}), padding_ignored(1, _is_padding)),
    mistakes=(
        last_column, zeros_when_over, zero_inputs, one_step_too_many, one_step_too_few, state_not_carried,
        starts_from_zero, shortest_for_all, longest_for_all, backwards, not_sorted_back, mean_of_states, time_first,
    ),
    accepts=(by_gather, by_row, by_arithmetic, sorted_and_back),
    hints=(
        "First forget the padding: a loop over t that calls `state = cell(inputs[:, t], state)`.",
        "Two ways to mind the padding: keep all states and pick the right one a row, or let finished rows stand still.",
        "`torch.where(condition, new, old)` chooses row by row, if the condition `t < lengths` is made (B, 1).",
    ),
    minutes=10,
    difficulty=2,
    points=2,
    forbidden=("torch.nn.RNN", "torch.nn.GRU", "torch.nn.LSTM"),
)  # fmt: skip

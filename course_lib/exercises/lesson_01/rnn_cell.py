"""Exercise `rnn_cell`: one step of a recurrent network."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent


def rnn_cell(x, h, W_xh, W_hh, b):
    """The next state h_t = tanh(x_t W_xh + h_{t-1} W_hh + b) (Elman 1990).

    x: (B, E) input of this step. h: (B, H) state before it. W_xh: (E, H). W_hh: (H, H). b: (H,). Returns (B, H).
    """
    return torch.tanh(x @ W_xh + h @ W_hh + b)


def cases(generator):
    """Unequal sizes, a batch of one, width one, then equal sizes where every transposition runs."""

    def arguments(B, E, H):
        sizes = ((B, E), (B, H), (E, H), (H, H), (H,))
        return tuple(0.7 * torch.randn(*size, generator=generator, dtype=torch.float64) for size in sizes)

    yield Case("a batch of 2", arguments(2, 3, 4))
    yield Case("a batch of one", arguments(1, 4, 3))
    yield Case("more inputs than states", arguments(3, 5, 2))
    yield Case("B = E = H", arguments(3, 3, 3), group="equal sizes")
    yield Case("B = H", arguments(4, 2, 4), group="equal sizes")


@mistake(
    "There is no squashing function: the state is a linear function of the inputs and can grow without bound. "
    "Which function keeps every entry of h between -1 and 1?",
    source="the sum looks complete; nothing fails in one step",
)
def no_tanh(x, h, W_xh, W_hh, b):
    return x @ W_xh + h @ W_hh + b


@mistake(
    "The sigmoid is used: your states lie between 0 and 1, never below. Which function of the formula is odd?",
    source="gates of LSTM and GRU use a sigmoid, the plain cell does not",
)
def sigmoid(x, h, W_xh, W_hh, b):
    return torch.sigmoid(x @ W_xh + h @ W_hh + b)


@mistake(
    "ReLU is used: negative states are lost and positive ones are not bounded. What does the formula apply to the sum?",
    source="ReLU by habit from feed-forward networks",
)
def relu(x, h, W_xh, W_hh, b):
    return torch.relu(x @ W_xh + h @ W_hh + b)


@mistake(
    "Both products use a transposed matrix, as `nn.Linear` stores them; here the weights are (E, H) and (H, H). "
    "Which axis of W must meet the last axis of x?",
    source="torch keeps weights as (out, in), the formula as (in, out); equal sizes hide it",
)
def transposed_weights(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh.T + h @ W_hh.T + b)


@mistake(
    "W_hh is transposed: it is square, so nothing complains. Which axis of W_hh does the old state run along?",
    source="a square matrix hides a transposition",
)
def transposed_recurrence(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + h @ W_hh.T + b)


@mistake(
    "The bias is missing. Which argument does your code never read?",
    source="an argument that is zero at initialisation is easily forgotten",
)
def no_bias(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + h @ W_hh)


@mistake(
    "The bias is added after tanh, so the state may leave [-1, 1]. What stands inside the brackets of tanh?",
    source="operator order: the bracket closes too early",
)
def bias_outside(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + h @ W_hh) + b


@mistake(
    "The old state is added outside tanh: the recurrent part is neither squashed nor bounded. "
    "Over which sum does tanh go?",
    source="operator order: tanh(W x) + U h + b",
)
def tanh_of_input_only(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh) + h @ W_hh + b


@mistake(
    "The old state never enters: this step has no memory. Which argument would make it a recurrent network?",
    source="a feed-forward layer with the name of a cell; a test of the first step (h = 0) cannot see it",
)
def no_memory(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + b)


@mistake(
    "The old state itself is added, without its weights W_hh. What does the network learn about how to use its memory?",
    source="mixing up the recurrence with a residual connection",
)
def memory_without_weights(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + h + b)


@mistake(
    "tanh is applied to both products and their sum is returned: entries reach up to 2 in size. "
    "How often does tanh stand in the formula?",
    source="each term squashed on its own",
)
def tanh_of_each(x, h, W_xh, W_hh, b):
    return torch.tanh(x @ W_xh + b) + torch.tanh(h @ W_hh)


@mistake(
    "The new state is added to the old one: h_t = h_{t-1} + tanh(...). That is a residual step, not this cell. "
    "What does the formula assign to h_t?",
    source="residual habit; the first step with h = 0 agrees",
)
def residual(x, h, W_xh, W_hh, b):
    return h + torch.tanh(x @ W_xh + h @ W_hh + b)


@mistake(
    "x and h have changed places: the input meets W_hh and the state W_xh. Which of the two matrices is (E, H)?",
    source="equal sizes hide exchanged arguments",
)
def exchanged(x, h, W_xh, W_hh, b):
    return torch.tanh(h @ W_xh + x @ W_hh + b)


def by_linear(x, h, W_xh, W_hh, b):
    return torch.nn.functional.linear(x, W_xh.T, b).add(torch.nn.functional.linear(h, W_hh.T)).tanh()


def by_concatenation(x, h, W_xh, W_hh, b):
    return torch.tanh(torch.cat([x, h], dim=-1) @ torch.cat([W_xh, W_hh], dim=0) + b)


def by_einsum(x, h, W_xh, W_hh, b):
    return torch.tanh(torch.einsum("be,eh->bh", x, W_xh) + torch.einsum("bi,ij->bj", h, W_hh) + b)


def by_columns(x, h, W_xh, W_hh, b):
    """States as columns, tanh by its exponentials."""
    a = (W_xh.T @ x.T + W_hh.T @ h.T + b[:, None]).T
    return 2 / (1 + torch.exp(-2 * a)) - 1


EXERCISE = Exercise(
    name="rnn_cell",
    reference=rnn_cell,
    cases=cases,
    laws=(rows_independent({0, 1}),),
    mistakes=(
        no_tanh, sigmoid, relu, transposed_weights, transposed_recurrence, no_bias, bias_outside, tanh_of_input_only,
        no_memory, memory_without_weights, tanh_of_each, residual, exchanged,
    ),
    accepts=(by_linear, by_concatenation, by_einsum, by_columns),
    hints=(
        "The new state depends on two things, what is read now (x) and what is remembered (h). Each has its matrix.",
        "Shapes: (B, E) @ (E, H) and (B, H) @ (H, H) both give (B, H); the bias (H,) is added to every row.",
        "One tanh around the whole sum of three terms.",
    ),
    minutes=6,
    difficulty=1,
    points=1,
    forbidden=("torch.nn.RNN", "torch.nn.RNNCell", "torch.rnn_tanh_cell", "torch._VF.rnn_tanh_cell"),
)  # fmt: skip

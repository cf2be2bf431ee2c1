"""Exercise `learned_positions`: a vector for each place, learned, and none beyond the last."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call, close, rows_independent
from course_lib.checking.observe import tell


def learned_positions(X, table, start):
    """Add to each token the learned vector of its position: start, start + 1, ...

    X: (B, N, D). table: (P, D). Returns (B, N, D). Raises ValueError when a position lies past the table.
    """
    end = start + X.shape[1]
    if end > len(table):
        raise ValueError(f"the table has {len(table)} positions, the tokens need {end}")
    return X + table[start:end]


def cases(generator):
    """From position 0, from later ones, one token, one row, a table used to its last row, then sizes that coincide."""
    for label, group, B, N, D, P, start in (
        ("from position 0", "from 0", 2, 3, 5, 12, 0),
        ("from position 2", "later", 3, 4, 2, 20, 2),
        ("from position 3, one row", "later", 1, 5, 4, 12, 3),
        ("one new token", "later", 3, 1, 4, 9, 5),
        ("four tokens from position 3", "later", 2, 4, 3, 16, 3),
        ("up to the last row of the table", "to the end", 2, 4, 3, 6, 2),
        ("as many rows as tokens", "B = N", 4, 4, 3, 24, 1),
        ("as many tokens as features", "N = D", 2, 5, 5, 15, 4),
        ("all sizes 3", "all equal", 3, 3, 3, 3, 0),
    ):
        X, table = (torch.randn(*size, generator=generator, dtype=torch.float64) for size in ((B, N, D), (P, D)))
        yield Case(label, (X, table, start), group=group)


@mistake(
    "Every call begins at row 0 of the table: when tokens come one by one, each takes itself for the first. "
    "Which argument says how many tokens came before?",
    source="A079: cached decoding as if at position 0",
)
def start_ignored(X, table, start):
    return learned_positions(X, table, 0)


@mistake(
    "All tokens of a row get one and the same vector, and each row another: the table is laid along the batch. "
    "Which axis of X says where a token stands?",
    source="A072: a table (P, 1, D) for sequence-first input, cut by the length of axis 0",
)
def one_vector_a_row(X, table, start):
    return X + table[start : start + X.shape[0]].unsqueeze(1)  # (B, 1, D)


@mistake(
    "The count goes on from row to row of the batch, as if all sentences were one long text. "
    "At which position does the second sentence begin?",
    source="sentences packed or flattened, positions never reset",
)
def counted_through(X, table, start):
    B, N, D = X.shape
    return X + table[start : start + B * N].reshape(B, N, D)


@mistake(
    "Every token gets the vector of position `start`. How far along is the last of N tokens?",
    source="`table[start]`, right for one new token, used for several",
)
def one_position_for_all(X, table, start):
    return X + table[start]


@mistake(
    "The positions are one too high: row 0 of the table is never used. Where does this course begin to count?",
    source="fairseq and RoBERTa keep the first rows for the padding, so theirs start higher",
)
def one_too_far(X, table, start):
    return X + table[start + 1 : start + 1 + X.shape[1]]


@mistake(
    "Tokens and positions are multiplied: a position vector near 0 would wipe its word out. "
    "Which operation leaves a word what it is and moves it a little?",
    source="'the position weighs the word'; scaling and shifting mixed up",
)
def multiplied(X, table, start):
    return X * table[start : start + X.shape[1]]


@mistake(
    "The position vectors stand behind the tokens, so every later layer would have to be twice as wide. "
    "Which of the lesson's two ways of joining keeps the width D?",
    source="concatenation, the other way to join two vectors, which some models do use",
)
def concatenated(X, table, start):
    return torch.cat([X, table[start : start + X.shape[1]].expand_as(X)], dim=-1)


@mistake(
    "The tokens are multiplied by √D first, as the paper does with its embeddings before they meet sinusoids. "
    "What does this exercise do to X beside adding?",
    source="Vaswani et al. 3.4, done out of habit",
)
def scaled_tokens(X, table, start):
    return X * X.shape[-1] ** 0.5 + table[start : start + X.shape[1]]


@mistake(
    "The values are right, but X itself was written to: whoever holds the tokens has positions in them now. "
    "Which of `+` and `+=` makes a new tensor?",
    source="A090",
)
def in_place(X, table, start):
    X += table[start : start + X.shape[1]]
    return X


@mistake(
    "The values are right, but no gradient reaches the table: what should be learned stays as it was drawn. "
    "Which line freezes or detaches it?",
    source="`nn.Embedding.from_pretrained` freezes unless told otherwise",
)
def frozen(X, table, start):
    return learned_positions(X, torch.nn.Embedding.from_pretrained(table).weight, start)


@mistake(
    "All is right up to the last row. Beyond it, the slice comes back short without a word, and a single row that is "
    "left is handed to every token. Who notices that rows are missing?",
    source="A075: the slice silently returns fewer rows",
)
def no_check(X, table, start):
    return X + table[start : start + X.shape[1]]


@mistake(
    "The check compares the table with N alone: one new token passes it at any position. "
    "Up to which row does a call need the table that begins at `start`?",
    source="the check of the first version, kept when `start` was added for cached decoding",
)
def length_alone_checked(X, table, start):
    if X.shape[1] > len(table):
        raise ValueError("too many tokens")
    return X + table[start : start + X.shape[1]]


@mistake(
    "Past its end the table starts again: the first word and one far behind get the same vector. "
    "What did training say about places it never saw?",
    source="`% len(table)`, the usual way to keep an index inside",
)
def wrapped_round(X, table, start):
    return X + table[torch.arange(start, start + X.shape[1]) % len(table)]


@mistake(
    "Past its end the last row is used again and again: all far tokens stand at one place, and nobody is told. "
    "What would you rather hear, an error or a worse translation?",
    source="`clamp(max=len(table) - 1)`, to make an index error go away",
)
def clamped(X, table, start):
    return X + table[torch.arange(start, start + X.shape[1]).clamp(max=len(table) - 1)]


def by_embedding(X, table, start):
    positions = torch.arange(start, start + X.shape[1])
    if positions[-1] >= table.shape[0]:
        raise ValueError("past the table")
    return X + torch.nn.functional.embedding(positions, table)


def by_one_hot(X, table, start):
    N, P = X.shape[1], len(table)
    if P < start + N:
        raise ValueError(f"position {start + N - 1} of {P}")
    return X + torch.einsum("np,pd->nd", torch.eye(P, dtype=X.dtype)[start : start + N], table)


def by_loop(X, table, start):
    tokens = []
    for n in range(X.shape[1]):
        if not 0 <= start + n < len(table):
            raise ValueError(f"no row for position {start + n}")
        tokens.append(X[:, n] + table[start + n])
    return torch.stack(tokens, dim=1)


def by_narrow(X, table, start):
    try:
        return table.narrow(0, start, X.size(1)).add(X)
    except (RuntimeError, IndexError) as error:
        raise ValueError("past the table") from error


def _past_the_table(function):
    """In one word, what a function does where the table is too short: "refused", as it should be, or another.

    Once N tokens from position 0 are one too many, and once a late start leaves one row for two tokens.
    """
    X, table = torch.arange(24.0).reshape(2, 4, 3), torch.arange(9.0).reshape(3, 3) ** 2
    results = []
    for tokens, start in ((X, 0), (X[:, :2], 2)):
        try:
            results.append(call(function, Case("past the table", (tokens, table, start))))
        except Exception as error:  # which one it is, is what the law asks
            results.append(tell(error).kind)
    long, late = results
    if not isinstance(long, str):
        rows = {"begins again": [0, 1, 2, 0], "stays on the last row": [0, 1, 2, 2]}
        return next((what for what, places in rows.items() if close(long, X + table[places])), "goes on")
    if long != "ValueError":
        return f"raises {long}" if isinstance(late, str) else "hands one row to all"
    return "refused" if late == "ValueError" else "overlooks the start"


def _law(way=None):
    """Broken by a function that goes this way past the end; without a way, by any that does not refuse."""

    def broken(function, cases, generator):
        what = _past_the_table(function)
        return f"past its last row your function {what}" if what == way or not way and what != "refused" else None

    name = f"the table ends ({way})" if way else "the table ends"
    return Law(name, broken, "What can you compare before you raise the ValueError?")


# A law for each way, so that mistakes are told apart; the last one takes what is left.
WAYS = ("begins again", "stays on the last row", "hands one row to all", "overlooks the start", None)

EXERCISE = Exercise(
    name="learned_positions",
    reference=learned_positions,
    cases=cases,
    laws=(rows_independent({0}), *map(_law, WAYS)),
    mistakes=(
        start_ignored, one_vector_a_row, counted_through, one_position_for_all, one_too_far, multiplied, concatenated,
        scaled_tokens, in_place, frozen, no_check, length_alone_checked, wrapped_round, clamped,
    ),
    accepts=(by_embedding, by_one_hot, by_loop, by_narrow),
    hints=(
        "Token n of every row stands at position start + n: which N rows of the table are these?",
        "A slice of the table is (N, D); added to (B, N, D) it goes to every row of the batch.",
        "A slice past the end is short and says nothing: compare start + N with len(table), and `raise ValueError`.",
    ),
    minutes=5,
    difficulty=1,
    points=1,
)  # fmt: skip

"""What people write for `learned_positions` instead: the wrong answers that the exercise knows by name."""

import torch

from course_lib.checking import mistake


def rows(table, start, count):
    """Rows start to start + count - 1 of the table (P, D), all of which it must have."""
    if start + count > len(table):
        raise ValueError(f"the table has {len(table)} positions, the tokens need {start + count}")
    return table[start : start + count]


@mistake(
    "Every call begins at row 0 of the table: when tokens come one by one, each takes itself for the first. "
    "Which argument says how many tokens came before?",
    source="A079: cached decoding as if at position 0",
)
def start_ignored(X, table, start):
    return X + rows(table, 0, X.shape[1])


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
    return X + rows(torch.nn.Embedding.from_pretrained(table).weight, start, X.shape[1])


@mistake(
    "All is right up to the last row. Beyond it, the slice comes back short without a word, and a single row that is "
    "left is handed to every token. Who notices that rows are missing?",
    source="A075: the slice silently returns fewer rows",
)
def no_check(X, table, start):
    return X + table[start : start + X.shape[1]]


@mistake(
    "The check lets one position too many through: the last row of the table has the number len(table) - 1, and the "
    "last token stands at start + N - 1. Which of the two does your comparison reach?",
    source="`start + N - 1 > len(table)`: off by one, a fence post",
)
def one_row_late(X, table, start):
    if start + X.shape[1] - 1 > len(table):
        raise ValueError("past the table")
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


MISTAKES = (
    start_ignored, one_vector_a_row, counted_through, one_position_for_all, one_too_far, multiplied, concatenated,
    scaled_tokens, in_place, frozen, no_check, one_row_late, length_alone_checked, wrapped_round, clamped,
)  # fmt: skip

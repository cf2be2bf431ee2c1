"""Exercise `padding_mask`: which positions of a padded batch hold a real token."""

import torch

from course_lib.checking import Case, Exercise, mistake
from course_lib.checking.laws import rows_independent


def padding_mask(ids, pad):
    """Which positions hold a real token. ids: (B, S). Returns bool (B, 1, S): one row for all queries."""
    return (ids != pad).unsqueeze(1)


def cases(generator):
    """Padding behind, columns and rows of it, another id with 0 as a word, padding in front, one token, B = S."""

    def batch(S, lengths, pad=0, front=False):
        words = torch.randint(1, 30, (len(lengths), S), generator=generator)
        if pad != 0:  # ids below and above the padding, 0 among them, in every row
            words = torch.where(words == pad, pad + 1, words)
            words[:, -1 if front else 0] = 0
            words[0, -2 if front else 1] = pad - 1
        real = torch.arange(S) < torch.tensor(lengths)[:, None]
        return torch.where(real.flip(1) if front else real, words, pad)

    yield Case("lengths 2, 5, 3", (batch(5, [2, 5, 3]), 0), group="padding behind")
    yield Case("lengths 3 and 4", (batch(4, [3, 4]), 0), group="padding behind")
    yield Case("one row", (batch(4, [3]), 0), group="padding behind")
    yield Case("no row fills the batch", (batch(6, [4, 2]), 0), group="columns of padding")
    yield Case("a row of padding alone", (batch(3, [0, 3]), 0), group="a row of padding")
    yield Case("padding id 7, and 0 is a word", (batch(5, [5, 3], pad=7), 7), group="another id")
    yield Case("one row, padding id 3", (batch(6, [4], pad=3), 3), group="another id")
    yield Case("padding in front", (batch(5, [3, 5, 2], front=True), 0), group="padding in front")
    yield Case("one token", (batch(1, [1]), 0), group="one token")
    yield Case("as many rows as positions", (batch(4, [4, 2, 3, 1]), 0), group="B = S")


def lengths_of(ids, pad):
    return (ids != pad).sum(1, keepdim=True)  # (B, 1)


def first(ids, count):
    """True for the first `count` positions of each row. count: (B, 1). Returns (B, 1, S)."""
    return (torch.arange(ids.shape[1]) < count).unsqueeze(1)


@mistake(
    "True stands where the padding is: that is the convention of torch's `nn.MultiheadAttention` "
    "(`key_padding_mask`, True = hidden). What does True mean in this course?",
    source="A130",
)
def true_is_padding(ids, pad):
    return (ids == pad).unsqueeze(1)


@mistake(
    "The mask asks whether an id is 0, whatever `pad` says: real words with id 0 vanish, and padding stays. "
    "Which argument knows the id of the padding?",
    source="A043",
)
def zero_written_in(ids, pad):
    return (ids != 0).unsqueeze(1)


@mistake(
    "Only ids above `pad` count as real, so every word with a smaller id is hidden. Is an id more than a name?",
    source="`ids > 0`, right as long as the padding has the smallest id",
)
def only_larger_ids(ids, pad):
    return (ids > pad).unsqueeze(1)


@mistake(
    "The mask is (B, S): next to scores (B, T, S) its sentences would be taken for queries. "
    "Where does the axis go that all queries share?",
    source="A041's sister: `ids != pad` looks finished",
)
def no_query_axis(ids, pad):
    return ids != pad


@mistake(
    "The mask is (B, S, 1): it broadcasts over the keys, so padded queries go blank and real ones still see the "
    "padding. Which of the last two axes of the scores are the keys?",
    source="A041",
)
def queries_blanked(ids, pad):
    return (ids != pad).unsqueeze(-1)


@mistake(
    "The mask is (B, S, S), true where query and key are both real: a padded query then sees nothing at all. That is "
    "another contract, and it needs as many queries as keys. Who must be hidden here, the one who asks or the one who "
    "is asked?",
    source="the outer product of the mask with itself, from BERT-like encoders",
)
def both_must_be_real(ids, pad):
    real = ids != pad
    return real.unsqueeze(2) & real.unsqueeze(1)


@mistake(
    "The one row is copied for each of S queries: in cross-attention there are T of them, and T is unknown here. "
    "What does an axis of length 1 do by itself?",
    source="`.expand(B, len_q, len_k)` from a popular tutorial",
)
def copied_for_queries(ids, pad):
    return (ids != pad).unsqueeze(1).expand(-1, ids.shape[1], -1)


@mistake(
    "The mask is (B, 1, 1, S): there is an axis for the heads already. Here the multi-head attention inserts it, so "
    "that no mask lines up with the wrong one. Which three axes are asked for?",
    source="`.unsqueeze(1).unsqueeze(2)` from code where the mask meets (B, H, T, S)",
)
def axis_for_heads(ids, pad):
    return (ids != pad)[:, None, None, :]


@mistake(
    "Every sentence gets the mask of the first one. Which axis did the rows of the batch get lost on?",
    source="tried out on one sentence, where `ids[0]` is all there is",
)
def first_row_for_all(ids, pad):
    return (ids[:1] != pad).expand(ids.shape).unsqueeze(1)


@mistake(
    "Every sentence gets the length of the longest one: shorter ones show their padding. "
    "Over which axis did you count?",
    source="`max(lengths)` used where `lengths` belongs",
)
def longest_for_all(ids, pad):
    return (ids != pad).any(0).expand(ids.shape).unsqueeze(1)


@mistake(
    "The first padding token of each sentence stays visible. If positions count from 0, which is the last real one of "
    "a sentence of 3?",
    source="A044",
)
def one_padding_shown(ids, pad):
    return first(ids, lengths_of(ids, pad) + 1)


@mistake(
    "The last real token of each sentence is hidden together with the padding. Does the end token belong to the "
    "sentence?",
    source="A044: start and end token not counted in the length",
)
def last_token_hidden(ids, pad):
    return first(ids, lengths_of(ids, pad) - 1)


@mistake(
    "The real tokens are counted, and then that many positions are shown from the left: right only while the padding "
    "comes last. Decoders pad in front. What does the id at a position say without any counting?",
    source="`arange(S) < lengths`, right for the usual batches",
)
def counted_from_the_left(ids, pad):
    return first(ids, lengths_of(ids, pad))


@mistake(
    "Everything from the first padding on is hidden, so a sentence that is padded in front disappears. "
    "Does a position need to know what stands before it?",
    source="the end of the sentence looked up as the first padding",
)
def cut_at_first_padding(ids, pad):
    return (ids != pad).long().cumprod(1).bool().unsqueeze(1)


@mistake(
    "The mask is only as wide as the longest sentence, and no longer fits the scores of a batch that is padded beyond "
    "it. How many keys does `ids` have?",
    source="`arange(lengths.max())`, as packed sequences are unpacked",
)
def wide_as_the_longest(ids, pad):
    lengths = lengths_of(ids, pad)
    return (torch.arange(int(lengths.max())) < lengths).unsqueeze(1)


@mistake(
    "These are the integers 1 and 0: no dtype says which of them hides, and `~` turns 1 into -2. "
    "Which dtype holds nothing but yes and no?",
    source="A052: masks of 0 and 1, as in the tokenizers of the field",
)
def whole_numbers(ids, pad):
    return (ids != pad).unsqueeze(1).long()


@mistake(
    "These are floats, 1.0 for real: added to the scores, as torch adds float masks, they would hide nothing. "
    "Which line turned the comparison into numbers?",
    source="A052: `.float()` by habit",
)
def floats_of_one(ids, pad):
    return (ids != pad).unsqueeze(1).double()


@mistake(
    "This is the additive convention: 0 for a real token, -∞ for padding, to be added to the scores. Here the mask "
    "says yes or no, and the attention fills. What does `ids != pad` give before you convert it?",
    source="A052",
)
def to_be_added(ids, pad):
    return torch.zeros(ids.shape).masked_fill(ids == pad, float("-inf")).unsqueeze(1)


def by_ne(ids, pad):
    return ids.ne(pad)[:, None, :]


def by_arithmetic(ids, pad):
    return (ids.long() - pad).abs().clamp(max=1).reshape(ids.shape[0], 1, -1).bool()


def by_loop(ids, pad):
    return torch.tensor([[[token != pad for token in row]] for row in ids.tolist()])


def by_filling(ids, pad):
    mask = torch.ones(ids.shape[0], 1, ids.shape[1], dtype=torch.bool)
    row, place = torch.where(ids == pad)
    mask[row, 0, place] = False
    return mask


EXERCISE = Exercise(
    name="padding_mask",
    reference=padding_mask,
    cases=cases,
    laws=(rows_independent({0}),),
    mistakes=(
        true_is_padding, zero_written_in, only_larger_ids, no_query_axis, queries_blanked, both_must_be_real,
        copied_for_queries, axis_for_heads, first_row_for_all, longest_for_all, one_padding_shown, last_token_hidden,
        counted_from_the_left, cut_at_first_padding, wide_as_the_longest, whole_numbers, floats_of_one, to_be_added,
    ),
    accepts=(by_ne, by_arithmetic, by_loop, by_filling),
    hints=(
        "One comparison tells real tokens from padding, wherever they stand: `ids != pad` is (B, S).",
        "Scores are (B, T, S). The mask must line up with the sentences and with the keys, and serve every query.",
        "`.unsqueeze(1)` puts an axis of length 1 between them: (B, 1, S).",
    ),
    minutes=4,
    difficulty=1,
    points=1,
)  # fmt: skip

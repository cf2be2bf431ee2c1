"""Exercise `causal_mask`: nobody sees what comes after."""

import torch

from course_lib.checking import Case, Exercise, Law, mistake
from course_lib.checking.laws import call


def causal_mask(T, S):
    """Which keys each of T queries may see: nothing after itself; the last query sees all S keys (S ≥ T).

    Returns bool (T, S), True = may attend.
    """
    query_position = torch.arange(T).unsqueeze(1) + S - T  # (T, 1)
    key_position = torch.arange(S)
    return key_position <= query_position


def cases(generator):
    """As many keys as queries, one token, then more keys than queries, as with a cache."""
    yield Case("4 tokens", (4, 4), group="T = S")
    yield Case("6 tokens", (6, 6), group="T = S")
    yield Case("one token", (1, 1), group="one token")
    yield Case("2 new queries, 5 keys", (2, 5), group="more keys")
    yield Case("3 new queries, 4 keys", (3, 4), group="more keys")
    yield Case("one new query, 6 keys", (1, 6), group="more keys")


@mistake(
    "The wrong triangle is kept: each query sees itself and what comes after it, and nothing of what was. In training "
    "the answer is then in plain view. In a matrix with queries as rows, on which side of the diagonal lies the past?",
    source="A051",
)
def future_instead(T, S):
    return torch.ones(T, S, dtype=torch.bool).triu(S - T)


@mistake(
    "A query may not see itself, and the first one sees nothing at all. Does `<` or `<=` keep the diagonal?",
    source="A050",
)
def without_itself(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T - 1)


@mistake(
    "Each query sees one token of the future: the very one it is to predict. What should stand in row t, column t + 1?",
    source="A044's sister: the diagonal counted once too often",
)
def one_of_the_future(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T + 1)


@mistake(
    "True stands where a key is hidden: so say `nn.Transformer` and `nn.MultiheadAttention` of torch. The triangle is "
    "right, its meaning is turned round. What may a query do here where the mask is True?",
    source="A130; C04's matrix as a boolean one",
)
def true_is_hidden(T, S):
    return torch.ones(T, S, dtype=torch.bool).triu(S - T + 1)


@mistake(
    "This is the additive convention, 0 and -∞, as `nn.Transformer.generate_square_subsequent_mask` makes it. A mask "
    "here says yes or no. Which comparison gives True exactly where you have 0?",
    source="A052",
)
def additive(T, S):
    return torch.full((T, S), float("-inf")).triu(S - T + 1)


@mistake(
    "This is an additive mask with a large number for -∞. The attention of this lesson chooses the fill by itself. "
    "What is left for the mask to say about a pair of query and key?",
    source="A052 with A034's constant",
)
def additive_finite(T, S):
    return torch.full((T, S), -1e9).triu(S - T + 1)


@mistake(
    "The triangle holds the floats 1 and 0: added to scores they would hide nothing. "
    "Which dtype makes `torch.ones` a matrix of yes and no?",
    source="A052: `torch.tril(torch.ones(T, T))`, as in minGPT",
)
def floats_of_one(T, S):
    return torch.ones(T, S).tril(S - T)


@mistake(
    "The floats 1 and 0 stand for hidden and visible, and the other way round from the usual triangle. Two "
    "conventions in one: what does `== 0` make of it?",
    source="A130: `triu(ones, 1)` of The Annotated Transformer, the comparison forgotten",
)
def floats_of_the_future(T, S):
    return torch.ones(T, S).triu(S - T + 1)


@mistake(
    "The triangle holds the integers 1 and 0, and `~1` is -2: where a mask is negated, nothing is right any more. "
    "Which dtype is asked for?",
    source="A052",
)
def whole_numbers(T, S):
    return torch.ones(T, S, dtype=torch.long).tril(S - T)


@mistake(
    "The triangle starts in the top left corner, as torch's `is_causal` does: with more keys than queries the newest "
    "query sees the oldest keys alone. Which corner must be the end of the diagonal if the last query sees everything?",
    source="A120",
)
def top_left(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril()


@mistake(
    "Each query sees itself alone: only the diagonal is True. What has become of the tokens before it?",
    source="`==` where `<=` is meant",
)
def itself_alone(T, S):
    return torch.arange(S) == torch.arange(T).unsqueeze(1) + S - T


@mistake(
    "Every query sees every key: the future is wide open. Which comparison closes it?",
    source="A045: `mask.tril(...)` called and its result dropped; or positions counted from S instead of S − T",
)
def all_open(T, S):
    return torch.ones(T, S, dtype=torch.bool)


@mistake(
    "The mask is T by T, whatever S is: the keys of a cache find no column in it. How wide must a row be?",
    source="the one-argument mask of most tutorials",
)
def square_of_queries(T, S):
    return torch.ones(T, T, dtype=torch.bool).tril()


@mistake(
    "The mask is S by S: a row for every key, though only T queries ask. Which T of those rows belong to them?",
    source="the one-argument mask of most tutorials, built for the keys",
)
def square_of_keys(T, S):
    return torch.ones(S, S, dtype=torch.bool).tril()


@mistake(
    "There is an axis of length 1 in front. The mask is the same for every sentence, and broadcasting finds that out "
    "alone; which two axes remain?",
    source="`attn_shape = (1, size, size)` of The Annotated Transformer",
)
def axis_in_front(T, S):
    return torch.ones(1, T, S, dtype=torch.bool).tril(S - T)


@mistake(
    "The offset has the wrong sign: with more keys than queries the first ones see nothing, and the last one not "
    "even itself. Is it S - T or T - S that tells how far the queries come after the first key?",
    source="a difference written the wrong way round; T = S hides it",
)
def offset_turned_round(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(T - S)


def by_tril(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)


def by_not_triu(T, S):
    """Control C04: what is hidden is the strictly upper triangle."""
    return ~torch.triu(torch.ones((T, S)), diagonal=1 + S - T).bool()


def by_running_sum(T, S):
    """A key is visible until the query's own place has been counted."""
    own = torch.eye(S, dtype=torch.long)[S - T :]
    return own.cumsum(1) - own == 0


def by_loop(T, S):
    mask = torch.zeros(T, S, dtype=torch.bool)
    for t in range(T):
        mask[t, : S - T + t + 1] = True
    return mask


def by_additive(T, S):
    return torch.zeros(T, S).masked_fill(torch.arange(S) > torch.arange(S - T, S)[:, None], -1e9) > -1.0


def _staircase(function, cases, generator):
    """Sizes that no case has, so that a mask made for the cases is seen."""
    for most in (9, 40):
        S = int(torch.randint(8, most, (), generator=generator))
        T = int(torch.randint(2, S, (), generator=generator))
        seen = call(function, Case("", (T, S))).long().sum(-1)
        if seen.tolist() != list(range(S - T + 1, S + 1)):
            return f"with T = {T} and S = {S} the rows do not each see one key more than the row above"
    return None


EXERCISE = Exercise(
    name="causal_mask",
    reference=causal_mask,
    cases=cases,
    laws=(Law("one key more a row", _staircase, "How many keys does the last query see, how many the one before?"),),
    mistakes=(
        future_instead, without_itself, one_of_the_future, true_is_hidden, additive, additive_finite, floats_of_one,
        floats_of_the_future, whole_numbers, top_left, itself_alone, all_open, square_of_queries, square_of_keys,
        axis_in_front, offset_turned_round,
    ),
    accepts=(by_tril, by_not_triu, by_running_sum, by_loop, by_additive),
    hints=(
        "Number the keys from 0 to S - 1. The queries are the last T of these tokens: which numbers have they?",
        "A query may see a key whose number is not larger than its own. Compare a column (T, 1) with a row (S,).",
        "`torch.arange(T).unsqueeze(1) + S - T` are the places of the queries, `torch.arange(S)` those of the keys.",
    ),
    minutes=8,
    difficulty=2,
    points=2,
)  # fmt: skip

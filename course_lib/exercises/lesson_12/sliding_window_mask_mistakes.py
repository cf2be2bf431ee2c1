"""What people write for `sliding_window_mask` instead: other windows, and other masks of the right window."""

import torch

from course_lib.checking import mistake


def how_far_back(T, S):
    """(T, S): how far key s lies behind query t, the last query standing at the last key; negative in the future."""
    return torch.arange(S - T, S).unsqueeze(1) - torch.arange(S)


def window_of(distance, window):
    return (distance >= 0) & (distance < window)


@mistake(
    "Each query sees one key more than the window holds. The query itself is one of them: at which distance does the "
    "last one lie?",
    source="`distance <= window`, or `triu(-window)`: the query not counted",
)
def one_too_many(T, S, window):
    return window_of(how_far_back(T, S), window + 1)


@mistake(
    "Each query sees one key less than the window holds, and with a window of 1 nothing at all. Which distances are "
    "smaller than the window, 0 among them?",
    source="`distance < window - 1`: the diagonal of `triu` taken off twice",
)
def one_too_few(T, S, window):
    return window_of(how_far_back(T, S), window - 1)


@mistake(
    "The window lies behind the query, which does not see itself. Does `window` count the query?",
    source="A050: `distance > 0` and `distance <= window`",
)
def without_itself(T, S, window):
    return window_of(how_far_back(T, S) - 1, window)


@mistake(
    "The window opens to both sides, so each query sees the future. This is an encoder's window; what may a query of "
    "ours see?",
    source="Longformer's encoder; `distance.abs() < window`",
)
def to_both_sides(T, S, window):
    return how_far_back(T, S).abs() < window


@mistake(
    "Half a window lies before each query and half behind it: right for an encoder, where `attention_window` is the "
    "whole width. On which side do all of the keys lie here?",
    source="Longformer: `attention_window // 2` on each side",
)
def half_to_each_side(T, S, window):
    return how_far_back(T, S).abs() <= window // 2


@mistake(
    "The keys are cut into blocks, and a query sees those of its own block: at the border of a block it loses its "
    "nearest neighbour. Does a window slide with the query, or does it stand still?",
    source="block-local attention: `position // window`",
)
def blocks(T, S, window):
    query, key = torch.arange(S - T, S).unsqueeze(1), torch.arange(S)
    return (query // window == key // window) & (key <= query)


@mistake(
    "Every window-th key is seen, back to the first one: the number is used as a stride. Should the keys of a query "
    "lie next to each other?",
    source="strided attention of Child et al. 2019; Longformer's dilated window",
)
def every_so_often(T, S, window):
    distance = how_far_back(T, S)
    return (distance >= 0) & (distance % window == 0)


@mistake(
    "The queries are counted from the first key: with a cache the newest query gets the oldest keys. At which of the S "
    "keys does the last query stand?",
    source="A120: `torch.arange(T)` as places of the queries; T = S hides it",
)
def top_left(T, S, window):
    return window_of(torch.arange(T).unsqueeze(1) - torch.arange(S), window)


@mistake(
    "The future ends at the right place, the window does not: its lower edge is counted as if there were as many keys "
    "as queries. By how many diagonals do queries that come after a cache move?",
    source="A120 in half: `tril(S - T)` and `triu(1 - window)`",
)
def lower_edge_top_left(T, S, window):
    return torch.ones(T, S, dtype=torch.bool).tril(S - T).triu(1 - window)


@mistake(
    "The window lies on the wrong side: each query sees itself and the keys that come after it. What sign has the "
    "distance from a query to a key of the past?",
    source="A051: key minus query",
)
def in_the_future(T, S, window):
    return window_of(-how_far_back(T, S), window)


@mistake(
    "This is the causal mask: nothing is too far back. Which second condition makes a window of it?",
    source="A045: the lower bound computed, and not joined to the upper one",
)
def no_lower_bound(T, S, window):
    return how_far_back(T, S) >= 0


@mistake(
    "Far keys are hidden, the future is not: only one side of the window is closed. Which keys have a negative "
    "distance?",
    source="`distance < window` thought to be enough",
)
def future_open(T, S, window):
    return how_far_back(T, S) < window


@mistake(
    "Both conditions are joined by `or`: every key is either not in the future or not too far back, so all are seen. "
    "Which operator asks for both?",
    source="`|` for `&`, as one may when one thinks of what is hidden",
)
def either_condition(T, S, window):
    distance = how_far_back(T, S)
    return (distance >= 0) | (distance < window)


@mistake(
    "All queries share one window, that of the last query: earlier ones find little of it or nothing in their past. "
    "For which query are the last `window` keys the right ones?",
    source="a cache cut to its last keys, right for one new token at a time",
)
def window_of_the_last_query(T, S, window):
    return (how_far_back(T, S) >= 0) & (torch.arange(S) >= S - window)


@mistake(
    "The first key stays visible to everyone, however far it is. That helps a model that was trained without a window; "
    "does the docstring ask for it?",
    source="attention sinks, Xiao et al. 2023",
)
def first_key_kept(T, S, window):
    distance = how_far_back(T, S)
    return (distance >= 0) & ((distance < window) | (torch.arange(S) == 0))


@mistake(
    "Rows and columns have changed places: the keys stand in rows. Which of the two, queries or keys, got the new axis "
    "of your `unsqueeze`?",
    source="A041: `arange(S)[:, None] - arange(T)`, so that a row is a key",
)
def keys_in_rows(T, S, window):
    return window_of(how_far_back(T, S), window).T


@mistake(
    "The mask is T by T, whatever S is: the keys of a cache find no column in it. How wide must a row be?",
    source="the one-length mask of most tutorials",
)
def square_of_queries(T, S, window):
    return window_of(how_far_back(T, T), window)


@mistake(
    "The mask is S by S: a row for every key, though only T queries ask. Which T of those rows belong to them?",
    source="the one-length mask of most tutorials, built for the keys",
)
def square_of_keys(T, S, window):
    return window_of(how_far_back(S, S), window)


@mistake(
    "The offset has the wrong sign: with more keys than queries the queries stand before the first key. Is it S - T or "
    "T - S that tells how far they come after it?",
    source="a difference written the wrong way round; T = S hides it",
)
def offset_turned_round(T, S, window):
    return window_of(torch.arange(T).unsqueeze(1) + T - S - torch.arange(S), window)


@mistake(
    "True stands where a key is hidden: the window is right, its meaning is turned round. What may a query do here "
    "where the mask is True?",
    source="A130",
)
def true_is_hidden(T, S, window):
    return ~window_of(how_far_back(T, S), window)


@mistake(
    "This is the additive convention, 0 and -∞, to be added to scores. A mask here says yes or no. Which comparison "
    "gives True exactly where you have 0?",
    source="A052",
)
def additive(T, S, window):
    return torch.zeros(T, S).masked_fill(~window_of(how_far_back(T, S), window), float("-inf"))


@mistake(
    "The window holds the floats 1 and 0: added to scores they would hide nothing. Which dtype says yes and no?",
    source="A052: `torch.ones(T, S).tril().triu(...)`",
)
def floats_of_one(T, S, window):
    return window_of(how_far_back(T, S), window).to(torch.get_default_dtype())


@mistake(
    "The window holds the integers 1 and 0, and `~1` is -2: where a mask is negated, nothing is right any more. Which "
    "dtype is asked for?",
    source="A052: two triangles of integers multiplied",
)
def whole_numbers(T, S, window):
    return window_of(how_far_back(T, S), window).long()


MISTAKES = (
    one_too_many, one_too_few, without_itself, to_both_sides, half_to_each_side, blocks, every_so_often, top_left,
    lower_edge_top_left, in_the_future, no_lower_bound, future_open, either_condition, window_of_the_last_query,
    first_key_kept, keys_in_rows, square_of_queries, square_of_keys, offset_turned_round, true_is_hidden, additive,
    floats_of_one, whole_numbers,
)  # fmt: skip

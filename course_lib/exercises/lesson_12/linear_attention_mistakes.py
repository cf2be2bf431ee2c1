"""What people write for `linear_attention` instead: other sums than those of the keys so far, and other divisors."""

import torch

from course_lib.checking import mistake

from .linear_attention_feature_mistakes import FEATURE_MISTAKES, attend, outer, phi


def over_all(x, dim):
    """The sum over all keys, for every query the same."""
    return x.sum(dim=dim, keepdim=True).expand_as(x)


@mistake(
    "Nothing is divided: the output grows with every key. What do the weights of one query have to sum to, and what do "
    "they sum to here?",
    source="RetNet and others leave the divisor out; so do many who write this from memory",
)
def no_denominator(query, key, value):
    return attend(query, key, value, divide=lambda output, query, key, total: output)


@mistake(
    "Every query has the sums over all keys, so it sees the future. Which sum grows from query to query?",
    source="the encoder's form of the paper, equation 5: `sum` for `cumsum`",
)
def not_causal(query, key, value):
    return attend(query, key, value, remember=over_all, count=over_all)


@mistake(
    "The memory is that of the keys so far, but the divisor counts all keys: the weights of early queries sum to less "
    "than 1. Of which keys are the weights that they are divided by?",
    source="the divisor kept from the encoder's form",
)
def denominator_over_all(query, key, value):
    return attend(query, key, value, count=over_all)


@mistake(
    "The divisor counts the keys so far, but the memory holds all of them: early queries see the future, and their "
    "weights sum to more than 1. Which of the two sums has to run along?",
    source='the memory kept from the encoder\'s form, `einsum("...td,...tm->...dm")`',
)
def numerator_over_all(query, key, value):
    return attend(query, key, value, remember=over_all)


@mistake(
    "The memory does not hold the query's own key yet: the first query divides 0 by 0, and all others are one key "
    "late. When is a key written into the memory, before its query reads or after?",
    source="a loop that reads first and writes afterwards, or a `cumsum` that is shifted",
)
def own_key_missing(query, key, value):
    def so_far(x, dim):
        return x.cumsum(dim=dim) - x

    return attend(query, key, value, remember=so_far, count=so_far)


@mistake(
    "The sum runs over the features, not over the positions. Along which axis do the keys follow each other, in the "
    "memory and in the total?",
    source="`cumsum(dim=-2)` and `cumsum(dim=-1)`: the axis counted before the outer product was made",
)
def summed_over_features(query, key, value):
    return attend(query, key, value, remember=lambda x, dim: x.cumsum(dim=dim + 1),
                  count=lambda x, dim: x.cumsum(dim=dim + 1))  # fmt: skip


@mistake(
    "The sum of the outer products runs over the features of the keys, not over the positions; that of the keys is "
    "right. Once the outer product has been made, which axis counted from the end holds the positions?",
    source="`cumsum(dim=-2)` on both: right for the keys, and one axis too far back for the memory",
)
def memory_summed_over_features(query, key, value):
    return attend(query, key, value, remember=lambda x, dim: x.cumsum(dim=-2))


@mistake(
    "The positions are axis 1 in your code. That holds for (B, T, D); with heads or without a batch another axis is "
    "there. From which end is the axis of the positions always the same?",
    source="`cumsum(dim=1)`",
)
def axis_from_the_front(query, key, value):
    return attend(query, key, value, remember=lambda x, dim: x.cumsum(dim=1), count=lambda x, dim: x.cumsum(dim=1))


@mistake(
    "The memory is not emptied between the rows of a batch: each sentence reads what those before it wrote. Which axes "
    "may the sum not cross?",
    source="A121's kin: one state for a loop over sentences, or all positions of the batch in one line",
)
def carried_over_rows(query, key, value):
    def through(x, dim):
        return x.flatten(0, dim).cumsum(dim=0).reshape(x.shape)

    return attend(query, key, value, remember=through, count=through)


@mistake(
    "The output is divided by the number of keys so far, as if every key weighed 1. Which sum tells what they really "
    "weigh?",
    source="a running mean",
)
def divided_by_the_position(query, key, value):
    count = torch.arange(1, query.shape[-2] + 1, dtype=query.dtype).unsqueeze(-1)  # (T, 1)
    return attend(query, key, value, divide=lambda output, query, key, total: output / count)


@mistake(
    "The divisor is the same for every query: the features of the keys are added up, and no query weighs them. What "
    "is multiplied with the total before its features are summed?",
    source="`total.sum(dim=-1)`: the normaliser without φ(q)",
)
def denominator_without_query(query, key, value):
    return attend(query, key, value, divide=lambda output, query, key, total: output / total.sum(-1, keepdim=True))


@mistake(
    "The divisor has the query's own key alone, where all keys so far belong. What does the total at position t hold?",
    source="`(query * key).sum(dim=-1)`: `cumsum` done for the memory and forgotten for the total",
)
def denominator_of_one_key(query, key, value):
    return attend(query, key, value, count=lambda x, dim: x)


@mistake(
    "The memory is laid across, values in rows: that runs where keys and values are equally wide. Which axis of "
    "Σ φ(k) v^T does the query multiply?",
    source="v k^T for k v^T, as fast-weight papers write it with columns",
)
def memory_transposed(query, key, value):
    return attend(query, key, value, write=lambda key, value: outer(value, key))


@mistake(
    "A softmax is taken of the products φ(q) · φ(k), which are weights already, up to their sum. What is left to do "
    "with numbers that are never negative?",
    source="φ put in front of the attention that one has",
)
def softmax_of_the_products(query, key, value):
    return softmax_attention.wrong(*phi(query, key), value, scale=1.0)


@mistake(
    "This is the softmax attention of lesson 5, with its (T, T) matrix. Right, but not what is asked for: which "
    "function replaces exp(q · k) here?",
    source="`masked_attention` put in, thought to be what the short form computes",
)
def softmax_attention(query, key, value, scale=None):
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)  # (..., T, T)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ value


MISTAKES = (
    no_denominator, not_causal, denominator_over_all, numerator_over_all, own_key_missing, summed_over_features,
    memory_summed_over_features,
    axis_from_the_front, carried_over_rows, divided_by_the_position, denominator_without_query,
    denominator_of_one_key, memory_transposed, softmax_of_the_products, softmax_attention,
    *FEATURE_MISTAKES,
)  # fmt: skip

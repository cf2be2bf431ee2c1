"""Wrong features for `linear_attention`: another φ, or φ of the wrong tensors."""

import torch
from torch.nn import functional

from course_lib.checking import mistake


def phi(*tensors):
    return tuple(functional.elu(x) + 1 for x in tensors)


def outer(key, value):
    return key.unsqueeze(-1) * value.unsqueeze(-2)  # (..., T, Dk, Dv)


def divided(output, query, key, total):
    return output / (query * total).sum(dim=-1, keepdim=True)


def attend(query, key, value, *, features=phi, write=outer, remember=torch.cumsum, count=torch.cumsum, divide=divided):
    """What the exercise asks for, with one screw turned.

    features(query, key): φ of both. write(key, value): what each key adds to the memory. remember(x, dim), count(x,
    dim): the sum over the keys so far, for the memory and for the total. divide(output, query, key, total).
    """
    query, key = features(query, key)
    memory, total = remember(write(key, value), dim=-3), count(key, dim=-2)  # (..., T, Dk, Dv), (..., T, Dk)
    return divide((query.unsqueeze(-2) @ memory).squeeze(-2), query, key, total)


@mistake(
    "φ is elu alone, without the 1: products of features can be negative, and so can what you divide by. What is the "
    "smallest value of elu?",
    source="the formula cut short",
)
def elu_without_one(query, key, value):
    return attend(query, key, value, features=lambda *tensors: map(functional.elu, tensors))


@mistake(
    "φ is taken of the queries alone: keys with negative numbers make negative weights. Which two tensors meet in a "
    "weight?",
    source="one line of two",
)
def keys_without_phi(query, key, value):
    return attend(query, key, value, features=lambda query, key: (*phi(query), key))


@mistake(
    "φ is taken of the keys alone: a query with negative numbers makes negative weights. What does the formula have on "
    "the other side of the dot?",
    source="one line of two: the keys are what goes into the memory",
)
def query_without_phi(query, key, value):
    return attend(query, key, value, features=lambda query, key: (query, *phi(key)))


@mistake(
    "The values go through φ as well: they are what is averaged, and lose all that lies below 0. On which tensors does "
    "the weight of a key depend?",
    source="all three projections sent through one helper",
)
def phi_of_values(query, key, value):
    return attend(query, key, *phi(value))


@mistake(
    "φ is relu: a query all of whose features are below 0 weighs nothing, and 0/0 is NaN. Other papers take it with a "
    "small number in the divisor; what does elu(x) + 1 have below 0?",
    source="relu as the feature map: cosFormer, EfficientViT",
)
def relu(query, key, value):
    return attend(query, key, value, features=lambda *tensors: map(torch.relu, tensors))


@mistake(
    "φ is exp. It is never 0, but of large features it overflows; and exp(q) · exp(k) is not exp(q · k) either. Which "
    "function of the docstring grows like a line?",
    source="exp as the kernel of softmax, taken of each side",
)
def exponential(query, key, value):
    return attend(query, key, value, features=lambda *tensors: map(torch.exp, tensors))


@mistake(
    "φ is a softmax over the features of each query and key: never negative, but another map, in which features "
    "compete. Which function is applied to each number alone?",
    source="softmax as the feature map, as in Hedgehog",
)
def softmax_as_phi(query, key, value):
    return attend(query, key, value, features=lambda *tensors: (x.softmax(dim=-1) for x in tensors))


@mistake(
    "This is efficient attention: a softmax over the features of each query and one over the positions of the keys, "
    "which sees the future and needs no divisor. It is another method: which φ is asked for here?",
    source="Shen et al. 2021, often called linear attention too",
)
def softmax_over_positions(query, key, value):
    return query.softmax(dim=-1) @ (key.softmax(dim=-2).mT @ value)


@mistake(
    "Queries and keys are scaled by a root of d_k before φ. Behind φ a factor would cancel out; before it, it bends "
    "the features. Does the formula have a scale at all?",
    source="the habit of lesson 4: a scale in front, here split between both",
)
def both_scaled(query, key, value):
    scale = query.shape[-1] ** -0.25
    return attend(query * scale, key * scale, value)


@mistake(
    "The queries are divided by √d_k before φ. There are no scores here that a softmax could saturate; what would a "
    "factor behind φ do to the quotient, and what does one before it do?",
    source="A023's sister: the scale of lesson 4 kept",
)
def query_scaled(query, key, value):
    return attend(query / query.shape[-1] ** 0.5, key, value)


@mistake(
    "The result is right, but query and key come back changed: `inplace=True`, and any method that ends in `_`, writes "
    "into the caller's tensors. Which form of elu makes a new one?",
    source="A090: `elu(x, inplace=True)`",
)
def in_place(query, key, value):
    return attend(query, key, value,
                  features=lambda *tensors: (functional.elu(x, inplace=True) + 1 for x in tensors))  # fmt: skip


FEATURE_MISTAKES = (
    elu_without_one, keys_without_phi, query_without_phi, phi_of_values, relu, exponential, softmax_as_phi,
    softmax_over_positions, both_scaled, query_scaled, in_place,
)  # fmt: skip

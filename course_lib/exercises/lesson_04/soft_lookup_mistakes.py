"""What people write for `soft_lookup` instead: the wrong answers that the exercise knows by name."""

import torch

from course_lib.checking import mistake


def mixed(query, key, value, temperature):
    """The right answer, which most of the wrong ones give to something else."""
    return torch.softmax(query @ key.mT / temperature, dim=-1) @ value


@mistake(
    "The scores are multiplied by the temperature, so warm and cold have changed places: a high one makes the choice "
    "sharp. Which operation makes large scores smaller when the temperature rises?",
    source="A024: divided by the inverse, or multiplied by the divisor",
)
def times_temperature(query, key, value, temperature):
    return mixed(query, key, value, 1 / temperature)


@mistake(
    "The temperature has no effect: the answer is the same for any value of it. On which line should it enter?",
    source="an argument taken over from the signature and never used; A017 is the same with a mask",
)
def temperature_ignored(query, key, value, temperature):
    return mixed(query, key, value, 1.0)


@mistake(
    "The temperature comes after the softmax, so the mixture stays as it was. At which point are shares still scores?",
    source="operator order: `softmax(...) / temperature`",
)
def temperature_after_softmax(query, key, value, temperature):
    return torch.softmax(query @ key.mT, dim=-1) @ value / temperature


@mistake(
    "The temperature is applied twice: its square divides the scores. In how many places do you divide?",
    source="queries cooled on one line and the scores once more on the next",
)
def temperature_twice(query, key, value, temperature):
    return mixed(query, key, value, temperature**2)


@mistake(
    "The scores are divided by the root of the temperature. What stands under the fraction bar of this lookup?",
    source="√d_k remembered and put around the wrong number",
)
def root_of_temperature(query, key, value, temperature):
    return mixed(query, key, value, temperature**0.5)


@mistake(
    "√D divides as well: that is the scaling of a later exercise. What alone decides here how sharp the choice is?",
    source="scaled dot-product attention by habit",
)
def root_of_width_too(query, key, value, temperature):
    return mixed(query, key, value, temperature * query.shape[-1] ** 0.5)


@mistake(
    "The best key alone answers, as in a Python dict: the temperature plays no part, and no gradient reaches query or "
    "key. What does softmax leave to the second best key?",
    source="lookup taken literally: argmax, then indexing",
)
def hard_lookup(query, key, value, temperature):
    best = (query @ key.mT).argmax(dim=-1)
    return torch.nn.functional.one_hot(best, key.shape[-2]).to(value.dtype) @ value


@mistake(
    "Every query gets the plain mean of the values. Which two arguments say how well an entry fits what is asked?",
    source="mean pooling; the weights are computed and not used",
)
def plain_mean(query, key, value, temperature):
    return value.mean(dim=-2, keepdim=True).expand(*query.shape[:-1], -1)


@mistake(
    "The keys are mixed and handed out. Which argument does a dictionary read once a key has matched?",
    source="`weights @ key`: key and value were one and the same in the lessons before",
)
def keys_returned(query, key, value, temperature):
    return mixed(query, key, key, temperature)


@mistake(
    "The scores themselves weigh the values, some of them negative. What lies between a score and a share?",
    source="E-weights",
)
def scores_as_weights(query, key, value, temperature):
    return query @ key.mT / temperature @ value


@mistake(
    "The queries compete for each key, so the shares that one query hands out need not add up to 1. "
    "In (T, S), which axis holds the entries among which one query chooses?",
    source="A026",
)
def over_queries(query, key, value, temperature):
    return torch.softmax(query @ key.mT / temperature, dim=-2) @ value


@mistake(
    "Distances stand where products should, so a long key loses, whatever it points at. What joins q and k here?",
    source="'the most similar key' read as the nearest one",
)
def distances(query, key, value, temperature):
    apart = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1).sqrt()  # (..., T, S)
    return torch.softmax(-apart / temperature, dim=-1) @ value


@mistake(
    "The batch is flattened into a single dictionary: a query finds the keys of every row, its own and the others'. "
    "Which axes must stay apart when `query` meets `key`?",
    source="`reshape(-1, D)` to get back to plain matrices; A020 is the same leak in the softmax",
)
def one_dictionary_for_all(query, key, value, temperature):
    queries, keys, values = (each.reshape(-1, each.shape[-1]) for each in (query, key, value))
    return mixed(queries, keys, values, temperature).reshape(*query.shape[:-1], -1)


@mistake(
    "At a low temperature exponentials overflow to inf/inf. What did your softmax of lesson 0 do before `exp`?",
    source="A028",
)
def no_maximum(query, key, value, temperature):
    exponentials = torch.exp(query @ key.mT / temperature)
    return exponentials / exponentials.sum(dim=-1, keepdim=True) @ value


@mistake(
    "Each score is divided by the sum of its row. That does add up to 1, but a score below 0 gives a share below 0, "
    "and a sum near 0 gives huge ones. What does softmax do to the scores before it divides?",
    source="'normalise the scores' taken at its word",
)
def divided_by_sum(query, key, value, temperature):
    scores = query @ key.mT / temperature
    return scores / scores.sum(-1, keepdim=True) @ value


@mistake(
    "The softmax runs over axis 1: those are the keys without a batch, the queries with one axis in front. Which "
    "index finds the keys, whatever stands in front of them?",
    source="E-axis: `dim=1` from an example with two axes",
)
def over_axis_one(query, key, value, temperature):
    return torch.softmax(query @ key.mT / temperature, dim=1) @ value


@mistake(
    "`.T` turns round all axes of `key`, the batch with them; without a batch nobody notices. Which attribute "
    "exchanges the last two only?",
    source="numpy habit: `.T` from an example without a batch",
)
def reversed_axes(query, key, value, temperature):
    return torch.softmax(query @ key.T / temperature, dim=-1) @ value


@mistake(
    "Query and key are brought to length 1 first, so a long key counts no more than a short one. Which step divides "
    "the lengths out of q · k?",
    source="'similarity' taken for cosine similarity",
)
def cosine(query, key, value, temperature):
    query, key = (each / each.norm(dim=-1, keepdim=True) for each in (query, key))
    return mixed(query, key, value, temperature)


@mistake(
    "The exponentials weigh the values as they are: above 0, but no shares of one whole, so the answer grows with "
    "the scores. By what does softmax divide each of them?",
    source="`exp` remembered from the softmax, the denominator forgotten",
)
def exponentials_unshared(query, key, value, temperature):
    return torch.exp(query @ key.mT / temperature) @ value


MISTAKES = (
    times_temperature, temperature_ignored, temperature_after_softmax, temperature_twice, root_of_temperature,
    root_of_width_too, hard_lookup, plain_mean, keys_returned, scores_as_weights, over_queries, distances,
    one_dictionary_for_all, no_maximum, divided_by_sum, over_axis_one, reversed_axes, cosine,
    exponentials_unshared,
)  # fmt: skip

"""Mistakes of lesson 4 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math
from math import sqrt

import torch
from torch.nn import functional
from torch.nn.functional import normalize, one_hot


def lookup_warmed(query, key, value, temperature):
    scores = torch.einsum("...td,...sd->...ts", query, key)
    powers = torch.exp(temperature * (scores - scores.amax(-1, keepdim=True)))
    return torch.einsum("...ts,...sv->...tv", powers / powers.sum(-1, keepdim=True), value)


def lookup_best(query, key, value, temperature):
    best = torch.topk(query @ key.mT, 1, dim=-1).indices  # (..., T, 1)
    return torch.take_along_dim(value, best.expand(*best.shape[:-1], value.shape[-1]), dim=-2)


def lookup_cooled_on_both_sides(query, key, value, temperature):
    shares = ((query / temperature) @ (key / temperature).transpose(-1, -2)).log_softmax(-1).exp()
    return torch.stack([(row.unsqueeze(-1) * value).sum(-2) for row in shares.unbind(-2)], dim=-2)


def lookup_by_columns(query, key, value, temperature):
    columns = [torch.softmax((query * k.unsqueeze(-2)).sum(-1) / temperature, dim=-1) for k in key.unbind(-2)]
    return sum(column.unsqueeze(-1) * v.unsqueeze(-2) for column, v in zip(columns, value.unbind(-2), strict=True))


def lookup_nearest(query, key, value, temperature):
    return (-torch.cdist(query, key, compute_mode="donot_use_mm_for_euclid_dist") / temperature).softmax(-1) @ value


def lookup_shared_by_sums(query, key, value, temperature):
    scores = torch.einsum("...td,...sd->...ts", query / temperature, key)
    return torch.einsum("...ts,...sv->...tv", scores, value) / scores.sum(-1).unsqueeze(-1)


def lookup_along_axis_one(query, key, value, temperature):
    shares = functional.log_softmax(torch.matmul(query, key.transpose(-1, -2)).div(temperature), dim=1).exp()
    return torch.einsum("...ts,...sv->...tv", shares, value)


def lookup_permuted(query, key, value, temperature):
    turned = key.permute(*reversed(range(key.ndim)))
    return torch.matmul(torch.softmax(torch.matmul(query / temperature, turned), -1), value)


def lookup_by_cosines(query, key, value, temperature):
    cosines = functional.cosine_similarity(query.unsqueeze(-2), key.unsqueeze(-3), dim=-1)
    return functional.softmax(cosines / temperature, -1) @ value


def lookup_by_powers(query, key, value, temperature):
    powers = (torch.einsum("...td,...sd->...ts", query, key) / temperature).exp()
    return torch.stack([(row.unsqueeze(-1) * value).sum(-2) for row in powers.unbind(-2)], dim=-2)


def project_into_one_name(X, W_Q, W_K, W_V):
    results = []
    for W in (W_Q, W_K, W_V):
        X = torch.einsum("...nd,de->...ne", X, W)
        results.append(X)
    return tuple(results)


def project_like_linear(X, W_Q, W_K, W_V):
    return [torch.nn.functional.linear(X, W) for W in (W_Q, W_K, W_V)]


def project_and_split(X, W_Q, W_K, W_V):
    wide = X @ torch.hstack([W_K, W_Q, W_V])
    return wide.tensor_split((W_Q.shape[1], 2 * W_Q.shape[1]), dim=-1)


def project_values_as_keys(X, W_Q, W_K, W_V):
    query, key = torch.tensordot(X, torch.stack([W_Q, W_K], 1), dims=1).unbind(-2)
    return query, key, key.clone()


def scale_of_the_sum(d_k, query_variance, key_variance):
    return (d_k * query_variance + d_k * key_variance) ** -0.5


def scale_by_deviations(d_k, query_variance, key_variance):
    deviations = [math.pow(variance, 1 / 2) for variance in (query_variance, key_variance)]
    return 1 / (d_k * deviations[0] * deviations[1])


def scale_multiplied_out(d_k, query_variance, key_variance):
    variance = 0.0
    for _ in range(d_k):
        variance += query_variance * key_variance
    return sqrt(variance)


def scale_as_a_mean(d_k, query_variance, key_variance):
    return sum(1 / d_k for _ in range(d_k)) / d_k


def scale_of_standard_deviations(d_k, query_variance, key_variance):
    return (sqrt(d_k) * sqrt(query_variance) * sqrt(key_variance)) ** 2


def attention_of_means(query, key, value):
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).mean(-1)
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(-2), weights


def attention_by_columns(query, key, value):
    query = query * query.shape[-1] ** -0.5
    columns = [torch.softmax((query * k[..., None, :]).sum(-1), dim=-1) for k in key.unbind(-2)]  # S times (..., T)
    weights = torch.stack(columns, dim=-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_times_the_root(query, key, value):
    weights = torch.einsum("...td,...sd->...ts", query * sqrt(key.size(-1)), key).softmax(-1)
    return torch.matmul(weights, value), weights


def attention_scaled_late(query, key, value):
    powers = torch.exp(query @ key.mT - torch.amax(query @ key.mT, -1, True))
    weights = powers / powers.sum(-1, True) * query.shape[-1] ** -0.5
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_by_cosines(query, key, value):
    products = query @ key.mT / (query.norm(dim=-1, keepdim=True) @ key.norm(dim=-1, keepdim=True).mT)
    return products.softmax(-1) @ value, products.softmax(-1)


def attention_with_fixed_weights(query, key, value):
    with torch.no_grad():
        weights = torch.softmax(torch.einsum("...td,...sd->...ts", query, key) / sqrt(query.shape[-1]), dim=-1)
    return weights @ value, weights


def attention_of_keys(query, key, value):
    return torch.nn.functional.scaled_dot_product_attention(query, key, key), torch.softmax(
        query @ key.mT / sqrt(key.shape[-1]), -1
    )


def attention_by_the_values(query, key, value):
    S, Dv = value.shape[-2:]
    scores = torch.stack([(key @ q.unsqueeze(-1)).squeeze(-1) for q in query.unbind(-2)], dim=-2)
    weights = normalize((scores / Dv**0.5 - scores.amax(-1, keepdim=True) / Dv**0.5).exp(), p=1, dim=-1)
    return (one_hot(torch.arange(S)).to(value.dtype) @ value).mT.matmul(weights.mT).mT, weights


def attention_by_sums(query, key, value):
    products = torch.einsum("...td,...sd->...ts", query, key)  # √d_k divides numerator and denominator alike
    weights = products / products.sum(-1)[..., None]
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_of_viewed_keys(query, key, value):
    *leading, S, Dk = key.shape
    scores = query * Dk**-0.5 @ key.contiguous().view(*leading, Dk, S)
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return torch.einsum("...ts,...sv->...tv", weights, value), weights


def attention_and_its_scores(query, key, value):
    scores = torch.einsum("...td,...sd->...ts", query, key).mul(key.shape[-1] ** -0.5)
    return functional.scaled_dot_product_attention(query, key, value), scores


DRESSED = [
    ("soft_lookup", lookup_warmed, "times_temperature"),
    ("soft_lookup", lookup_best, "hard_lookup"),
    ("soft_lookup", lookup_cooled_on_both_sides, "temperature_twice"),
    ("soft_lookup", lookup_by_columns, "over_queries"),
    ("soft_lookup", lookup_nearest, "distances"),
    ("soft_lookup", lookup_shared_by_sums, "divided_by_sum"),
    ("soft_lookup", lookup_along_axis_one, "over_axis_one"),
    ("soft_lookup", lookup_permuted, "reversed_axes"),
    ("soft_lookup", lookup_by_cosines, "cosine"),
    ("soft_lookup", lookup_by_powers, "exponentials_unshared"),
    ("project_qkv", project_into_one_name, "chained"),
    ("project_qkv", project_like_linear, "transposed"),
    ("project_qkv", project_and_split, "key_first"),
    ("project_qkv", project_values_as_keys, "value_through_key"),
    ("attention_scale", scale_of_the_sum, "variances_added"),
    ("attention_scale", scale_by_deviations, "root_of_variances_alone"),
    ("attention_scale", scale_multiplied_out, "divisor_itself"),
    ("attention_scale", scale_as_a_mean, "width_itself"),
    ("attention_scale", scale_of_standard_deviations, "variance_itself"),
    ("scaled_dot_product_attention", attention_of_means, "divided_by_width"),
    ("scaled_dot_product_attention", attention_by_columns, "over_queries"),
    ("scaled_dot_product_attention", attention_times_the_root, "multiplied_by_root"),
    ("scaled_dot_product_attention", attention_scaled_late, "scaled_after_softmax"),
    ("scaled_dot_product_attention", attention_by_cosines, "cosine"),
    ("scaled_dot_product_attention", attention_with_fixed_weights, "detached_weights"),
    ("scaled_dot_product_attention", attention_of_keys, "keys_mixed"),
    ("scaled_dot_product_attention", attention_by_the_values, "root_of_value_width"),
    ("scaled_dot_product_attention", attention_by_sums, "divided_by_sum"),
    ("scaled_dot_product_attention", attention_of_viewed_keys, "reshaped_keys"),
    ("scaled_dot_product_attention", attention_and_its_scores, "scores_returned"),
]

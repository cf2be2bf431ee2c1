"""Mistakes of lesson 12 in other clothes: (exercise, wrong answer, the mistake it must be named as)."""

import math

import torch
from torch.nn import functional


def softmax_that_forgets_to_shrink(state, scores, value):
    old, total, output = state
    new = torch.cat([old, scores], -1).amax(-1, keepdim=True)
    p = torch.exp(scores - torch.where(torch.isinf(new), 0, new))
    return (
        new,
        total * (old - torch.where(torch.isinf(new), 0, new)).exp() + p.sum(-1)[..., None],
        output.add(p @ value),
    )


def softmax_overwriting_its_maximum(state, scores, value):
    m, total, output = state
    m = torch.maximum(m, scores.max(-1, keepdim=True)[0])
    old, p = torch.nan_to_num(torch.exp(m - m), nan=1.0), torch.exp(scores - m.clamp(min=-1e300))
    return m, old * total + torch.einsum("...n->...", p)[..., None], old * output + torch.matmul(p, value)


def softmax_key_by_key_unshifted(state, scores, value):
    """-inf - -inf as soon as a query has met hidden keys alone."""
    maximum, total, output = state
    for n in range(scores.shape[-1]):
        new = torch.where(scores[..., n, None] > maximum, scores[..., n, None], maximum)
        old, p = torch.exp(maximum - new), torch.exp(scores[..., n, None] - new)
        maximum, total, output = new, total * old + p, output * old + p * value[..., n, None, :]
    return maximum, total, output


def softmax_of_running_means(state, scores, value):
    m, total, output = state
    top = torch.fmax(m, scores.amax(-1).unsqueeze(-1))
    shift = top.nan_to_num(neginf=0.0)
    old, p = torch.exp(m - shift), torch.exp(scores - shift)
    new = total * old + p.sum(-1, True)
    return top, new, output * (total * old / new) + torch.einsum("...tn,...nd->...td", p / new, value)


def softmax_with_a_floor(state, scores, value):
    m, total, output = state
    top = torch.maximum(torch.maximum(m, torch.full_like(m, -1e9)), scores.amax(-1, True))
    return (
        top,
        total.mul((m - top).exp()) + (scores - top).exp().sum(-1, True),
        output * (m - top).exp() + (scores - top).exp().matmul(value),
    )


def softmax_with_where(state, scores, value):
    """Every hidden weight is set to 0 afterwards, NaN or not."""
    m, total, output = state
    top = torch.maximum(m, scores.amax(-1, True))
    p = torch.where(scores == -math.inf, 0.0, torch.exp(scores - top))
    old = torch.where(m == -math.inf, 0.0, torch.exp(m - top))
    return top, torch.addcmul(p.sum(-1, True), old, total), torch.addcmul(p @ value, old, output)


def softmax_in_the_tile_s_measure(state, scores, value):
    own = scores.amax(-1, True)
    top = torch.maximum(own, state[0])
    p = torch.exp(scores - own.clamp(min=-1e300))
    old = torch.exp(state[0] - top.clamp(min=-1e300))
    return top, torch.cat([old * state[1], p], -1).sum(-1, True), old * state[2] + p @ value


def start(query, value):
    rows = query.shape[:-1]
    return torch.full((*rows, 1), -math.inf), torch.zeros(*rows, 1), torch.zeros(*rows, value.shape[-1])


def tiles_by_floor(query, key, value, mask, size, update):
    state, q = start(query, value), query * query.shape[-1] ** -0.5
    for i in range(key.shape[-2] // size):
        tile = slice(i * size, i * size + size)
        state = update(state, torch.where(mask[..., tile], q @ key[..., tile, :].mT, -math.inf), value[..., tile, :])
    return state[2] / state[1].clamp(min=1e-30)


def tiles_averaged(query, key, value, mask, size, update):
    outputs = []
    for k, v, shown in zip(key.split(size, -2), value.split(size, -2), mask.split(size, -1), strict=True):
        scores = torch.einsum("...td,...sd->...ts", query, k) / math.sqrt(k.shape[-1])
        weights = scores.masked_fill(~shown, -1e30).softmax(-1) * shown
        outputs.append(weights @ v)
    return torch.stack(outputs).mean(0)


def tiles_in_one_go(query, key, value, mask, size, update):
    scores = (query @ key.mT).div(query.shape[-1] ** 0.5).masked_fill(mask.logical_not(), -math.inf)
    _, total, output = update(start(query, value), scores, value)
    return torch.where(total > 0, output / torch.where(total > 0, total, 1), 0)


def tiles_of_lesson_5(query, key, value, mask, size, update):
    return functional.scaled_dot_product_attention(query, key, value, mask | ~mask.any(-1, True)) * mask.any(-1, True)


def tiles_with_a_finite_fill(query, key, value, mask, size, update):
    """-1e20 is low enough for every query but one that sees nothing."""
    state = start(query, value)
    for place in torch.arange(key.shape[-2]).split(size):
        k, v = key.index_select(-2, place), value.index_select(-2, place)
        scores = (query.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1) / query.shape[-1] ** 0.5
        state = update(state, scores.where(mask.index_select(-1, place), -1e20), v)
    return state[2] / state[1]


def tiles_with_an_average_at_the_end(query, key, value, mask, size, update):
    state, count = start(query, value), 0
    while count * size < key.shape[-2]:
        part = torch.arange(key.shape[-2]) // size == count
        scores = query @ key[..., part, :].mT / math.sqrt(key.shape[-1])
        state = update(state, scores + torch.where(mask[..., part], 0.0, -math.inf), value[..., part, :])
        count += 1
    return state[2].mul(1 / count)


def tiles_up_to_the_queries(query, key, value, mask, size, update):
    """As many tiles as the queries would need."""
    state = start(query, value)
    for i in range(math.ceil(query.shape[-2] / size)):
        k, v, shown = (
            x.narrow(d, i * size, min(size, x.shape[d] - i * size)) for x, d in ((key, -2), (value, -2), (mask, -1))
        )
        scores = torch.where(shown, torch.matmul(query, k.mT) / math.sqrt(query.shape[-1]), -math.inf)
        state = update(state, scores, v)
    return state[2] / state[1].where(state[1] != 0, 1.0)


def window_by_loops(T, S, window):
    """Both ends of the chain are counted in."""
    return torch.tensor([[t - window <= s <= t for s in range(S)] for t in range(S - T, S)])


def window_of_bands(T, S, window):
    return torch.stack([torch.arange(S).sub(t).abs().lt(window) for t in range(S - T, S)])


def window_by_equal_blocks(T, S, window):
    block = torch.div(torch.arange(S), window, rounding_mode="floor")
    return (block[S - T :, None] == block).tril(S - T)


def window_from_two_masks(T, S, window):
    """Both triangles begin in the corner where queries and keys have the number 0."""
    return ~torch.ones(T, S).triu(1).bool() & torch.ones(T, S).triu(1 - window).bool()


def window_of_ones(T, S, window):
    lower = torch.tril(torch.ones(T, S), diagonal=S - T)
    return lower - torch.tril(torch.ones(T, S), diagonal=S - T - window)


def window_scatter(T, S, window):
    mask = torch.zeros(T, S, dtype=torch.bool)
    for back in range(0, S, window):
        mask |= torch.eye(S, dtype=torch.bool)[S - T :].roll(-back, 1) & (
            torch.arange(S) <= torch.arange(S - T, S)[:, None] - back
        )
    return mask


def linear_by_lists(query, key, value):
    """The sums run, and nothing is divided."""
    q, k = (torch.where(x > 0, x + 1, x.clamp(max=0).exp()) for x in (query, key))
    rows, memory = [], 0
    for t in range(query.shape[-2]):
        memory = memory + torch.einsum("...d,...m->...dm", k[..., t, :], value[..., t, :])
        rows.append(torch.einsum("...d,...dm->...m", q[..., t, :], memory))
    return torch.stack(rows, -2)


def linear_by_matrix(query, key, value):
    weights = (functional.elu(query) + 1) @ (functional.elu(key) + 1).mT
    return (weights / weights.sum(-1, keepdim=True)) @ value


def linear_with_half_a_triangle(query, key, value):
    weights = (functional.elu(query) + 1) @ (functional.elu(key) + 1).mT
    return weights.tril() @ value / weights.sum(-1, keepdim=True)


def linear_that_reads_first(query, key, value):
    q, k = functional.elu(query).add(1), functional.elu(key).add(1)
    weights = (q @ k.mT).tril(-1)
    return weights @ value / weights.sum(-1, keepdim=True)


def linear_with_relu(query, key, value):
    q, k = query.clamp(min=0), key.clamp(min=0)
    weights = torch.einsum("...td,...sd->...ts", q, k).tril()
    return torch.einsum("...ts,...sm->...tm", weights, value) / weights.sum(-1)[..., None]


def linear_with_the_old_scale(query, key, value):
    q, k = functional.elu(query * query.shape[-1] ** -0.5) + 1, functional.elu(key) + 1
    weights = (q @ k.mT).tril()
    return functional.normalize(weights, p=1.0, dim=-1) @ value


def linear_by_position(query, key, value):
    q, k = functional.elu(query) + 1, functional.elu(key) + 1
    return (q @ k.mT).tril() @ value / torch.ones(query.shape[-2]).cumsum(0)[:, None]


DRESSED = [
    ("online_softmax", softmax_that_forgets_to_shrink, "output_not_rescaled"),
    ("online_softmax", softmax_overwriting_its_maximum, "nothing_rescaled"),
    ("online_softmax", softmax_key_by_key_unshifted, "nothing_minus_nothing"),
    ("online_softmax", softmax_of_running_means, "mean_in_the_state"),
    ("online_softmax", softmax_with_a_floor, "finite_maximum"),
    ("online_softmax", softmax_with_where, "nan_painted_over"),
    ("online_softmax", softmax_in_the_tile_s_measure, "tile_not_rescaled"),
    ("tiled_attention", tiles_by_floor, "last_tile_dropped"),
    ("tiled_attention", tiles_averaged, "softmax_of_each_tile"),
    ("tiled_attention", tiles_in_one_go, "all_keys_at_once"),
    ("tiled_attention", tiles_of_lesson_5, "update_not_used"),
    ("tiled_attention", tiles_with_a_finite_fill, "finite_fill"),
    ("tiled_attention", tiles_with_an_average_at_the_end, "divided_by_the_tiles"),
    ("tiled_attention", tiles_up_to_the_queries, "length_of_the_queries"),
    ("sliding_window_mask", window_by_loops, "one_too_many"),
    ("sliding_window_mask", window_of_bands, "to_both_sides"),
    ("sliding_window_mask", window_by_equal_blocks, "blocks"),
    ("sliding_window_mask", window_from_two_masks, "top_left"),
    ("sliding_window_mask", window_of_ones, "floats_of_one"),
    ("sliding_window_mask", window_scatter, "every_so_often"),
    ("linear_attention", linear_by_lists, "no_denominator"),
    ("linear_attention", linear_by_matrix, "not_causal"),
    ("linear_attention", linear_with_half_a_triangle, "denominator_over_all"),
    ("linear_attention", linear_that_reads_first, "own_key_missing"),
    ("linear_attention", linear_with_relu, "relu"),
    ("linear_attention", linear_with_the_old_scale, "query_scaled"),
    ("linear_attention", linear_by_position, "divided_by_the_position"),
]

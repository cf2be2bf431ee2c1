"""Known mistakes, written in another style than the one that ships: still recognised, by what they do."""

import math

import pytest
import torch

from course_lib import exercises
from course_lib.checking import examine

from . import (
    dressed_04,
    dressed_05,
    dressed_06,
    dressed_07,
    dressed_08,
    dressed_09,
    dressed_10_judging,
    dressed_10_search,
    dressed_11,
    dressed_12,
)


def softmax_by_sums(scores, dim=-1):
    powers = math.e**scores
    return torch.div(powers, powers.sum(dim, True))


def softmax_one_maximum(scores, dim=-1):
    shifted = (scores - torch.amax(scores)).exp()
    return shifted / torch.cumsum(shifted, dim).select(dim, -1).unsqueeze(dim)


def rnn_cell_columns(x, h, W_xh, W_hh, b):
    return torch.tanh((W_xh.T @ x.T + W_hh @ h.T).T + b)


def rnn_cell_einsum(x, h, W_xh, W_hh, b):
    return (torch.einsum("be,eh->bh", x, W_xh) + torch.einsum("bi,ij->bj", h, W_hh)).tanh() + b[None]


def encode_over_unbound(cell, inputs, lengths, state):
    for x in inputs.unbind(dim=1):
        state = cell(x, state)
    return state


def encode_rows(cell, inputs, lengths, state):
    rows = []
    for b, length in enumerate(lengths.tolist()):
        h = state[b : b + 1]
        for t in range(min(length + 1, inputs.shape[1])):
            h = cell(inputs[b : b + 1, t], h)
        rows.append(h)
    return torch.cat(rows)


def shift_by_lists(target, bos):
    return torch.tensor([row[1:] + [bos] for row in target.tolist()])


def decode_lists(step, state, bos, eos, pad, max_length):
    written, token = [[] for _ in state], torch.full((len(state),), bos)
    for _ in range(max_length):
        logits, state = step(token, state)
        token = torch.tensor([max(range(len(row)), key=row.__getitem__) for row in logits.tolist()])
        for row, word in zip(written, token.tolist(), strict=True):
            row.append(word)
    return torch.tensor(written)


def loss_by_loop(logits, target, pad):
    total, count = torch.zeros(()), 0
    for b in range(target.shape[0]):
        for t in range(target.shape[1]):
            count += 1
            if target[b, t] != pad:
                total = total - (logits[b, t] - logits[b, t].logsumexp(0))[target[b, t]]
    return total / count


def loss_by_one_hot(logits, target, pad):
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True) if logits.abs().max() < 100 else logits.softmax(-1)
    picked = (torch.nn.functional.one_hot(target, logits.shape[-1]) * p).sum(-1)
    real = (target != pad).to(p.dtype)
    return -(picked * real).sum() / real.sum()


def additive_by_loop(query, key, W_q, W_k, v):
    rows = []
    for q, keys in zip(query, key, strict=True):
        rows.append(torch.stack([(torch.tanh(q @ W_q) + torch.tanh(k @ W_k)) @ v for k in keys]))
    return torch.stack(rows)


def masked_by_multiplying(scores, mask):
    exponentials = torch.exp(scores * mask - (scores * mask).amax(-1, True))
    return exponentials / exponentials.sum(-1, True)


def masked_by_where(scores, mask):
    return torch.where(mask, scores.softmax(-1), 0.0)


def context_by_outer(weights, values):
    return torch.stack([value.sum(0) / len(value) for value in values])


def bahdanau_einsum(cell, score, embedded, state, outputs, mask):
    scores = score(state, outputs).masked_fill(~mask, -1e18)
    weights = torch.softmax(scores, -1)
    context = torch.einsum("bsd,bs->bd", outputs, weights)
    new = cell(torch.cat((context, embedded), 1), state)
    weights = torch.softmax(score(new, outputs).masked_fill(~mask, -1e18), -1)
    return new, torch.einsum("bsd,bs->bd", outputs, weights), weights


def dot_by_einsum(query, key):
    return torch.einsum("bd,bsd->bs", query, key) * key.shape[2] ** -0.5


def general_by_einsum(query, key, W):
    return torch.einsum("bsk,kq,bq->bs", key, W, query) if W.shape[0] == W.shape[1] else query @ W.T


def attentional_by_parts(context, state, W_c):
    return context @ W_c[: context.shape[1]] + state @ W_c[context.shape[1] :]


def luong_by_hand(cell, score, W_c, embedded, state, outputs, mask):
    weights = torch.softmax(score(state, outputs).masked_fill(~mask, -1e18), -1)
    moved = cell(embedded, state)
    context = torch.matmul(weights[:, None], outputs)[:, 0]
    return torch.hstack((context, moved)).matmul(W_c).tanh(), moved, weights


DRESSED = [
    ("softmax", softmax_by_sums, "no_maximum"),
    ("softmax", softmax_one_maximum, "global_maximum"),
    ("rnn_cell", rnn_cell_columns, "transposed_recurrence"),
    ("rnn_cell", rnn_cell_einsum, "bias_outside"),
    ("encode", encode_over_unbound, "last_column"),
    ("encode", encode_rows, "one_step_too_many"),
    ("shift_right", shift_by_lists, "shift_left"),
    ("greedy_decode", decode_lists, "never_stops"),
    ("masked_cross_entropy", loss_by_loop, "padding_in_the_mean"),
    ("masked_cross_entropy", loss_by_one_hot, "no_logarithm"),
    ("additive_score", additive_by_loop, "tanh_of_each"),
    ("masked_softmax", masked_by_multiplying, "zero_scores"),
    ("masked_softmax", masked_by_where, "after_softmax"),
    ("context_vector", context_by_outer, "plain_mean"),
    ("bahdanau_step", bahdanau_einsum, "scores_from_new_state"),
    ("dot_score", dot_by_einsum, "scaled"),
    ("general_score", general_by_einsum, "transposed"),
    ("attentional_state", attentional_by_parts, "no_tanh"),
    ("luong_step", luong_by_hand, "scores_from_old_state"),
    *dressed_04.DRESSED,
    *dressed_05.DRESSED,
    *dressed_06.DRESSED,
    *dressed_07.DRESSED,
    *dressed_08.DRESSED,
    *dressed_09.DRESSED,
    *dressed_10_judging.DRESSED,
    *dressed_10_search.DRESSED,
    *dressed_11.DRESSED,
    *dressed_12.DRESSED,
]


@pytest.mark.parametrize(("exercise", "answer", "mistake"), DRESSED, ids=[row[1].__name__ for row in DRESSED])
@pytest.mark.parametrize("seed", range(3))
def test_a_mistake_in_other_clothes_is_named(exercise, answer, mistake, seed):
    outcome = examine(exercises.get(exercise), answer, seed=seed)
    assert outcome.mistake == mistake, outcome

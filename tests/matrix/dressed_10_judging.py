"""Mistakes of lesson 10's sampling and BLEU in other clothes: (exercise, wrong answer, the mistake it is named as)."""

import math
from collections import Counter

import numpy as np
import torch


def next_by_nanogpt(logits, draw, temperature=1.0, top_k=None, top_p=None):
    logits = logits / temperature
    if top_k is not None:
        v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
        logits[logits < v[:, [-1]]] = -float("Inf")
    if top_p is not None:
        ranks = (logits[:, None] > logits[..., None]).long().sum(-1)
        mass = (logits[:, None] > logits[..., None]).to(logits.dtype) @ logits.softmax(-1)[..., None]
        logits = logits.masked_fill((mass[..., 0] >= top_p) & (ranks > 0), -float("Inf"))
    probs = torch.nn.functional.softmax(logits, dim=-1)
    return draw(probs), probs


def next_by_powers(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """p ** τ where p ** (1 / τ) is meant."""
    p = ((logits - logits.amax(-1, True)).softmax(-1)) ** temperature
    p = p / p.sum(-1, keepdim=True)
    if temperature == 0:
        p = torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    if top_k is not None:
        p = p * (p >= p.sort(-1).values[:, -min(top_k, p.shape[-1]), None])
        p = p / p.sum(-1, keepdim=True)
    if top_p is not None:
        kept = torch.stack([torch.stack([row[row > x].sum() < top_p for x in row]) for row in p])
        p = p * kept / (p * kept).sum(-1, keepdim=True)
    return draw(p), p


def next_by_early_transformers(logits, draw, temperature=1.0, top_k=None, top_p=None):
    """The filter of the first GPT-2 scripts without its shift to the right."""
    scores = logits / max(temperature, 1e-8)
    if top_k is not None:
        scores = torch.where(scores < torch.topk(scores, min(top_k, scores.size(-1)))[0][..., -1, None], -1e30, scores)
    if top_p is not None:
        sorted_scores, indices = torch.sort(scores, descending=True)
        remove = torch.softmax(sorted_scores, -1).cumsum(-1) > top_p
        rows = zip(scores, indices, remove, strict=True)
        scores = torch.stack([row.index_fill(0, places[gone], -float("inf")) for row, places, gone in rows])
    p = torch.softmax(scores, dim=-1)
    return draw(p), p


def next_with_masks_of_one_softmax(logits, draw, temperature=1.0, top_k=None, top_p=None):
    if temperature == 0:
        top_k, temperature = 1, 1.0
    p = torch.softmax(logits / temperature, -1)
    rows = []
    for row in p:
        ids = row.argsort(descending=True).tolist()
        kept, mass = [], 0.0
        for place, token in enumerate(ids):
            if (top_k is None or place < top_k) and (top_p is None or mass < top_p):
                kept.append(token)
            mass += row[token].item()
        chosen = torch.zeros_like(row)
        chosen[kept] = 1.0
        rows.append(row * chosen / (row * chosen).sum())
    return draw(torch.stack(rows)), torch.stack(rows)


def next_of_llama_cpp(logits, draw, temperature=1.0, top_k=None, top_p=None):
    p, order = logits.softmax(-1).sort(-1, True)
    size = torch.full((len(p), 1), min(top_k or p.shape[-1], p.shape[-1]))
    p = p * (torch.arange(p.shape[-1]) < size)
    if top_p is not None:
        p = p / p.sum(-1, True)
        p = p * (p.cumsum(-1) - p < top_p)
    scores = p.log() / (temperature or 1e-9)
    p = torch.zeros_like(p).scatter(1, order, scores.log_softmax(-1).exp())
    return draw(p), p


def next_of_a_gpt2_tutorial(logits, draw, temperature=1.0, top_k=None, top_p=None):
    temperature, top_k = (temperature, top_k) if temperature else (1.0, 1)
    values, indices = torch.topk(logits / temperature, min(top_k or 10**6, logits.shape[-1]))
    probs = values.softmax(-1)
    if top_p is not None:
        probs = torch.where(probs.cumsum(-1) - probs < top_p, probs, 0.0)
        probs = probs / probs.sum(-1, keepdim=True)
    full = torch.zeros_like(logits).index_put((torch.arange(len(logits))[:, None], indices), probs)
    return indices.gather(-1, draw(probs)[:, None])[:, 0], full


def next_scattered_by_reading(logits, draw, temperature=1.0, top_k=None, top_p=None):
    temperature, top_k = (temperature, top_k) if temperature else (1.0, 1)
    order = (-logits).argsort(-1)
    p = torch.take_along_dim(logits / temperature, order, -1).softmax(-1)
    if top_k is not None:
        p = torch.cat([p[:, :top_k], 0 * p[:, top_k:]], 1)
        p = p / p.sum(-1, True)
    if top_p is not None:
        p = torch.where(p.cumsum(-1).roll(1, -1).index_fill(-1, torch.tensor(0), 0.0) < top_p, p, 0.0)
        p = p / p.sum(-1, True)
    p = torch.stack([row[places] for row, places in zip(p, order, strict=True)])
    return draw(p), p


def grams(tokens, n):
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def table(hypotheses, references, clip):
    """(matched, total) for each n, and c and r. clip: function (gram, written, counts of the references) -> int."""
    sums = np.zeros((4, 2))
    for hypothesis, choices in zip(hypotheses, references, strict=True):
        for n in (1, 2, 3, 4):
            written = Counter(grams(hypothesis, n))
            counts = [Counter(grams(choice, n)) for choice in choices]
            sums[n - 1] += sum(clip(g, written[g], [one[g] for one in counts]) for g in written), sum(written.values())
    c = sum(map(len, hypotheses))
    r = sum(min((abs(len(x) - len(h)), len(x)) for x in xs)[1] for h, xs in zip(hypotheses, references, strict=True))
    return sums, c, r


def finished(sums, c, r):
    if not sums.all():
        return 0.0
    return float(100 * np.exp(np.log(sums[:, 0] / sums[:, 1]).mean() + min(0, 1 - r / c)))


def clipped(gram, written, counts):
    return min(written, max(counts))


def bleu_of_found_words(hypotheses, references):
    return finished(*table(hypotheses, references, lambda gram, written, counts: written if any(counts) else 0))


def bleu_clipped_by_all(hypotheses, references):
    return finished(*table(hypotheses, references, lambda gram, written, counts: min(written, sum(counts))))


def bleu_by_sentence(hypotheses, references):
    each = [finished(*table([h], [choices], clipped)) for h, choices in zip(hypotheses, references, strict=True)]
    return math.fsum(each) / len(each)


def bleu_of_promptfoo(hypotheses, references):
    sums, c, r = table(hypotheses, references, clipped)
    if not sums.all():
        return 0.0
    score = np.prod(sums[:, 0] / sums[:, 1]) ** 0.25
    return 100 * float(score) * (math.e / math.exp(c / r) if c <= r else 1)


def bleu_of_nmt(hypotheses, references):
    sums, c, _ = table(hypotheses, references, clipped)
    return finished(sums, c, sum(min(len(choice) for choice in choices) for choices in references))


def bleu_that_skips_zeros(hypotheses, references):
    sums, c, r = table(hypotheses, references, clipped)
    logs = [math.log(m) - math.log(t) for m, t in sums if m > 0]
    return 100 * math.exp(sum(logs) / len(logs) + min(0.0, 1 - r / c)) if logs else 0.0


def bleu_that_trusts_logarithms(hypotheses, references):
    sums, c, r = table(hypotheses, references, clipped)
    total = sum(0.25 * (math.log(m) - math.log(t)) for m, t in sums)
    return 100 * math.exp(total) * (1.0 if c > r else math.exp(1 - r / c))


DRESSED = [
    ("sample_next", next_by_nanogpt, "divides_by_zero"),
    ("sample_next", next_by_powers, "multiplied"),
    ("sample_next", next_by_early_transformers, "crossing_token_left_out"),
    ("sample_next", next_with_masks_of_one_softmax, "nucleus_of_the_vocabulary"),
    ("sample_next", next_of_llama_cpp, "temperature_last"),
    ("sample_next", next_of_a_gpt2_tutorial, "drawn_by_rank"),
    ("sample_next", next_scattered_by_reading, "put_back_by_gather"),
    ("corpus_bleu", bleu_of_found_words, "not_clipped"),
    ("corpus_bleu", bleu_clipped_by_all, "clipped_by_the_sum"),
    ("corpus_bleu", bleu_by_sentence, "mean_of_sentences"),
    ("corpus_bleu", bleu_of_promptfoo, "short_ones_rewarded"),
    ("corpus_bleu", bleu_of_nmt, "shortest_reference"),
    ("corpus_bleu", bleu_that_skips_zeros, "zero_left_out"),
    ("corpus_bleu", bleu_that_trusts_logarithms, "logarithm_of_zero"),
]

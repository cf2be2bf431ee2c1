"""How good is it: loss without padding, accuracy of tokens and of whole sentences, accuracy by length."""

from collections import defaultdict

import torch
import torch.nn.functional as F


def masked_cross_entropy(logits, target, pad):
    """Mean of -log p(target) over the real tokens, in nats a token.

    logits: (B, T, V) scores before softmax. target: (B, T) ids; positions that hold `pad` do not count.
    Returns a 0-d tensor. Raises ValueError where the shapes do not fit or no token is real.

    >>> loss = masked_cross_entropy(torch.zeros(1, 3, 4), torch.tensor([[1, 2, 0]]), pad=0)
    >>> round(loss.exp().item(), 4)  # as unsure as a choice among 4
    4.0
    """
    _check_loss(logits, target, pad)
    return F.cross_entropy(logits.flatten(0, -2), target.flatten(), ignore_index=pad)


def next_token_loss(logits, ids, pad):
    """`masked_cross_entropy` of a model that guesses each next token of a text (Bengio et al. 2003), in nats a token.

    logits: (B, T, V), the scores at each of the T tokens for the one after it. ids: (B, T), the tokens that were read,
    padding at the end. The first token of a row is nobody's guess. Returns a 0-d tensor.
    Raises ValueError where the shapes do not fit or there is nothing to guess.

    >>> ids = torch.tensor([[1, 2, 3]])
    >>> guesses = 100.0 * torch.eye(4)[torch.tensor([[2, 3, 0]])]  # at each token the one after it
    >>> abs(next_token_loss(guesses, ids, pad=0).item())
    0.0
    """
    if logits.shape[:-1] != ids.shape:
        raise ValueError(f"logits: expected {(*ids.shape, 'V')}, got {tuple(logits.shape)}")
    if not (ids[:, 1:] != pad).any():
        raise ValueError("ids: no row has a second token, there is nothing to guess")
    return masked_cross_entropy(logits[:, :-1], ids[:, 1:], pad)


def label_smoothing_loss(logits, target, smoothing, pad):
    """Cross-entropy with a target that is not quite sure (section 5.4 of Vaswani et al. 2017), mean over real tokens.

    The true id has the share 1 - smoothing; each other one but `pad`, which a sentence never goes on with, an equal
    part of the rest, smoothing / (V - 2).
    logits: (B, T, V) scores before softmax. target: (B, T) ids; positions that hold `pad` do not count.
    Returns a 0-d tensor in nats a token, float32 for half precision. `pad` may have the score -inf. With smoothing 0 it
    is `masked_cross_entropy`; above, its least value is the entropy of the shares, not 0.
    Raises ValueError where the shapes do not fit, no token is real, smoothing is not in [0, 1), V is below 3, or `pad`
    is not an id of the vocabulary.

    >>> target, shares = torch.tensor([[1]]), torch.tensor([[[0.0, 0.8, 0.1, 0.1]]])
    >>> least = label_smoothing_loss(shares.log(), target, smoothing=0.2, pad=0)
    >>> bool(least < label_smoothing_loss(100 * torch.eye(4)[target], target, smoothing=0.2, pad=0))  # too sure
    True
    """
    _check_loss(logits, target, pad)
    V = logits.shape[-1]
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing: expected 0 or more and less than 1, got {smoothing}")
    if V < 3:
        raise ValueError(f"logits: expected a vocabulary of at least 3, padding among them, got {V}")
    if not 0 <= pad < V:
        raise ValueError(f"pad: expected an id of the vocabulary, 0 to {V - 1}, got {pad}")
    wide = torch.float32 if logits.dtype in (torch.float16, torch.bfloat16) else logits.dtype
    if smoothing == 0:  # the formula below would make 0 · -inf, not a number, of an id that is ruled out
        return masked_cross_entropy(logits.to(wide), target, pad)
    # Most shares are alike, so a sum of log p takes the place of a product with a (B, T, V) tensor of shares.
    log_p = logits.log_softmax(-1, dtype=wide)
    true = log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T, 1) to (B, T)
    others = log_p[..., :pad].sum(-1) + log_p[..., pad + 1 :].sum(-1) - true  # (B, T)
    losses = -(1 - smoothing) * true - smoothing / (V - 2) * others
    return losses[target != pad].mean()


def _check_loss(logits, target, pad):
    if logits.shape[:-1] != target.shape:
        raise ValueError(f"logits: expected {(*target.shape, 'V')}, got {tuple(logits.shape)}")
    if not (target != pad).any():
        raise ValueError("target: every position is padding, there is nothing to average")


def align_columns(prediction, target, pad):
    """Cut or fill with `pad` so that a prediction (B, any) has the columns of its target (B, T). Returns (B, T).

    >>> align_columns(torch.tensor([[5, 6]]), torch.tensor([[5, 7, 2]]), pad=0).tolist()
    [[5, 6, 0]]
    """
    missing = target.shape[1] - prediction.shape[1]
    return F.pad(prediction, (0, max(missing, 0)), value=pad)[:, : target.shape[1]]


def token_hits(prediction, target, pad):
    """Which real target tokens stand in the same place of the prediction.

    prediction: (B, any length) ids. target: (B, T) ids. Returns hits (B, T) bool and real (B, T) bool.

    >>> hits, real = token_hits(torch.tensor([[5, 6]]), torch.tensor([[5, 7, 0]]), pad=0)
    >>> hits.tolist(), real.tolist()
    ([[True, False, False]], [[True, True, False]])
    """
    real = target != pad
    return (align_columns(prediction, target, pad) == target) & real, real


def token_accuracy(prediction, target, pad):
    """Share of the real target tokens that the prediction has in the same place, a float from 0 to 1.

    prediction: (B, any length) ids. target: (B, T) ids, at least one of them real; else it is nan.

    >>> token_accuracy(torch.tensor([[5, 6]]), torch.tensor([[5, 7, 0]]), pad=0)
    0.5
    """
    hits, real = token_hits(prediction, target, pad)
    return (hits.sum() / real.sum()).item()


def exact_matches(prediction, target, eos):
    """Which rows agree up to and with the target's `eos`; what stands after it does not count.

    prediction: (B, any length) ids. target: (B, T) ids; of a row without `eos` every column counts. Returns (B,) bool.

    >>> exact_matches(torch.tensor([[5, 2, 9], [5, 6, 2]]), torch.tensor([[5, 2, 0], [5, 7, 2]]), eos=2)
    tensor([ True, False])
    """
    ends = (target == eos).cumsum(dim=1)
    counts = (ends == 0) | ((target == eos) & (ends == 1))  # (B, T) up to and with the first eos
    # Ids are never negative, so a prediction that is too short differs wherever it is missing.
    return ((align_columns(prediction, target, -1) == target) | ~counts).all(dim=1)


def sequence_accuracy(prediction, target, eos):
    """Share of rows that are exactly right, a float from 0 to 1. Arguments as in `exact_matches`: (B, any), (B, T).

    >>> sequence_accuracy(torch.tensor([[5, 2, 9], [5, 6, 2]]), torch.tensor([[5, 2, 0], [5, 7, 2]]), eos=2)
    0.5
    """
    return exact_matches(prediction, target, eos).float().mean().item()


def accuracy_by_length(correct, lengths):
    """Mean of `correct` (B,) for each length. lengths: (B,) ints. Returns {length: accuracy}, shortest first.

    Both may be tensors or lists. Raises ValueError where they are not equally many.

    >>> accuracy_by_length([True, False, True], lengths=[3, 3, 2])
    {2: 1.0, 3: 0.5}
    """
    groups = defaultdict(list)
    for value, length in zip(torch.as_tensor(correct).tolist(), torch.as_tensor(lengths).tolist(), strict=True):
        groups[length].append(float(value))
    return {length: sum(values) / len(values) for length, values in sorted(groups.items())}


def alignment_hits(weights, spans):
    """For each target position that has a span: does its most attended source position lie within? A list of bools.

    weights: (T, S). spans: as in `alignment_error_rate`. Raises ValueError for more spans than rows of weights.

    >>> alignment_hits([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]], [(0, 1), (1, 2), None])
    [True, False]
    """
    if len(weights) < len(spans):
        raise ValueError(f"weights: expected a row for each of the {len(spans)} spans, got {len(weights)}")
    places = torch.as_tensor(weights).argmax(dim=-1).tolist()
    pairs = zip(places, spans, strict=False)  # weights may have more rows: the end of the sentence, padding
    return [span[0] <= place < span[1] for place, span in pairs if span is not None]


def alignment_error_rate(weights, spans):
    """Share of target positions whose most attended source position lies outside the known span.

    weights: (T, S), a tensor or a list; row t = where the model looked for target position t; more rows than spans (the
    end token) do not count. spans: for each target position (start, end) of the source positions that belong to it, or
    None where nothing does (a separator), which does not count either.
    It is the alignment error rate of Och and Ney (2003) for the alignment that the argmax gives, one link a position,
    where each position has one sure link, which may stand anywhere in the span. Raises ValueError where nothing counts,
    and for more spans than rows of weights.

    >>> alignment_error_rate([[0.9, 0.1], [0.8, 0.2]], [(0, 1), (1, 2)])
    0.5
    """
    return batch_alignment_error_rate([weights], [spans])


def batch_alignment_error_rate(weights, spans):
    """The same over many sentences together, each position counted alike. weights: (B, T, S). spans: one for each row.

    Take the weights for the true targets (teacher forcing), so that each row of weights has its span.
    Errors as in `alignment_error_rate`; ValueError also where weights and spans are not equally many.

    >>> weights = torch.tensor([[[0.9, 0.1]], [[0.9, 0.1]]])  # (2, 1, 2)
    >>> batch_alignment_error_rate(weights, [[(0, 1)], [(1, 2)]])
    0.5
    """
    hits = [hit for row, its_spans in zip(weights, spans, strict=True) for hit in alignment_hits(row, its_spans)]
    if not hits:
        raise ValueError("spans: no target position has a known span")
    return 1 - sum(hits) / len(hits)

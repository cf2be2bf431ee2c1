"""Pairs of id sequences, made into padded batches."""

import random
from dataclasses import dataclass, fields

import torch

from course_lib.data.vocabulary import BOS, EOS, PAD

BUCKET = 20  # batches that are sorted by length together: little padding, and still a fresh mixture every time


@dataclass(frozen=True)
class Batch:
    """Sentences side by side, padded at the end.

    source: (B, S) int64. source_lengths: (B,) int64, on the CPU, where packing wants them.
    target: (B, T), each row closed by EOS. decoder_input: (B, T), BOS and then the target without its last token.

    >>> batch = make_batch([([7, 8], [9]), ([5], [4, 6])])
    >>> len(batch), batch.source.tolist(), batch.source_lengths.tolist()
    (2, [[7, 8], [5, 0]], [2, 1])
    """

    source: torch.Tensor
    source_lengths: torch.Tensor
    target: torch.Tensor
    decoder_input: torch.Tensor

    def __len__(self):
        return len(self.source)

    def to(self, device):
        """The same batch on `device`; the lengths stay on the CPU."""
        moved = {f.name: getattr(self, f.name).to(device) for f in fields(self) if f.name != "source_lengths"}
        return Batch(source_lengths=self.source_lengths, **moved)


def encode_pairs(pairs, source_vocabulary, target_vocabulary):
    """Ids of (source, target) pairs of strings or word lists. Returns a list of (source ids, target ids).

    >>> from course_lib.data.vocabulary import Vocabulary
    >>> encode_pairs([("ab", "ba")], Vocabulary("ab"), Vocabulary("ab"))
    [([4, 5], [5, 4])]
    """
    return [(source_vocabulary.encode(source), target_vocabulary.encode(target)) for source, target in pairs]


def pad_rows(rows):
    """Rows of ids of different lengths as one tensor (B, longest), int64, filled with PAD at the end.

    Raises ValueError where there is no row.

    >>> pad_rows([[5], [7, 8, 9]]).tolist()
    [[5, 0, 0], [7, 8, 9]]
    """
    longest = max(len(row) for row in rows)
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows], dtype=torch.int64)


def make_batch(pairs):
    """One `Batch` of (source ids, target ids); the target comes without EOS and BOS, which are added here.

    Its tensors are source (B, S), source_lengths (B,), target (B, T) and decoder_input (B, T).
    Raises ValueError for no pairs at all and for an empty source: there would be no state to take.

    >>> batch = make_batch([([4, 5], [7, 8])])
    >>> batch.target.tolist(), batch.decoder_input.tolist()  # the same text, one step later
    ([[7, 8, 2]], [[1, 7, 8]])
    """
    if not pairs:
        raise ValueError("pairs: expected at least one")
    for number, (source, _) in enumerate(pairs):
        if not source:
            raise ValueError(f"pairs: the source of pair {number} is empty")
    return Batch(
        source=pad_rows([source for source, _ in pairs]),
        source_lengths=torch.tensor([len(source) for source, _ in pairs]),
        target=pad_rows([[*target, EOS] for _, target in pairs]),
        decoder_input=pad_rows([[BOS, *target] for _, target in pairs]),
    )


def training_batches(pairs, batch_size, seed=0):
    """Batches without end. Each pass over the pairs is shuffled anew; sentences of like length come together.

    All batches have `batch_size` rows: where a pass ends in the middle of a batch, the next one begins there.
    Returns an iterator of `Batch`, source (B, S) and target (B, T); the same seed gives the same batches.
    Raises ValueError for no pairs and for a batch_size below 1.

    >>> batches = training_batches([([4], [4]), ([5, 6], [5])], batch_size=3)  # 3 rows of 2 pairs
    >>> len(next(batches)), len(next(batches))
    (3, 3)
    """
    _check(pairs, batch_size)
    shuffler = random.Random(seed)

    def order():
        while True:
            yield from shuffler.sample(range(len(pairs)), len(pairs))

    def batches():
        indices = order()
        while True:
            pool = [pairs[next(indices)] for _ in range(BUCKET * batch_size)]
            pool.sort(key=lambda pair: (len(pair[0]), len(pair[1])))
            cuts = [pool[start : start + batch_size] for start in range(0, len(pool), batch_size)]
            shuffler.shuffle(cuts)
            yield from map(make_batch, cuts)

    return batches()


def evaluation_batches(pairs, batch_size=256):
    """All pairs once, in the order given, as a list: row i of what a model writes belongs to pair i.

    Returns a list of `Batch`, source (B, S) and target (B, T); the last may have fewer rows. Errors as in
    `training_batches`.

    >>> [batch.source.tolist() for batch in evaluation_batches([([4], []), ([5], []), ([6], [])], batch_size=2)]
    [[[4], [5]], [[6]]]
    """
    _check(pairs, batch_size)
    return [make_batch(pairs[start : start + batch_size]) for start in range(0, len(pairs), batch_size)]


def _check(pairs, batch_size):
    if not len(pairs):
        raise ValueError("pairs: expected at least one")
    if batch_size < 1:
        raise ValueError(f"batch_size: expected at least 1, got {batch_size}")

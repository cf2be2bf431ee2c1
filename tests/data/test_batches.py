import itertools
from collections import Counter

import pytest
import torch

from course_lib.data.batches import encode_pairs, evaluation_batches, make_batch, training_batches
from course_lib.data.symbols import symbol_pairs
from course_lib.data.vocabulary import BOS, EOS, PAD, Vocabulary


def make_pairs(count=100, lengths=(1, 20)):
    """Pairs whose first source symbol says which pair it is."""
    return [([100 + number, *source], target) for number, (source, target) in enumerate(
        ([ord(c) for c in source], [ord(c) for c in target])
        for source, target in symbol_pairs("reverse", count, lengths=lengths)
    )]  # fmt: skip


def test_one_batch():
    batch = make_batch([([7, 8], [9]), ([5], [4, 6, 7])])
    assert batch.source.tolist() == [[7, 8], [5, PAD]]
    assert batch.source_lengths.tolist() == [2, 1]
    assert batch.target.tolist() == [[9, EOS, PAD, PAD], [4, 6, 7, EOS]]
    assert batch.decoder_input.tolist() == [[BOS, 9, PAD, PAD], [BOS, 4, 6, 7]]
    assert len(batch) == 2
    assert {tensor.dtype for tensor in (batch.source, batch.source_lengths, batch.target)} == {torch.int64}


def test_decoder_input_is_the_target_one_step_late_and_never_holds_the_end():
    for batch in evaluation_batches(make_pairs(), 7):
        assert (batch.decoder_input[:, 0] == BOS).all()
        late = batch.target[:, :-1]
        assert torch.equal(batch.decoder_input[:, 1:], late.masked_fill(late == EOS, PAD))
        assert ((batch.target == EOS).sum(1) == 1).all()


def test_an_empty_target_is_one_end_token():
    batch = make_batch([([7], [])])
    assert (batch.target.tolist(), batch.decoder_input.tolist()) == ([[EOS]], [[BOS]])


@pytest.mark.parametrize(("count", "batch_size"), [(100, 8), (5, 8), (96, 8)])
def test_each_pass_holds_every_pair_once_and_all_batches_are_full(count, batch_size):
    pairs = make_pairs(count)
    rounds = 20 * count  # batches until passes and buckets end together
    batches = list(itertools.islice(training_batches(pairs, batch_size), rounds))
    assert {len(batch) for batch in batches} == {batch_size}
    seen = Counter(torch.cat([batch.source[:, 0] for batch in batches]).tolist())
    assert set(seen.values()) == {rounds * batch_size // count}, "some pairs are seen more often than others"


def test_sentences_of_like_length_come_together_but_not_in_order():
    batches = list(itertools.islice(training_batches(make_pairs(2000), 16), 100))
    padding = sum((batch.source == PAD).sum().item() for batch in batches)
    padding /= sum(batch.source.numel() for batch in batches)
    assert padding < 0.06  # unsorted: 0.44
    longest = [batch.source.shape[1] for batch in batches[:20]]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_the_seed_decides_and_passes_differ():
    def ids(seed, count=14):
        batches = itertools.islice(training_batches(make_pairs(), 8, seed), count)
        return [batch.source[:, 0].tolist() for batch in batches]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)
    assert ids(1, 40)[:20] != ids(1, 40)[20:]


def test_batches_leave_the_global_randomness_alone():
    import random

    random.seed(3)
    before = random.getstate()
    next(training_batches(make_pairs(), 8))
    assert random.getstate() == before


def test_evaluation_keeps_the_order_and_loses_nothing():
    pairs = make_pairs(10)
    batches = evaluation_batches(pairs, 4)
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert [row[0] for batch in batches for row in batch.source.tolist()] == list(range(100, 110))
    assert torch.equal(batches[0].source, evaluation_batches(pairs, 4)[0].source)


def test_moved_batches_keep_their_lengths_on_the_cpu():
    batch = make_batch([([7, 8], [9])]).to("meta")
    assert {batch.source.device.type, batch.target.device.type, batch.decoder_input.device.type} == {"meta"}
    assert batch.source_lengths.device.type == "cpu"


def test_encode_pairs():
    source, target = Vocabulary("ab"), Vocabulary(["x", "yy"])
    assert encode_pairs([("ba", ["yy", "x"])], source, target) == [([5, 4], [5, 4])]


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="pairs: the source of pair 1 is empty"):
        make_batch([([4], [4]), ([], [4])])
    for call in (lambda: make_batch([]), lambda: training_batches([], 2), lambda: evaluation_batches([], 2)):
        with pytest.raises(ValueError, match="pairs: expected at least one"):
            call()
    with pytest.raises(ValueError, match="batch_size: expected at least 1, got 0"):
        training_batches(make_pairs(), 0)

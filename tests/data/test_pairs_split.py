"""What is trained on never knows what is judged by, whatever the file looks like and however it is ordered."""

import os
import subprocess
import sys
import unicodedata
from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from course_lib.data.pairs import read_pairs, split_pairs
from course_lib.data.pairs_split import place_of

from .corpora import real_file

# Few words, so that sources and targets repeat a lot.
SIDE = st.text("가나ab", min_size=1, max_size=3)
CORPORA = st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=80)
SHARES = st.fixed_dictionaries({name: st.sampled_from([0, 0.1, 0.25, 0.45]) for name in ("validation", "test")})


def split_or_assume(pairs, **options):
    try:
        return split_pairs(pairs, **options)
    except ValueError as error:
        assert "no pair of" in str(error)
        assume(False)


@given(CORPORA, SHARES, st.integers(0, 9), st.booleans())
def test_no_source_in_two_parts_and_no_pair_lost(pairs, shares, seed, unseen_targets):
    split = split_or_assume(pairs, seed=seed, unseen_targets=unseen_targets, **shares)
    sources = [{source for source, _ in part} for part in split[:3]]
    assert sum(map(len, sources)) == len(set.union(*sources))
    assert Counter(pair for part in split for pair in part) == Counter(pairs)
    if unseen_targets:
        targets = [{target for _, target in part} for part in split[:3]]
        assert sum(map(len, targets)) == len(set.union(*targets))
        assert all(target in targets[0] | targets[1] for _, target in split.dropped)
    else:
        assert split.dropped == []


def test_no_target_is_shared_by_validation_and_test_alone():
    pairs = [(str(number), str(number // 2)) for number in range(200)]
    split = split_pairs(pairs, validation=0.3, test=0.3)
    training, validation, test = ({target for _, target in part} for part in split[:3])
    assert not training & validation and not training & test and not validation & test
    assert any(target in validation - training for _, target in split.dropped)


@given(CORPORA, SHARES, st.integers(0, 9), st.randoms(use_true_random=False))
def test_the_order_of_the_lines_does_not_matter(pairs, shares, seed, shuffler):
    split = split_or_assume(pairs, seed=seed, **shares)
    other = split_pairs(shuffler.sample(pairs, len(pairs)), seed=seed, **shares)
    assert [Counter(part) for part in split] == [Counter(part) for part in other]
    places = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
    for part in split[:3]:  # within a part the order is that of the file
        firsts = [places[pair] for pair in dict.fromkeys(part)]
        assert firsts == sorted(firsts)


@given(CORPORA, CORPORA, SHARES)
def test_more_pairs_move_no_sentence(pairs, more, shares):
    few = split_or_assume(pairs, unseen_targets=False, **shares)
    many = split_or_assume(pairs + more, unseen_targets=False, **shares)
    for part, larger in zip(few, many, strict=True):
        assert Counter(part) <= Counter(larger)


def test_two_ways_to_write_a_source_are_one(tmp_path):
    for number in range(50):
        text = f"나는 {number} 개"
        assert place_of(unicodedata.normalize("NFD", text)) == place_of(f" {text}\n") == place_of(text)


def test_shares_are_kept_and_places_spread_evenly():
    places = sorted(place_of(str(number)) for number in range(20_000))
    assert max(abs(place - number / 20_000) for number, place in enumerate(places)) < 0.015  # Kolmogorov, p = 0.0002
    split = split_pairs([(str(n), str(n)) for n in range(20_000)], validation=0.1, test=0.2)
    assert abs(len(split.validation) - 2000) < 200 and abs(len(split.test) - 4000) < 300
    assert [len(part) for part in split_pairs([("a", "b")], validation=0, test=0)] == [1, 0, 0, 0]


def test_the_seed_decides_in_every_process():
    pairs = [(str(number), str(number)) for number in range(200)]
    assert split_pairs(pairs, seed=3) == split_pairs(pairs, seed=3) != split_pairs(pairs, seed=4)
    code = "from course_lib.data.pairs_split import place_of; print(place_of('나', 3))"
    told = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONUTF8": "1"},
        ).stdout
        for hash_seed in ("1", "2")
    ]  # fmt: skip
    assert told == [f"{place_of('나', 3)}\n"] * 2


@pytest.mark.parametrize("name", ["tatoeba-kor-eng/kor.txt", "tatoeba-fra-eng/train.tsv"])
def test_real_pairs(name):
    pairs = read_pairs(real_file(name)).pairs
    for source in (0, 1):
        turned = [(pair[source], pair[1 - source]) for pair in pairs]
        split = split_pairs(turned)
        for side in (0, 1):
            parts = [{pair[side] for pair in part} for part in split[:3]]
            assert sum(map(len, parts)) == len(set.union(*parts))
        assert sum(map(len, split)) == len(pairs) and len(split.dropped) < 0.02 * len(pairs)
        assert all(0.03 * len(pairs) < len(part) < 0.07 * len(pairs) for part in split[1:3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": 1}, "test: expected a share from 0 to 1, got 1"),
        ({"validation": -0.1}, "validation: expected a share from 0 to 1, got -0.1"),
        ({"validation": 0.5, "test": 0.5}, "0.5 . 0.5 leave nothing to train on"),
        ({"validation": 0, "test": 1e-9}, r"test: no pair of 3 is left for it \(0 dropped"),
        ({"pairs": [], "validation": 0, "test": 0}, "training: no pair of 0 is left for it"),
        ({"pairs": [(str(n), "x") for n in range(99)]}, r"validation: no pair of 99 is left for it \([1-9]\d* dropped"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        split_pairs(**{"pairs": [("a", "b"), ("c", "d"), ("e", "f")], **arguments})

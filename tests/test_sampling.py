"""Writing by chance: what each filter keeps, against slow references; what is drawn, against its chances."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.generation import draw, greedy, probabilities, sample
from course_lib.generation.filters import keep_top_k, keep_top_p, with_temperature

from .invented_languages import EOS, IDS, PAD, random_language, start, step_of, written_down

ROWS = st.lists(st.lists(st.integers(-6, 6), min_size=7, max_size=7), min_size=1, max_size=3)  # with equal scores


def kept(logits):
    return [[at for at, score in enumerate(row) if score > -math.inf] for row in logits.tolist()]


def likeliest_first(row):
    """Places of a row, the highest score first; of equal ones the smaller place."""
    return sorted(range(len(row)), key=lambda at: (-row[at], at))


@given(rows=ROWS, k=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_top_k_keeps_exactly_k(rows, k):
    logits = torch.tensor(rows, dtype=torch.float64)
    result = keep_top_k(logits, k)
    assert kept(result) == [sorted(likeliest_first(row)[:k]) for row in rows]
    assert torch.equal(result[result > -math.inf], logits[result > -math.inf])


@given(rows=ROWS, p=st.floats(0, 1))
@settings(max_examples=100, deadline=None)
def test_top_p_keeps_the_fewest_that_reach_p(rows, p):
    logits = torch.tensor(rows, dtype=torch.float64)
    result = keep_top_p(logits, p)
    for row, places in zip(logits.softmax(-1).tolist(), kept(result), strict=True):
        nucleus = []
        for at in likeliest_first(row):
            if nucleus and sum(row[one] for one in nucleus) >= p - 1e-12:
                break
            nucleus.append(at)
        assert places == (sorted(nucleus) if p < 1 else list(range(7)))
    assert torch.equal(result[result > -math.inf], logits[result > -math.inf])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_mass_that_is_p_but_for_rounding_is_enough(dtype):
    logits = torch.tensor([0.5, 0.4, 0.1], dtype=dtype).log()
    for p, count in ((0.4, 1), (0.5, 1), (0.51, 2), (0.9, 2), (0.91, 3)):
        assert int((keep_top_p(logits, p) > -math.inf).sum()) == count
    for tenths in ((6, 3, 1), (7, 2, 1), (1, 2, 7), (3, 3, 3, 1), (1, 8, 1)):  # 0.6 + 0.3 is less than 0.9
        logits = (torch.tensor(tenths, dtype=dtype) / 10).log()
        assert int((keep_top_p(logits, 0.9) > -math.inf).sum()) == len(tenths) - 1


def test_the_likeliest_is_always_kept():
    logits = torch.tensor([[9.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for p in (0.0, 1e-30, 1e-3):
        assert kept(keep_top_p(logits, p)) == [[0], [0]]


def test_p_1_keeps_even_what_rounds_to_nothing():
    assert kept(keep_top_p(torch.tensor([[0.0, -80.0, -100.0]]), 1.0)) == [[0, 1, 2]]


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_temperature_divides(temperature):
    logits = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    result = with_temperature(logits, temperature)
    torch.testing.assert_close(result.softmax(-1), (logits / temperature).softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [0, 0.0, 1e-310, 1e-306, 1e-60, 1e-45, 1e-36, 1e-3])
def test_a_small_temperature_is_the_likeliest(temperature, dtype):
    """Mistake A111: no division by 0, no inf, and the same twice; of equal scores the smaller id, as in argmax."""
    logits = torch.tensor([[1.0, 5.0, 4.0], [-3e4, 2.0, 3e4], [-math.inf, -1.0, -2.0]], dtype=dtype)
    for _ in range(2):
        assert probabilities(logits, temperature=temperature).tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
        assert draw(logits, temperature=temperature).tolist() == logits.argmax(-1).tolist()
    assert draw(torch.tensor([[1.0, 1.0, 0.0]]), temperature=0).tolist() == [0]


def test_the_filters_in_their_order():
    """First the temperature, then k, then p as a share of what k has left."""
    chances = torch.tensor([0.4, 0.3, 0.2, 0.1])
    result = probabilities(chances.log(), top_k=2, top_p=0.5)
    torch.testing.assert_close(result, torch.tensor([1.0, 0.0, 0.0, 0.0]))  # .4 of .7 is above a half
    result = probabilities(chances.log(), temperature=0.5, top_k=3, top_p=0.8)
    torch.testing.assert_close(result, torch.tensor([0.16, 0.09, 0.0, 0.0]) / 0.25)
    torch.testing.assert_close(probabilities(chances.log()), chances)
    torch.testing.assert_close(probabilities(chances.log(), top_k=9, top_p=1.0), chances)


def test_a_forbidden_token_stays_forbidden():
    logits = torch.tensor([[0.0, -math.inf, 1.0, -math.inf]])
    for options in ({}, {"top_k": 3}, {"top_p": 0.999}, {"temperature": 100.0}, {"top_k": 4, "top_p": 1.0}):
        result = probabilities(logits, **options)
        assert torch.isfinite(result).all() and result[0, [1, 3]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_drawn_in_float32(dtype):
    logits = torch.tensor([[6e4, 0.0, -6e4]], dtype=dtype)
    assert probabilities(logits, temperature=0.1, top_k=2, top_p=0.9).dtype == torch.float32
    assert draw(logits, temperature=0.1).tolist() == [0]


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.5}, {"temperature": 2.0}, {"top_k": 3}, {"top_p": 0.8}, {"top_k": 4, "top_p": 0.7}],
    ids=str,
)
def test_tokens_come_as_often_as_their_chances_say(options):
    """Pearson's chi-square over 40,000 draws: its mean is the degrees of freedom, 30 more is far out."""
    generator, draws = torch.Generator().manual_seed(3), 40_000
    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -2.0])
    chances = probabilities(logits, **options)
    tokens = draw(logits.expand(draws, -1), generator=generator, **options)
    counts, expected = torch.bincount(tokens, minlength=6), chances * draws
    possible = expected > 0
    assert not counts[~possible].any()
    assert ((counts - expected)[possible] ** 2 / expected[possible]).sum() < int(possible.sum()) - 1 + 30


def test_whole_texts_come_as_often_as_their_chances_say():
    """8,000 rows at once; a text's chance is the product of its tokens' chances."""
    language = written_down({(): {3: 0.7, EOS: 0.3}, (3,): {4: 0.5, EOS: 0.5}})
    generator, rows = torch.Generator().manual_seed(1), 8000
    size = {"max_length": 5, "batch_size": rows}
    ids = sample(step_of(language), start(*[0] * rows), **IDS, **size, generator=generator)
    texts = [tuple(row) for row in ids.tolist()]
    for text, chance in (((EOS, PAD, PAD), 0.3), ((3, EOS, PAD), 0.35), ((3, 4, EOS), 0.35)):
        assert abs(texts.count(text) / rows - chance) < 0.02  # about four standard deviations
    assert len(set(texts)) == 3


def run(languages, seed=0, next_scores=None, **options):
    size = {"max_length": 6, "batch_size": len(languages)}
    generator = torch.Generator().manual_seed(seed)
    step = step_of(next_scores or random_language(6))
    return sample(step, start(*languages), **IDS, **size, generator=generator, **options)


def test_the_same_seed_writes_the_same():
    first, again, other = run([0, 1, 2, 3]), run([0, 1, 2, 3]), run([0, 1, 2, 3], seed=1)
    assert torch.equal(first, again)
    assert not (first.shape == other.shape and torch.equal(first, other))


def test_torch_s_own_generator_serves_where_none_is_given():
    options = {"max_length": 6, "batch_size": 4}
    torch.manual_seed(5)
    first = sample(step_of(random_language(6)), start(0, 1, 2, 3), **IDS, **options)
    torch.manual_seed(5)
    assert torch.equal(sample(step_of(random_language(6)), start(0, 1, 2, 3), **IDS, **options), first)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_row_draws_does_not_depend_on_the_others(seed):
    """Mistake A109 for sampling: the first row ends at once, or late, or never; the other rows draw the same."""
    language = random_language(6)

    def with_ends(language_of_row, prefix):
        ends_at_once, never_ends = language_of_row == 100, language_of_row == 101
        scores = language(language_of_row, prefix)
        scores[EOS] = 1e9 if ends_at_once else -math.inf if never_ends else scores[EOS]
        return scores

    texts = []
    for first in (100, 101, 7):
        ids = torch.nn.functional.pad(run([first, 2, 3], seed, with_ends), (0, 6))[:, :6]
        texts.append(ids[1:].tolist())
    assert texts[0] == texts[1] == texts[2]


def test_rows_end_on_their_own_and_are_padded():
    ids = run([0, 1, 2, 3, 4, 5, 6, 7]).tolist()
    ends = [row.index(EOS) if EOS in row else len(row) for row in ids]
    assert len(set(ends)) > 2
    assert all(token == PAD for row, end in zip(ids, ends, strict=True) for token in row[end + 1 :])


@pytest.mark.parametrize("options", [{"top_k": 1}, {"temperature": 0}, {"top_p": 0.0}], ids=str)
def test_the_likeliest_alone_is_greedy(options):
    size = {"max_length": 6, "batch_size": 3}
    expected = greedy(step_of(random_language(6)), start(0, 1, 2), **IDS, **size)
    assert torch.equal(run([0, 1, 2], **options), expected)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"temperature": -0.1}, "temperature: expected 0 .always the likeliest. or more, and finite, got -0.1"),
        ({"temperature": math.inf}, "temperature: expected .*, got inf"),
        ({"temperature": math.nan}, "temperature: expected .*, got nan"),
        ({"top_k": 0}, "top_k: expected at least 1, got 0"),
        ({"top_k": -1, "temperature": 0}, "top_k: expected at least 1, got -1"),
        ({"top_p": -0.1}, "top_p: expected a mass from 0 to 1, got -0.1"),
        ({"top_p": 90}, "top_p: expected a mass from 0 to 1, got 90"),
        ({"top_p": math.nan}, "top_p: expected a mass from 0 to 1, got nan"),
    ],
    ids=str,
)
def test_arguments_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        draw(torch.zeros(2, 5), **options)
    with pytest.raises(ValueError, match=message):
        run([0, 1], **options)


def test_at_least_one_token():
    with pytest.raises(ValueError, match="max_length: expected at least 1, got 0"):
        sample(step_of(random_language(6)), start(0), **IDS, max_length=0, batch_size=1)


def test_the_logits_stay():
    logits = torch.randn(3, 6)
    before = logits.clone()
    draw(logits, temperature=0.5, top_k=4, top_p=0.5)
    assert torch.equal(logits, before)

"""Beam search over invented languages: against every text there is, against loops, and where it is known to fail."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.generation import beam, greedy, length_penalty
from course_lib.generation.ranking import among_highest, highest

from .invented_languages import (
    BOS,
    EOS,
    IDS,
    PAD,
    all_texts,
    looped_beam,
    random_language,
    start,
    step_of,
    written_down,
)

A, B, C, D = 3, 4, 5, 6  # words


def search(next_scores, *languages, max_length, **options):
    size = {"max_length": max_length, "batch_size": len(languages)}
    return beam(step_of(next_scores), start(*languages), **IDS, **size, **options)


def texts_of(found, row):
    """[(score, text)] of one row, without the empty places; a text of max_length may lack an end."""
    pairs = zip(found.scores[row].tolist(), found.ids[row].tolist(), strict=True)
    return [(score, ids[: ids.index(EOS) + 1] if EOS in ids else ids) for score, ids in pairs if score > -math.inf]


def assert_texts(found, row, expected):
    """The texts of a row are these, [(score, text)]."""
    texts = texts_of(found, row)
    assert len(texts) == len(expected)
    for (score, ids), (its_score, text) in zip(texts, expected, strict=True):
        assert ids == list(text) and abs(score - its_score) < 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.5])
@pytest.mark.parametrize("n_best", [1, 5, 121, 130])
def test_a_beam_that_leaves_nothing_out_finds_the_best_texts_there_are(alpha, n_best):
    """4 symbols, at most 4 tokens: 121 texts. The width is above the vocabulary, and above the number of texts."""
    language = random_language(4)
    found = search(language, 0, 1, 2, width=150, n_best=n_best, alpha=alpha, max_length=4)
    assert found.scores.shape == (3, n_best) and found.ids.shape[:2] == (3, n_best)
    for row in range(3):
        texts = all_texts(language, row, 4, alpha)
        assert len(texts) == 121
        assert_texts(found, row, texts[:n_best])
    empty = found.scores == -math.inf
    assert int(empty.sum()) == 3 * max(n_best - 121, 0) and not found.ids[empty].any()


@given(
    seed=st.integers(0, 10**6),
    V=st.integers(3, 6),
    width=st.integers(1, 8),
    n_best=st.integers(1, 8),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 3.0]),
    max_length=st.integers(1, 6),
)
@settings(max_examples=150, deadline=None)
def test_the_same_as_in_loops_that_never_stop_early(seed, V, width, n_best, alpha, max_length):
    """So no row stops while a text could still get among the best: with a penalty, long after the first has ended.

    Mistakes A113 and A117: the first step has one text, not `width` of them; widths beside and above the vocabulary.
    """
    language, n_best = random_language(V), min(n_best, width)
    found = search(language, seed, seed + 1, width=width, n_best=n_best, alpha=alpha, max_length=max_length)
    for row in range(2):
        expected = looped_beam(language, seed + row, width, alpha, max_length)[:n_best]
        assert_texts(found, row, expected)


@given(seed=st.integers(0, 10**6), width=st.integers(1, 6), alpha=st.sampled_from([0.0, 1.0]))
@settings(max_examples=40, deadline=None)
def test_more_of_the_best_begin_with_the_fewer(seed, width, alpha):
    options = {"width": width, "alpha": alpha, "max_length": 5}
    many = search(random_language(5), seed, n_best=width, **options)
    few = search(random_language(5), seed, n_best=1, **options)
    assert torch.equal(many.scores[:, :1], few.scores) and texts_of(many, 0)[:1] == texts_of(few, 0)


@pytest.mark.parametrize("seed", range(20))
def test_width_1_without_penalty_is_greedy(seed):
    step, languages = step_of(random_language(6)), (seed, seed + 1, seed + 2)
    size = {"max_length": 6, "batch_size": 3}
    assert torch.equal(
        beam(step, start(*languages), **IDS, **size, width=1).ids[:, 0], greedy(step, start(*languages), **IDS, **size)
    )


def test_what_greedy_misses():
    """Mistake A113, where all hypotheses stay the same: the best first token leads nowhere, the second to the best."""
    language = written_down({(): {A: 0.5, B: 0.4, C: 0.1}, (A,): {A: 0.4, B: 0.3, C: 0.3}, (B,): {C: 0.9, A: 0.1}})
    found = search(language, 0, width=2, n_best=2, max_length=5)
    assert found.ids.tolist() == [[[B, C, EOS], [A, A, EOS]]]
    torch.testing.assert_close(found.scores.exp(), torch.tensor([[0.36, 0.2]], dtype=torch.float64))
    assert search(language, 0, width=1, max_length=5).ids.tolist() == [[[A, A, EOS]]]


def test_a_wider_beam_may_lose_what_greedy_finds():
    """No beam but the widest promises anything: two texts that begin well push out the one that ends well."""
    end_well, end_badly = {EOS: 1.0}, {A: 0.25, B: 0.25, C: 0.25, D: 0.25}
    language = written_down(
        {
            (): {A: 0.4, B: 0.36, C: 0.24},
            (A,): {A: 0.34, B: 0.33, C: 0.33},
            (B,): {A: 0.5, B: 0.5},
            (A, A): end_well,
            (B, A): end_badly,
            (B, B): end_badly,
            (C,): end_badly,
        }
    )
    scores = [search(language, 0, width=width, max_length=5).scores.exp().item() for width in (1, 2, 3)]
    assert [round(score, 4) for score in scores] == [0.136, 0.045, 0.136]


def test_states_go_with_their_texts_when_these_change_places():
    """Mistake A114: after the second step the text that was behind is in front, and its state says what comes next."""
    language = written_down(
        {
            (): {A: 0.6, B: 0.4},
            (A,): {A: 0.5, B: 0.5},
            (B,): {C: 1.0},
            (B, C): {D: 1.0},
            (A, A): {A: 0.5, EOS: 0.5},
            (A, B): {B: 0.5, EOS: 0.5},
        }
    )
    found = search(language, 0, width=2, n_best=1, max_length=6)
    assert found.ids.tolist() == [[[B, C, D, EOS]]] and abs(found.scores.exp().item() - 0.4) < 1e-12


def test_the_penalty_chooses_the_longer_text():
    language = written_down({(): {EOS: 0.5, A: 0.5}, (A,): {B: 0.8, EOS: 0.2}})
    for alpha, expected in ((0.0, [EOS]), (1.0, [A, B, EOS])):
        found = search(language, 0, width=2, alpha=alpha, max_length=9)
        assert texts_of(found, 0)[0][1] == expected
    assert length_penalty(1, 2.0) == 1.0 and length_penalty(7, 1.0) == 2.0 and length_penalty(7, 0.0) == 1.0


def counted(next_scores):
    calls = []

    def step(token, state):
        calls.append(len(token))
        return step_of(next_scores)(token, state)

    return step, calls


def test_stops_when_nothing_can_get_better():
    """Without a penalty at the first sure end; with one, only when even a text of max_length could not come before."""
    language = written_down({(): {A: 1.0}, (A,): {EOS: 0.9, B: 0.1}} | {(A, *[B] * n): {B: 1.0} for n in range(1, 50)})
    for alpha, steps in ((0.0, 2), (1.0, 2), (6.0, 40)):
        step, calls = counted(language)
        size = {"max_length": 40, "batch_size": 2}
        found = beam(step, start(0, 1), **IDS, **size, width=3, alpha=alpha)
        assert calls == [6] * steps
        assert texts_of(found, 0)[0][1] == ([A, EOS] if alpha < 6 else [A, *[B] * 39])


def test_stops_when_nothing_is_left_and_where_others_can_only_be_equal():
    nowhere = written_down({(): {A: 0.5, B: 0.5}})
    even = written_down({(): {EOS: 0.5, A: 0.5}} | {(A,) * n: {A: 1.0} for n in range(1, 30)})
    for language, width, steps in ((nowhere, 9, 2), (even, 2, 1)):
        step, calls = counted(language)
        beam(step, start(0), **IDS, max_length=30, batch_size=1, width=width, n_best=1 if width == 2 else width)
        assert len(calls) == steps


def test_all_n_must_be_found_before_it_stops():
    language = written_down({(): {EOS: 0.9, A: 0.1}, (A,): {EOS: 0.6, B: 0.4}})
    assert [text for _, text in texts_of(search(language, 0, width=3, n_best=3, max_length=9), 0)] == [
        [EOS],
        [A, EOS],
        [A, B, EOS],
    ]


def test_cut_at_the_limit():
    """A text without an end counts as it stands, beside those that have one."""
    language = written_down({(): {A: 0.6, EOS: 0.4}, (A,): {A: 1.0}, (A, A): {A: 1.0}})
    found = search(language, 0, width=2, n_best=2, max_length=2)
    assert found.ids.tolist() == [[[A, A], [EOS, PAD]]]
    assert search(language, 0, width=2, max_length=1).ids.tolist() == [[[A]]]


def test_forbidden_tokens_never_surface():
    """Mistake A117: fewer texts than places, so what is impossible (-inf) would be the best of the rest."""
    language = written_down({(): {A: 0.5, B: 0.5}})
    found = search(language, 0, width=9, n_best=9, max_length=4)
    assert found.ids.tolist() == [[[A, EOS], [B, EOS], *[[PAD, PAD]] * 7]]
    assert torch.isfinite(found.scores).tolist() == [[True] * 2 + [False] * 7]


def test_of_equal_texts_the_older_and_then_the_smaller_token():
    language = written_down({(): {A: 0.25, B: 0.25, C: 0.25, EOS: 0.25}})
    found = search(language, 0, width=4, n_best=4, max_length=3)
    assert [text for _, text in texts_of(found, 0)] == [[EOS], [A, EOS], [B, EOS], [C, EOS]]


def test_a_language_of_one_symbol():
    """Nothing but the end can be written, whatever the width."""

    def step(token, state):
        return torch.zeros(len(token), 1), state

    found = beam(step, start(0), bos=0, eos=0, pad=-1, width=3, n_best=3, max_length=4, batch_size=1)
    assert found.ids.tolist() == [[[0], [-1], [-1]]] and found.scores.tolist() == [[0.0, -math.inf, -math.inf]]


@pytest.mark.parametrize("dtype, scores", [(torch.bfloat16, torch.float32), (torch.float64, torch.float64)])
def test_scores_of_half_precision_are_summed_in_float32(dtype, scores):
    step = step_of(random_language(5))

    def rounded(token, state):
        logits, state = step(token, state)
        return logits.to(dtype), state

    found = beam(rounded, start(0, 1), **IDS, width=3, max_length=4, batch_size=2)
    assert found.scores.dtype == scores and torch.isfinite(found.scores).all()


def test_the_first_token_fed_is_bos_and_the_state_handed_over_stays():
    fed, state = [], start(5, 6)

    def step(token, state):
        fed.append(token)
        return step_of(random_language(5))(token, state)

    beam(step, state, **IDS, width=3, max_length=3, batch_size=2)
    assert fed[0].tolist() == [BOS] * 6 and state.written.shape == (2, 0) and state.language.tolist() == [5, 6]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"width": 0}, "width: expected at least 1, got 0"),
        ({"width": 2, "n_best": 3}, "n_best: expected 1 to the width, 2, got 3"),
        ({"width": 2, "n_best": 0}, "n_best: expected 1 to the width, 2, got 0"),
        ({"width": 2, "alpha": -0.5}, "alpha: expected 0 .no penalty. or more, and finite, got -0.5"),
        ({"width": 2, "alpha": math.inf}, "alpha: expected 0 .no penalty. or more, and finite, got inf"),
        ({"width": 2, "alpha": math.nan}, "alpha: expected"),
        ({"width": 2, "max_length": 0}, "max_length: expected at least 1, got 0"),
    ],
)
def test_arguments_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        search(random_language(5), 0, **({"max_length": 3} | options))


@given(
    rows=st.lists(st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0]), min_size=6, max_size=6), min_size=1),
    count=st.integers(1, 6),
)
@settings(max_examples=60, deadline=None)
def test_ranking_is_a_stable_sort(rows, count):
    """Equal scores, those of nothing at all among them: which come first is settled."""
    scores = torch.tensor(rows)
    values, places = highest(scores, count)
    expected = scores.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(values, expected.values[:, :count]) and torch.equal(places, expected.indices[:, :count])
    kept = torch.zeros_like(scores, dtype=torch.bool).scatter(1, places, True)
    assert torch.equal(among_highest(scores, count), kept)

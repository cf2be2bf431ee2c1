"""Every search writes the same with a model's cache as without any, and for a row alone as for the row in a batch."""

import pytest
import torch

from course_lib.data.vocabulary import EOS
from course_lib.generation import beam, greedy, sample, write

from .generating_models import (
    IDS,
    MODELS,
    log_probability,
    real_part,
    sources,
    step_without_cache,
    without_cache,
)

pytestmark = pytest.mark.double

LENGTHS = [(3,), (1, 5, 2, 5), (4, 4)]
SEARCHES = {
    "greedy": (greedy, {}),
    "beam 1": (beam, {"width": 1}),
    "beam 3": (beam, {"width": 3, "alpha": 0.6, "n_best": 2}),
    "wider than the vocabulary": (beam, {"width": 12, "n_best": 12, "alpha": 1.5}),
    "sample": (sample, {}),
    "sample, filtered": (sample, {"temperature": 1.7, "top_k": 5, "top_p": 0.9}),
}


def seeded(search):
    """A generator for a search that draws; each call begins the same stream."""
    return {"generator": torch.Generator().manual_seed(7)} if search is sample else {}


def assert_same(one, other):
    """The same ids; where there are scores, those up to rounding."""
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert torch.equal(one.ids, other.ids)
        torch.testing.assert_close(one.scores, other.scores, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("search, options", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_the_same_choices_without_a_cache(name, search, options):
    """Mistakes A118, A120 and A124: what a cache is given, sees and counts; A114: a beam's states move with its texts.

    A109 too: rows end at different steps, and each goes on until its own end.
    """
    model = MODELS[name]()
    for lengths in LENGTHS:
        batch = sources(*lengths)
        cached = write(model, batch, 7, search=search, **options, **seeded(search))
        state, limits = without_cache(model, batch), {"max_length": 7, "batch_size": len(batch)}
        assert_same(cached, search(step_without_cache, state, **IDS, **limits, **options, **seeded(search)))


@pytest.mark.parametrize("search, options", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("name", MODELS)
def test_again_after_another_batch(name, search, options):
    """Mistake A121: A, then B, then A again; B as by a model that has seen nothing."""
    model, fresh = MODELS[name](), MODELS[name]()
    a, b = sources(4, 2), sources(3, 5, 1)
    first, between, again = (write(model, batch, 5, search=search, **options, **seeded(search)) for batch in (a, b, a))
    assert_same(first, again)
    assert_same(between, write(fresh, b, 5, search=search, **options, **seeded(search)))


@pytest.mark.parametrize("width, alpha", [(1, 0.0), (2, 0.0), (3, 0.6), (12, 2.0)])
@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_a_row_alone(name, width, alpha):
    """Mistake A109 for a beam: a row that is done does not change, and does not stop the others."""
    model, batch = MODELS[name](), sources(1, 5, 2, 3)
    together = write(model, batch, 7, search=beam, width=width, alpha=alpha, n_best=width)
    for row in range(len(batch)):
        one = write(model, row_of(batch, row), 7, search=beam, width=width, alpha=alpha, n_best=width)
        columns = one.ids.shape[-1]
        assert torch.equal(together.ids[row, :, :columns], one.ids[0]) and not together.ids[row, :, columns:].any()
        torch.testing.assert_close(together.scores[row], one.scores[0], atol=1e-10, rtol=1e-10)


def row_of(batch, row):
    """One row of a batch by itself, without the padding that its neighbours made."""
    length = batch.source_lengths[row]
    one = [getattr(batch, name)[row : row + 1] for name in ("source", "source_lengths", "target", "decoder_input")]
    return type(batch)(one[0][:, :length], *one[1:])


@pytest.mark.parametrize("width, alpha", [(1, 0.0), (3, 0.0), (3, 0.6), (12, 1.5)])
@pytest.mark.parametrize("name", MODELS)
def test_scores_are_the_model_s_own(name, width, alpha):
    """Mistake A114: each text again from scratch, by teacher forcing; a state that belongs to another text shows."""
    model, batch = MODELS[name](), sources(1, 5, 2)
    ids, scores = write(model, batch, 6, search=beam, width=width, alpha=alpha, n_best=width)
    assert (scores.diff(dim=1) <= 0).all()
    for row in range(len(batch)):
        texts = [tuple(real_part(text)) for text in ids[row]]
        assert len(set(texts)) == width, "mistake A113: the hypotheses of a row are different texts"
        for text, score in zip(texts, scores[row].tolist(), strict=True):
            expected = log_probability(model, batch, row, list(text)) / ((5 + len(text)) / 6) ** alpha
            assert abs(score - expected) < 1e-10


@pytest.mark.parametrize("name", MODELS)
def test_width_1_without_penalty_is_greedy(name):
    model, batch = MODELS[name](), sources(1, 5, 2, 4, 4)
    ids, _ = write(model, batch, 8, search=beam, width=1)
    assert torch.equal(ids[:, 0], write(model, batch, 8))


@pytest.mark.parametrize("name", MODELS)
def test_sampling_the_likeliest_alone_is_greedy(name):
    """Mistake A111: temperature 0, or one token left by a filter, twice."""
    model, batch = MODELS[name](), sources(1, 5, 2)
    expected = write(model, batch, 8)
    for options in ({"temperature": 0}, {"temperature": 0.0}, {"top_k": 1}, {"top_p": 0.0}, {"temperature": 1e-300}):
        assert all(torch.equal(write(model, batch, 8, search=sample, **options), expected) for _ in range(2))


def test_these_models_show_something():
    """Over all models: rows that end early beside rows that do not, and beams that leave the way of greedy search."""
    early, late, beyond = 0, 0, 0
    for make in MODELS.values():
        model, batch = make(), sources(1, 5, 2, 3)
        ids = write(model, batch, 7)
        ends = (ids == EOS).any(dim=1)
        early, late = early + int(ends.sum()), late + int((~ends).sum())
        beyond += int((write(model, batch, 7, search=beam, width=3).ids[:, 0, 0] != ids[:, 0]).sum())
    assert early >= 5 and late >= 5 and beyond >= 5, (early, late, beyond)


def test_a_model_in_training_mode_and_with_gradients_writes_as_in_evaluation():
    model, batch = MODELS["post-norm, sinusoidal"](), sources(3, 2)
    expected = write(model, batch, 5, search=beam, width=3)
    assert_same(write(model.train(), batch, 5, search=beam, width=3), expected)
    assert model.training and not expected.scores.requires_grad


def test_a_beam_does_not_say_where_it_looked():
    model = MODELS["bahdanau"]()
    with pytest.raises(ValueError, match="need_weights: a beam's rows change places"):
        write(model, sources(3, 2), 5, need_weights=True, search=beam, width=2)
    ids, weights = write(model, sources(3, 2), 5, need_weights=True, search=sample, **seeded(sample))
    assert weights.shape == (*ids.shape, 3)


def test_an_option_that_the_search_does_not_know():
    with pytest.raises(TypeError, match="width"):
        write(MODELS["luong"](), sources(3), 5, width=2)

"""Writing on from beginnings of any lengths: what comes out is what the model says without cache, batch or padding."""

import pytest
import torch

from course_lib.data.vocabulary import BOS, EOS, PAD
from course_lib.generation import beam, greedy, sample, write_on

from .small_families import make_writer
from .small_transformer import ORDERS, POSITIONS

pytestmark = pytest.mark.double
MODELS = {
    f"{order}, {positions}": lambda order=order, positions=positions: make_writer(
        **ORDERS[order], **POSITIONS[positions], dropout=0.3
    )
    for order in ORDERS
    for positions in POSITIONS
}
BEGINNINGS = [[5, 6, 7], [], [4], [9, 4, 8, 8, 10]]


def likeliest_text(model, beginning, max_length):
    """Each token again from scratch."""
    model.eval()
    ids = [BOS, *beginning]
    while len(ids) < 1 + len(beginning) + max_length and EOS not in ids:
        ids.append(model(torch.tensor([ids]))[0, -1].argmax().item())
    return ids[1 + len(beginning) :]


@pytest.mark.parametrize("name", MODELS)
def test_each_row_is_what_the_model_finds_likeliest(name):
    """Mistakes A079, A118, A120, A124; lengths 0 to 5 side by side, then alone."""
    model = MODELS[name]()
    written = write_on(model, BEGINNINGS, 6)
    assert model.training and written.shape[0] == len(BEGINNINGS) and written.shape[1] <= 6
    for beginning, row in zip(BEGINNINGS, written.tolist(), strict=True):
        expected = likeliest_text(model, beginning, 6)
        assert row == expected + [PAD] * (len(row) - len(expected))
        assert write_on(model, [beginning], 6).tolist() == [expected]


def test_some_rows_end_and_others_do_not():
    ends = [EOS in row for name in MODELS for row in write_on(MODELS[name](), BEGINNINGS, 6).tolist()]
    assert 2 <= sum(ends) <= len(ends) - 2, sum(ends)


@pytest.mark.parametrize("name", MODELS)
def test_a_beam_of_one_is_greedy_and_its_scores_are_the_model_s(name):
    model, beginnings = MODELS[name](), [[5, 6], [7, 7], [9, 4]]
    greedily = write_on(model, beginnings, 5)
    ids, _ = write_on(model, beginnings, 5, search=beam, width=1)
    assert torch.equal(ids[:, 0], greedily)
    ids, scores = write_on(model, beginnings, 5, search=beam, width=3, n_best=2)
    model.eval()
    for row, beginning in enumerate(beginnings):
        for text, score in zip(ids[row].tolist(), scores[row].tolist(), strict=True):
            text = text[: text.index(EOS) + 1] if EOS in text else text
            logits = model(torch.tensor([[BOS, *beginning, *text[:-1]]]))[0, len(beginning) :]
            expected = logits.log_softmax(-1)[range(len(text)), text].sum().item()
            assert abs(score - expected) < 1e-10


def test_a_seeded_draw_repeats_and_follows_the_beginnings():
    model = MODELS["post-norm, rotary"]()
    draws = [
        write_on(model, BEGINNINGS, 6, search=sample, generator=torch.Generator().manual_seed(3)) for _ in range(2)
    ]
    assert torch.equal(*draws)
    coldest = write_on(model, BEGINNINGS, 6, search=sample, temperature=0)
    assert torch.equal(coldest, write_on(model, BEGINNINGS, 6))
    other = write_on(model, BEGINNINGS, 6, search=sample, generator=torch.Generator().manual_seed(4))
    assert not torch.equal(draws[0][:, : other.shape[1]], other[:, : draws[0].shape[1]])


def test_the_longest_beginning_gets_its_tokens_too():
    model = MODELS["post-norm, sinusoidal"]()
    asked = []

    def counted(step, state, **limits):
        asked.append(limits["max_length"])
        return greedy(step, state, **limits)

    write_on(model, BEGINNINGS, 6, search=counted)
    assert asked == [6 + 5]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda model: write_on(model, [], 3), "beginnings: expected at least one"),
        (lambda model: write_on(model, [[5]], 0), "max_length: expected at least 1, got 0"),
        (lambda model: write_on(model, [[5], [5, 6]], 3, search=beam, width=2), "a beam counts tokens"),
    ],
)
def test_says_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_writer())

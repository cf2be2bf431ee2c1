import math
from datetime import date

import pytest
import torch

from course_lib.data.dates import FORMS, write_date
from course_lib.evaluation import (
    accuracy_by_length,
    alignment_error_rate,
    batch_alignment_error_rate,
    exact_matches,
    masked_cross_entropy,
    sequence_accuracy,
    token_accuracy,
    token_hits,
)

EOS = 2


def make(B=3, T=4, V=6, pad=0, lengths=(4, 1, 2)):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(B, T, V, generator=generator, dtype=torch.float64)
    target = torch.randint(1, V - 1, (B, T), generator=generator)
    target[torch.arange(T) >= torch.tensor(lengths)[:, None]] = pad
    return logits, target


@pytest.mark.parametrize("pad", [0, 5])
def test_loss_is_the_mean_surprise_of_real_tokens(pad):
    logits, target = make(pad=pad)
    losses = [
        -math.log(torch.softmax(logits[row, t], -1)[target[row, t]])
        for row in range(3)
        for t in range(4)
        if target[row, t] != pad
    ]
    assert len(losses) == 7
    assert masked_cross_entropy(logits, target, pad).item() == pytest.approx(sum(losses) / 7, abs=1e-12)


@pytest.mark.parametrize("columns", [1, 5])
def test_padding_changes_neither_loss_nor_gradient(columns):
    logits, target = make()
    logits.requires_grad_()
    loss = masked_cross_entropy(logits, target, 0)
    (gradient,) = torch.autograd.grad(loss, logits)
    longer = torch.nn.functional.pad(logits, (0, 0, 0, columns), value=3.0)
    padded = masked_cross_entropy(longer, torch.nn.functional.pad(target, (0, columns)), 0)
    torch.testing.assert_close(padded, loss, atol=1e-12, rtol=0)
    torch.testing.assert_close(torch.autograd.grad(padded, logits)[0], gradient, atol=1e-12, rtol=0)
    assert not gradient[target == 0].any() and gradient[target != 0].any(-1).all()


def test_loss_limits():
    _, target = make()
    sure = 50.0 * torch.nn.functional.one_hot(target, 6).double()
    assert masked_cross_entropy(sure, target, 0) < 1e-12
    assert masked_cross_entropy(torch.zeros(3, 4, 6), target, 0).item() == pytest.approx(math.log(6), abs=1e-6)


def test_loss_refuses_what_it_cannot_average():
    logits, target = make()
    with pytest.raises(ValueError, match=r"logits: expected \(3, 3, 'V'\), got \(3, 4, 6\)"):
        masked_cross_entropy(logits, target[:, :3], 0)
    with pytest.raises(ValueError, match="every position is padding"):
        masked_cross_entropy(logits, torch.zeros_like(target), 0)


TARGET = torch.tensor([[5, 6, EOS, 0], [7, EOS, 0, 0], [8, 9, 4, EOS]])


def test_token_accuracy_counts_real_tokens_in_their_place():
    assert token_accuracy(TARGET, TARGET, 0) == 1.0
    wrong = TARGET.clone()
    wrong[0, 1] = 9
    assert token_accuracy(wrong, TARGET, 0) == pytest.approx(8 / 9)
    after_the_end = TARGET.clone()
    after_the_end[1, 3] = 9
    assert token_accuracy(after_the_end, TARGET, 0) == 1.0
    assert token_accuracy(TARGET[:, :2], TARGET, 0) == pytest.approx(6 / 9)  # what is missing is wrong
    assert token_accuracy(torch.nn.functional.pad(TARGET, (0, 3), value=9), TARGET, 0) == 1.0
    id_0_is_a_word = torch.tensor([[7, 0, 0, 9]])
    assert token_accuracy(id_0_is_a_word[:, :1], id_0_is_a_word, 9) == pytest.approx(1 / 3)
    hits, real = token_hits(torch.zeros_like(TARGET), TARGET, 0)
    assert not hits.any() and real.sum() == 9


def test_exact_match_goes_up_to_the_end_token():
    written = torch.tensor([[5, 6, EOS, 9], [7, EOS, 9, 9], [8, 9, 4, 5]])
    assert exact_matches(written, TARGET, EOS).tolist() == [True, True, False]
    assert sequence_accuracy(written, TARGET, EOS) == pytest.approx(2 / 3)
    assert exact_matches(TARGET[:, :3], TARGET, EOS).tolist() == [True, True, False]
    longer = torch.nn.functional.pad(TARGET, (0, 2), value=9)
    assert exact_matches(longer, TARGET, EOS).all()
    no_end = torch.tensor([[7, 9, 9, 9]])
    assert not exact_matches(no_end, TARGET[1:2], EOS).any()


def test_accuracy_by_length():
    correct, lengths = torch.tensor([True, False, True, True]), torch.tensor([20, 3, 3, 4])
    assert accuracy_by_length(correct, lengths) == {3: 0.5, 4: 1.0, 20: 1.0}
    assert list(accuracy_by_length(correct, lengths)) == [3, 4, 20]
    with pytest.raises(ValueError):
        accuracy_by_length(correct, lengths[:2])


SPANS = ((0, 2), None, (2, 3), (0, 4))


def test_alignment_errors_are_counted_where_a_span_is_known():
    weights = torch.tensor([[0.1, 0.6, 0.3, 0.0], [0.0, 0.0, 0.0, 1.0], [0.2, 0.1, 0.1, 0.6], [0.0, 0.0, 0.1, 0.9]])
    assert alignment_error_rate(weights, SPANS) == pytest.approx(1 / 3)
    assert alignment_error_rate(weights.tolist(), SPANS) == pytest.approx(1 / 3)
    end_token = torch.cat([weights, torch.eye(4)[:1]])
    assert alignment_error_rate(end_token, SPANS) == pytest.approx(1 / 3)
    assert alignment_error_rate(weights, (None, None, (3, 4), None)) == 0.0
    assert alignment_error_rate(weights, ((2, 3), None, (0, 3), (0, 3))) == 1.0  # the end of a span lies outside it


def test_alignment_errors_of_a_batch_count_each_position_alike():
    weights = torch.eye(4).expand(2, 4, 4)
    short = (None, None, None, (0, 3))
    assert alignment_error_rate(weights[0], SPANS) == 0.0 and alignment_error_rate(weights[0], short) == 1.0
    assert batch_alignment_error_rate(weights, [SPANS, short]) == pytest.approx(1 / 4)
    with pytest.raises(ValueError):
        batch_alignment_error_rate(weights, [SPANS])


def test_alignment_errors_refuse_what_they_cannot_count():
    with pytest.raises(ValueError, match="no target position has a known span"):
        alignment_error_rate(torch.eye(4), (None,) * 4)
    with pytest.raises(ValueError, match="expected a row for each of the 4 spans, got 3"):
        alignment_error_rate(torch.eye(4)[:3], SPANS)


@pytest.mark.parametrize("locale", FORMS)
def test_the_true_alignment_of_a_date_has_no_errors(locale):
    for form in FORMS[locale]:
        example = write_date(date(2026, 11, 23), locale, form)
        right = torch.zeros(11, len(example.source))  # ten characters and the end token
        for row, span in enumerate(example.spans):
            if span is not None:
                right[row, span[1] - 1] = 1.0
        assert alignment_error_rate(right, example.spans) == 0.0
        assert alignment_error_rate(right.roll(1, dims=1), example.spans) > 0

"""The whole model: ids in, logits out; masks from ids, padding, the future, who looked where, errors."""

import pytest
import torch

from course_lib.attention import masked_softmax
from course_lib.transformer import Transformer, make_masks

from .small_transformer import CLOSE, ORDERS, POSITIONS, SOURCE, TARGET, B, D, H, S, T, gradients, ids, make_model, pair

pytestmark = pytest.mark.double


# ---- masks


def test_masks_come_from_ids_alone_and_have_no_head_axis():
    source, target = pair()
    source_mask, target_mask = make_masks(source, target, pad=0)
    assert source_mask.shape == (B, 1, S) and target_mask.shape == (B, T, T)
    assert source_mask.dtype == target_mask.dtype == torch.bool
    for row in range(B):
        assert source_mask[row, 0].tolist() == [token != 0 for token in source[row].tolist()]
        for t in range(T):
            assert target_mask[row, t].tolist() == [k <= t and target[row, k].item() != 0 for k in range(T)]
    other = make_masks(source + 7, target + 7, pad=7)
    assert all(map(torch.equal, other, (source_mask, target_mask)))
    with pytest.raises(ValueError, match=r"ids: expected \(B, S\), got shape \(5,\)"):
        make_masks(source[0], target, pad=0)


# ---- what may matter, and what may not


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_no_gradient_from_the_future(order, training):
    model = make_model(dropout=0.3, **ORDERS[order]).train(training)
    source, target = ids(), torch.arange(4, 4 + T).expand(B, T)  # each position has its own token, so its own row
    logits = model(source, None, target)
    for t in range(T):
        direction = torch.randn(B, TARGET)
        total = (logits[:, t] * direction).sum()
        (gradient,) = torch.autograd.grad(total, model.target_embedding.weight, retain_graph=True)
        read = gradient[4 : 4 + T].abs().sum(-1) > 0
        assert read[: t + 1].all() and not read[t + 1 :].any()


@pytest.mark.parametrize("training", [True, False])
def test_another_future_changes_nothing_before_it(training):
    model, (source, target) = make_model(dropout=0.3).train(training), pair()
    state = torch.get_rng_state()
    before = model(source, None, target)
    for t in range(1, T):
        changed = target.clone()
        changed[:, t:] = ids(columns=T - t, vocabulary=TARGET)
        torch.set_rng_state(state)
        torch.testing.assert_close(model(source, None, changed)[:, :t], before[:, :t], **CLOSE)


def real_logits(model, source, target):
    return model(source, None, target)[target != 0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_does_not_matter(positions, order):
    """Neither what stands in it, nor how much of it there is, nor other rows."""
    model, (source, target) = make_model(**POSITIONS[positions], **ORDERS[order]), pair()
    expected = real_logits(model, source, target)
    embeddings = [model.source_embedding.weight, model.target_embedding.weight]
    for gradient in gradients((expected,), embeddings):
        assert not gradient[0].any() and gradient[4:].any()
    wider = [torch.cat([part, torch.zeros(B, 3, dtype=torch.long)], 1) for part in (source, target)]
    torch.testing.assert_close(real_logits(model, *wider), expected, **CLOSE)
    for garbage in (1e9, -1e9):
        with torch.no_grad():
            model.source_embedding.weight[0] = model.target_embedding.weight[0] = garbage
        torch.testing.assert_close(real_logits(model, source, target), expected, **CLOSE)
    alone = [real_logits(model, *(part[row : row + 1, : (part[row] != 0).sum()] for part in (source, target)))
             for row in range(B)]  # fmt: skip
    torch.testing.assert_close(torch.cat(alone), expected, **CLOSE)


def test_the_source_is_read_to_its_end_by_the_first_step():
    """Mistakes A093 and A096, with as many source as target tokens: nothing but values tells."""
    model, source, target = make_model(), ids(), ids(columns=S, vocabulary=TARGET)
    other = source.clone()
    other[:, -1] = (source[:, -1] - 3) % (SOURCE - 4) + 4
    assert not torch.isclose(model(source, None, target)[:, 0], model(other, None, target)[:, 0]).any()


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_order_of_words_matters(positions):
    """The same words in another order; without any positions the encoder could not tell them apart."""
    model, source, target = make_model(**POSITIONS[positions]), ids(), ids(columns=T, vocabulary=TARGET)
    shuffled = source.flip(1)
    assert (model(source, None, target) - model(shuffled, None, target)).abs().max() > 1e-3
    model.source_embedding.positions = None
    for block in model.encoder.blocks:
        block.self_attention.rotary = None
    torch.testing.assert_close(model(source, None, target), model(shuffled, None, target), **CLOSE)


@pytest.mark.parametrize("tied", [None, "output"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("order", ORDERS)
def test_every_parameter_has_a_gradient(order, positions, tied):
    model, (source, target) = make_model(tied=tied, **POSITIONS[positions], **ORDERS[order]), pair()
    found = gradients((real_logits(model, source, target),), list(model.parameters()))
    assert all(gradient.any() and gradient.isfinite().all() for gradient in found)


def test_sentences_of_nothing_are_finite():
    model, (source, target) = make_model(), pair()
    source[0] = target[1] = 0
    logits = model(source, None, target)
    assert logits.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in gradients((logits,), list(model.parameters())))
    nothing = torch.zeros_like(source), torch.zeros_like(target)
    assert model(nothing[0], None, nothing[1]).isfinite().all()


# ---- weights and attention functions


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_who_looked_where(positions, order):
    model, (source, target) = make_model(**POSITIONS[positions], **ORDERS[order]), pair()
    logits, weights = model(source, None, target, need_weights=True)
    torch.testing.assert_close(logits, model(source, None, target), **CLOSE)
    shapes = {"encoder": (2, (B, H, S, S)), "decoder": (3, (B, H, T, T)), "cross": (3, (B, H, T, S))}
    source_mask, target_mask = make_masks(source, target, 0)
    masks = {"encoder": source_mask, "decoder": target_mask, "cross": source_mask}
    for name, (layers_of_it, shape) in shapes.items():
        part = getattr(weights, name)
        assert len(part) == layers_of_it and {each.shape for each in part} == {shape}
        for each in part:
            torch.testing.assert_close(each.sum(-1), torch.ones(shape[:-1]), **CLOSE)
            assert torch.equal(each > 0, masks[name].unsqueeze(1).expand(shape))
    assert all(part is None for part in model.encoder(model.source_embedding(source))[1])


def test_runs_on_a_learner_s_attention():
    calls = []

    def written_by_a_learner(query, key, value, *, mask=None, bias=None, dropout=0.0, need_weights=False):
        calls.append(query.shape[-2:])
        weights = masked_softmax(query @ key.mT / query.shape[-1] ** 0.5, mask)
        return weights @ value, weights if need_weights else None

    theirs, (source, target) = make_model(attention=written_by_a_learner), pair()
    torch.testing.assert_close(theirs(source, None, target), make_model()(source, None, target), **CLOSE)
    assert calls == 2 * [(S, D // H)] + 6 * [(T, D // H)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Transformer(9, 9, d_model=8, num_heads=3), "num_heads must divide d_model, got num_heads=3"),
        (lambda: make_model(tied="source"), "tied: expected one of None, 'output', 'all', got 'source'"),
        (lambda: make_model(tied="all"), 'tied="all" needs one vocabulary .* got 11 and 13'),
        (lambda: make_model(positions="sine"), "positions: expected one of sinusoidal, learned, rotary, got 'sine'"),
        (lambda: make_model(positions="learned"), 'max_length: .* got None for "learned"'),
        (lambda: make_model(max_length=5), 'max_length: .* got 5 for "sinusoidal"'),
        (lambda: make_model(activation="elu"), "activation: expected one of relu, gelu"),
        (lambda: make_model()(ids(vocabulary=5) + 8, None, ids()), "ids: expected 0 to 10, .* 11 symbols; got 12 to"),
        (lambda: make_model()(ids(), None, ids() - 9), "ids: expected 0 to 12, .* 13 symbols; got -"),
        (lambda: make_model()(ids()[0], None, ids()), r"ids: expected \(B, S\), got shape \(5,\)"),
        (lambda: make_model()(ids(rows=2), None, ids()), "axes before the last two must be equal or 1"),
        (lambda: make_model(positions="learned", max_length=4)(ids(), None, ids()), "but max_length=4"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.gpu
@pytest.mark.parametrize("positions", POSITIONS)
def test_cuda_equals_cpu(positions):
    model, (source, target) = make_model(**POSITIONS[positions]), pair()
    expected = model(source, None, target)
    got = model.cuda()(source.cuda(), None, target.cuda())
    torch.testing.assert_close(got.cpu(), expected, atol=1e-9, rtol=1e-7)
    logits, _ = model.step(target[:, 0].cuda(), model.encode(source.cuda()))
    torch.testing.assert_close(logits.cpu(), expected[:, 0], atol=1e-9, rtol=1e-7)

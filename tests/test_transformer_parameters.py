"""The model's parameters: embeddings, tied matrices, its size, dropout, other types, and weights that are stored."""

import copy
import inspect
import math

import pytest
import torch

from course_lib import blocks, embedding, layers, transformer
from course_lib.attention import scaled_dot_product_attention
from course_lib.embedding import Embedding
from course_lib.positions import sinusoidal_encoding
from course_lib.transformer import Transformer

from .small_transformer import CLOSE, POSITIONS, SOURCE, TARGET, D, H, S, ids, make_model, pair

pytestmark = pytest.mark.double


# ---- dropout


def test_train_and_eval_and_train_again():
    model, (source, target) = make_model(dropout=0.5), pair()
    plain = make_model()(source, None, target)
    for _ in range(2):
        first, second = (model.train()(source, None, target) for _ in range(2))
        assert not torch.isclose(first, second).any() and not torch.isclose(first, plain).any()
        torch.testing.assert_close(model.eval()(source, None, target), plain, **CLOSE)
    used = sum(inspect.getsource(module).count("self.training") for module in (layers, embedding, blocks, transformer))
    assert used == inspect.getsource(layers).count("self.training") + 1 == 3, "nothing hangs on the mode but dropout"


def test_dropout_stands_where_the_paper_has_it(monkeypatch):
    """On both sums of embedding and position, and on each sub-layer's output; as in torch inside the two as well."""
    calls, model = [], make_model(dropout=0.25)

    def counted(x, share, training=True):
        calls.append((x.shape[-1], share, training))
        return x

    def attention(query, key, value, *, dropout, **options):
        calls.append(("attention", dropout, model.training))
        return scaled_dot_product_attention(query, key, value, **options)

    monkeypatch.setattr(layers, "dropout", counted)
    monkeypatch.setattr(embedding, "dropout", counted)
    model = make_model(dropout=0.25, attention=attention)
    model(*pair()[:1], None, pair()[1])
    self_attention, feed_forward = [("attention", 0.25, True), (D, 0.25, True)], [(12, 0.25, True), (D, 0.25, True)]
    encoder = [(D, 0.25, True)] + 2 * (self_attention + feed_forward)
    decoder = [(D, 0.25, True)] + 3 * (2 * self_attention + feed_forward)
    assert calls == encoder + decoder


# ---- embeddings


def test_an_embedding_is_scaled_and_then_told_where_it_stands():
    module = Embedding(SOURCE, D, positions=lambda x, offset: x + sinusoidal_encoding(torch.arange(S) + offset, D))
    tokens = ids()
    expected = module.weight[tokens] * math.sqrt(D) + sinusoidal_encoding(torch.arange(7, 7 + S), D)
    torch.testing.assert_close(module(tokens, offset=7), expected, **CLOSE)
    wide = Embedding(200, 256)
    assert 0.97 < wide(torch.arange(200)[None]).std() < 1.03
    model = Transformer(SOURCE, 200, d_model=256, tied="output").eval()
    assert 0.8 < model(ids(), None, ids(vocabulary=200)).std() < 1.2


def test_tied_matrices_are_one_and_stay_one():
    sizes = {tied: sum(p.numel() for p in make_model(tied=tied).parameters()) for tied in (None, "output")}
    assert sizes[None] - sizes["output"] == TARGET * D
    model = Transformer(SOURCE, SOURCE, d_model=D, num_heads=H, d_ff=12, tied="all")
    for each in (model, copy.deepcopy(model), model.to(torch.float32)):
        each.load_state_dict(each.state_dict())
        weights = each.output.weight, each.target_embedding.weight, each.source_embedding.weight
        assert len({weight.data_ptr() for weight in weights}) == 1 and len(set(map(id, weights))) == 1
    assert make_model(tied="output").source_embedding.weight.shape == (SOURCE, D)


def test_the_paper_s_base_model_has_63_082_496_parameters():
    """Table 3 says 65 million, for a vocabulary of about 37,000 that source and target share."""
    with torch.device("meta"):
        model = Transformer(37_000, 37_000, tied="all")
    attention = 4 * (512 * 512 + 512)
    feed_forward = 512 * 2048 + 2048 + 2048 * 512 + 512
    norm = 2 * 512
    encoder, decoder = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    expected = 37_000 * 512 + 6 * (encoder + decoder)
    assert sum(parameter.numel() for parameter in model.parameters()) == expected == 63_082_496
    assert {block.self_attention.num_heads for block in (*model.encoder.blocks, *model.decoder.blocks)} == {8}
    assert model.encoder.blocks[0].around_feed_forward.dropout == 0.1


# ---- other types, and weights that are stored


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("positions", POSITIONS)
def test_every_dtype_is_kept(positions, dtype):
    exact, (source, target) = make_model(**POSITIONS[positions]), pair()
    model = copy.deepcopy(exact).to(dtype)
    expected = copy.deepcopy(model).double()(source, None, target)
    logits = model(source, None, target)
    assert logits.dtype == dtype
    rounding = 60 * torch.finfo(dtype).eps
    torch.testing.assert_close(logits.double(), expected, atol=rounding, rtol=rounding)
    assert model.step(target[:, 0], model.encode(source))[0].dtype == dtype


@pytest.mark.parametrize("positions", POSITIONS)
def test_a_state_dict_makes_the_same_model_again(positions):
    model, (source, target) = make_model(tied="output", **POSITIONS[positions]), pair()
    other = make_model(tied="output", **POSITIONS[positions])
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(source, None, target), model(source, None, target))

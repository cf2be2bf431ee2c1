"""A sentence translated, and where the model looked: as it is written step by step, and nothing becomes UNK."""

import itertools

import pytest
import torch

from course_lib.data.batches import make_batch
from course_lib.data.korean import UnknownWord, read_korean
from course_lib.data.vocabulary import SPECIAL, Vocabulary
from course_lib.generation import write
from course_lib.training import fit, sequence_loss
from course_lib.transformer import Transformer
from course_lib.translation import END, Translation, UnseenWord, translate

from .small_transformer import POSITIONS, spread

KOREAN = Vocabulary(["나", "는", "너", "를", "사랑해", "친구", "가", "자"])
ENGLISH = Vocabulary(["I", "love", "you", "a", "friend", "sleeps"])
LAYERS, HEADS = 3, 2
SENTENCES = ["나는 너를 사랑해", "친구가 자", "자"]


def make(**options):
    """A random model that writes different words, and no special token."""
    sizes = {"d_model": 8, "num_heads": HEADS, "d_ff": 12, "encoder_layers": 2, "decoder_layers": LAYERS}
    model = spread(Transformer(len(KOREAN), len(ENGLISH), **({"dropout": 0.0, "norm_first": True} | sizes | options)))
    with torch.no_grad():
        model.output.weight[: len(SPECIAL)] = 0
    return model.double()


def knows(korean, english):
    """A model that was shown one sentence until it writes it."""
    torch.manual_seed(0)
    sizes = {"d_model": 8, "num_heads": HEADS, "d_ff": 12, "encoder_layers": 1, "decoder_layers": LAYERS}
    model = Transformer(len(KOREAN), len(ENGLISH), dropout=0.0, **sizes)
    batch = make_batch([(KOREAN.encode(read_korean(korean)), ENGLISH.encode(english.split()))])
    fit(model, itertools.repeat(batch), sequence_loss, steps=80, lr=0.02, progress=False)
    return model


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("max_length", [1, 7])
@pytest.mark.parametrize("positions", POSITIONS)
def test_it_is_what_the_model_writes_and_where_it_looked_step_by_step(text, max_length, positions):
    model = make(**POSITIONS[positions])
    found = translate(model, text, KOREAN, ENGLISH, max_length=max_length)
    batch = make_batch([(KOREAN.encode(found.source), [])])
    ids, looked = write(model, batch, max_length, need_weights=True)  # the last layer, mean over heads, one by one
    T, S = ids.shape[1], len(found.source)
    assert found.cross.shape == (LAYERS, HEADS, T, S) and len(found.probability) == T == max_length
    assert found.target == tuple(ENGLISH.symbols[number] for number in ids[0].tolist())
    torch.testing.assert_close(found.cross[-1].mean(dim=0), looked[0])
    torch.testing.assert_close(found.cross.sum(dim=-1), torch.ones(LAYERS, HEADS, T, dtype=torch.float64))


def test_heads_and_layers_are_not_mixed_up():
    model = make()
    found = translate(model, SENTENCES[0], KOREAN, ENGLISH)
    for layer in range(LAYERS):
        state = model.encode(make_batch([(KOREAN.encode(found.source), [])]).source)
        tokens = torch.tensor([[1, *ENGLISH.encode(found.target[:-1])]])
        _, _, want = model.look(tokens, state, layer)
        torch.testing.assert_close(found.cross[layer].mean(dim=0), want[0])
    assert not torch.allclose(found.cross[0, 0], found.cross[0, 1])


def test_each_token_is_the_likeliest_and_has_its_probability():
    model = make()
    found = translate(model, SENTENCES[0], KOREAN, ENGLISH, max_length=6)
    written = ENGLISH.encode(found.target)
    assert len(written) == 6 and len(set(written)) > 2, "one token again and again: this test would see little"
    for at, (token, share) in enumerate(zip(written, found.probability, strict=True)):
        given = torch.tensor([[1, *written[:at]]])
        shares = model(torch.tensor([KOREAN.encode(found.source)]), None, given)[0, -1].softmax(dim=-1)
        assert shares.argmax() == token and share == pytest.approx(shares[token].item())


def test_the_end_token_is_shown_and_is_no_part_of_the_text():
    model = knows("친구가 자", "a friend sleeps")
    found = translate(model, "친구가 자.", KOREAN, ENGLISH)
    assert found.source == ("친구", "가", "자") and found.target == ("a", "friend", "sleeps", END)
    assert found.text == "A friend sleeps"
    cut = translate(model, "친구가 자", KOREAN, ENGLISH, max_length=3)
    assert cut.target == found.target[:3] and cut.text == found.text
    assert cut.cross.shape[2] == len(cut.probability) == 3
    torch.testing.assert_close(cut.cross, found.cross[:, :, :3], rtol=1e-5, atol=1e-6)  # the models compute in float32


def test_a_text_starts_with_a_capital_and_stops_at_the_end():
    def text_of(*target):
        return Translation(("가",), target, torch.ones(1, 1, len(target), 1)).text

    assert text_of("the", "cat", "sleeps", END) == "The cat sleeps" == text_of("the", "cat", "sleeps")
    assert text_of("I", END, "love") == "I" and text_of(END) == ""


def test_a_word_that_the_grammar_does_not_have_is_said():
    with pytest.raises(UnknownWord, match="'친규가' is not a word .* 친구가"):
        translate(make(), "친규가 자", KOREAN, ENGLISH)


def test_a_word_that_only_the_model_does_not_know_is_said_by_name_and_not_translated():
    """The grammar reads 학교 and 에, but no sentence of the training data had them."""
    with pytest.raises(UnseenWord, match="does not have 학교, 에. Do the sentences") as caught:
        translate(make(), "학교에 친구가 학교에 자", KOREAN, ENGLISH)
    assert caught.value.words == ("학교", "에")


@pytest.mark.parametrize("token", ["<pad>", "<bos>", "<eos>", "<unk>"])
def test_a_special_token_is_no_word(token):
    with pytest.raises(UnseenWord, match=token):
        translate(make(), f"나 {token}", KOREAN, ENGLISH, read=str.split)


def test_other_texts_have_another_reader():
    found = translate(make(), "sl", Vocabulary("lovse"), ENGLISH, read=list)
    assert found.source == ("s", "l")
    with pytest.raises(ValueError, match="text: expected at least one token, got none from ''"):
        translate(make(), "", KOREAN, ENGLISH, read=list)
    with pytest.raises(ValueError, match="expected a sentence in Korean"):
        translate(make(), " ", KOREAN, ENGLISH)


def test_vocabularies_that_are_not_the_models():
    with pytest.raises(ValueError, match="target_vocabulary: expected the 10 symbols that the model writes, got 8"):
        translate(make(), "자", KOREAN, Vocabulary("abcd"))
    with pytest.raises(UnseenWord, match="자"):
        translate(make(), "자", ENGLISH, KOREAN)


@pytest.mark.parametrize("training", [True, False])
def test_it_changes_nothing_and_does_not_follow_dropout_or_gradients(training):
    model = make(dropout=0.5).train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = (translate(model, SENTENCES[0], KOREAN, ENGLISH) for _ in range(2))
    assert model.training == training and not first.cross.requires_grad
    assert first.target == second.target and torch.equal(first.cross, second.cross)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_comes_back_can_be_drawn_whatever_the_model_computes_in(dtype):
    found = translate(make().to(dtype), SENTENCES[0], KOREAN, ENGLISH, max_length=5)
    assert found.cross.dtype == torch.float64 and found.cross.device.type == "cpu"
    assert all(0 < share <= 1 for share in found.probability)


@pytest.mark.parametrize("token", ["<eos>", "<pad>", "<unk>"])
def test_a_special_token_that_a_bad_model_writes_is_shown(token):
    """The last norm gives the same vector for everything, and one token has all of it."""
    model, zeros = make(), torch.zeros(10, 8)
    weights = {"decoder.norm.weight": torch.zeros(8), "decoder.norm.bias": torch.ones(8), "output.weight": zeros}
    weights["output.weight"][ENGLISH.symbols.index(token)] = 1
    model.load_state_dict(weights, strict=False)
    found = translate(model, "자", KOREAN, ENGLISH, max_length=3)
    assert found.target == (token,) * (1 if token == END else 3)
    assert found.text == ("" if token == END else " ".join([token] * 3))


@pytest.mark.gpu
def test_cuda_equals_cpu():
    model = make()
    want = translate(model, SENTENCES[0], KOREAN, ENGLISH, max_length=5)
    found = translate(model.cuda(), SENTENCES[0], KOREAN, ENGLISH, max_length=5)
    assert found.target == want.target and found.probability == pytest.approx(want.probability)
    torch.testing.assert_close(found.cross, want.cross, atol=1e-9, rtol=1e-7)

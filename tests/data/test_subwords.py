"""Subwords: a vocabulary like the others, from which any text comes back."""

import copy
import itertools
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data.batches import encode_pairs, evaluation_batches, training_batches
from course_lib.data.korean import korean_examples
from course_lib.data.pairs import read_pairs, tidy
from course_lib.data.subwords import BYTES, KINDS, Subwords, pair_subwords, train_subwords
from course_lib.data.vocabulary import BOS, EOS, PAD, SPECIAL, UNK
from course_lib.training.checkpoints import read_checkpoint, write_checkpoint
from course_lib.transformer import Transformer
from course_lib.translation import translate

from .corpora import FILES, real_file

# Our own sentences, so that these tests run wherever the course does.
PAIRS = [(" ".join(one.source), " ".join(one.target)) for one in korean_examples(600, 10, 10)[0]]
KOREAN = [source for source, _ in PAIRS]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=30)


@pytest.fixture(scope="module")
def subwords():
    return {kind: train_subwords(KOREAN, 480, kind=kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_special_ids_are_the_course_s_own(subwords, kind):
    one = subwords[kind]
    assert one.symbols[:4] == SPECIAL and (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert len(one) == len(one.symbols) == len(set(one.symbols)) == 480
    for text in KOREAN[:50]:
        ids = one.encode(text)
        assert all(number >= 4 + BYTES for number in ids)
        assert one.pieces(text) == tuple(one.symbols[number] for number in ids)
        assert one.encode(one.pieces(text)) == ids
        assert "".join(one.pieces(text)).replace("▁", " ").strip() == text
    assert sum(len(one.encode(text)) for text in KOREAN) < 0.95 * sum(map(len, KOREAN)), "no letters were joined"


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXT)
@settings(deadline=None)
def test_any_text_comes_back(subwords, kind, text):
    ids = subwords[kind].encode(text)
    assert subwords[kind].decode(ids) == tidy(text)
    assert not {PAD, BOS, EOS, UNK} & set(ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["<pad>", "a <eos> b", "<unk><bos>", "<0x41>", "\u1112\u1161\u11ab", "뷁 😀 ½", ""])
def test_texts_that_look_special_are_text(subwords, kind, text):
    assert subwords[kind].decode(subwords[kind].encode(text)) == tidy(text)


def test_without_bytes_an_unknown_letter_is_unk():
    one = train_subwords(["나는 너를", "너는 나를"], 12, byte_fallback=False)
    assert UNK in one.encode("나는 뷁") and one.decode(one.encode("나는 뷁")) == "나는 <unk>"
    assert one.encode(["▁나", "뷁"])[1] == UNK
    assert UNK not in one.encode("나는 너를")


def test_decode_as_every_vocabulary(subwords):
    one = subwords["bpe"]
    ids = one.encode("나 는 너 를")
    assert one.decode([BOS, PAD, *ids, EOS, *ids, PAD]) == "나 는 너 를"
    assert one.decode(torch.tensor(ids)) == one.decode(ids) == "나 는 너 를" and one.decode([]) == ""
    with pytest.raises(ValueError, match="ids: 480 is not in a vocabulary of 480"):
        one.decode([480])
    with pytest.raises(TypeError, match="one row of ints"):
        one.decode(torch.tensor([ids]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_sentences_give_the_same_bytes(subwords, kind):
    torch.manual_seed(5)
    assert train_subwords(reversed(KOREAN), 480, kind=kind).model == subwords[kind].model
    assert train_subwords(KOREAN[:500], 480, kind=kind).model != subwords[kind].model


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(subwords, kind, tmp_path):
    one = subwords[kind]
    write_checkpoint(tmp_path / "model", {"source": one.model})
    for other in (Subwords(read_checkpoint(tmp_path / "model")["source"]), copy.deepcopy(one)):
        assert other.symbols == one.symbols and other.model == one.model
        assert all(other.encode(text) == one.encode(text) for text in [*KOREAN[:20], "뷁"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_corpus_gives_fewer_and_says_so(kind):
    with pytest.warns(UserWarning, match="vocab_size: 5,000 symbols were asked for, and there are .*2 sentences"):
        one = train_subwords(["나는 너를", "너는 나를"], 5000, kind=kind)
    assert 4 + BYTES + 5 <= len(one) < 300 and one.decode(one.encode("나를 너는")) == "나를 너는"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as many as there are is no matter for a warning
        assert len(train_subwords(["나는 너를", "너는 나를"], len(one), kind=kind)) == len(one)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_each_letter_has_room(kind, byte_fallback):
    letters = len(set("".join(KOREAN)) - {" "}) + 1
    least = 4 + BYTES * byte_fallback + letters
    with pytest.raises(ValueError, match=f"vocab_size: expected at least {least}, got {least - 1}.* {letters} differ"):
        train_subwords(KOREAN, least - 1, kind=kind, byte_fallback=byte_fallback)
    one = train_subwords(KOREAN, least, kind=kind, byte_fallback=byte_fallback)
    assert len(one) == least and all(UNK not in one.encode(text) for text in KOREAN)


@pytest.mark.filterwarnings("ignore:vocab_size")
def test_sentences_may_all_be_short():
    found = train_subwords(["ab", "가"], 270)
    assert found.decode(found.encode("가 ab")) == "가 ab"
    assert found.join(found.pieces("가 ab b")) == "가 ab b"


def test_a_long_sentence_is_learned_from_too():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = train_subwords(["short", "뷁" * 3000], 300)
    assert "뷁" in "".join(one.symbols)


@pytest.mark.parametrize("shared", [True, False])
def test_pairs_batches_and_translation(shared):
    source, target = pair_subwords(PAIRS, 620, shared=shared)
    assert (source is target) == shared and len(source) == len(target) == 620
    ids = encode_pairs(PAIRS, source, target)
    for batch in (*evaluation_batches(ids, 64), *itertools.islice(training_batches(ids, 16), 3)):
        assert batch.target.max() < 620 and UNK not in batch.source
    rows = [row for batch in evaluation_batches(ids, 64) for row in batch.target]
    assert [target.decode(row) for row in rows] == [text for _, text in PAIRS]
    torch.manual_seed(0)
    model = Transformer(620, 620, d_model=16, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    written = translate(model, "나 는 뷁", source, target, read=source.pieces, max_length=5)
    assert written.source == source.pieces("나 는 뷁") and written.cross.shape[-1] == len(written.source)
    assert isinstance(target.decode(target.encode(written.target)), str)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES[:2])
def test_real_text_comes_back(kind, name):
    pairs = read_pairs(real_file(name)).pairs[:6000]
    both, _ = pair_subwords(pairs[::2], 3000, shared=True, kind=kind)
    for pair in pairs:  # half of them unseen
        assert [both.decode(both.encode(text)) for text in pair] == list(pair)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: train_subwords("one sentence"), "sentences: expected a list of strings, got one string"),
        (lambda: train_subwords([]), "sentences: expected at least one that is not empty"),
        (lambda: train_subwords(["", " \t"]), "sentences: expected at least one that is not empty"),
        (lambda: train_subwords(["a"], kind="word"), "kind: expected one of bpe, unigram, got 'word'"),
        (lambda: Subwords(b"no model"), "model: these bytes are no sentencepiece model"),
        (lambda: Subwords(b""), "model: expected the bytes of a sentencepiece model"),
        (lambda: Subwords("a.model"), "model: expected the bytes of a sentencepiece model, got 'a.model'"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_model_with_other_special_ids_is_refused(subwords):
    # The first piece of a model stands right at its front, with its length before it.
    other = subwords["bpe"].model.replace(b"<pad>", b"<PAD>", 1)
    with pytest.raises(ValueError, match="model: expected <pad>, <bos>, <eos>, <unk> as its first pieces, got <PAD>"):
        Subwords(other)

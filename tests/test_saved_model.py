"""A trained translator as a file: it comes back as it was, and what is no such file is refused with a reason."""

import pytest
import torch

from course_lib.data.subwords import train_subwords
from course_lib.data.vocabulary import Vocabulary
from course_lib.explore.translation_answers import ask
from course_lib.saved_model import Trained, load_model, model_folder, save_model
from course_lib.training.checkpoints import CheckpointError, write_checkpoint
from course_lib.transformer import Transformer

WORDS = Vocabulary(["나", "는", "자"]), Vocabulary(["I", "sleep", "a", "cat"])
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}


def make(vocabularies=WORDS, **options):
    torch.manual_seed(0)
    sizes = SIZES | options
    model = Transformer(*map(len, vocabularies), **sizes)
    return Trained(model, *vocabularies, sizes, 7, {"steps": 3, "data": "ours"})


@pytest.fixture(scope="module")
def pieces():
    return tuple(train_subwords(["ab ba abba", "a b"], size, byte_fallback=True) for size in (264, 265))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


@pytest.mark.filterwarnings("ignore:vocab_size")
@pytest.mark.parametrize("options", [{}, {"tied": "output", "norm_first": True}, {"positions": "rotary"}])
@pytest.mark.parametrize("text", [False, True])
def test_it_comes_back_as_it_was(path, pieces, options, text):
    before = make(pieces if text else WORDS, **options)
    save_model(path, before)
    state = torch.get_rng_state()
    after = load_model(path)
    assert torch.equal(torch.get_rng_state(), state), "loading draws no random numbers of the caller's"
    assert not after.model.training
    assert after[3:] == before[3:]
    for old, new in zip(before[1:3], after[1:3], strict=True):
        assert type(old) is type(new) and old.symbols == new.symbols
    old, new = before.model.state_dict(), after.model.state_dict()
    assert old.keys() == new.keys() and all(torch.equal(old[name], new[name]) for name in old)
    sentence = "abba é" if text else "나는 자"
    assert after.translate(sentence).target == before.translate(sentence).target


@pytest.mark.filterwarnings("ignore:vocab_size")
def test_pieces_are_joined_and_words_are_parted(pieces):
    found = make(pieces).translate("ab ba")
    assert found.text == pieces[1].decode(pieces[1].encode(found.target)) and "▁" not in found.text
    assert found._replace(target=(*pieces[1].pieces("abba ab"), "<eos>", "▁a")).text == "abba ab"
    assert make().translate("나는 자")._replace(target=("a", "cat", "<eos>")).text == "A cat"
    assert ask(make(pieces).translate, "translate", "ab ba")["text"] == found.text, "the translator spells so too"


def test_a_folder_and_the_default_place(course_home):
    with pytest.raises(FileNotFoundError, match="there is no trained model at .*korean.*`course train` makes"):
        load_model()
    model_folder().mkdir(parents=True)
    save_model(model_folder() / "model.pt", make())
    assert load_model().longest == load_model(course_home / ".course" / "models" / "korean").longest == 7


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_a_file_that_is_cut_off_is_refused(path, share):
    save_model(path, make())
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CheckpointError, match="empty|cut off"):
        load_model(path)


def test_other_files_are_refused(path, tmp_path):
    path.write_bytes(b"PK\x03\x04 somebody's weights")
    with pytest.raises(CheckpointError, match="not written by this course"):
        load_model(path)
    training = tmp_path / "training.pt"
    write_checkpoint(training, {"model": {}, "losses": []})
    with pytest.raises(
        CheckpointError, match="it is no trained translator: it holds losses, model. Is model.pt beside"
    ):
        load_model(training)


@pytest.mark.parametrize("change", ["sizes", "source", "weights"])
def test_parts_that_do_not_fit_are_refused(path, change):
    trained = make()
    other = {
        "sizes": trained._replace(sizes=SIZES | {"d_ff": 13}),
        "source": trained._replace(source_vocabulary=Vocabulary("abcdef")),
        "weights": trained._replace(model=make(decoder_layers=1).model),
    }[change]
    save_model(path, other)
    with pytest.raises(CheckpointError, match="its parts do not fit together"):
        load_model(path)


def test_a_write_that_fails_leaves_the_old_file(path):
    save_model(path, make())
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="could not be read back"):
        save_model(path, make()._replace(settings={"device": object}))
    assert path.read_bytes() == before

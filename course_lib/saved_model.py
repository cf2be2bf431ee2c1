"""A trained translator as one file: its sizes, its vocabularies and its weights. `course train` writes it."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch

from course_lib.checking.store import course_home
from course_lib.data.subwords import Subwords
from course_lib.data.vocabulary import SPECIAL, Vocabulary
from course_lib.training.checkpoints import CheckpointError, read_checkpoint, write_checkpoint
from course_lib.transformer import Transformer
from course_lib.translation import translate

FILE = "model.pt"
FIELDS = {"kind", "sizes", "source", "target", "weights", "longest", "settings"}
KIND = "translator"


class Trained(NamedTuple):
    """A model and all that is needed to use it.

    sizes: the options of its `Transformer`, a dict. longest: so many tokens it writes at most in `translate`.
    settings: what it was trained on and how, a dict to read.

    >>> korean, english = Vocabulary(["나", "는", "너", "를", "사랑해"]), Vocabulary(["I", "love", "you"])
    >>> sizes = {"d_model": 8, "num_heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    >>> model = Transformer(len(korean), len(english), **sizes)  # it has learned nothing
    >>> Trained(model, korean, english, sizes, longest=5, settings={}).translate("나는 너를 사랑해").source
    ('나', '는', '너', '를', '사랑해')
    """

    model: Transformer
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    sizes: Mapping
    longest: int
    settings: Mapping

    def translate(self, text):
        """A typed text to a `Translation`; what cannot be read is raised, as `translation.translate` does.

        Pieces of words (`Subwords`) read any text, a vocabulary of words reads the sentences of the Korean grammar.
        """
        vocabularies = self.source_vocabulary, self.target_vocabulary
        return translate(self.model, text, *vocabularies, max_length=self.longest)


def model_folder(name="korean"):
    """Where `course train` puts a model unless told otherwise: .course/models/NAME.

    >>> model_folder("mine").parts[-3:]
    ('.course', 'models', 'mine')
    """
    return course_home() / ".course" / "models" / name


def save_model(path, trained):
    """Write a `Trained` to a file, whole or not at all. Raises what `write_checkpoint` does.

    >>> import tempfile
    >>> letters, sizes = Vocabulary("ab"), {"d_model": 8, "num_heads": 2, "d_ff": 16}
    >>> trained = Trained(Transformer(6, 6, **sizes), letters, letters, sizes, longest=5, settings={})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(f"{folder}/{FILE}", trained)
    ...     again = load_model(folder)
    >>> torch.equal(again.model.output.weight, trained.model.output.weight), again.source_vocabulary.encode("ba")
    (True, [5, 4])
    """
    state = {
        "kind": KIND,
        "sizes": dict(trained.sizes),
        "source": _packed(trained.source_vocabulary),
        "target": _packed(trained.target_vocabulary),
        "weights": dict(trained.model.state_dict()),
        "longest": trained.longest,
        "settings": dict(trained.settings),
    }
    write_checkpoint(path, state)


def load_model(path=None, device="cpu"):
    """Read what `save_model` wrote. Returns a `Trained`, its model on `device` and in evaluation mode.

    path: the file, or the folder that `course train` names at its end; the lesson's own model unless given.
    No code in the file is run. Raises FileNotFoundError where there is none, CheckpointError where the file is cut off,
    damaged, or something else.

    >>> load_model("nowhere.pt")
    Traceback (most recent call last):
    FileNotFoundError: there is no trained model at nowhere.pt. `course train` makes the lesson's own
    """
    path = model_folder() if path is None else Path(path)
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"there is no trained model at {path}. `course train` makes the lesson's own")
    state = read_checkpoint(path)
    if state.get("kind") != KIND or state.keys() != FIELDS:
        hint = f". Is {FILE} beside it meant?" if path.name != FILE else ""
        raise CheckpointError(path, f"it is no trained translator: it holds {', '.join(sorted(map(str, state)))}{hint}")
    try:
        source, target = _unpacked(state["source"]), _unpacked(state["target"])
        with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and overwritten at once
            model = Transformer(len(source), len(target), **state["sizes"])
        model.load_state_dict(state["weights"])
    except (TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(path, f"its parts do not fit together: {error}") from error
    return Trained(model.to(device).eval(), source, target, state["sizes"], state["longest"], state["settings"])


def _packed(vocabulary):
    """Subwords as the bytes of their model, in a tensor; other vocabularies as a list of symbols."""
    if isinstance(vocabulary, Subwords):
        return torch.frombuffer(bytearray(vocabulary.model), dtype=torch.uint8)
    return list(vocabulary.symbols[len(SPECIAL) :])


def _unpacked(packed):
    return Subwords(bytes(packed.tolist())) if isinstance(packed, torch.Tensor) else Vocabulary(packed)

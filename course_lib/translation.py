"""Translating one sentence that somebody typed, and who looked where meanwhile."""

from collections.abc import Callable
from typing import NamedTuple

import torch

from course_lib.data.batches import make_batch
from course_lib.data.korean import read_korean, write_english
from course_lib.data.subwords import Subwords
from course_lib.data.vocabulary import BOS, EOS, SPECIAL
from course_lib.generation import evaluating, write

END = SPECIAL[EOS]


class UnseenWord(ValueError):
    """Words that can be read, but that the model has no id for. words: each of them once, in order.

    >>> UnseenWord(["quark", "lepton", "quark"]).words
    ('quark', 'lepton')
    """

    def __init__(self, words):
        self.words = tuple(dict.fromkeys(words))
        super().__init__(
            f"text: the source vocabulary does not have {', '.join(self.words)}. Do the sentences that the model was "
            "trained on hold such a word?"
        )


class Translation(NamedTuple):
    """One sentence translated. T target tokens, S source tokens, H heads.

    source: the tokens that were read. target: the tokens that were written, the end token among them.
    cross: weights (layers, H, T, S); row t is where the model looked when it wrote token t.
    probability: what the model gave to each token written, () where that is not known.
    spell: function tokens -> text; the grammar's unless given.

    >>> Translation(("나", "는"), ("I", "<eos>"), torch.ones(1, 1, 2, 2) / 2, spell=" ".join).text
    'I'
    """

    source: tuple
    target: tuple
    cross: torch.Tensor
    probability: tuple = ()
    spell: Callable = write_english

    @property
    def text(self):
        """The translation as people write it, up to the end token."""
        end = self.target.index(END) if END in self.target else len(self.target)
        return self.spell(self.target[:end])


@torch.no_grad()
def translate(model, text, source_vocabulary, target_vocabulary, *, read=None, max_length=32):
    """Translate a text greedily, then look at all of it in one pass more. Returns a `Translation`, on the CPU.

    model: a Transformer (`encode`, `step`, and `forward` with need_weights); it is put into evaluation mode meanwhile.
    read: function text -> tokens; what it raises for a word that it does not know (UnknownWord) is raised.
    Unless given, `Subwords` read and spell their own pieces, and any other vocabulary is the grammar's.
    max_length: so many tokens at most; a sentence cut there has no end token.
    Raises UnseenWord where the source vocabulary does not have a token, instead of translating UNK silently, and
    ValueError where the text holds no token or the target vocabulary is not the model's.

    >>> from course_lib.data.vocabulary import Vocabulary
    >>> from course_lib.transformer import Transformer
    >>> letters = Vocabulary("ab")
    >>> model = Transformer(6, 6, d_model=8, num_heads=2, d_ff=16, encoder_layers=1, decoder_layers=1)
    >>> found = translate(model, "a b b", letters, letters, read=str.split, max_length=4)
    >>> found.source, len(found.target) == found.cross.shape[2] == len(found.probability)
    (('a', 'b', 'b'), True)
    """
    if read is None:
        read = source_vocabulary.pieces if isinstance(source_vocabulary, Subwords) else read_korean
    source = tuple(read(text))
    if not source:
        raise ValueError(f"text: expected at least one token, got none from {text!r}")
    ids = source_vocabulary.encode(source)
    unseen = [token for token, number in zip(source, ids, strict=True) if number < len(SPECIAL)]
    if unseen:
        raise UnseenWord(unseen)
    batch = make_batch([(ids, [])]).to(next(model.parameters()).device)
    written = write(model, batch, max_length)  # (1, T)
    decoder_input = torch.cat([torch.full_like(written[:, :1], BOS), written[:, :-1]], dim=1)  # (1, T)
    with evaluating(model):
        logits, weights = model(batch.source, batch.source_lengths, decoder_input, need_weights=True)
    if logits.shape[-1] != len(target_vocabulary):
        raise ValueError(
            f"target_vocabulary: expected the {logits.shape[-1]} symbols that the model writes, got "
            f"{len(target_vocabulary)}"
        )
    probability = logits[0].cpu().double().softmax(dim=-1).gather(1, written[0].cpu().unsqueeze(1))  # (T, 1)
    return Translation(
        source,
        tuple(target_vocabulary.symbols[number] for number in written[0].tolist()),
        torch.stack([layer[0] for layer in weights.cross]).cpu().double(),  # (layers, H, T, S)
        tuple(probability.squeeze(1).tolist()),
        target_vocabulary.join if isinstance(target_vocabulary, Subwords) else write_english,
    )

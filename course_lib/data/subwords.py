"""Parts of words as symbols, learned by sentencepiece: real text has too many words for one id each.

BPE joins the pair of symbols that stands together most often, again and again (Sennrich et al. 2016); unigram starts
from many pieces and keeps those that explain the text best (Kudo 2018).
"""

import io
import warnings

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from course_lib.data.pairs_text import tidy
from course_lib.data.vocabulary import BOS, EOS, PAD, SPECIAL, UNK, Vocabulary

KINDS = ("bpe", "unigram")
BYTES = 256  # pieces <0x00> to <0xFF>, which write whatever no other piece can


class Subwords(Vocabulary):
    """A vocabulary of subwords, with the ids of every vocabulary: PAD 0, BOS 1, EOS 2, UNK 3.

    A piece that begins a word begins with ▁ (U+2581). model: the bytes of a sentencepiece model, which `model` gives
    back; they are all that has to be saved. Raises ValueError for bytes that are none, or one with other special ids.

    >>> subwords = train_subwords(["low lower", "new newer"], vocab_size=20, byte_fallback=False)
    >>> Subwords(subwords.model).symbols == subwords.symbols
    True
    """

    def __init__(self, model):
        if not isinstance(model, bytes) or not model:
            raise ValueError(f"model: expected the bytes of a sentencepiece model, got {model!r}")
        try:
            self._processor = SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError("model: these bytes are no sentencepiece model, or only a part of one") from error
        pieces = [self._processor.id_to_piece(number) for number in range(len(self._processor))]
        if tuple(pieces[: len(SPECIAL)]) != SPECIAL:
            raise ValueError(f"model: expected {', '.join(SPECIAL)} as its first pieces, got {', '.join(pieces[:4])}")
        super().__init__(pieces[len(SPECIAL) :])
        self.model = model

    def pieces(self, text):
        """The text as a tuple of pieces, after `tidy`: what `translation.translate` takes as `read`."""
        return tuple(self._processor.encode(tidy(text), out_type=str))

    def join(self, pieces):
        """The text that a row of pieces is, the way back from `pieces`."""
        return self.decode(self.encode(list(pieces)))

    def encode(self, sequence):
        """Ids of a text (a string, which is tidied), or of a list of pieces. BOS and EOS are not added."""
        if isinstance(sequence, str):
            return self._processor.encode(tidy(sequence), out_type=int)
        return super().encode(sequence)

    def decode(self, ids):
        """The text of one row of ids, up to the first EOS; PAD and BOS are left out. ids: ints, or a tensor (T,).

        With bytes among the pieces it gives back the tidied text that `encode` was given, any text but one with ▁.
        """
        return self._processor.decode(super().decode(ids))


def train_subwords(sentences, vocab_size=4_000, *, kind="bpe", byte_fallback=True):
    """Learn pieces from sentences. Returns `Subwords` of at most `vocab_size` symbols, the special ones among them.

    sentences: strings. kind: "bpe" or "unigram". byte_fallback: 256 pieces more, with which a letter that never
    occurred is written as its bytes in UTF-8; without them it is UNK.
    No chance plays a part, and no order: the same sentences give the same bytes. Where they hold fewer pieces than
    asked for, a UserWarning says so. Raises ValueError for another kind, where there is no text, or fewer symbols than
    letters.

    >>> subwords = train_subwords(["low lower", "new newer"], vocab_size=280)
    >>> subwords.decode(subwords.encode("a newer owl")), len(subwords.encode("가")) > 3  # 가 never occurred: 3 bytes
    ('a newer owl', True)
    """
    if isinstance(sentences, str):
        raise ValueError("sentences: expected a list of strings, got one string")
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    texts = sorted(text for sentence in sentences if (text := tidy(sentence)))
    if not texts:
        raise ValueError("sentences: expected at least one that is not empty")
    letters = {"▁", *"".join(texts)} - {" "}
    least = len(SPECIAL) + BYTES * byte_fallback + len(letters)
    if vocab_size < least:
        raise ValueError(
            f"vocab_size: expected at least {least:,}, got {vocab_size:,}: the sentences have {len(letters):,} "
            f"different letters, and there are {least - len(letters)} symbols besides"
        )
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=False,  # fewer pieces where the text has no more
        model_type=kind,
        byte_fallback=byte_fallback,
        character_coverage=1.0,
        # Longer ones than this are left out silently, and it takes no number below 10.
        max_sentence_length=max(10, *(len(text.encode()) for text in texts)),
        normalization_rule_name="identity",  # `tidy` has made NFC; theirs is NFKC, which turns ½ into 1/2
        remove_extra_whitespaces=False,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        pad_piece=SPECIAL[PAD],
        bos_piece=SPECIAL[BOS],
        eos_piece=SPECIAL[EOS],
        unk_piece=SPECIAL[UNK],
        unk_surface=SPECIAL[UNK],
        num_threads=1,  # several add their floats in another order each time
        minloglevel=2,
    )
    subwords = Subwords(model.getvalue())
    if len(subwords) < vocab_size:
        warnings.warn(
            f"vocab_size: {vocab_size:,} symbols were asked for, and there are {len(subwords):,}: {len(texts):,} "
            "sentences hold no more pieces",
            stacklevel=2,
        )
    return subwords


def pair_subwords(pairs, vocab_size=4_000, *, shared=False, kind="bpe", byte_fallback=True):
    """(source, target) `Subwords` learned from (source, target) strings, for `batches.encode_pairs`.

    shared: one vocabulary for both, the same object twice, so that a model may share its embeddings and names are
    spelt alike on both sides; else each side has its own of `vocab_size`. Errors as in `train_subwords`.

    >>> source, target = pair_subwords([("low", "가"), ("slow", "나")], vocab_size=13, byte_fallback=False, shared=True)
    >>> source is target, source.decode(target.encode("low 나"))
    (True, 'low 나')
    """
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    options = {"kind": kind, "byte_fallback": byte_fallback}
    if shared:
        both = train_subwords(sources + targets, vocab_size, **options)
        return both, both
    return train_subwords(sources, vocab_size, **options), train_subwords(targets, vocab_size, **options)

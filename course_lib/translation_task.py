"""What `course train` learns: pairs as ids, two vocabularies, and how good a model is at them. Text or our grammar."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch

from course_lib.data.batches import encode_pairs, evaluation_batches
from course_lib.data.korean import korean_examples, token_pairs
from course_lib.data.pairs import read_pairs, split_pairs
from course_lib.data.subwords import pair_subwords
from course_lib.data.vocabulary import EOS, PAD, Vocabulary
from course_lib.evaluation import exact_matches
from course_lib.generation import write
from course_lib.scores import bleu, chrf

WRITTEN_TOGETHER, LOSS_OF = 64, 2_000  # sentences


class Task(NamedTuple):
    """What is trained on, and how it is judged.

    training: list of (source ids, target ids). held_out: batches for the loss. longest: tokens to write at most.
    scores: function model -> {name: value}, how good it is while it trains. final: function model -> {name: text or
    value}, once at the end; of text, on sentences that played no part before.

    >>> task = Task([([4], [5])], [], None, None, longest=20, scores=lambda model: {"sentences": 0.5}, final=dict)
    >>> task.scores("any model")
    {'sentences': 0.5}
    """

    training: list
    held_out: list
    source_vocabulary: Vocabulary
    target_vocabulary: Vocabulary
    longest: int
    scores: Callable
    final: Callable


def grammar_task(judged=1_000):
    """Lesson 9's Korean grammar. judged: how many held-out sentences, and as many new combinations, are written.

    judged is at least 1. Returns a `Task`, whose scores are shares of sentences that are right word by word.

    >>> task = grammar_task(judged=2)
    >>> source, target = task.training[0]
    >>> len(task.training), task.source_vocabulary.encode(task.source_vocabulary.decode(source)) == source
    (20000, True)
    """
    training, held_out, combinations = korean_examples()
    source, target = (Vocabulary.from_sequences(side) for side in zip(*token_pairs(training), strict=True))
    pairs, *tests = (
        encode_pairs(token_pairs(examples), source, target) for examples in (training, held_out, combinations)
    )
    batches = [evaluation_batches(test[:judged], 1_000) for test in tests]

    def scores(model):
        return {
            name: _share_right(model, some) for name, some in zip(("sentences", "combinations"), batches, strict=True)
        }

    return Task(pairs, evaluation_batches(tests[0]), source, target, 20, scores, scores)


def text_task(path, *, judged=200, vocab=4_000, bad="refuse", source=0, target=1, language=None, seed=0, say=print):
    r"""Pairs of a TSV. vocab: how many subwords a side. bad, source, target: as in `read_pairs`, whose report is said.

    judged: how many sentences are written for BLEU and chrF. language: of the target, which decides how BLEU cuts
    words; unless given, Korean where most targets have Hangul, else as for English. say: function of a line.
    Raises BadPairs, ValueError and OSError where the file cannot be used.

    >>> import pathlib, tempfile
    >>> lines = [f"{one}{two}\t{two} {one}" for one in "abcdefghijkl" for two in "nopqrstuvw"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.tsv")
    ...     _ = path.write_text("\n".join(lines), encoding="utf-8")
    ...     task = text_task(path, vocab=300, say=lambda line: None)
    >>> task.source_vocabulary.decode(task.source_vocabulary.encode("an")), task.longest > 10
    ('an', True)
    """
    found = read_pairs(path, source=source, target=target, bad=bad)
    say(str(found.report))
    split = split_pairs(found.pairs, seed=seed)
    say(
        f"{len(split.training):,} pairs to train on, {len(split.validation):,} to judge by meanwhile, "
        f"{len(split.test):,} at the end, {len(split.dropped):,} left out, whose translation is known already"
    )
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        subwords = pair_subwords(split.training, vocab)
    for note in notes:
        say(f"note: {note.message}")
    training, validation = (encode_pairs(pairs, *subwords) for pairs in (split.training, split.validation))
    longest = 10 + max(len(ids) for _, ids in training)
    if language is None:
        hangul = sum(any("가" <= letter <= "힣" for letter in text) for _, text in split.validation)
        language = "ko" if 2 * hangul > len(split.validation) else "en"

    def scores_on(pairs, model):
        return judge(model, pairs[:judged], *subwords, longest, language)

    def scores(model):
        return {name: found.score for name, found in scores_on(split.validation, model).items()}

    def final(model):
        return {name: str(found) for name, found in scores_on(split.test, model).items()}

    return Task(training, evaluation_batches(validation[:LOSS_OF]), *subwords, longest, scores, final)


def judge(model, pairs, source_vocabulary, target_vocabulary, longest, language="en", **search):
    """{"BLEU": `Bleu`, "chrF": `Chrf`} of a model's translations of (source, target) texts, all of them one corpus.

    The vocabularies' `decode` gives text, as that of `Subwords` does. longest: tokens to write at most.
    language: of the target. search: that of `generation.write` with its options. Errors as in `scores.bleu`.

    >>> from course_lib.transformer import Transformer
    >>> class Letters(Vocabulary):
    ...     def decode(self, ids):
    ...         return "".join(super().decode(ids))
    >>> model, letters = Transformer(6, 6, d_model=8, num_heads=2, d_ff=16), Letters("ab")
    >>> sorted(judge(model, [("ab", "ba"), ("b", "b")], letters, letters, longest=4))
    ['BLEU', 'chrF']
    """
    written = []
    for batch in evaluation_batches(encode_pairs(pairs, source_vocabulary, target_vocabulary), WRITTEN_TOGETHER):
        found = write(model, batch, longest, **search)
        rows = found.ids[:, 0] if isinstance(found, tuple) else found  # a beam's best text of each row
        written += map(target_vocabulary.decode, rows)
    texts = [target for _, target in pairs]
    return {"BLEU": bleu(written, texts, language=language), "chrF": chrf(written, texts)}


@torch.no_grad()
def held_out_loss(model, batches, loss_fn):
    """Mean of a loss over all real tokens of the batches, a float. loss_fn: a mean over the tokens of one batch.

    batches: a list of `Batch`, at least one. The model stays in the mode, training or evaluation, that it is in.

    >>> from course_lib.data.batches import make_batch
    >>> batches = [make_batch([([4], [5] * length)]) for length in (1, 5)]  # 2 and 6 tokens, the ends among them
    >>> losses = iter([torch.tensor(0.0), torch.tensor(1.0)])
    >>> held_out_loss(torch.nn.Linear(1, 1), batches, lambda model, batch: next(losses))
    0.75
    """
    device = next(model.parameters()).device
    total = tokens = 0
    for batch in batches:
        count = int((batch.target != PAD).sum())
        total += loss_fn(model, batch.to(device)).item() * count
        tokens += count
    return total / tokens


def _share_right(model, batches):
    right = torch.cat([exact_matches(write(model, batch, 20).cpu(), batch.target, EOS) for batch in batches])
    return right.float().mean().item()

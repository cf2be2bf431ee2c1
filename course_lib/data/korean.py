"""A small grammar from Korean to English: 나는 너를 사랑해 -> I love you. Sentences to train on and to test on.

A Korean sentence is cut into words and particles, and a verb form stays whole: 나 는 너 를 사랑해. So each token has a
meaning of its own that an English word can look at, a particle costs one token instead of one for every noun, and a
few hundred tokens say everything. `write_korean` turns tokens into what people write, `read_korean` turns that back.

What a lesson needs is imported from here. Below it lie `korean_words` (the words and which go together),
`korean_forms` (how they change), `korean_grammar` (what can be said), `korean_writing` (how it is written in both
languages, and which token comes from which) and `korean_text` (tokens to text and back).
"""

import random

from course_lib.data.korean_grammar import I_LOVE_YOU, Statement, statements
from course_lib.data.korean_text import UnknownWord, all_tokens, read_korean, write_english, write_korean
from course_lib.data.korean_words import VERBS
from course_lib.data.korean_writing import KoreanExample, Writing, write_statement, writings

__all__ = [
    "I_LOVE_YOU",
    "KoreanExample",
    "Statement",
    "UnknownWord",
    "Writing",
    "all_tokens",
    "held_out_pairs",
    "korean_examples",
    "read_korean",
    "statements",
    "token_pairs",
    "write_english",
    "write_korean",
    "write_statement",
    "writings",
]


def held_out_pairs(seed=0, count=20):
    """Combinations to hold out, `count` of each kind: a set of (verb, object) and a set of (subject, verb).

    Each word keeps others to stand with: a verb at least three objects and all subjects but one, an object two verbs.
    None of them is in 나는 너를 사랑해. Returns (verb and object, subject and verb); fewer where no more can be spared.

    >>> verb_object, subject_verb = held_out_pairs(count=3)
    >>> len(verb_object), len(subject_verb), ("사랑하다", "너") in verb_object
    (3, 3, False)
    """
    chooser = random.Random(f"pairs {seed}")
    verb_object = {(verb.korean, noun) for verb in VERBS for noun in verb.objects if len(verb.objects) > 3}
    subject_verb = {(said.subject, said.verb) for said in statements()}
    taken_objects, taken_subjects = set(), set()
    for verb, noun in _shuffled(verb_object - {(I_LOVE_YOU.verb, I_LOVE_YOU.object)}, chooser):
        if len(taken_objects) < count and _others_remain(verb, noun, taken_objects):
            taken_objects.add((verb, noun))
    for subject, verb in _shuffled(subject_verb - {(I_LOVE_YOU.subject, I_LOVE_YOU.verb)}, chooser):
        subjects, verbs = [s for s, _ in taken_subjects], [v for _, v in taken_subjects]
        if len(taken_subjects) < count and verb not in verbs and subjects.count(subject) < 3:
            taken_subjects.add((subject, verb))
    return taken_objects, taken_subjects


def korean_examples(training=20_000, held_out=1_000, held_out_combinations=1_000, *, seed=0):
    """Three lists of KoreanExample: to train on, to test on, and to test on with combinations never trained on.

    No two lists share a sentence, in either language. The first of the held-out ones is 나는 너를 사랑해. In the third
    list each sentence has a verb with an object, or a subject with a verb, that never stand together in the other two
    (`held_out_pairs`), though each stands there with others. The seed decides what is held out, however many are
    trained on; the same arguments give the same lists.
    Raises ValueError for a count below 1, and for more sentences than there are.

    >>> training, held_out, combinations = korean_examples(training=5, held_out=2, held_out_combinations=2)
    >>> write_korean(held_out[0].source), write_english(held_out[0].target)
    ('나는 너를 사랑해', 'I love you')
    """
    counts = {"training": training, "held_out": held_out, "held_out_combinations": held_out_combinations}
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name}: expected at least 1, got {count}")
    verb_object, subject_verb = held_out_pairs(seed)
    seen, unseen = [], []
    for said in statements():
        is_new = (said.verb, said.object) in verb_object or (said.subject, said.verb) in subject_verb
        (unseen if is_new else seen).append(said)
    love = write_statement(I_LOVE_YOU)
    tested = _draw("held_out", seen, held_out, {love.target}, seed, first=(love,))
    taken = {example.target for example in tested}
    combined = _draw("held_out_combinations", unseen, held_out_combinations, taken, seed)
    taken |= {example.target for example in combined}
    return _draw("training", seen, training, taken, seed), tested, combined


def token_pairs(examples):
    """(source, target) token tuples of examples, for `batches.encode_pairs`.

    >>> token_pairs([write_statement(I_LOVE_YOU)])
    [(('나', '는', '너', '를', '사랑해'), ('I', 'love', 'you'))]
    """
    return [(example.source, example.target) for example in examples]


def _shuffled(pairs, chooser):
    return chooser.sample(sorted(pairs), len(pairs))  # sorted: the order of a set differs from run to run


def _others_remain(verb, noun, taken):
    """Whether a verb and an object can be held out too, so that each still has enough others."""
    sense = next(one for one in VERBS if one.korean == verb and noun in one.objects)
    objects_left = sum((verb, other) not in taken for other in sense.objects) - 1
    verbs_left = sum(noun in one.objects and (one.korean, noun) not in taken for one in VERBS) - 1
    return objects_left >= max(3, len(sense.objects) - 2) and verbs_left >= 2


def _draw(name, said, count, taken, seed, first=()):
    """`first` and further statements, `count` in all, each in a way drawn at random, with an English not in `taken`.

    By English sentence, not by statement: "you read a book" is 읽어 and 읽었어.
    """
    chooser = random.Random(f"{name} {seed}")
    examples = [*first]
    for statement in chooser.sample(said, len(said)):
        if len(examples) == count:
            break
        example = write_statement(statement, chooser.choice(writings(statement)))
        if example.target not in taken:
            examples.append(example)
    if len(examples) < count:
        raise ValueError(f"{name}: {count:,} wanted, but there are only {len(examples):,}")
    return examples

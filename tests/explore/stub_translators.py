"""Functions that translate without a model, right and wrong, and states, for the tests of the translator."""

import math

import numpy as np
import torch

from course_lib.data.korean import read_korean
from course_lib.translation import END, Translation, UnseenWord

from .random_heads import maps

LAYERS, HEADS = 2, 3
LOVE, CAT, BAD = "나는 너를 사랑해", "고양이가 우유를 마셔", "친규가 자"
EXAMPLES = [LOVE, CAT, BAD]
TYPED = "친구가 자"  # none of the examples
STRANGE = ["<b>", "{at}", "</script>", "constructor", " ", "$x$", "a token that is very long", "나는" * 8, "<unk>"]


def cross_of(S, T, seed=0):
    """(LAYERS, HEADS, T, S): rows of all kinds, among them one-hot ones, and one of nothing in the last head."""
    return maps(LAYERS, HEADS, T, S, seed=seed)


def right(text):
    """Each Korean token becomes one Latin letter: no model, but all that the translator needs."""
    source = read_korean(text)
    target = (*"abcdefghijkl"[: len(source) - 2], END)
    chances = tuple(1 / (2 + at) for at in range(len(target)))
    return Translation(source, target, torch.tensor(cross_of(len(source), len(target))), chances)


def strange(text):
    """Tokens that would be markup, code or nothing at all, more of them the longer the text is."""
    S, T = 1 + len(text) % 9, 1 + 3 * len(text) % 40
    target = [(STRANGE * 5)[at] for at in range(T)]
    if len(text) % 2:
        target[-1] = END
    chances = [0.0, 0.0004, 0.0005, 0.9995, 1.0] * 8
    return Translation((STRANGE * 2)[:S], target, cross_of(S, T, seed=len(text)), chances[:T] if len(text) % 3 else ())


def ties(text):
    """Equal weights, halves of the last digit, all of it on one token; each head another."""
    rows = [[0.125] * 8, [0.375, 0.625] + [0] * 6, [0] * 7 + [1], [0] * 8]
    cross = [
        [np.roll(rows, shift, axis=1) for shift in (head, 2 * head)][layer] for layer in (0, 1) for head in (0, 1, 2)
    ]
    return Translation(tuple("abcdefgh"), ("x", "y", "z", END), np.reshape(cross, (2, 3, 4, 8)), (0.5, 0.25, 0.125, 1))


def replaced(**changes):
    """The right translation with other parts."""
    return lambda text: right(text)._replace(**changes)


ONE = torch.ones(1, 1, 1, 1)
WRONG = {
    "raises": (lambda text: 1 / 0, "ZeroDivisionError: division by zero"),
    "no argument": (lambda: None, "TypeError: .*positional argument"),
    "nothing": (lambda text: None, "must return a Translation, got a NoneType without source, target, cross"),
    "a text": (lambda text: "I love you", "got a str without source, target, cross"),
    "two parts": (lambda text: right(text)[:2], "got a tuple without source, target, cross"),
    "no weights": (replaced(cross=None), r"ValueError: cross must have shape \(any, any, any, any\), got \(\)"),
    "one layer": (replaced(cross=torch.ones(1, 4, 5)), r"cross must have shape .*, got \(1, 4, 5\)"),
    "a tuple of layers": (replaced(cross=(ONE.requires_grad_(),) * 2), "(Runtime|Type|Value)Error: "),
    "turned round": (replaced(cross=cross_of(4, 5)), "source holds 5 tokens, but the weights have 4"),
    "too few words": (replaced(target=("I", END)), "target holds 2 tokens, but the weights have 4"),
    "scores": (replaced(cross=torch.full((2, 3, 4, 5), -1.0)), "from 0 to 1. Are they scores before the softmax"),
    "above one": (replaced(cross=torch.full((2, 3, 4, 5), 1.5)), "from 0 to 1. Are they scores before the softmax"),
    "NaN": (replaced(cross=torch.full((2, 3, 4, 5), math.nan)), "cross holds NaN"),
    "empty": (replaced(target=(), cross=torch.zeros(2, 3, 0, 5)), "each at least 1, got .2, 3, 0, 5."),
    "chances": (replaced(probability=(1.0,)), r"probability must have shape \(4\), got \(1,\)"),
    "long": (lambda text: [].index("a" * 5000), "ValueError: .*"),
    "unseen": (lambda text: unseen("시장", "에서", "시장"), "this model has no id for 시장, 에서. Do"),
}


def unseen(*words):
    raise UnseenWord(words)


def random_states(made, texts, count=60, seed=0):
    drawn = np.random.default_rng(seed)
    layers, heads = made.shape or (1, 0)
    for at in range(count):
        head = int(drawn.integers(-1, heads))
        yield {
            "text": texts[at % len(texts)],
            "layer": int(drawn.integers(layers)),
            "head": None if head < 0 else head,
            "row": int(drawn.integers(14)),
        }

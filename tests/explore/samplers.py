"""Samplers over languages of all kinds, and the states that they can be in, for the tests."""

import numpy as np

from course_lib.explore.sampler import sampler
from course_lib.explore.sampler_view import path_of

from .stub_languages import EOS, HOME, SCHOOL, SYMBOLS, garden, random_words


def make(function=garden, sentences=(SCHOOL, HOME), **changes):
    return sampler(function, sentences, **{"symbols": SYMBOLS, "eos": EOS, "max_length": 10} | changes)


def make_random(size, spread=2.0, forbidden=0, **changes):
    function, symbols = random_words(size, spread, forbidden)
    eos = symbols.index("<eos>")
    return make(function, ["one", "another"], **{"symbols": symbols, "eos": eos, "max_length": 7} | changes)


LANGUAGES = {
    "garden path": make,
    "nine words": lambda **changes: make_random(9, **changes),
    "many words": lambda **changes: make_random(60, spread=1.0, **changes),
    "some forbidden": lambda **changes: make_random(12, forbidden=7, **changes),
    "two words": lambda **changes: make_random(2, **changes),
    "one step": lambda **changes: make_random(9, max_length=1, **changes),
}


def words(made, node):
    return tuple(path_of(made.answer, node))


def random_states(made, count=60, seed=0):
    """States of all kinds, the edges among them; nodes are in the tree, or beyond it."""
    drawn, edges = np.random.default_rng(seed), {"temperature": (0, 0.1, 1, 3), "top_p": (0, 0.5, 0.9, 1)}

    def pick(values):
        return values[int(drawn.integers(len(values)))]

    for at in range(count):
        yield {
            "text": made.texts[at % len(made.texts)],
            "width": int(drawn.integers(1, 6)),
            "step": int(drawn.integers(made.max_length + 2)),
            "alpha": pick((0, 0.6, 1, 2, round(2 * drawn.random(), 2))),
            "node": [int(token) for token in drawn.integers(made.tokens, size=int(drawn.integers(3)))],
            "temperature": pick((*edges["temperature"], round(3 * drawn.random(), 2))),
            "top_k": pick((None, None, 1, 2, made.tokens, int(drawn.integers(1, made.tokens + 1)))),
            "top_p": pick((*edges["top_p"], round(drawn.random(), 2))),
        }


def into_the_tree(made, seed=0):
    """The ids of a text that some node of the present tree ends."""
    drawn = sorted(made.tree())
    return path_of(made.answer, drawn[int(np.random.default_rng([seed, len(drawn)]).integers(len(drawn)))])

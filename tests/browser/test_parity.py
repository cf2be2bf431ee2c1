"""The page and its Python twin agree: hundreds of random states and the edges, all set from the model's side."""

import itertools
import random

import numpy as np
import pytest

from course_lib.explore.alignment import alignment
from course_lib.explore.base import fixed
from course_lib.explore.bottleneck import bottleneck
from course_lib.explore.score_lab import SCORES, score_lab

from .widgets import compare, follow, near

pytestmark = pytest.mark.browser


def soft(rows, columns, seed=0):
    raised = np.exp(2 * np.random.default_rng(seed).normal(size=(rows, columns)))
    return raised / raised.sum(axis=1, keepdims=True)


def with_rows(weights, rows):
    """A copy with these rows: {place: row}."""
    changed = np.array(weights, dtype=float)
    for at, row in rows.items():
        changed[at] = row
    return changed


ALIGNMENTS = {
    "random": (soft(12, 11), 8),
    "numbers left out": (soft(3, 64, seed=1), 64),
    "one of each": (np.ones((1, 1)), 1),
    "nothing but padding": (soft(2, 3), 0),
    "rows of zeros, all on one, all on padding": (
        with_rows(soft(4, 5), {0: [0] * 5, 1: [0, 1, 0, 0, 0], 2: [0, 0, 0, 0, 1]}),
        3,
    ),
    # Eighths, with and without a rest that is masked: halves of the last digit, and every one the largest.
    "ties": (with_rows(np.full((3, 9), 1 / 9), {1: [1 / 8] * 8 + [0], 2: [0.375, 0.625] + [0] * 7}), 8),
}


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_alignment(visit, name):
    weights, length = ALIGNMENTS[name]
    rows, columns = weights.shape
    chance = random.Random(name)
    made = alignment(weights, list("가나 <b>&$xyzuvw" * 5)[:columns], list("2023-03-17ab")[:rows], source_length=length)
    states = []
    for view, mask, row in itertools.product(("lines", "matrix"), (True, False), range(rows)):
        step, lang = chance.randint(row + 1, rows), chance.choice(list(made.words))
        states.append({"view": view, "mask": mask, "row": row, "step": step, "lang": lang})

    def agree(found, state):
        shown = made.shown()
        assert near(found["shown"], shown), state
        drawn = [shown[made.row]] if made.view == "lines" else shown
        assert near(found["drawn"], np.ravel(drawn)), state
        if made.view == "lines":
            assert found["texts"] == [fixed(share) for share in shown[made.row]]

    texts = "[...root.querySelectorAll('text[data-weight]')].map((node) => node.textContent)"
    compare(visit, made, states, f"{{shown: root.shown, drawn: all('weight'), texts: {texts}}}", agree)


KEYS = {
    "random": (np.random.default_rng(0).uniform(-3, 3, (5, 2)), None),
    "twelve with values of their own": tuple(np.random.default_rng(1).uniform(-3, 3, (2, 12, 2))),
    "one": ([[0.5, -3]], None),
    "twins, and one at zero": ([[1, 0], [0, 1], [1, 0], [0, 0]], [[3, 3], [-3, -3], [0, 0], [-0.002, 0.005]]),
}


@pytest.mark.parametrize("name", KEYS)
def test_score_lab(visit, name):
    keys, values = KEYS[name]
    made, chance = score_lab(np.round(keys, 1), values), random.Random(name)
    queries = [[0, 0], [3, 3], [-3, 3], [0.1, -0.1], [-0.0, 0.0]]
    queries += [[round(chance.uniform(-3, 3), 2) for _ in "xy"] for _ in range(35)]
    matrices = [[[1, 0], [0, 1]], [[0, 0], [0, 0]], [[5, -5], [5, 5]]]
    states = []
    for query in queries:
        W = chance.choice([*matrices, [[round(chance.uniform(-5, 5), 1) for _ in "xy"] for _ in "xy"]])
        sides = {"left": chance.choice(SCORES), "right": chance.choice(SCORES)}
        states.append({"query": query, "W": W, **sides, "lang": chance.choice(list(made.words))})

    def agree(found, state):
        kinds = (made.left, made.right)
        assert [one["kind"] for one in found["found"]] == list(kinds)
        for one in found["found"]:
            assert near(one["raw"], made.scores(one["kind"])), state
            assert near(one["weights"], made.weights(one["kind"])), state
            assert near(one["context"], made.context(one["kind"])), state
        # The table has both functions side by side, one key a row.
        assert near(found["scores"], np.stack([made.scores(kind) for kind in kinds], axis=1).ravel()), state
        assert near(found["weights"], np.stack([made.weights(kind) for kind in kinds], axis=1).ravel()), state

    compare(visit, made, states, "{found: root.found, scores: all('score'), weights: all('weight')}", agree)


def measured(lengths, widths, positions, seed=0):
    """Results with random shares, among them nothing, everything, and halves of a per cent."""
    chance = random.Random(seed)

    def share():
        return chance.choice([0, 1, 0.005, 0.125, 0.9949, chance.random()])

    points = []
    for task, width, run in itertools.product(("copy", "reverse"), widths, range(2)):
        token = {length: share() for length in lengths}
        points.append({"task": task, "width": width, "seed": run, "token": token})
        points[-1]["position"] = [share() for _ in range(positions)]
    return {"points": points}


RESULTS = {
    "as shipped": None,
    "random": measured((2, 3, 9), (1, 2, 5, 9), 13),
    "one of each": measured((1,), (8,), 1),
    "long": measured((1, 64), (8, 16), 64),
}


@pytest.mark.parametrize("name", RESULTS)
def test_bottleneck(visit, name):
    made = bottleneck(RESULTS[name])
    known = itertools.product(made.tasks, made.lengths, made.widths, made.words)
    states = [dict(zip(("task", "length", "width", "lang"), values, strict=True)) for values in known]

    def agree(found, state):
        assert near(float(found["recall"]), made.recall()), state
        assert near(found["bars"], made.by_position()), state

    compare(visit, made, states, "{recall: root.dataset.recall, bars: all('share')}", agree)


def test_what_the_page_reports_is_what_the_twin_accepts(visit):
    """The start of each page, as the kernel would get it back."""
    for made in (bottleneck(), score_lab([[1, 0]]), alignment(soft(2, 2), "ab", "cd")):
        before = made.sentence()
        follow(made, visit(made))
        assert made.sentence() == before

"""Next tokens and drawn texts of the sampler: by the library's chances, filtered as it filters."""

import math

import numpy as np
import pytest
import torch

from course_lib.generation import probabilities

from .random_heads import apply
from .samplers import LANGUAGES, into_the_tree, make, make_random, random_states, words
from .stub_languages import HOME, SCHOOL, SYMBOLS


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_bars_are_what_the_library_draws_by(name):
    made = LANGUAGES[name]()
    for at, state in enumerate(random_states(made)):
        apply(made, state)
        made.node = into_the_tree(made, at) if at % 2 else made.node
        found, path = made.bars(), words(made, made.place())
        assert (found is None) == (path[-1:] == (made.eos,) or len(path) == made.max_length)
        if found is None:
            continue
        logits = torch.as_tensor(made._next_logits(made.text, [path]))[0]
        ids, rest, before, now, left = found
        order = logits.sort(descending=True, stable=True).indices.tolist()
        assert ids == order[: len(ids)] and rest == int((logits > -math.inf).sum()) - len(ids)
        assert abs(sum(before) - 1) < 1e-3 and abs(sum(now) - 1) < 1e-9
        assert np.allclose(before[: len(ids)], logits.softmax(dim=-1)[ids], atol=1e-4)
        if made.tokens <= 32:  # else the page takes the unlikely ones for equal
            want = chances(logits, made)
            assert np.allclose(now[: len(ids)], want[ids], atol=2e-3), state
            assert left >= int((want > 0).sum()) and (made.top_k is None or left <= made.top_k)


def chances(logits, made):
    return probabilities(logits, temperature=made.temperature, top_k=made.top_k, top_p=made.top_p)


def test_of_many_tokens_the_unlikely_ones_are_taken_for_equal():
    made = make_random(60, spread=1.0)
    logs = torch.as_tensor(made._next_logits(made.text, [()]))[0].log_softmax(dim=-1).sort(descending=True).values
    ids, listed, others, level = made.answer["next"][0]
    assert (len(ids), others) == (32, 28) and np.allclose(listed, logs[:32], atol=1e-4)
    assert abs(others * math.exp(level) - logs[32:].exp().sum().item()) < 1e-4
    made.top_k = 40
    assert made.bars()[4] == 40 and abs(sum(made.bars()[3]) - 1) < 1e-9
    made.temperature = 3
    flat = (logs / 3).softmax(dim=-1)[:12]
    assert np.allclose(make_random(60, spread=1.0, temperature=3).bars()[3][:12], flat, rtol=0.05), (
        "close to it all the same"
    )


def test_texts_are_drawn_in_the_kernel_the_same_ones_each_time():
    made, again = make(), make(draws=3)
    assert made.drawn == []
    for made.draws in (1, 2, 3):
        pass
    assert made.drawn == again.drawn and [entry["number"] for entry in made.drawn] == [1, 2, 3]
    assert made.sentence().endswith(f"Last drawn: “{made.drawn[-1]['text']}”, sum {made.drawn[-1]['sum']:.2f}.")
    made.draws = 20
    assert [entry["number"] for entry in made.drawn] == list(range(13, 21)) and len({e["text"] for e in made.drawn}) > 1
    made.draws = 10**9
    assert [entry["number"] for entry in made.drawn] == list(range(10**9 - 7, 10**9 + 1)), "only those that can be seen"
    made.draws = 20
    assert made.drawn == []
    made = make(draws=20)
    made.draws = 14
    assert [entry["number"] for entry in made.drawn] == [13, 14]
    made.text = HOME
    assert made.drawn == [] and "Last drawn" not in made.sentence()
    made.draws = 15
    assert [entry["number"] for entry in made.drawn] == [15]
    made.text, made.draws = SCHOOL, 0
    assert made.drawn == []


@pytest.mark.parametrize("how", [{"temperature": 0}, {"top_k": 1}, {"top_p": 0}, {"top_k": 3, "top_p": 0}])
def test_where_one_token_is_left_a_draw_is_greedy(how):
    for name in ("garden path", "nine words", "some forbidden"):
        made = LANGUAGES[name](draws=2, width=1, **how)
        (node, _, total, _), (first, second) = made.ended()[0], made.drawn
        assert first["text"] == second["text"] == made.answer["texts"][str(node)]
        assert abs(first["sum"] - total) < 2e-4, "by the model itself, whatever is ruled out"
        assert first["ended"] == (words(made, node)[-1] == made.eos)


def test_draws_follow_the_chances():
    made = make(max_length=1, temperature=0.7, top_p=0.9, draws=0)
    counts = {}
    for at in range(0, 400, 8):
        made.draws = at + 8
        for entry in made.drawn:
            counts[entry["text"]] = counts.get(entry["text"], 0) + 1
    ids, _, _, now, left = made.bars()
    assert sum(counts.values()) == 400 and len(counts) == left == 2
    for token, share in zip(ids[:left], now, strict=False):
        assert abs(counts[SYMBOLS[token]] / 400 - share) < 4 * math.sqrt(share * (1 - share) / 400)

"""The tree of the sampler: what the library's beams weigh and find, asked for in one call a step, in 64 nodes."""

import functools
import json
import math

import numpy as np
import pytest
import torch

from course_lib.data.batches import make_batch
from course_lib.data.vocabulary import EOS as THE_END
from course_lib.data.vocabulary import SPECIAL
from course_lib.explore.sampler import sampler
from course_lib.explore.sampler_view import MOST_NODES
from course_lib.generation import beam, greedy, next_logits, write

from ..generating_models import MODELS, V
from .samplers import LANGUAGES, make, words
from .stub_languages import EOS, ID, random_words


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_tree_is_what_a_beam_weighs_step_by_step(name):
    """The rule in plain loops: of the 2 · width best, the first `width` may end, and the best `width` others go on."""
    made = LANGUAGES[name]()
    ask = functools.partial(made._next_logits, made.text)
    for width in range(1, 6):
        made.width, live = width, {(): 0.0}
        steps = made.steps()
        for length, step in enumerate(steps, 1):
            following = {}
            for text, total in live.items():
                log_p = torch.as_tensor(ask([text]))[0].log_softmax(dim=-1)
                following |= {(*text, token): total + log_p[token].item() for token in range(made.tokens)}
            best = sorted((text for text in following if following[text] > -math.inf), key=following.get, reverse=True)
            best = best[: 2 * width]
            assert [words(made, node) for node, _ in step] == best
            for (node, fate), text in zip(step, best, strict=True):
                assert abs(made.answer["nodes"][node][3] - following[text]) < 1e-4
                assert abs(made.answer["nodes"][node][2] - following[text] + live[text[:-1]]) < 2e-4
                ends = text[-1] == made.eos or length == made.max_length
                assert (fate == 2) == (ends and text in best[:width])
            live = {text: following[text] for text in [one for one in best if one[-1] != made.eos][:width]}
            going = [words(made, node) for node, fate in step if fate == 1]
            assert going == (list(live) if length < len(steps) else []), "after the last step nothing goes on"


class Written(tuple):
    """The state of a search that asks a function from scratch: the texts, each with BOS."""

    def select(self, rows):
        return Written(self[row] for row in rows.tolist())


def searched(made, search, **options):
    """What a search of the library finds for the present sentence of a sampler."""

    def step(token, state):
        state = Written((*text, number) for text, number in zip(state, token.tolist(), strict=True))
        return torch.as_tensor(made._next_logits(made.text, [text[1:] for text in state])), state

    ids = {"bos": -1, "eos": made.eos, "pad": -1, "max_length": made.max_length, "batch_size": 1}
    return search(step, Written([()]), **ids, **options)


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_texts_are_those_that_the_library_finds(name):
    made = LANGUAGES[name]()
    for text in made.texts:
        made.text = text
        for made.width in range(1, 6):
            found = searched(made, beam, width=made.width, n_best=made.width)
            want = [
                (score, tuple(t for t in ids if t >= 0))
                for score, ids in zip(*map(torch.Tensor.tolist, (found.scores[0], found.ids[0])), strict=True)
                if score > -math.inf
            ]
            mine = [(score, words(made, node)) for node, _, _, score in made.ended()][: made.width]
            assert [text for _, text in mine] == [text for _, text in want]
            assert np.allclose([score for score, _ in mine], [score for score, _ in want], atol=1e-4)
        made.width = 1
        assert list(words(made, made.ended()[0][0])) == searched(made, greedy)[0].tolist()


@pytest.mark.parametrize("name", LANGUAGES)
def test_all_widths_are_asked_in_one_call_a_step_and_once_for_each_sentence(name):
    source, asked = LANGUAGES[name](), []

    def counted(sentence, prefixes):
        asked.append((sentence, prefixes))
        return source._next_logits(sentence, prefixes)

    made = LANGUAGES[name]()
    made = make(counted, made.texts, symbols=made._symbols, eos=made.eos, max_length=made.max_length)
    assert asked[0] == (made.text, [()]) and len(asked) <= made.max_length
    for at, (sentence, prefixes) in enumerate(asked):
        assert sentence == made.text and {len(text) for text in prefixes} == {at}
        assert len(set(prefixes)) == len(prefixes) and all(isinstance(text, tuple) for text in prefixes)
    count = len(asked)
    made.width, made.alpha, made.step, made.node, made.lang, made.temperature = 5, 1, 2, [1], "ko", 0
    made.text = made.texts[1]
    again = len(asked)
    assert again > count
    made.text = made.texts[0]
    made.text = made.texts[1]
    assert len(asked) == again


def test_a_model_of_the_course_can_be_asked():
    for name in ("post-norm, sinusoidal", "bahdanau"):
        model, batch = MODELS[name](), make_batch([([4, 5, 6], [4])])

        def ask(sentence, prefixes, model=model, batch=batch):
            return next_logits(model, batch.source, batch.source_lengths, prefixes)

        made = make(ask, ["one"], symbols=[*SPECIAL, *"abcde"], eos=THE_END, max_length=6, spell="".join)
        for made.width in (1, 3):
            found = write(model, batch, 6, search=beam, width=made.width)
            assert list(words(made, made.ended()[0][0])) == found.ids[0, 0].tolist() and made.tokens == V
        assert made.function == "ask"


def test_a_text_that_is_cut_off_counts_as_it_stands():
    made = make(max_length=3, width=2)
    assert [made.written(node) for node, *_ in made.ended()] == ["He goes to …", "Every day he …"]
    made.node = [ID["He"], ID["goes"], ID["to"]]
    assert made.sentence().endswith("“He goes to” has 3 tokens, as many as may be written.")


@pytest.mark.parametrize("name", LANGUAGES)
def test_at_most_64_nodes_are_drawn_and_those_that_lead_somewhere_leave_last(name):
    made = LANGUAGES[name](**({} if name == "one step" else {"max_length": 20}))
    full = False
    for made.width in range(1, 6):
        for made.step in range(21):
            tree, steps = made.tree(), made.steps()
            assert tree[0][:2] == (0, 0) and len(tree) <= MOST_NODES
            every = {node for step in steps for node, _ in step}
            full |= len(tree) < 1 + len(every)
            if len(tree) < 1 + len(every):
                assert len(tree) == MOST_NODES
            strong = {node for node, (*_, kind) in tree.items() if kind != "left"}
            for text in [node for node, *_ in made.ended()] + [node for node, fate in (steps or [[]])[-1] if fate == 1]:
                while text in tree:
                    assert text in strong
                    text = made.answer["nodes"][text][0]
                assert text == -1 or len(strong) >= MOST_NODES - 1
            assert {row for _, (column, row, _) in tree.items() if column == len(steps)} <= set(range(10))
            best = {node for node, (*_, kind) in tree.items() if kind == "best"}
            assert bool(best) == bool(made.ended())
    assert full == (name in ("many words", "nine words", "some forbidden")) or name == "garden path"


def test_a_tree_is_small_enough_to_be_sent():
    """The largest there can be: every text of every width another one, in a large vocabulary."""
    function, symbols = random_words(3_000, spread=0.3)
    made = sampler(function, ["one"], symbols=symbols, eos=EOS, max_length=20)
    assert len(made.answer["nodes"]) > 300 and len(json.dumps(made.answer)) < 400_000

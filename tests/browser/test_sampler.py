"""The sampler in a bare page: agrees with Python in every state, and reads well wherever it stands."""

import numpy as np
import pytest

from course_lib.explore.sampler import sampler
from course_lib.explore.tokens import chance
from tests.explore.random_heads import apply
from tests.explore.samplers import LANGUAGES, into_the_tree, make, random_states
from tests.explore.stub_languages import EOS, ID, WRONG

from .test_sampler_keys import awake
from .widgets import compare, near, said, violations

pytestmark = pytest.mark.browser

READ = """{found: root.found, source: root.dataset.source, now: all('now'), before: all('before'), score: all('score'),
    sums: all('sum'), chances: [...root.querySelectorAll('[data-chance]')].map((node) => node.textContent),
    edges: [...root.querySelectorAll('[data-edge]')].map((node) => node.dataset.edge),
    chosen: [...root.querySelectorAll('[aria-pressed=true]')].map((node) => node.dataset.key),
    outputs: [...root.querySelectorAll('output')].map((node) => node.textContent)}"""


def uniform(sentence, prefixes):
    """Ties everywhere: 25 tokens of equal chance first, so that masses of n / 25 are met exactly; then 40."""
    rows = np.zeros((len(prefixes), 40))
    rows[[not text for text in prefixes], 25:] = -np.inf
    return rows


def ties(**changes):
    symbols = [f"w{at}" for at in range(39)] + ["<eos>"]
    return sampler(uniform, ["a", "b"], symbols=symbols, eos=39, **{"max_length": 4} | changes)


MAKERS = LANGUAGES | {"ties": ties}


def key(made, node):
    path = []
    while node:
        node, token, *_ = made.answer["nodes"][node]
        path = [token, *path]
    return f"node-{'-'.join(map(str, path))}"


@pytest.mark.parametrize("name", MAKERS)
def test_the_page_agrees(visit, name):
    made, states = MAKERS[name](), []
    edges = [{"top_p": share / 25, "node": []} for share in range(26)]
    edges += [{"top_k": min(35, made.tokens), "top_p": 0.5, "node": [1]}, {"temperature": 0}]
    for at, one in enumerate([*random_states(made, 90), *edges]):
        one = {"top_k": None, "temperature": 1, **one}
        apply(made, one | {"draws": at % 12})
        made.node = into_the_tree(made, at) if at % 3 and at < 90 else made.node
        kept = {trait: getattr(made, trait) for trait in made.STATE}
        states.append(kept | {"drawn": made.drawn, "lang": ("en", "ko")[at % 2]})

    def agree(found, state):
        tree, ended, bars, nodes = made.tree(), made.ended(), made.bars(), made.answer["nodes"]
        assert found["source"] == "answered"
        assert {node: tuple(spot) for node, spot in found["found"]["drawn"]} == tree, state
        assert [text["node"] for text in found["found"]["ended"]] == [node for node, *_ in ended], state
        assert near(found["score"], [score for *_, score in ended]) and found["chosen"] == [key(made, made.place())]
        assert sorted(found["chances"]) == sorted(chance(np.exp(nodes[node][2])) for node in tree if node)
        assert sorted(found["edges"]) == sorted(kind for node, (*_, kind) in tree.items() if node)
        assert near(found["sums"], [entry["sum"] for entry in reversed(made.drawn)])
        assert found["outputs"][1] == made.say(
            "of", step=len(made.steps()), all=len(made.answer["widths"][str(made.width)])
        )
        assert found["outputs"][3:] == [str(value) for value in made.how().values()]
        if bars is None:
            assert found["found"]["bars"] is None and found["now"] == []
            return
        ids, rest, before, now, left = bars
        assert (found["found"]["bars"]["ids"], found["found"]["bars"]["rest"]) == (ids, rest)
        assert near(found["now"], now) and near(found["before"], before), state
        assert found["found"]["bars"]["left"] == left, state

    compare(visit, made, states, READ, agree)


def test_the_edges_are_as_thick_as_they_are_likely(visit):
    made = make(width=2)
    page = visit(made)
    numbers = "['stroke-width', 'stroke-opacity'].map(name => +line.getAttribute(name))"
    read = f"all => all.map(line => [line.dataset.edge, ...{numbers}])"
    want = []
    for node, (*_, kind) in made.tree().items():
        share = np.exp(made.answer["nodes"][node][2])
        if node:
            want.append([kind, 1 + (2 if kind == "left" else 5) * share, 1 if kind == "best" else 0.2 + 0.8 * share])
    found = page.locator("[data-edge]").evaluate_all(read)
    assert [kind for kind, *_ in sorted(found)] == [kind for kind, *_ in sorted(want)]
    assert np.allclose([numbers for _, *numbers in sorted(found)], [numbers for _, *numbers in sorted(want)], atol=1e-3)


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("garden path", {"width": 2, "step": 3, "alpha": 0.5}),
        ("garden path", {"width": 5, "draws": 9, "top_k": 2, "node": [ID["He"], ID["goes"], EOS]}),
        ("many words", {"width": 5, "max_length": 20}),
        ("two words", {"step": 0}),
    ],
)
def test_reads_well_in_both_themes_and_on_a_phone(visit, name, changes, lang):
    made = LANGUAGES[name](lang=lang, **changes)
    page = visit(made)
    for woken in (False, True):
        if woken:
            awake(page)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.locator(f"#explorable[data-dark={str(scheme == 'dark').lower()}]").wait_for(timeout=5_000)
            assert violations(page) == []
    assert said(page) == " ".join(made.sentence().split())
    page.set_viewport_size({"width": 320, "height": 700})
    page.wait_for_timeout(200)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320
    reach = "[...document.querySelectorAll('#explorable :is(input, select, button, [tabindex])')]"
    assert page.evaluate(f"() => {reach}.every(node => node.dataset.lmSuppressShortcuts === 'true')")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
    assert len(ids) == len(set(ids)) and page.locator("#explorable :is(b, script)").count() == 0


@pytest.mark.parametrize("name", ["raises", "later"])
def test_what_went_wrong_is_said(visit, name):
    made = make(WRONG[name][0], lang="ko")
    page = visit(made)
    assert said(page) == made.sentence() and page.locator("#explorable svg, #explorable table").count() == 0
    assert page.locator("#explorable").get_attribute("data-source") == "failed" and violations(page) == []


def test_nothing_moves_while_the_tree_grows(visit):
    """What is drawn at a step stays where it is at the next ones, and so does all that stands below."""
    page = visit(make(width=3, step=0))
    where = """() => {
        const origin = document.querySelector('#explorable svg').getBoundingClientRect();
        const at = (node) => { const box = node.getBoundingClientRect(); return [box.x, box.y].map(Math.round) };
        const node = (one) => [one.dataset.key, [at(one.querySelector('rect'))[0] - Math.round(origin.x), at(one)[1]]];
        const below = [...document.querySelectorAll('#explorable .controls, #explorable .chart')].map(at);
        return [Object.fromEntries([...document.querySelectorAll('g[data-key]')].map(node)), below];
    }"""
    page.set_viewport_size({"width": 1600, "height": 1600})
    before, below = page.evaluate(where)
    for _ in range(7):
        page.get_by_role("button", name="step on").press("Enter")
        nodes, still = page.evaluate(where)
        assert still == below and len(nodes) > len(before)
        assert {name: nodes[name] for name in before} == before
        before = nodes

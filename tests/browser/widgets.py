"""What tests of explorables share: notebooks of cells, a page's state, page against twin, axe, stops of the tab key."""

from pathlib import Path

import axe_playwright_python
import nbformat
import numpy as np

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
# axe takes all in Lab for hidden, and then tests no contrast: the body there has no height, and clips.
CHECK = """async node => {
    document.body.style.minHeight = '100vh';
    const found = await axe.run(node || document, {runOnly: ['wcag2a', 'wcag2aa']});
    const seen = found.passes.concat(found.violations).filter(rule => rule.id === 'color-contrast')
        .flatMap(rule => rule.nodes).filter(node => node.any[0]?.data?.contrastRatio);
    const wrong = found.violations.map(rule => [rule.id, rule.nodes[0].html]);
    return seen.length ? wrong : [...wrong, ['no contrast was tested', '']];
}"""
MARK = """root => {
    const all = [...root.querySelectorAll('input, select, button, [tabindex]')];
    const stops = all.filter(node => !node.disabled && node.tabIndex >= 0);
    all.forEach((node) => { delete node.dataset.stop });
    stops.forEach((node, at) => { node.dataset.stop = at });
    return stops.length;
}"""
CLOSE = 0.005  # how far a number on the page may be from its twin
# All states of one page at a time: one visit, one redraw a state, and what `read` finds after each.
EACH = """([states, read]) => states.map((state) => {
    const root = document.querySelector('#explorable'), {lang, ...rest} = state;
    Object.assign(window.model.state, rest);
    window.model.set('lang', lang);
    const all = (name) => [...root.querySelectorAll(`[data-${name}]`)].map((node) => +node.dataset[name]);
    return {said: root.querySelector('.live').textContent, ...new Function('root', 'all', `return ${read}`)(root, all)};
})"""
HERE = "root => root.contains(document.activeElement) ? +(document.activeElement.dataset.stop ?? -1) : null"


def notebook_of(*sources):
    """A notebook with these code cells, named cell-0, cell-1, ..."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made.cells = [nbformat.v4.new_code_cell(text, id=f"cell-{at}") for at, text in enumerate(sources)]
    return made


def state(page):
    return page.evaluate("() => window.model.state")


def follow(explorable, page):
    """Give the Python side the state that the page is in."""
    for name in explorable.STATE:
        setattr(explorable, name, state(page)[name])


def said(page):
    return page.locator(".live").inner_text()


def compare(visit, explorable, states, read, agree):
    """Put page and twin into each state, compare the sentences, and let `agree` compare what `read` finds."""
    assert len(states) >= 2
    for state, found in zip(states, visit(explorable).evaluate(EACH, [states, read]), strict=True):
        for name, value in state.items():
            setattr(explorable, name, value)
        sentence = explorable.sentence()
        assert found["said"] == sentence, f"{state}: the page says {found['said']!r}, Python {sentence!r}"
        agree(found, state)


def near(found, want):
    """Whether two arrays have one shape and agree; NaN never does."""
    return np.shape(found) == np.shape(want) and np.abs(np.array(found) - np.array(want)).max(initial=0) < CLOSE


def violations(where):
    """What axe finds on a page, or within the element of a locator: [(rule, first node), ...]."""
    page = getattr(where, "page", where)
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    return where.evaluate(CHECK)


def stops(root):
    """The stops of the tab key within a locator, marked with their place, as a list of locators."""
    return [root.locator(f"[data-stop='{at}']") for at in range(root.evaluate(MARK))]


def focused(root):
    """The place of the stop that has the focus; -1 for what is no stop, None where the focus is outside."""
    return root.evaluate(HERE)


def walk(root):
    """Press Tab from the first stop on until the focus is out. Returns the places of the stops on the way."""
    page, marked, way = root.page, stops(root), []
    marked[0].focus()
    while (here := focused(root)) is not None and len(way) <= len(marked):
        way.append(here)
        page.keyboard.press("Tab")
    return way

"""The sampler's picture for readers without a kernel: the tree, the ended texts, and what may follow one node."""

import math
import textwrap

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path

from course_lib import figures

from .base import MARK, fixed
from .beam_tree import FINISHED
from .tokens import chance, shorten

DOTS = 100  # an inch; all lengths below are in dots
LETTERS = 8  # of a token that are drawn
LEAST, MOST = 720, 900  # of the width; of more steps the last ones are drawn
PITCH, HIGH, GAP, FLAG, TOP = 25, 18, 28, 34, 22  # row to row, a node, between columns, a score, above the tree
LINE, RIGHT = 17, (12, 300, 385, 440)  # of the ended texts below: row to row, where the first column begins, others end
BAR, LEFT, NAME, LONG = 15, 490, 70, 120  # of the bars beside them: row to row, where they begin, names, length of 1
MOST_NODES, MOST_STRONG, MOST_TEXTS, MOST_BARS = 26, 31, 4, 5  # fewer than in the page: the picture stays small
FAINT = 0.25  # the least opacity of a line that can be seen
REST, PALE = "#767676", "#b0b0b0"  # letters, and lines, of what is left out


def picture(shown):
    """The present state of a Sampler as a matplotlib figure."""
    if "problem" in shown.answer:
        return _told(shown.sentence())
    first, spans, edge = _columns(shown)
    tree = _some({node: spot for node, spot in shown.tree().items() if spot[0] >= first})
    rows = max(shown.width, *(row + 1 for _, row, _ in tree.values()))
    wide, below = max(LEAST, edge), TOP + rows * PITCH + 20
    high = below + max(LINE * (1 + MOST_TEXTS), BAR * (1 + MOST_BARS)) + 4
    figure = Figure(figsize=(wide / DOTS, high / DOTS), dpi=DOTS)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    numbered = [column for column in spans if column]
    if numbered:
        left = spans[numbered[0]][0] - 8
        band = {"boxstyle": "round,pad=0,rounding_size=5", "color": figures.LINES[0], "alpha": 0.1, "lw": 0}
        axes.add_patch(FancyBboxPatch((left, TOP), edge - left - 6, PITCH * shown.width, zorder=0, **band))
    for column in numbered:
        axes.text(sum(spans[column]) / 2, 12, str(column), fontsize=7, ha="center", va="center")
    _tree(axes, shown, tree, spans)
    _texts(axes, shown, below)
    _bars(axes, shown, below)
    return figure


def _columns(shown):
    """The first column that is drawn, {column: (left, right)} from it on, and where the tree ends."""
    steps = shown.steps()
    columns = [[0], *[[node for node, _ in step] for step in steps]]
    sizes = [max(_room(_token(shown, node)) for node in nodes) + (36 if nodes[0] else 12) for nodes in columns]
    gaps = [GAP + FLAG * any(fate == FINISHED for _, fate in step) for step in [[], *steps]]
    strong = [column for column, _, kind in shown.tree().values() if kind != "left"]
    first = len(columns) - 1
    while first and sum(sizes[first - 1 :]) + sum(gaps[first - 1 :]) <= MOST:
        if sum(column >= first - 1 for column in strong) > MOST_STRONG:
            break
        first -= 1
    spans, left = {}, 12
    for column in range(first, len(columns)):
        spans[column] = (left, left + sizes[column])
        left += sizes[column] + gaps[column]
    return first, spans, left


def _tree(axes, shown, tree, spans):
    """tree: of `sampler_view.on_show`. spans: {column: (left, right)}."""
    nodes, scores = shown.answer["nodes"], {node: fixed(score) for node, _, _, score in shown.ended()}
    middles = {node: TOP + (row + 0.5) * PITCH for node, (_, row, _) in tree.items()}
    for node, (column, _, kind) in tree.items():
        (left, right), middle, share = spans[column], middles[node], math.exp(nodes[node][2])
        if node:
            parent = nodes[node][0]
            start = (spans[column - 1][1], middles[parent]) if parent in tree else (left - 10, middle)
            _edge(axes, start, (left, middle), kind, share)
        text = fixed(share).removeprefix("0") if node else ""
        _node(axes, left, right, middle, kind, _token(shown, node), text, scores.get(node))
        if node == shown.place():
            right += 3 + FLAG * (node in scores)
            _box(axes, left - 3, right, middle, HIGH + 6, fill=False, edgecolor=MARK, lw=2)


def _some(tree):
    """The nodes to draw: of more than MOST_NODES, those that lead nowhere are left out, the oldest and last first."""
    pale = sorted((column, -row, node) for node, (column, row, kind) in tree.items() if kind == "left")
    out = {node for *_, node in pale[: max(0, len(tree) - MOST_NODES)]}
    return {node: spot for node, spot in tree.items() if node not in out}


def _edge(axes, start, end, kind, share):
    """From a node to one that follows it, as thick as it is likely."""
    half = (end[0] - start[0]) / 2
    path = Path([start, (start[0] + half, start[1]), (end[0] - half, end[1]), end], [1, 4, 4, 4])
    color, width = (PALE, 0.6 + share) if kind == "left" else (figures.LINES[0], 0.7 + 3 * share)
    alpha = FAINT + (1 - FAINT) * share if kind == "open" else 1
    axes.add_patch(PathPatch(path, fill=False, edgecolor=color, lw=width, alpha=alpha, zorder=1 + (kind != "left")))


def _node(axes, left, right, middle, kind, token, share, score):
    """A token with its probability; behind a finished text a flag with its score."""
    ink = {"best": "white", "open": "black", "left": REST}[kind]
    if score is not None:
        _box(axes, right - 5, right + FLAG, middle, HIGH, color="black", lw=0, zorder=3)
        axes.text(right + FLAG / 2, middle, score, fontsize=7, color="white", ha="center", va="center", zorder=5)
    face = figures.LINES[0] if kind == "best" else "white"
    edge = "none" if kind == "left" else figures.LINES[0]
    _box(axes, left, right, middle, HIGH, facecolor=face, edgecolor=edge, lw=1, zorder=4)
    axes.text(left + 6, middle, token, fontsize=8, color=ink, va="center", zorder=5, parse_math=False)
    axes.text(right - 5, middle, share, fontsize=6.5, color=ink, ha="right", va="center", zorder=5)


def _box(axes, left, right, middle, high, zorder=6, **look):
    shape = "round,pad=0,rounding_size=4"
    axes.add_patch(FancyBboxPatch((left, middle - high / 2), right - left, high, boxstyle=shape, zorder=zorder, **look))


def _texts(axes, shown, top):
    """The ended texts with tokens, sum and score, the best first."""
    rows = [[shown.say(key) for key in ("text", "tokens", "sum", "score")]]
    for node, length, total, score in shown.ended()[:MOST_TEXTS]:
        rows.append([shorten(shown.written(node), 32), length, fixed(total), fixed(score)])
    for at, row in enumerate(rows):
        look = {"fontsize": 8, "va": "center", "parse_math": False, "style": "normal" if at else "italic"}
        for x, cell in zip(RIGHT, row, strict=True):
            axes.text(x, top + LINE * at, cell, ha="left" if x == RIGHT[0] else "right", **look)


def _bars(axes, shown, top):
    """What may follow the node: outlined the model's probability, filled what is drawn by."""
    axes.text(LEFT, top, shorten(shown.title(), 40), fontsize=8, style="italic", va="center", parse_math=False)
    if shown.bars() is None:
        return
    ids, _, before, now, left = shown.bars()
    for at, (token, share, drawn) in enumerate(list(zip(ids, before, now, strict=False))[:MOST_BARS]):
        out, y, start = at >= left, top + BAR * (at + 1), LEFT + NAME
        ink, name = REST if out else "black", shorten(shown.symbol(token), LETTERS)
        axes.text(start - 5, y, name, fontsize=7, color=ink, ha="right", va="center", parse_math=False)
        axes.add_patch(Rectangle((start, y - 4), LONG * drawn, 8, color=figures.LINES[0], lw=0))
        axes.add_patch(Rectangle((start, y - 5), max(1, LONG * share), 10, fill=False, edgecolor=REST, lw=0.7))
        number = "0" if out else chance(drawn)
        axes.text(start + LONG * max(share, drawn) + 6, y, number, fontsize=7, color=ink, va="center")


def _told(sentence):
    lines = textwrap.wrap(sentence, 60)[:8]
    figure = Figure(figsize=(5.2, 0.24 + 0.18 * len(lines)), dpi=DOTS)
    figure.text(0.02, 0.9, "\n".join(lines), fontsize=10, va="top", linespacing=1.25, parse_math=False)
    return figure


def _token(shown, node):
    return shorten(shown.symbol(shown.answer["nodes"][node][1]), LETTERS) if node else shown.say("start")


def _room(text):
    """Dots that a text takes, a Korean letter more than a Latin one."""
    return sum(7 if letter < "\u1100" else 11 for letter in text)

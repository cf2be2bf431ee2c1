"""The translator's picture for readers without a kernel: tokens, and lines as thick as their weights."""

import textwrap
from itertools import accumulate

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import figures

from .base import MARK, best, fixed
from .tokens import chance, seen, shorten

DOTS = 100  # an inch; all lengths below are in dots
LETTERS = 12  # of a token that are drawn
MOST_WRITTEN = 20
MOST = 940  # a sentence that is longer stands in two columns instead of two rows
PITCH, GAP, BAR, TOP = 22, 110, 40, 62
FAINT = 0.15  # the least opacity of a line that can be seen
REST = "#767676"


def picture(shown):
    """The present state of a Translator as a matplotlib figure: two rows, or two columns where those are too wide."""
    answer, weights = shown.shown(), shown.weights()
    if weights is None:
        return _told(shown.sentence())
    source, target = ([_drawn(token) for token in answer[side]] for side in ("source", "target"))
    chances, at = [chance(share) for share in answer["probability"]], shown.place()
    if len(target) > MOST_WRITTEN:  # those around the one looked at, so that the picture stays small
        first = max(0, min(at - MOST_WRITTEN // 2, len(target) - MOST_WRITTEN))
        target, weights, chances = (rows[first : first + MOST_WRITTEN] for rows in (target, weights, chances))
        before, after = "… " * (first > 0), " …" * (first + MOST_WRITTEN < len(answer["target"]))
        target, at = [before + target[0], *target[1:-1], target[-1] + after], at - first
    names = {key: shown.say(key) for key in ("weight", "source", "target", "probability")}
    if not chances:
        names["probability"] = ""
    marks = {"source": best(weights[at]), "target": at}
    values = {"source": [fixed(share) for share in weights[at]], "target": chances}
    sizes = [[max(46, _room(token) + 16) for token in side] for side in (source, target)]
    left = 16 + max(map(_room, names.values()))
    draw = _rows if left + max(map(sum, sizes)) <= MOST else _columns
    figure, axes, ends = draw(source, target, sizes, left, names, marks, values, weights[at])
    for row, start in enumerate(ends["target"]):
        if row != at and weights[row].any() and draw is _rows:  # of the others the strongest line alone
            axes.plot(*zip(start, ends["source"][best(weights[row])], strict=True), color=REST, lw=0.8, zorder=1)
    for share, end in zip(weights[at], ends["source"], strict=True):
        if share >= 0.005:
            look = {"color": figures.LINES[0], "alpha": FAINT + (1 - FAINT) * share, "lw": 1 + 4 * share}
            axes.plot(*zip(ends["target"][at], end, strict=True), zorder=2, solid_capstyle="butt", **look)
    title = shown.say("becomes", text=shown.text, translation=answer["text"])
    lines = textwrap.wrap(title, int(axes.get_xlim()[1] / 9), max_lines=2, placeholder=" …")
    axes.text(8, 6, "\n".join(lines), fontsize=10, va="top", linespacing=1.3, parse_math=False)
    axes.text(8, TOP - 8, shown.where(), fontsize=8, style="italic", va="center")
    return figure


def _rows(source, target, sizes, left, names, marks, values, weights):
    """Source tokens above, written ones below."""
    total = max(map(sum, sizes))
    figure, axes = _paper(left + total + 8, TOP + BAR + GAP + 88)
    base = TOP + 16 + BAR
    high = {"weight": base - 10, "source": base + 16, "target": base + GAP + 38, "probability": base + GAP + 58}
    for key, y in high.items():
        axes.text(8, y, names[key], fontsize=8, style="italic", va="center")
    ends = {}
    for side, tokens, each, line in (
        ("source", source, sizes[0], high["source"] + 12), ("target", target, sizes[1], high["target"] - 14),
    ):  # fmt: skip
        more = (total - sum(each)) / len(each)  # the shorter row spreads
        middles = [left + end - size / 2 + more * (at + 0.5) for at, (end, size) in enumerate(_ends(each))]
        ends[side] = [(x, line) for x in middles]
        for at, (x, token) in enumerate(zip(middles, tokens, strict=True)):
            _token(axes, x, high[side], token, at == marks[side], side, "center")
    for (x, _), share, text in zip(ends["source"], weights, values["source"], strict=True):
        axes.add_patch(Rectangle((x - 8, base - BAR * share), 16, BAR * share, color=figures.LINES[0], lw=0))
        axes.text(x, base - BAR * share - 8, text, fontsize=8, ha="center", va="center")
    for (x, _), text in zip(ends["target"], values["target"], strict=False):
        axes.text(x, high["probability"], text, fontsize=8, ha="center", va="center")
    return figure, axes, ends


def _columns(source, target, sizes, left, names, marks, values, weights):
    """Source tokens at the left, written ones at the right."""
    count = max(len(source), len(target))
    from_ = left + BAR + max(sizes[0])
    to = from_ + 2 * GAP
    figure, axes = _paper(to + max(sizes[1]) + left, TOP + 30 + PITCH * count)
    places = {"weight": (8, "left"), "source": (from_, "right"), "target": (to, "left")}
    places["probability"] = (to + max(sizes[1]) + left - 8, "right")
    for key, (x, side) in places.items():
        axes.text(x, TOP + 6, names[key], fontsize=8, style="italic", ha=side, va="center")
    ends = {}
    for side, tokens, x in (("source", source, from_ + 6), ("target", target, to - 6)):
        pitch = PITCH * count / len(tokens)  # the shorter column spreads
        ends[side] = [(x, TOP + 18 + pitch * (at + 0.5)) for at in range(len(tokens))]
        for at, ((_, y), token) in enumerate(zip(ends[side], tokens, strict=True)):
            _token(axes, places[side][0], y, token, at == marks[side], side, places[side][1])
    for (_, y), share, text in zip(ends["source"], weights, values["source"], strict=True):
        axes.text(8, y, text, fontsize=8, va="center")
        axes.add_patch(Rectangle((left, y - 5), BAR * share, 10, color=figures.LINES[0], lw=0))
    for (_, y), text in zip(ends["target"], values["target"], strict=False):
        axes.text(places["probability"][0], y, text, fontsize=8, ha="right", va="center")
    return figure, axes, ends


def _token(axes, x, y, token, marked, side, ha):
    """Framed are the written token looked at, and the source token that it looks at most. Korean may have no bold."""
    edge = MARK if side == "target" else figures.LINES[0]
    frame = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": edge, "linewidth": 1.5}
    bbox = frame if marked else None
    axes.text(x, y, token, fontsize=10, ha=ha, va="center", zorder=5, parse_math=False, bbox=bbox)


def _paper(wide, high):
    figure = Figure(figsize=(wide / DOTS, high / DOTS), dpi=DOTS)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    return figure, axes


def _told(sentence):
    lines = textwrap.wrap(sentence, 60)[:8]
    figure, axes = _paper(520, 24 + 18 * len(lines))
    axes.text(10, 10, "\n".join(lines), fontsize=10, va="top", linespacing=1.25, parse_math=False)
    return figure


def _ends(sizes):
    return zip(accumulate(sizes), sizes, strict=True)


def _drawn(token):
    return shorten(seen(token), LETTERS)


def _room(text):
    """Dots that a text takes, a Korean letter more than a Latin one."""
    return sum(8 if letter < "\u1100" else 13 for letter in text)

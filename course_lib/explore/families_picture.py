"""The families' picture for readers without a kernel: the masks of one family, what a cache holds and what it saves."""

import textwrap

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import figures

from .base import MARK
from .tokens import shorten

DOTS = 100  # an inch; all lengths below are in dots
LETTERS = 7  # of a token that are drawn
CELL, STRIP, ABOVE, BELOW, GAP, LINE = 21, 8, 44, 14, 30, 16  # a cell's side, room above K and V, a grid's head, ...
MOST = 900  # where the grids are wider side by side they go on below
PALE, REST = "#A6CFE5", "#767676"
FILLS = {"now": figures.LINES[0], "before": PALE, "later": "white"}


def picture(shown):
    """The present state of a Families as a matplotlib figure."""
    names = [shorten(token, LETTERS) for token in shown.places()]
    spots, left, top, high, wide = {}, 10, 8, 0, 0
    for name, (rows, columns) in shown.grids().items():
        width = max(_label(names, rows) + _cell(names, columns) * len(columns), 7 * len(shown.title(name)))
        if left > 10 and left + width > MOST:
            left, top, high = 10, top + high, 0
        spots[name] = (left, top)
        left += width + GAP
        high, wide = max(high, _high(shown, name)), max(wide, left)
    legend = _legend(shown)
    wide, high = max(wide, 20 + sum(30 + _room(text) for _, text in legend)), top + high
    letters = int((wide - 20) / (11 if shown.lang == "ko" else 6.5))
    lines = [line for told in shown.writing() for line in textwrap.wrap(told, letters)]
    whole = high + 28 + LINE * len(lines)
    figure = Figure(figsize=(wide / DOTS, whole / DOTS), dpi=DOTS)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(whole, 0))
    axes.set_axis_off()
    for at, line in enumerate(lines):
        axes.text(10, high + 30 + LINE * at, line, fontsize=8, va="center", parse_math=False)
    for name, spot in spots.items():
        _grid(axes, shown, name, names, *spot)
    _draw_legend(axes, legend, high + 8)
    return figure


def _grid(axes, shown, name, names, left, top):
    """One attention: rows are queries, columns keys; and which keys and values are kept, where any are."""
    rows, columns = shown.grids()[name]
    mask, stages = shown.mask(), shown.stages()
    leaks, blind = shown.disagreements() or ([], [])
    start, wide, first = left + _label(names, rows), _cell(names, columns), top + ABOVE
    axes.text(left, top + 8, shown.title(name), fontsize=9, va="center")
    look = {"fontsize": 7.5, "va": "center", "parse_math": False}
    for at, column in enumerate(columns):
        axes.text(start + wide * (at + 0.5), first - 9, names[column], ha="center", **look)
    for at, row in enumerate(rows):
        y, mine = first + CELL * at, row == shown.token
        axes.text(start - 6, y + CELL / 2, names[row], ha="right", color=MARK if mine else "black", **look)
        for place, column in enumerate(columns):
            x, leak, open_ = start + wide * place, [row, column] in leaks, mask[row, column]
            wrong = leak or [row, column] in blind
            _square(axes, x, y, wide, stages[row] if open_ else "hidden")
            if wrong or (mine and open_):
                edge = {"fill": wrong, "facecolor": "white", "edgecolor": MARK, "lw": 2 if wrong else 1.5}
                axes.add_patch(Rectangle((x + 2, y + 2), wide - 4, CELL - 4, **edge))
                text, ink = ("!" if leak else "0") if wrong else "✓", "white" if stages[row] == "now" else "black"
                axes.text(x + wide / 2, y + CELL / 2, text, ha="center", color="black" if wrong else ink, **look)
    for at, letter in enumerate("KV" if shown.strip(name) else ""):
        y = first + CELL * (len(rows) + at) + STRIP
        axes.text(start - 6, y + CELL / 2, letter, ha="right", style="italic", **look)
        for place, stage in enumerate(shown.strip(name)):
            x = start + wide * place
            _square(axes, x, y, wide, stage)
            if stage == "now":
                axes.text(x + wide / 2, y + CELL / 2, "+", ha="center", color="white", **look)


def _square(axes, x, y, wide, kind):
    if kind == "hidden":
        look = {"fill": False, "edgecolor": REST, "lw": 0.6, "ls": (0, (2, 3))}
    else:
        look = {"facecolor": FILLS[kind], "edgecolor": FILLS["now"], "lw": 0.8}
    axes.add_patch(Rectangle((x + 2, y + 2), wide - 4, CELL - 4, **look))


def _legend(shown):
    """[(kind, words)] of what the squares mean."""
    kinds = ["now", *(["before", "later"] if shown.family != "encoder-only" else []), "hidden"]
    kinds = [kind for kind in kinds if kind != "hidden" or not shown.mask().all()]
    return [(kind, shown.say(kind)) for kind in kinds]


def _draw_legend(axes, legend, middle):
    left = 10
    for kind, text in legend:
        _square(axes, left, middle - CELL / 2, 18, kind)
        axes.text(left + 22, middle, text, fontsize=7.5, va="center")
        left += 30 + _room(text)


def _high(shown, name):
    """A grid's height, with its head and foot."""
    return ABOVE + BELOW + CELL * len(shown.grids()[name][0]) + (STRIP + 2 * CELL if shown.strip(name) else 0)


def _label(names, rows):
    """Room for the names of rows."""
    return 10 + max(_room(names[row]) for row in rows)


def _cell(names, columns):
    """A cell's width: all columns of a grid have one."""
    return max(CELL, 6 + max(_room(names[column]) for column in columns))


def _room(text):
    """Dots that a text takes, a Korean letter more than a Latin one."""
    return sum(6.5 if letter < "\u1100" else 11 for letter in text)

"""The Transformer as a figure, after Vaswani et al. (2017), figure 1: each box names the function that computes it."""

from typing import NamedTuple

from matplotlib.patches import FancyBboxPatch

from course_lib.figures import panels

ENCODER, DECODER = 0.0, 3.4  # left edges of the two columns
WIDTH, HEIGHT = 2.5, 0.62
BUILT, MISSING = "#DCE9F5", "white"


class Box(NamedTuple):
    """One box. x, y: its lower left corner. function: which function of the course computes it, "" for none."""

    x: float
    y: float
    label: str
    function: str


def _column(x, boxes, start=0.0, step=1.0):
    return [Box(x, start + step * at, label, function) for at, (label, function) in enumerate(boxes)]


BOXES = (
    *_column(
        ENCODER,
        (
            ("source ids", ""),
            ("embedding · √D + positions", "sinusoidal_encoding"),
            ("self-attention", "MultiHeadAttention"),
            ("add & norm", "residual"),
            ("feed-forward", "feed_forward"),
            ("add & norm", "residual"),
        ),
    ),
    *_column(
        DECODER,
        (
            ("target ids, shifted", "shift_right"),
            ("embedding · √D + positions", "sinusoidal_encoding"),
            ("masked self-attention", "MultiHeadAttention"),
            ("add & norm", "residual"),
            ("cross-attention", "MultiHeadAttention"),
            ("add & norm", "residual"),
            ("feed-forward", "feed_forward"),
            ("add & norm", "residual"),
            ("linear: scores", "transformer_forward"),
            ("softmax", "softmax"),
        ),
    ),
)
# (left edge, first row, last row, label, function): what is repeated N times
STACKS = ((ENCODER, 2, 5, "N ×", "encoder_block"), (DECODER, 2, 7, "N ×", "decoder_block"))
MASKS = ((ENCODER, 2, "source mask"), (DECODER, 2, "target mask"), (DECODER, 4, "source mask"))


def draw_transformer(built):
    """The figure, with the boxes filled whose function is among `built`; the others are outlines. Returns a Figure."""
    figure, (axes,) = panels(width=7.2, height=6.6)
    axes.set(xlim=(-1.5, 7.5), ylim=(-0.3, 10.1))
    axes.axis("off")
    for box in BOXES:
        fill = BUILT if box.function in built else MISSING
        _draw_box(axes, box.x, box.y, WIDTH, HEIGHT, fill, "-" if box.function in ("", *built) else ":")
        middle = box.x + WIDTH / 2
        axes.text(middle, box.y + (0.4 if box.function else 0.31), box.label, ha="center", va="center", fontsize=8.5)
        axes.text(middle, box.y + 0.15, box.function, ha="center", va="center", fontsize=6.5, family="monospace")
    for lower, upper in zip(BOXES, BOXES[1:], strict=False):
        if lower.x == upper.x:
            _arrow(axes, (lower.x + WIDTH / 2, lower.y + HEIGHT), (upper.x + WIDTH / 2, upper.y))
    for box in BOXES:
        if box.label == "add & norm":
            _draw_shortcut(axes, box, 1 if box.x == ENCODER else -1)
    for x, first, last, label, function in STACKS:
        style = "-" if function in built else ":"
        _draw_box(axes, x - 0.18, first - 0.28, WIDTH + 0.36, last - first + HEIGHT + 0.48, "none", style)
        side = {"x": x - 0.28, "ha": "right"} if x == ENCODER else {"x": x + WIDTH + 0.28, "ha": "left"}
        middle = (first + last + HEIGHT) / 2 + (1.0 if x == DECODER else 0.2)
        axes.text(y=middle, s=label, va="center", fontsize=10, **side)
        axes.text(y=middle - 0.35, s=function, va="center", fontsize=6.5, family="monospace", **side)
    for x, row, label in MASKS:
        at_left = x == ENCODER
        start = (x - 0.75 if at_left else x + WIDTH + 0.75, row + HEIGHT / 2)
        _arrow(axes, start, (x if at_left else x + WIDTH, row + HEIGHT / 2))
        axes.text(*start, label.replace(" ", "\n"), ha="right" if at_left else "left", va="center", fontsize=7.5)
    # The memory goes from the top of the whole encoder to every block of the decoder.
    top, into = (ENCODER + WIDTH / 2, 5 + HEIGHT), (DECODER, 4 + HEIGHT / 2)
    corner = (top[0], 6.15), ((ENCODER + WIDTH + DECODER) / 2, 6.15), ((ENCODER + WIDTH + DECODER) / 2, into[1])
    axes.plot(*zip(top, *corner, strict=True), color="0.3", lw=1.2)
    _arrow(axes, corner[-1], into)
    axes.text(corner[0][0], 6.25, "memory", ha="center", va="bottom", fontsize=8)
    return figure


def _draw_box(axes, x, y, width, height, fill, line):
    box = FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0,rounding_size=0.1", facecolor=fill,
                         edgecolor="0.3", linestyle=line, linewidth=1.1, zorder=0 if fill == "none" else 1)  # fmt: skip
    axes.add_patch(box)


def _draw_shortcut(axes, box, side):
    """The line around a sub-layer, from below it into "add & norm". side: 1 for right of the boxes, -1 for left."""
    edge = box.x + (WIDTH if side > 0 else 0)
    outside, below = edge + 0.1 * side, box.y - 1 - (1 - HEIGHT) / 2
    axes.plot([box.x + WIDTH / 2, outside, outside], [below, below, box.y + HEIGHT / 2], color="0.3", lw=0.9)
    axes.plot([outside, edge], [box.y + HEIGHT / 2] * 2, color="0.3", lw=0.9)


def _arrow(axes, start, end):
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.3", "lw": 1.1, "shrinkA": 0, "shrinkB": 0}
    )

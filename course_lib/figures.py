"""One style for every figure of the course: opaque white PNG, few colours, readable in light and dark themes."""

import io
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure

# Okabe and Ito's colours for lines: told apart without colour vision, the darkest first.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
HANGUL = ("NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic")
COLOURS = 64


@contextmanager
def style():
    """matplotlib settings of the course, given back afterwards. Fonts are asked glyph by glyph, Hangul ones last."""
    present = set(font_manager.get_font_names())
    settings = {
        "font.family": ["DejaVu Sans", *[name for name in HANGUL if name in present]],
        "axes.prop_cycle": mpl.cycler(color=LINES),
        "axes.grid": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.alpha": 0.3,
        "image.cmap": "cividis",
        "image.interpolation": "nearest",
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
    }
    with mpl.rc_context(settings):
        yield


def panels(columns=1, *, width=4.2, height=3.0):
    """A figure with `columns` axes side by side. width, height: inches of one panel. Returns (figure, list of axes)."""
    figure = Figure(figsize=(width * columns, height), dpi=100, layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def png(figure):
    """The figure as PNG bytes, 64 colours without dither, no date or version inside: the same bytes every time."""
    from PIL import Image

    with style():
        raw = io.BytesIO()
        figure.savefig(raw, format="png", metadata={"Software": None})
    small = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, format="png", optimize=True)
    return out.getvalue()


def show(figure, sentence):
    """Show a figure in a notebook with a sentence that says what is to be seen, for readers without the picture."""
    from IPython.display import display

    display({"image/png": png(figure), "text/plain": sentence}, raw=True, metadata={"image/png": {"alt": sentence}})

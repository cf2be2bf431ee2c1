"""One style for every figure of the course: opaque white PNG, few colours, readable in light and dark themes."""

import io
import warnings
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure

# Okabe and Ito's colours for lines: told apart without colour vision, the darkest first.
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
# Fonts with Korean letters, the first that is there is taken, and how their files are called.
HANGUL = ("NanumGothic", "Noto Sans CJK KR", "Noto Sans KR", "Apple SD Gothic Neo", "AppleGothic", "Malgun Gothic")
HANGUL_FILES = ("nanumgothic.", "nanumgothic-regular", "notosanscjk", "notosanskr", "applesdgothic", "applegothic",
                "malgun")  # fmt: skip
COLOURS = 64


@lru_cache(maxsize=1)
def hangul_fonts():
    """The names in HANGUL that matplotlib can draw with, as a tuple.

    >>> set(hangul_fonts()) <= set(HANGUL)
    True
    """
    known = _known_hangul()
    if not known:
        # matplotlib's list is made once and kept: a font that was installed afterwards is not in it.
        for path in font_manager.findSystemFonts():
            if Path(path).name.lower().replace(" ", "").startswith(HANGUL_FILES):
                font_manager.fontManager.addfont(path)
        known = _known_hangul()
    return known


def _known_hangul():
    present = set(font_manager.get_font_names())
    return tuple(name for name in HANGUL if name in present)


@contextmanager
def style():
    """matplotlib settings of the course, given back afterwards. Fonts are asked glyph by glyph, Hangul ones last.

    >>> with style():
    ...     print(mpl.rcParams["image.cmap"], mpl.rcParams["savefig.facecolor"])
    cividis white
    """
    settings = {
        "font.family": ["DejaVu Sans", *hangul_fonts()],
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
    """A figure with `columns` axes side by side. width, height: inches of one panel. Returns (figure, list of axes).

    >>> figure, (left, right) = panels(2)
    >>> figure.get_size_inches().tolist()
    [8.4, 3.0]
    """
    figure = Figure(figsize=(width * columns, height), dpi=100, layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def png(figure):
    """The figure as PNG bytes, 64 colours without dither, no date or version inside: the same bytes every time.

    >>> figure, (axes,) = panels()
    >>> _ = axes.plot([3, 2, 1])
    >>> png(figure) == png(figure), png(figure)[1:4]
    (True, b'PNG')
    """
    from PIL import Image

    with style(), warnings.catch_warnings():
        # One warning for every letter would bury the lesson; `course doctor` says which font is missing.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        raw = io.BytesIO()
        figure.savefig(raw, format="png", metadata={"Software": None})
    small = Image.open(raw).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    out = io.BytesIO()
    small.save(out, format="png", optimize=True)
    return out.getvalue()


def show(figure, sentence):
    """Show a figure in a notebook with a sentence that says what is to be seen, for readers without the picture.

    >>> from contextlib import redirect_stdout
    >>> with redirect_stdout(io.StringIO()) as said:  # without a notebook the sentence is what there is to read
    ...     show(panels()[0], "One empty panel.")
    >>> "One empty panel." in said.getvalue()
    True
    """
    from IPython.display import display

    display({"image/png": png(figure), "text/plain": sentence}, raw=True, metadata={"image/png": {"alt": sentence}})

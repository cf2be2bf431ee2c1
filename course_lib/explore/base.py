"""The base of every explorable: one anywidget whose picture is computed in the page from traits, with a Python twin.

A subclass names its module in `static/`, its state traits, and gives `sentence()` and `draw()`. What a reader without
a kernel sees is the PNG and the sentence; `to_html` writes a page that works alone.
"""

import base64
import functools
import html
import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from importlib import resources
from pathlib import Path

import anywidget
import matplotlib as mpl
import numpy as np
import traitlets

from course_lib import figures

from .words import LANGUAGES, words

MOST_TOKENS = 64
DIGITS = 4  # of the numbers that go to the page
MARK = figures.LINES[1]  # what is looked at
COLOURS = mpl.colormaps["cividis"].resampled(10)  # as the page has them
IMPORT = re.compile(r"^import .* from \"\./(\w+)\.js\";\n", re.MULTILINE)
STATIC = resources.files("course_lib.explore").joinpath("static")


def module(name):
    """The ES module of one explorable as one text: the files that it imports, each once, then its own."""
    parts = {}

    def add(part):
        text = STATIC.joinpath(f"{part}.js").read_text(encoding="utf-8")
        for imported in IMPORT.findall(text):
            add(imported)
        parts[part] = IMPORT.sub("", text)

    add(name)
    return "".join(parts.values())


class Explorable(anywidget.AnyWidget):
    """See the module. Subclasses set NAME, STATE and `_esm = module(NAME)`."""

    NAME = ""
    STATE = ()  # the traits a learner moves; reset takes them back to where they began
    _css = STATIC.joinpath("shared.css").read_text(encoding="utf-8")

    lang = traitlets.Enum(LANGUAGES, default_value="en").tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    start = traitlets.Dict().tag(sync=True)

    def __init__(self, **state):
        super().__init__(words=words(self.NAME), **state)
        self.start = {name: getattr(self, name) for name in self.STATE}

    def say(self, key, **values):
        """A phrase of the catalogue in the widget's language, {name} filled in."""
        return re.sub(r"\{(\w+)\}", lambda found: str(values[found[1]]), self.words[self.lang][key])

    def sentence(self):
        """What the picture shows, with its numbers."""
        raise NotImplementedError

    def draw(self):
        """The picture of the present state as a matplotlib figure."""
        raise NotImplementedError

    def static_png(self):
        """The picture as PNG: opaque, the same bytes for the same state."""
        with figures.style():
            return figures.png(self.draw())

    def _repr_mimebundle_(self, **kwargs):
        shown = super()._repr_mimebundle_(**kwargs)
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        sentence = self.sentence()
        picture = base64.b64encode(self.static_png()).decode()
        data = {**(data or {}), "image/png": picture, "text/plain": sentence}
        return data, {**metadata, "image/png": {"alt": sentence}}

    def page_state(self):
        """{trait: value} of what the module in the page reads."""
        kept = {name for name in self.trait_names(sync=True) if not name.startswith("_")}
        return {name: getattr(self, name) for name in sorted(kept - {"layout", "tabbable", "tooltip"})}

    def to_html(self, path, title=None):
        """Write a page that shows this explorable without kernel or network. Returns its path."""
        title = html.escape(title or self.NAME.replace("_", " "))
        source = base64.b64encode(self._esm_text().encode()).decode()
        # Within <script> only "</" and "<!--" could end it early; JSON may write "<" as an escape.
        state = json.dumps(self.page_state(), ensure_ascii=False).replace("<", "\\u003c")
        text = STATIC.joinpath("page.html").read_text(encoding="utf-8")
        values = {"lang": self.lang, "title": title, "css": self._css_text(), "state": state, "source": source}
        path = Path(path)
        path.write_text(re.sub(r"%(\w+)%", lambda found: values[found[1]], text), encoding="utf-8")
        return path

    def _esm_text(self):
        return module(self.NAME)

    def _css_text(self):
        return STATIC.joinpath("shared.css").read_text(encoding="utf-8")


def numbers(value, name, *shape):
    """`value` (array, tensor or lists) as a float array of that shape; None stands for any length."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()  # numpy has no bfloat16
    array = np.asarray(value, dtype=float)
    if array.ndim != len(shape) or any(want not in (None, got) for want, got in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have shape ({wanted}), got {tuple(array.shape)}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or infinity; where does it come from?")
    return array


def token_list(tokens, name, length):
    """The tokens as text, as many as `length` and at most 64. Raises ValueError, which names both lengths."""
    tokens = [str(token) for token in tokens]
    if len(tokens) != length:
        raise ValueError(f"{name} holds {len(tokens)} tokens, but the weights have {length} for them")
    if length > MOST_TOKENS:
        raise ValueError(f"{name} holds {length} tokens; at most {MOST_TOKENS} can be read in one picture. Cut it.")
    return tokens


def fixed(value):
    """The number with two digits, as the page writes it: halves away from zero, no "-0.00".

    Python and JavaScript may differ in a sum's last bits; those decide nothing.
    """
    value = Decimal(math.floor(float(value) * 1e9 + 0.5) / 1e9)
    return str(value.quantize(Decimal("0.01"), ROUND_HALF_UP) + 0)


def best(shares):
    """Index of the largest share, the first of those that are equal but for their last bits."""
    return int(np.flatnonzero(shares >= shares.max() - 1e-9)[0])


def softmax(scores):
    """Weights over the last axis, as the page computes them."""
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def problem(error):
    """What a learner's function raised, in one line that fits below a picture."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) < 300 else f"{text[:300]}…"


def rounded(array):
    """Nested lists for the page, four digits."""
    return np.round(array, DIGITS).tolist()


def name_of(function, otherwise):
    """How a function is called in a sentence: a partial as what it is a partial of, a lambda `otherwise`."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return otherwise if name == "<lambda>" else name

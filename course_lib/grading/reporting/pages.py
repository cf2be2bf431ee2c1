"""What all pages for people share: text made harmless, one look, numbers. Pages hold no script and ask nobody.

Everything that a submission brought is text for jinja2, which escapes it; before that `harmless` shortens it and makes
visible what would turn or hide the text around it.
"""

import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup, escape

from ..collecting.names import safe_name, unique
from ..collecting.submissions import NO_NOTEBOOK, NOTHING, OTHER_NOTEBOOKS

LONGEST = 4_000  # characters of a message, a name, a place
LONGEST_SOURCE = 20_000
# Characters that are not seen, or that change the order of those around them: controls, bidirectional marks and
# overrides, zero widths, line separators, lone surrogates.
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
CODE = re.compile(r"`([^`\n]{1,200})`")
CIVIDIS = ("#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838")
WHITE_TO = 5  # on the first five of these white is read, on the others black
MOST_ROWS = 12
# What can become of an exercise: (key, symbol, words), the best first. The symbol says what the colour says.
PARTLY, NOT_GRADED = "partly", "not graded"
KINDS = (
    ("passed", "✓", "passed"),
    (PARTLY, "◐", "partly right"),
    ("wrong", "✗", "wrong"),
    ("failed", "!", "failed"),
    ("too slow", "∞", "too slow"),
    ("not attempted", "○", "not attempted"),
    (NOT_GRADED, "?", "could not be graded"),
)
SYMBOLS = {key: symbol for key, symbol, _ in KINDS}
WORDS = {key: words for key, _, words in KINDS}


def harmless(text, longest=LONGEST):
    """A text that can stand on a page: cut with a remark, unseen characters shown as [U+202E]."""
    left_out = len(text) - longest
    shown = UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text[:longest].replace("\r\n", "\n"))
    return f"{shown} … ({left_out:,} more characters are left out)" if left_out > 0 else shown


def one_line(text, longest=300):
    """The first line of a text that says something, for a cell of a table."""
    return harmless(next((line.strip() for line in text[:LONGEST].splitlines() if line.strip()), ""), longest)


def prose(text):
    """A message as HTML: escaped, `code` in backticks set as code."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(harmless(text)))))


def number(value):
    """Points as people write them: 2, 1.5, 0.33."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "–"


def kind_of(mark):
    """The key in KINDS of a mark."""
    if mark.status == "passed" or mark.status not in SYMBOLS:
        return mark.status if mark.status in SYMBOLS else NOT_GRADED
    return PARTLY if mark.earned > 0 else mark.status


def aspect_words(name):
    """An aspect of partial credit as a reader knows it."""
    return {
        "shape": "the shape of the result",
        "values": "the values in ordinary calls",
        "large inputs": "large inputs",
        "masks": "masked and padded inputs",
        "gradient": "the gradient",
        "arguments untouched": "the arguments stay as they were",
    }.get(name, f"the law “{name}”")


def heatmap(matrix):
    """(rows of (text, background, ink), whether it may be cut): a matrix in cividis, the smallest number darkest.

    matrix: rows of numbers, "nan", "inf" and "-inf". None where it is no such thing.
    """
    if not isinstance(matrix, list) or not matrix or not all(isinstance(row, list) and row for row in matrix):
        return None
    rows = [[_entry(value) for value in row[:MOST_ROWS]] for row in matrix[:MOST_ROWS]]
    finite = [value for row in rows for value in row if value == value and abs(value) != float("inf")]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    cut = len(matrix) >= MOST_ROWS or max(map(len, matrix)) >= MOST_ROWS
    return [[_cell(value, low, high) for value in row] for row in rows], cut


def _entry(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _cell(value, low, high):
    if value != value:
        return "NaN", "", ""
    if abs(value) == float("inf"):
        return ("inf" if value > 0 else "−inf"), "", ""
    share = (value - low) / (high - low) if high > low else 0.5
    step = min(len(CIVIDIS) - 1, int(share * len(CIVIDIS))) if share == share else 0
    return f"{value:.4g}".replace("-", "−"), CIVIDIS[step], "#fff" if step < WHITE_TO else "#000"


def why_missing(notes):
    """The notes that say why there was nothing to grade: they stand with what could not be graded."""
    return tuple(note for note in notes if note.startswith((NO_NOTEBOOK, OTHER_NOTEBOOKS)) or note == NOTHING)


def trouble_of(report):
    """Why not everything of a student could be graded, with what was handed in instead; "" where everything could."""
    missing = why_missing(report.notes)
    if not report.trouble or NOTHING in missing:
        return report.trouble and NOTHING
    return "; ".join((report.trouble, *missing))


def page_names(reports):
    """{student: name of the feedback page}, all different on any file system."""
    taken = set()
    return {report.student: f"{unique(safe_name(report.student)[:100], taken)}.html" for report in reports}


def breakable(name):
    """A long name with places where a line may end, after its underscores."""
    return Markup("_<wbr>").join(harmless(name).split("_"))


@cache
def environment():
    """jinja2's environment for the templates beside this file; every value is escaped and made harmless."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates"), encoding="utf-8"),
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: harmless(value) if type(value) is str else value,
    )  # fmt: skip
    made.filters |= {
        "prose": prose, "number": number, "one_line": one_line, "symbol": SYMBOLS.get, "words": WORDS.get,
        "breakable": breakable, "aspect": aspect_words, "url": quote,
        "source": lambda text: escape(harmless(text, LONGEST_SOURCE)),
    }  # fmt: skip
    made.globals |= {"kind_of": kind_of, "heatmap": heatmap, "percent": percent, "KINDS": KINDS}
    return made


def render(template, **values):
    """A page as text."""
    return environment().get_template(template).render(**values)

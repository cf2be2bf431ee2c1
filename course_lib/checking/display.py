"""Show text in a notebook as a small card, and as plain lines everywhere else. Both are deterministic."""

import html
import re
import sys

_STYLE = (
    "border-left:4px solid var(--jp-success-color1,#1b7f3b);padding:.3em .8em;margin:.2em 0;"
    "color:var(--jp-ui-font-color1,#1f2328)"
)
# HTML folds spaces, and in Python they mean something.
_CODE = "white-space:pre-wrap;font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px)"


class Card:
    """Lines of text. Lab shows them as HTML that follows the theme; a terminal, nbclient and nbval as they are.

    What stands between `backticks` is shown as code. code: all lines are code, and keep their spaces.
    """

    def __init__(self, lines, table=None, code=False):
        self.lines, self.table, self.code = lines, table, code

    def __repr__(self):
        return "\n".join([*self.lines, *self._plain_table()])

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "text/html": self._html()}

    def _plain_table(self):
        if not self.table:
            return []
        widths = [max(len(str(row[i])) for row in self.table) for i in range(len(self.table[0]))]
        padded = [[str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)] for row in self.table]
        return ["  ".join(row).rstrip() for row in padded]

    def _html(self):
        if self.code:
            return f'<div style="{_STYLE};{_CODE}">{html.escape(chr(10).join(self.lines))}</div>'
        paragraphs = "".join(f"<div>{_with_code(line)}</div>" for line in self.lines)
        if not self.table:
            return f'<div style="{_STYLE}">{paragraphs}</div>'
        head, *rows = self.table
        cells = "".join(f"<th scope='col' style='text-align:left'>{html.escape(str(cell))}</th>" for cell in head)
        body = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return f'<div style="{_STYLE}">{paragraphs}<table><tr>{cells}</tr>{body}</table></div>'


def _with_code(line):
    """A line as HTML, `code` marked as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(line))


def show(lines, table=None, code=False):
    """Show lines, and a table below them (rows of cells, the first row is the head). code: the lines are code."""
    card = Card(lines, table, code)
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():
        ipython.display.display(card)
    else:
        print(card)

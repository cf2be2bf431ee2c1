"""Drive a private JupyterLab in headless Chromium: open a notebook, type into a cell, run it, read what it shows.

    with lab_server(folder) as url, browser() as context:
        notebook = Notebook.open(context.new_page(), url, "01_bottleneck.ipynb")
        notebook.write("rnn-cell-answer", "def rnn_cell(...): ...")
        notebook.run("rnn-cell-answer")
        notebook.run("rnn-cell-check")
        assert "passed" in notebook.text("rnn-cell-check")

A cell is named by its nbformat id, or by its index. Only handles that stay are used: the application object that Lab
exposes on request, `.jp-*` classes, and keys.
"""

import re

from playwright.sync_api import TimeoutError as Late

from .labserver import START, browser, chromium, lab_server

__all__ = ["LOCAL", "Notebook", "browser", "chromium", "lab_server"]

CELL = 60  # seconds for a cell
LOCAL = re.compile(r"(http|ws)://127\.0\.0\.1[:/]|blob:|data:|about:")

# JavaScript: the notebook that is open, and one of its cells by id or index
PANEL = "const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;"
KERNEL = f"{PANEL} const context = panel && panel.sessionContext;" + (
    "const kernel = context && context.session && context.session.kernel;"
    "const idle = kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';"
)
FIND = f"{PANEL} const cells = panel.content.widgets;" + (
    "const index = typeof key === 'number' ? key : cells.findIndex(cell => cell.model.id === key);"
)


class Notebook:
    """A notebook open in Lab. errors: what the page wrote to its console; elsewhere: requests to other hosts."""

    def __init__(self, page):
        self.page, self.errors, self.elsewhere = page, [], []
        page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        page.on("request", lambda request: LOCAL.match(request.url) or self.elsewhere.append(request.url))

    @classmethod
    def open(cls, page, url, name, app="lab/tree"):
        """Open the file `name` below the root of the server, and wait for its kernel.

        app: "lab/tree" for JupyterLab, "notebooks" for Notebook 7, which the same server serves.
        """
        notebook = cls(page)
        page.goto(f"{url}/{app}/{name}?reset")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=START * 1000)
        # the indicator says "idle" before there is a session; a cell run then is lost. So ask the session.
        notebook.wait(f"() => {{ {KERNEL} return idle }}", seconds=START, what="a kernel")
        return notebook

    def wait(self, condition, argument=None, seconds=CELL, what="the page"):
        """Wait until a JavaScript function returns something true. Raises TimeoutError, which says what is missing."""
        try:
            self.page.wait_for_function(condition, arg=argument, timeout=seconds * 1000)
        except Late as error:
            shown = self.page.locator(".jp-Dialog-content").all_inner_texts()
            raise TimeoutError(f"{what} was not ready after {seconds} s; open dialogs: {shown}") from error

    def index(self, key):
        """Index of a cell among all cells. Raises LookupError."""
        found = self._ask(key, "cells[index] ? index : -1")
        if found < 0:
            ids = self.page.evaluate(f"() => {{ {PANEL} return panel.content.widgets.map(cell => cell.model.id) }}")
            raise LookupError(f"no cell {key!r}; there are {', '.join(ids)}")
        return found

    def _ask(self, key, expression):
        return self.page.evaluate(f"key => {{ {FIND} return {expression} }}", key)

    def cell(self, key):
        """The cell as a Playwright locator."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.index(key))

    def source(self, key):
        return self._ask(key, "cells[index].model.sharedModel.getSource()")

    def write(self, key, text):
        """Replace the source of a cell, through its editor as by pasting."""
        editor = self.cell(key).locator(".cm-content")
        editor.click()
        editor.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(text)
        got = self.source(key)
        assert got == text, f"the editor holds {got!r} after writing {text!r}"

    def run(self, key, seconds=CELL):
        """Run one cell by its keys, and wait until it has ended."""
        before = self._count(key)
        editor = self.cell(key).locator(".cm-content")
        editor.click()
        editor.press("Control+Enter")
        ended = (
            f"([key, before]) => {{ {KERNEL} const cells = panel.content.widgets;"
            "const model = cells[key].model;"
            "return idle && model.executionCount !== null && model.executionCount !== before }"
        )
        self.wait(ended, [self.index(key), before], seconds, f"cell {key}")

    def run_all(self, seconds=CELL):
        """Run all cells and wait until the kernel has gone through them.

        A cell that raises stops the run, as it does for a learner; the cells below then have no number.
        """
        started = "window.jupyterapp.commands.execute('notebook:run-all-cells').finally(() => { window.ranAll = true })"
        self.page.evaluate(f"() => {{ window.ranAll = false; {started} }}")
        self.wait(f"() => {{ {KERNEL} return window.ranAll && idle }}", seconds=seconds, what="the end of Run All")

    def _count(self, key):
        return self._ask(key, "cells[index].model.executionCount")

    def has_run(self, key):
        """Whether the cell was executed in this session."""
        return self._count(key) is not None

    def outputs(self, key):
        """The outputs of a code cell, in the format of the file."""
        return self._ask(key, "cells[index].model.outputs.toJSON()")

    def text(self, key):
        """The text that a reader sees below a cell."""
        cell = self.cell(key)
        # Lab renders nothing of a cell that is out of view, and needs a moment for one that comes into it.
        cell.scroll_into_view_if_needed()
        shown = "[...cells[index].node.querySelectorAll('.jp-OutputArea-output')]"
        shown += ".some(output => output.innerText || output.querySelector('img, svg, canvas'))"
        drawn = f"key => {{ {FIND} return !cells[index].model.outputs.length || {shown} }}"
        self.wait(drawn, key, what=f"the output of cell {key}")
        return "\n".join(cell.locator(".jp-OutputArea-output").all_inner_texts())

    def theme(self, name):
        """Change the theme of the app, to "Light" or "Dark"; pages that are opened later have it too."""
        change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
        self.page.evaluate(change, f"JupyterLab {name}")
        # A splash lies over all until the new theme has faded in.
        there = "document.body.dataset.jpThemeLight === light && !document.getElementById('jupyterlab-splash')"
        self.wait(f"light => {there}", str(name == "Light").lower(), what=f"the theme {name}")

    def edited(self):
        """What a key that the notebook takes would change: the active cell, the mode, and kind and source of each."""
        cells = "book.widgets.map(cell => [cell.model.type, cell.model.sharedModel.getSource()])"
        read = f"const book = panel.content; return [book.activeCellIndex, book.mode, {cells}]"
        return self.page.evaluate(f"() => {{ {PANEL} {read} }}")

    def save(self):
        """Save the file."""
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")

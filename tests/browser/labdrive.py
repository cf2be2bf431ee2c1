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

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import TimeoutError as Late
from playwright.sync_api import sync_playwright

START = 90  # seconds for the server, and for a kernel
CELL = 60  # seconds for a cell
LOCAL = re.compile(r"(http|ws)://127\.0\.0\.1[:/]|blob:|data:|about:")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def chromium():
    """Path of the browser: the variable CHROMIUM, else one on the search path; None if there is none."""
    if os.environ.get("CHROMIUM"):
        return shutil.which(os.environ["CHROMIUM"])
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def lab_server(root, dark=False, **environment):
    """Serve the folder `root`; yields the URL. The server reads and writes no settings but its own.

    environment: further variables for the server and its kernels, COURSE_HOME say.
    """
    with TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True) as folder:
        own = Path(folder)
        theme = {"theme": f"JupyterLab {'Dark' if dark else 'Light'}", "adaptive-theme": False}
        _settings(own / "settings", "themes", theme)
        _settings(own / "settings", "notification", {"fetchNews": "false", "checkForUpdates": False})
        places = {
            "JUPYTER_CONFIG_DIR": "config",
            "JUPYTER_DATA_DIR": "data",
            "JUPYTER_RUNTIME_DIR": "runtime",
            "JUPYTERLAB_SETTINGS_DIR": "settings",
            "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
            "IPYTHONDIR": "ipython",
        }
        port = _free_port()
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.root_dir={root}"]
        command += ["--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
        command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
        with open(own / "log", "w") as log:
            server = subprocess.Popen(
                command,
                env=os.environ | {name: str(own / place) for name, place in places.items()} | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                url = f"http://127.0.0.1:{port}"
                _wait_for(url, server, own / "log")
                yield url
            finally:
                _stop(server, url)


def _settings(folder, plugin, values):
    path = folder / "@jupyterlab" / "apputils-extension" / f"{plugin}.jupyterlab-settings"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for(url, server, log):
    deadline = time.monotonic() + START
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{url}/api/status", timeout=2).read()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


def _stop(server, url):
    """End the server and, before it, its kernels; they live in sessions of their own."""
    try:
        with urllib.request.urlopen(f"{url}/api/kernels", timeout=5) as reply:
            kernels = json.load(reply)
        for kernel in kernels:
            request = urllib.request.Request(f"{url}/api/kernels/{kernel['id']}", method="DELETE")
            urllib.request.urlopen(request, timeout=10).read()
    except (urllib.error.URLError, OSError, ValueError):
        pass  # it is gone, or refuses; the signals below end what is left
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sent)
            server.wait(10)
            return
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


@contextmanager
def browser(width=1400, height=1400):
    """A headless Chromium context with a profile of its own; `context.new_page()` gives pages."""
    with TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium(),
            headless=True,
            args=SWITCHES,
            viewport={"width": width, "height": height},
        )
        try:
            yield context
        finally:
            context.close()


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
    def open(cls, page, url, name):
        """Open the file `name` below the root of the server, and wait for its kernel."""
        notebook = cls(page)
        page.goto(f"{url}/lab/tree/{name}?reset")
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

    def save(self):
        """Save the file."""
        self.page.evaluate("async () => { await window.jupyterapp.commands.execute('docmanager:save') }")

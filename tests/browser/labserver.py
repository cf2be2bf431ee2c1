"""A private JupyterLab server, which serves Notebook 7 too, and a headless Chromium; both leave nothing behind."""

import json
import os
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

from playwright.sync_api import sync_playwright

START = 90  # seconds for the server
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
        command += ["--JupyterNotebookApp.expose_app_in_browser=True"]
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

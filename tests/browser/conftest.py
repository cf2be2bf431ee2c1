"""One server and one browser for all tests here; where there is no Chromium they are skipped, in CI they fail."""

import os
import shutil
from importlib import resources
from types import SimpleNamespace

import pytest

from .labdrive import LOCAL, Notebook, browser, chromium, lab_server


@pytest.fixture(scope="session")
def context():
    """The browser that all tests share: two of Playwright's loops cannot run at once."""
    if chromium() is None:
        # In CI a browser test that is skipped would be a hole nobody sees.
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("no Chromium: set the variable CHROMIUM to its path")
    with browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def lab(context, tmp_path_factory):
    """root: the folder that is served; home: where the course keeps its memory; open(name): a Notebook of root."""
    root, home = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("home")
    switch = tmp_path_factory.mktemp("config") / "jupyter_server_config.d"
    switch.mkdir()
    with resources.as_file(resources.files("course_lib.explore") / "course_lib.json") as path:
        shutil.copy(path, switch)  # what installation puts below the prefix: saved notebooks keep their pictures

    def open_notebook(name, app="lab/tree"):
        return Notebook.open(context.new_page(), url, name, app)

    with lab_server(root, COURSE_HOME=str(home), JUPYTER_CONFIG_PATH=str(switch.parent)) as url:
        yield SimpleNamespace(root=root, home=home, open=open_notebook)


@pytest.fixture
def visit(context, tmp_path):
    """visit(explorable): its standalone page; at the end, nothing went wrong and nothing left the machine."""
    pages, trouble = [], []

    def go(explorable):
        page = context.new_page()
        pages.append(page)
        page.on("console", lambda message: message.type == "error" and trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda r: LOCAL.match(r.url) or r.url.startswith("file:") or trouble.append(r.url))
        page.goto(explorable.to_html(tmp_path / "page.html").as_uri())
        page.locator("#explorable[data-ready='1']").wait_for(timeout=10_000)
        return page

    yield go
    for page in pages:
        page.close()
    assert trouble == []

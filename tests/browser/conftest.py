"""One server and one browser for all tests here; where there is no Chromium they are skipped, in CI they fail."""

import os
from types import SimpleNamespace

import pytest

from .labdrive import Notebook, browser, chromium, lab_server


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """root: the folder that is served; home: where the course keeps its memory; open(name): a Notebook of root."""
    if chromium() is None:
        # In CI a browser test that is skipped would be a hole nobody sees.
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("no Chromium: set the variable CHROMIUM to its path")
    root, home = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("home")
    with lab_server(root, COURSE_HOME=str(home)) as url, browser() as context:
        yield SimpleNamespace(root=root, home=home, open=lambda name: Notebook.open(context.new_page(), url, name))

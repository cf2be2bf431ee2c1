"""Pages of grading in Chromium: they read well in both themes and on a phone, run nothing, ask nobody."""

import pytest

from course_lib.grading.reporting.tables import write_all
from tests.grading.reports_of_a_class import ASSIGNMENT, PROTECTIONS, a_class, an_attack

from .widgets import AXE

pytestmark = pytest.mark.browser
CHECK = """async () => {
    document.querySelectorAll('details').forEach((node) => { node.open = true });
    const found = await axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'best-practice']});
    return found.violations.map((rule) => [rule.id, rule.nodes[0].html]);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("graded")
    write_all(made, ASSIGNMENT, [*a_class(12), an_attack()], PROTECTIONS)
    return made


def pages(folder):
    attack = next(path for path in sorted((folder / "feedback").iterdir()) if "script" in path.name)
    return [folder / "class_report.html", folder / "feedback" / "s000.html", attack]


def test_pages_read_well_run_nothing_and_ask_nobody(context, folder):
    page, trouble = context.new_page(), []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: request.url.startswith("file:") or trouble.append(request.url))
    for path in pages(folder):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.evaluate(AXE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CHECK) == [], (path.name, scheme)
        page.set_viewport_size({"width": 320, "height": 700})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 320, path.name
    page.close()
    assert trouble == []


def test_lists_open_by_keys_alone(context, folder):
    page = context.new_page()
    page.goto((folder / "class_report.html").as_uri())
    first = page.locator("details").first
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert first.evaluate("node => node.open")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.getAttribute('href')").startswith("feedback/")
    page.close()

"""What Lab shows of a card: code keeps its spaces, `backticks` become code, and nothing a learner writes is HTML."""

from html.parser import HTMLParser

from course_lib import exercises
from course_lib.checking.display import Card
from course_lib.learner import solution


class Shown(HTMLParser):
    """text: what stands in the HTML, entities read. codes: what stands in <code>. folds: whether spaces are folded."""

    def __init__(self, page):
        super().__init__()
        self.text, self.codes, self.folds, self.inside = "", [], True, False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "code"
        self.folds &= "white-space:pre" not in dict(attributes).get("style", "")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.text += data
        if self.inside:
            self.codes.append(data)


def test_a_solution_keeps_its_indentation(monkeypatch):
    shown = []
    monkeypatch.setattr("course_lib.learner.show", lambda *given, **options: shown.append(Card(*given, **options)))
    for name in exercises.names():
        solution(name, insist=True)
    for card in shown:
        page = Shown(card._repr_mimebundle_()["text/html"])
        assert page.text == repr(card) and not page.folds
        compile(page.text, "<copied>", "exec")


def test_backticks_become_code_and_the_rest_stays_text():
    page = Shown(Card(["use `x < y` & `<b>`, not <i>`"])._repr_mimebundle_()["text/html"])
    assert page.codes == ["x < y", "<b>"] and page.text == "use x < y & <b>, not <i>`"

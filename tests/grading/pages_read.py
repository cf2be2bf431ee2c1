"""What a page says and holds, read with the standard parser, for tests of pages."""

import re
from html.parser import HTMLParser

ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "main", "section", "header", "div", "p", "span", "b", "i", "br",
    "strong", "code", "pre", "a", "h1", "h2", "h3", "ul", "li", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "details", "summary", "wbr",
}  # fmt: skip
CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff]")


class Page(HTMLParser):
    """tags: [(name, attributes), ...]. text: all that is read. headings: their levels in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.parts, self.open = [], [], []
        self.feed(text)
        self.text = "".join(self.parts)
        self.headings = [int(tag[1]) for tag, _ in self.tags if tag in ("h1", "h2", "h3")]

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.parts.append(data)


def harmless(text):
    """The Page of a text, after checks that hold for every page: no script, nothing from outside, in order."""
    page = Page(text)
    assert page.open == [] and {tag for tag, _ in page.tags} <= ALLOWED
    assert {"http-equiv": "Content-Security-Policy", "content": CSP} in [tag[1] for tag in page.tags]
    assert not UNSEEN.search(text)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        assert tag != "a" or re.fullmatch(r"feedback/[\w.~%()!*'-]+\.html", attributes["href"]), attributes
        assert tag != "th" or attributes["scope"] in ("row", "col")
        assert "url(" not in attributes.get("style", "")
    assert ("html", {"lang": "en"}) in page.tags
    assert page.headings[0] == 1 and page.headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))
    return page

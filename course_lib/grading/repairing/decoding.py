"""From the bytes of a file to JSON, and where that fails, what the file is instead and where it breaks off."""

import json
import re

MARKS = (  # byte order marks, the longer ones first
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"\xef\xbb\xbf", "UTF-8-SIG"),
)
KNOWN = (  # how files of other kinds begin
    (b"PK\x03\x04", "a zip archive"),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"\x1f\x8b", "a compressed file"),
    (b"{\\rtf", "a text of a word processor"),
)
VALUES_LIMIT = 5_000_000  # values in the JSON of a file; a picture is one, however large
CONFLICT = re.compile(r"^(<{7}|={7}|>{7}|\|{7})( |$)", re.M)
PYTHON = re.compile(r"^(from \w[\w.]* import |import \w|def \w+\(|class \w+[(:]|# %%|#!.*python)", re.M)


class Damaged(ValueError):
    """What is wrong with a file; the text is what follows its name: ", line 3: ..." or ": ..."."""


def decoded(data):
    """(text, notes). Raises Damaged where the bytes are no text of a notebook."""
    for start, kind in KNOWN:
        if data.startswith(start):
            raise Damaged(f": it is {kind}, not a notebook")
    if not data.strip(b"\0 \t\r\n"):
        raise Damaged(": the file is empty" if not data else ": there is nothing in the file but blanks")
    text, encoding = decode(data)
    notes = [] if encoding in ("UTF-8", "UTF-8-SIG") else [f"read as {encoding}"]
    if "\0" in text:
        text = text.replace("\0", "")
        notes.append("NUL bytes were taken out")
    return text, notes


def decode(data):
    """(text, the name of the encoding)."""
    for start, encoding in MARKS:
        if data.startswith(start):
            return data.decode(encoding, "replace"), encoding
    # JSON begins with two characters of ASCII, so that the place of the zeros tells how wide a character is.
    if data[1:2] == b"\0" != data[:1]:
        return data.decode("utf-16-le", "replace"), "UTF-16"
    if data[:1] == b"\0" != data[1:2]:
        return data.decode("utf-16-be", "replace"), "UTF-16"
    try:
        return data.decode("utf-8"), "UTF-8"
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    if len(re.findall(r"[^\x00-\x7f\ufffd]", text)) > wrong:
        return text, f"UTF-8 with {wrong} bytes that are none"
    text = data.decode("cp949", "replace")
    if 2 * len(re.findall("[가-힣]", text)) > len(re.findall(r"[^\x00-\x7f]", text)):
        return text, "cp949"
    return data.decode("latin-1"), "latin-1"  # which reads anything


def json_of(text):
    """The JSON of a text. Raises Damaged, and RecursionError where it is nested too deeply."""
    if sum(map(text.count, ",[{")) > VALUES_LIMIT:
        raise Damaged(f": it holds more than {VALUES_LIMIT:,} values")
    try:
        return json.loads(text, strict=False)  # editors that write line ends and tabs into texts are forgiven
    except json.JSONDecodeError as error:
        raise Damaged(why(text, error)) from None
    except ValueError:
        raise Damaged(": a number in it is too long to be read") from None


def why(text, error):
    """What the file is, or where and how it breaks off."""
    start = text.lstrip("\ufeff \t\r\n")
    if re.match(r"<(!doctype|html|\?xml|head|body)\b", start, re.I):
        return ": it is a web page, not a notebook"
    if conflict := CONFLICT.search(text):
        return f", line {line_of(text, conflict.start())}: git's merge markers stand in the file"
    if not start.startswith(("{", "[")):
        return f": it is {'a Python file' if PYTHON.search(text) else 'a text'}, not a notebook"
    if not text[error.pos :].strip() or (error.msg.startswith("Unterminated") and '"' not in text[error.pos + 1 :]):
        return f", line {line_of(text, len(text.rstrip()))}: the file ends in the middle"
    return f", line {error.lineno}: this is no JSON ({error.msg[0].lower()}{error.msg[1:]})"


def line_of(text, position):
    return text.count("\n", 0, position) + 1
